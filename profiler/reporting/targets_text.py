"""The targets of a run for a terminal: one line each that is set, and the goodput."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from profiler.telemetry.plain import plain_text
from profiler.units import DASH, THIN, format_number

_LABELS = {
    "ttft_ms": ("TTFT p50", "ms"),
    "fluctuation": ("Fluctuation p50", "%"),
    "itl_p99_ms": ("ITL p99", "ms"),
    "e2e_ms": ("End to end p50", "ms"),
}


def targets_text(targets: dict[str, Any] | None) -> list[RenderableType]:
    """Renderables for a report's `targets`; none where no target is set (or an old report has none)."""
    judged = {name: row for name, row in (targets or {}).get("metrics", {}).items() if row["target"]}
    if targets is None or not judged:
        return []
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(4):
        table.add_column("", overflow="fold")
    for name, row in judged.items():
        label, unit = _LABELS[name]
        limit = f"target ≤ {_value(name, row['target'], unit)}"
        word = {True: "met", False: "missed", None: DASH}[row["pass"]]
        share = f"{row['met']} of {row['of']} requests meet it" if row["of"] else ""
        remark = "; ".join(part for part in (plain_text(row["reason"] or "", 300), share) if part)
        value = f"{_value(name, row['value'], unit)} {word}"
        table.add_row(Text(label), Text(limit), Text(value), Text(remark))
    good = targets["goodput"]
    share = DASH if good["share"] is None else f"{format_number(100 * good['share'])}{THIN}%"
    words = [f"{good['met']} of {good['of']} requests meet all targets"] if good["of"] else []
    if good["requests_per_s"] is not None:
        words.append(f"{format_number(good['requests_per_s'])} of them a second")
    if good["undecided"]:
        words.append(f"{good['undecided']} not judged")
    if good["reason"]:
        words.append(plain_text(good["reason"], 300))
    table.add_row(Text("Goodput"), Text(""), Text(share), Text("; ".join(words)))
    return [table]


def _value(name: str, value: float | None, unit: str) -> str:
    if value is None:
        return DASH
    return f"{format_number(100 * value if name == 'fluctuation' else value)}{THIN}{unit}"
