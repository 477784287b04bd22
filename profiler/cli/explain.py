"""`dscope explain`: what a number means, what it leaves out, and what other tools call it."""

from __future__ import annotations

from dataclasses import asdict
from difflib import get_close_matches
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from profiler.analysis.definitions import DEFINITIONS, Definition, find
from profiler.cli.console import out
from profiler.cli.files import print_json
from profiler.errors import UsageError

SCHEMA = "decodescope.definitions/1"


def explain(
    metric: Annotated[
        str | None, typer.Argument(metavar="[METRIC]", help="A name out of the report, such as itl_ms.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Strict JSON on stdout.")] = False,
) -> int:
    """Explain a number: formula, what it counts and leaves out, when it is missing."""
    if metric is None:
        if as_json:
            print_json({"schema": SCHEMA, "metrics": [as_dict(row) for row in DEFINITIONS]})
        else:
            out().print(_list())
        return 0
    definition = find(metric)
    if definition is None:
        raise UsageError(_unknown(metric), field="metric")
    if as_json:
        print_json({"schema": SCHEMA, "metrics": [as_dict(definition)]})
    else:
        out().print(_card(definition))
    return 0


def as_dict(definition: Definition) -> dict[str, Any]:
    """A definition as JSON: its own fields, and `other_tools[]` {tool, name, label, formula, differs}."""
    from profiler.reporting.other_tools import definitions_elsewhere

    elsewhere = [
        {
            "tool": tool.name,
            "name": figure.name,
            "label": figure.label,
            "formula": figure.formula,
            "differs": figure.differs,
        }
        for tool, figure in definitions_elsewhere(definition.name)
    ]
    return {**asdict(definition), "other_tools": elsewhere}


def _unknown(metric: str) -> str:
    """One sentence; with the nearest names, if any are near."""
    names = {definition.name: definition.name for definition in DEFINITIONS}
    names |= {definition.label.lower(): definition.name for definition in DEFINITIONS}
    near = get_close_matches(metric.strip().lower(), names, n=4, cutoff=0.5)
    found = list(dict.fromkeys(names[name] for name in near))[:3]
    if not found:
        return f"No number is called {metric!r}; `dscope explain` lists them all."
    return f"No number is called {metric!r}; the nearest: {', '.join(found)}."


def _list() -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    for heading in ("what it is", "unit", "formula"):
        table.add_column(heading, overflow="fold")
    for definition in DEFINITIONS:
        table.add_row(definition.name, definition.label, definition.unit, definition.formula)
    return Group(table, Text("\n`dscope explain NAME` says more about one of them."))


def _card(definition: Definition) -> RenderableType:
    title = f"{definition.label} ({definition.unit})" if definition.unit else definition.label
    table = _rows()
    for heading, text in (
        ("name", definition.name),
        ("formula", definition.formula),
        ("counts", definition.counts),
        ("leaves out", definition.leaves_out),
        ("missing when", definition.missing_when),
        ("source", definition.source),
    ):
        table.add_row(heading, text)
    parts: list[RenderableType] = [Text(title, style="bold"), table]
    elsewhere = as_dict(definition)["other_tools"]
    if elsewhere:
        others = _rows()
        for row in elsewhere:
            differs = row["differs"] or "The same as ours."
            others.add_row(row["tool"], f"{row['label']}: {row['formula']}. {differs}")
        parts += [Text("\nIn other tools", style="bold"), others]
        parts.append(Text("\n`dscope report FILE --as TOOL` shows a session in their terms."))
    return Padding(Group(*parts), (0, 0))


def _rows() -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold", ratio=1)
    return table
