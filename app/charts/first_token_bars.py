"""The bars of the first-token chart: what they hold and what they say. No drawing."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Literal

from PySide6.QtCore import QCoreApplication

from profiler.units import format_number

Status = Literal["done", "waiting", "running", "failed"]

SPAN_ROLES = {
    "tokenize": "data4",
    "tokenise": "data4",
    "prefill": "data1",
    "sample": "data3",
}
"""Colour of a span by its name; others are grey."""


@dataclass(frozen=True)
class FirstTokenBar:
    """One request. `spans`: (name, ms) in order; `total_ms` None while it is not known.

    A total longer than its spans ends in a grey rest.
    """

    label: str
    spans: tuple[tuple[str, float], ...] = ()
    total_ms: float | None = None
    warmup: bool = False
    cold: bool = False
    status: Status = "done"


def counts(bar: FirstTokenBar) -> bool:
    return not bar.warmup and not bar.cold and bar.status in ("done", "running")


def length_ms(bar: FirstTokenBar) -> float:
    return bar.total_ms if bar.total_ms is not None else sum(ms for _, ms in bar.spans)


def tip(bar: FirstTokenBar, limit_ms: float | None = None) -> str:
    tr = QCoreApplication.translate
    parts = [f"{name} {format_number(ms)} ms" for name, ms in bar.spans]
    total = "" if bar.total_ms is None else f"{format_number(bar.total_ms)} ms"
    lines = [
        f"{bar.label} {total}".strip(),
        ", ".join(parts),
        tr("FirstTokenChart", "cold run") if bar.cold else "",
    ]
    if limit_ms is not None:
        words = tr("FirstTokenChart", "compute limit {0} ms").format(format_number(limit_ms))
        if bar.total_ms:
            share = round(100 * limit_ms / bar.total_ms)
            words += ", " + tr("FirstTokenChart", "{0} % of the limit's speed").format(share)
        lines.append(words)
    return "<p>" + "<br>".join(escape(line) for line in lines if line) + "</p>"
