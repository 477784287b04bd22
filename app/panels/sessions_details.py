"""What the preview says of a session beyond its row: read from the file, away from the GUI thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication

translate = QCoreApplication.translate

MAX_TRACE_BYTES = 100_000_000
"""Larger files are not read through only to draw a small picture."""


@dataclass(frozen=True)
class Details:
    """`rows`: setting and value in words. `trace`: gaps in ms, where the entry had none."""

    rows: tuple[tuple[str, str], ...] = ()
    trace: tuple[float, ...] = ()
    repeatable: bool = False


def read_details(path: Path, want_trace: bool) -> Details:
    """Read the last run's settings. SessionError as `SessionReader`. Thread: any."""
    from profiler.session.reader import SessionReader

    with SessionReader.open(path, thorough=False) as reader:
        run = reader.last_run()
        trace: tuple[float, ...] = ()
        if want_trace and path.stat().st_size <= MAX_TRACE_BYTES:
            from profiler.analysis.sparkline import itl_trace_ms

            runs = list(reader.timeline().runs.values())
            trace = tuple(itl_trace_ms(runs[-1])) if runs else ()
    config = _dict(run.get("config"))
    return Details(_rows(run), trace, bool(config.get("model")))


def _rows(run: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    config, environment, model = (_dict(run.get(key)) for key in ("config", "environment", "model"))
    repeats, warmup = config.get("repeats"), config.get("warmup")
    repeat_words = ""
    if isinstance(repeats, int):
        repeat_words = f"{repeats}"
        if isinstance(warmup, int) and warmup:
            repeat_words = translate("SessionDetails", "{0}, after {1} warm-up").format(repeats, warmup)
    numerics = [model.get("dtype") or config.get("dtype"), model.get("attn") or config.get("attn")]
    cache = config.get("cache")
    if isinstance(cache, str) and cache:
        numerics.append(translate("SessionDetails", "{0} cache").format(cache))
    packages = _dict(_dict(environment.get("software")).get("packages"))
    software = [f"{name} {packages[name]}" for name in ("torch", "transformers") if packages.get(name)]
    label = model.get("label")
    found = (
        (translate("SessionDetails", "Model"), label if isinstance(label, str) else ""),
        (translate("SessionDetails", "Repeats"), repeat_words),
        (translate("SessionDetails", "Numerics"), _join(numerics)),
        (translate("SessionDetails", "Software"), _join(software)),
    )
    return tuple((name, value) for name, value in found if value)


def _join(parts: list[Any]) -> str:
    return ", ".join(part.removeprefix("torch.") for part in parts if isinstance(part, str) and part)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
