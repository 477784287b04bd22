"""Commands about this machine: models, doctor."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from profiler.cli.console import out, plain
from profiler.cli.files import print_json

_Json = Annotated[bool, typer.Option("--json", help="Strict JSON on stdout.")]


def models(as_json: _Json = False) -> int:
    """List the models that can be named here."""
    from profiler.engine.inspection import models as list_models

    rows = list_models()
    if as_json:
        print_json({"models": rows})
        return 0
    table = Table(box=None, pad_edge=False)
    for heading in ("model", "what it is", "note"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        note = row.get("note") or ""
        available = "" if row.get("available", True) else "not installed; "
        table.add_row(plain(row["name"]), plain(row.get("label") or ""), plain(available + note))
    console = out()
    console.print(table)
    console.print(
        "Also: a folder in Hugging Face layout, a .gguf file, a config.json alone (its shape with random weights), "
        "a hub id (from the local cache; --allow-download fetches it)."
    )
    return 0


def doctor(as_json: _Json = False) -> int:
    """Tell what can be measured on this machine, and why not."""
    from profiler.telemetry.hardware import doctor as examine

    value = examine()
    if as_json:
        print_json(value)
        return 0
    console = out()
    marks = {True: "ok  ", False: "no  ", None: "-   "}
    for check in value["checks"]:
        console.print(plain(f"{marks[check['ok']]}{check['topic']}: {check['text']}"))
        if check.get("next_step"):
            console.print(plain(f"      {check['next_step']}"))
    return 0
