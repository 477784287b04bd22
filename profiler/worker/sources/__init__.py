"""Models by name: find them, check them, tell what they are, build them.

    resolve       a name -> ModelSource, without torch (ModelError says what is wrong)
    list_models   what there is to choose from
    build.load    a ModelSource -> a model on its device (imports torch)
    tokenizer     byte-level tokenizer, exact synthetic prompts

The names: `preset:NAME`, `demo`, a folder, a .gguf file, a config.json, a hub id.
"""

from __future__ import annotations

from profiler.worker.sources.listing import list_models
from profiler.worker.sources.lookup import resolve
from profiler.worker.sources.source import LoadCancelled, ModelSource, Progress

__all__ = ["LoadCancelled", "ModelSource", "Progress", "list_models", "resolve"]
