"""The fact sheet of a model that was named, before anything of it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from profiler.shapes import ModelShape

Kind = Literal["preset", "folder", "gguf", "config", "hub", "demo"]

Progress: TypeAlias = Callable[[str, float, float | None, str], None]
"""Called as progress(stage, done, total, unit); `total` None: unknown."""

RANDOM_NOTE = "Random weights: the speed is real, the text is noise."


class LoadCancelled(Exception):
    """A load stopped because it was asked to; nothing is wrong with the model."""


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model by name, checked as far as can be without loading it.

    `name` is what the user typed, `label` what people read. `path`: the folder, the GGUF file
    or the config.json; None for a preset. `config`: the Hugging Face config (made from the
    header for GGUF). `stored_bytes`: the weights' size on disk, None when there are none.
    `random_weights`: only the architecture is real. `notes`: sentences for beside the numbers.
    """

    name: str
    kind: Kind
    label: str
    path: Path | None
    config: dict[str, Any]
    shape: ModelShape
    stored_bytes: int | None = None
    random_weights: bool = False
    needs_remote_code: bool = False
    has_tokenizer: bool = False
    notes: tuple[str, ...] = ()
