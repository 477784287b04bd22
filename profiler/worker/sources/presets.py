"""The built-in architectures: config.json files with a label, weights made up at load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from profiler.errors import ModelError
from profiler.paths import resource_dir
from profiler.shapes import shape_from_config
from profiler.worker.sources.source import RANDOM_NOTE, ModelSource

PREFIX = "preset:"
_ORDER = ("nano", "small", "1b", "3b", "8b", "moe", "untied", "sliding")


def preset_dir() -> Path:
    """Where the preset files lie."""
    return resource_dir() / "presets"


def preset_names() -> list[str]:
    """Names of all presets, the well-known first."""
    found = {path.stem for path in preset_dir().glob("*.json")}
    return [name for name in _ORDER if name in found] + sorted(found - set(_ORDER))


def read_preset(name: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The config of a preset and its `label` and `description`. ModelError for an unknown name."""
    names = preset_names()
    if name not in names:
        raise ModelError(f"There is no preset {name!r}; choose one of {', '.join(names)}.")
    config = json.loads((preset_dir() / f"{name}.json").read_text(encoding="utf-8"))
    about = config.pop("decodescope", {})
    return config, about


def preset_source(name: str) -> ModelSource:
    """The source of `preset:NAME`."""
    config, about = read_preset(name.removeprefix(PREFIX))
    return ModelSource(
        name=name,
        kind="preset",
        label=about.get("label", name),
        path=None,
        config=config,
        shape=shape_from_config(config),
        random_weights=True,
        notes=(RANDOM_NOTE,),
    )
