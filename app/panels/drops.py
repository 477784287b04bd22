"""What was dropped onto the setup: a model, or a saved configuration."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QUrl

from app.panels.configuration_store import load_config
from profiler.config import RunConfig

CONFIG_BYTES = 4 << 20


def dropped_path(urls: Sequence[QUrl]) -> Path | None:
    """The one local folder, .gguf or .json that the setup can take; None for anything else.

    Looks at the name and not into the file: it is asked while the mouse moves.
    """
    if len(urls) != 1 or not urls[0].isLocalFile():
        return None
    path = Path(urls[0].toLocalFile())
    return path if path.suffix.lower() in (".gguf", ".json") or path.is_dir() else None


def read_drop(path: Path) -> str | RunConfig:
    """A model's name for what was dropped, or the configuration in a JSON file. UsageError when a
    JSON file is neither."""
    if path.suffix.lower() != ".json" or path.is_dir() or _is_model_config(path):
        return str(path)
    return load_config(path)


def _is_model_config(path: Path) -> bool:
    """A model's config.json names its type; a configuration of ours never does."""
    try:
        if path.stat().st_size > CONFIG_BYTES:
            return False
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and ("model_type" in value or "architectures" in value)
