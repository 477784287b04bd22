"""The figures of another tool for a terminal: one table a run, and what each figure means."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from profiler.telemetry.plain import plain_text
from profiler.units import format_number

NOT_AVAILABLE = "n/a"
_COLUMNS = ("n", "mean", "p50", "p99", "ours (mean)")


def other_text(value: dict[str, Any]) -> list[RenderableType]:
    """Renderables for `rich`, in order, of what `other_tools.report_as` makes."""
    tool, session = value["tool"], value["session"]
    name = plain_text(session["name"] or session["path"] or "")
    parts: list[RenderableType] = [Text(f"{name}, as {tool['label']} would report it", style="bold")]
    if not value["runs"]:
        return [*parts, Text("This session holds no run.")]
    for run in value["runs"]:
        title = " · ".join(dict.fromkeys(plain_text(part) for part in (run["name"], run["model"]) if part))
        counts = run["requests"]
        parts += [
            Text(f"\nRun {run['id']} · {title}" if title else f"\nRun {run['id']}", style="bold"),
            Text(
                f"Requests: {counts['counted']} counted; left out: {counts['warmup']} warm-ups, "
                f"{counts['left_out']} that did not end well"
            ),
            _table(run["figures"]),
            *(Text(f"• {plain_text(note)}") for note in run["notes"]),
        ]
    parts.append(Text("\nWhat they mean", style="bold"))
    parts.append(_meanings(value["runs"][0]["figures"]))
    return [*parts, *(Text(f"• {note}") for note in tool["notes"]), Text(f"Source: {tool['source']}")]


def _table(figures: dict[str, dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", overflow="fold")
    for column in _COLUMNS:
        table.add_column(column, justify="right")
    table.add_column("", overflow="fold")
    for figure in figures.values():
        label = f"{figure['label']} ({figure['unit']})"
        statistics = figure["statistics"] or {}
        ours = "" if figure["ours"] is None else _number(figure["ours"]["value"])
        if figure["value"] is None:
            table.add_row(label, "", NOT_AVAILABLE, "", "", ours, Text(plain_text(figure["reason"])))
            continue
        n = f"{statistics['n']:,}" if statistics else ""
        rest = [_number(statistics[key]) if statistics else "" for key in ("p50", "p99")]
        table.add_row(label, n, _number(figure["value"]), *rest, ours, "")
    return table


def _meanings(figures: dict[str, dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column("", overflow="fold")
    table.add_column("", overflow="fold", ratio=1)
    for figure in figures.values():
        same = "The same as ours." if figure["ours"] is not None else "We have none like it."
        table.add_row(figure["label"], f"{figure['formula']}. {figure['differs'] or same}")
    return table


def _number(value: float | None) -> str:
    return format_number(value, 4)
