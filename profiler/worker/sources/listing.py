"""What models there are to choose from here, for `dscope models` and the picker."""

from __future__ import annotations

from typing import Any

from profiler.errors import ModelError
from profiler.shapes import weight_bytes
from profiler.worker.sources.demo import INSTALL, demo_source
from profiler.worker.sources.hub import cached_ids
from profiler.worker.sources.lookup import resolve
from profiler.worker.sources.presets import PREFIX, preset_names, read_preset
from profiler.worker.sources.source import ModelSource


def list_models() -> list[dict[str, Any]]:
    """Presets, the demo, and what is in the local Hugging Face cache; no network, no torch.

    Each: `name` (for --model), `kind`, `label`, `description`, `available`, `reason` (one
    sentence when not available, else None), `params`, `weights_bytes` (in the dtype that
    `auto` chooses), `max_context`.
    """
    rows: list[dict[str, Any]] = []
    for name in preset_names():
        _, about = read_preset(name)
        rows.append(_row(PREFIX + name, "preset", about.get("description", "")))
    text = "A real small model that answers in English."
    rows.append(_row("demo", "demo", f"{text} Get it with: {INSTALL}" if not _has_demo() else text))
    rows.extend(_row(model_id, "hub", "In the local Hugging Face cache.") for model_id in cached_ids())
    return rows


def _has_demo() -> bool:
    try:
        demo_source()
    except ModelError:
        return False
    return True


def _row(name: str, kind: str, description: str) -> dict[str, Any]:
    source: ModelSource | None = None
    reason: str | None = None
    try:
        source = resolve(name)
    except ModelError as error:
        reason = error.message
    shape = source.shape if source else None
    return {
        "name": name,
        "kind": kind,
        "label": source.label if source else name,
        "description": description,
        "available": source is not None,
        "reason": reason,
        "params": shape.n_params if shape else None,
        "weights_bytes": weight_bytes(shape, "auto") if shape else None,
        "max_context": shape.max_context if shape else None,
    }
