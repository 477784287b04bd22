"""The command `dscope sessions`: the recordings of a folder, newest first."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from profiler.cli.console import out, plain
from profiler.cli.files import print_json
from profiler.paths import library_dir
from profiler.units import DASH

if TYPE_CHECKING:
    from rich.table import Table

    from profiler.session.entry import SessionEntry

_NARROW, _WIDE = 110, 150
"""Widths of the terminal from which on more than name, figures and status fit in a line."""


def sessions(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[FOLDER]", help="A folder of sessions; else the library.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Strict JSON on stdout.")] = False,
) -> int:
    """List the sessions of a folder: the figures stored for the last run of each, times in ms."""
    from profiler.session.library import list_sessions

    place = folder if folder is not None else library_dir()
    entries = list_sessions(place)
    if as_json:
        print_json({"folder": str(place), "sessions": [entry_json(entry) for entry in entries]})
        return 0
    console = out()
    if not entries:
        console.print(plain(f"{place} holds no sessions; `dscope record` makes one."), soft_wrap=True)
        return 0
    good = [entry for entry in entries if entry.error is None]
    if good:
        console.print(_table(good, console.width))
    for entry in entries:
        if entry.error is not None:
            console.print(plain(f"{entry.path.name}: {entry.error}"), soft_wrap=True)
    return 0


def entry_json(entry: SessionEntry) -> dict[str, Any]:
    """An entry as strict JSON: its fields, without the runs."""
    values = {field.name: getattr(entry, field.name) for field in fields(entry) if field.name != "runs"}
    return values | {
        "path": str(entry.path),
        "tags": list(entry.tags),
        "itl_trace": list(entry.itl_trace),
        "runs": len(entry.runs),
    }


def _table(entries: list[SessionEntry], width: int) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    columns = [name for name, least in _COLUMNS.items() if width >= least]
    for name in columns:
        right = name in _NUMBERS
        table.add_column(name, justify="right" if right else "left", no_wrap=right, overflow="fold")
    for entry in entries:
        cells = _cells(entry)
        table.add_row(*(cells[name] for name in columns))
    return table


_COLUMNS = {
    "name": 0,
    "date": _WIDE,
    "model": _NARROW,
    "device": _WIDE,
    "TTFT": 0,
    "ITL p50": 0,
    "p99": 0,
    "jitter": 0,
    "MBU": 0,
    "status": 0,
}
"""Each column, and the least width of the terminal at which it is shown."""
_NUMBERS = ("TTFT", "ITL p50", "p99", "jitter", "MBU")


def _cells(entry: SessionEntry) -> dict[str, str]:
    star = "* " if entry.starred else ""
    return {
        "name": plain(star + (entry.name or entry.path.stem)),
        "date": _date(entry.date),
        "model": plain(entry.model) or DASH,
        "device": plain(entry.device or DASH),
        "TTFT": _ms(entry.ttft_p50_ms),
        "ITL p50": _ms(entry.itl_p50_ms),
        "p99": _ms(entry.itl_p99_ms),
        "jitter": _ms(entry.jitter_ms),
        "MBU": DASH if entry.mbu_pct is None else f"{entry.mbu_pct:.0f} %",
        "status": "recording" if entry.live else (entry.status or DASH),
    }


def _ms(value: float | None) -> str:
    return DASH if value is None else f"{value:,.2f}"


def _date(date: str | None) -> str:
    """Local date and minute; the text as it is where it is no date."""
    from datetime import datetime

    try:
        moment = datetime.fromisoformat(date or "").astimezone()
    except (ValueError, OverflowError, OSError):
        return plain(date or DASH)
    return f"{moment:%Y-%m-%d %H:%M}"
