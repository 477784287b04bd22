"""Small session files for the tests of the library."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from profiler import events as ev
from profiler.session.store import SessionWriter


def write(
    path: Path,
    name: str = "mine",
    model: str = "preset:nano",
    summary: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
    environment: dict[str, Any] | None = None,
    model_fact: dict[str, Any] | None = None,
) -> Path:
    """A closed session of one finished run."""
    with SessionWriter.create(path, {}, name=name) as writer:
        writer.write([ev.RunStart(1, 0, name, model, config or {}, environment or {})])
        if model_fact is not None:
            writer.write([ev.Fact("model", model_fact, 1)])
        writer.write([ev.RunEnd(1, 5)])
        if summary is not None:
            writer.set_summary(1, summary)
    return path


def leave_open(path: Path, name: str = "cut") -> Path:
    """A recording whose program died: nothing holds its lock, and its log lies beside it."""
    beside = path.parent / "being written"
    beside.mkdir()
    writer = SessionWriter.create(beside / path.name, {}, name=name)
    writer.write([ev.RunStart(1, 0, name, "m"), ev.RequestStart(1, 1, "r", 0)])
    writer.commit()
    for end in ("-wal", ""):
        source = beside / f"{path.name}{end}"
        path.with_name(source.name).write_bytes(source.read_bytes())
    writer.close()
    for file in beside.iterdir():
        file.unlink()
    beside.rmdir()
    return path


def names(folder: Path) -> set[str]:
    """The names of everything in a folder."""
    return set(os.listdir(folder))  # noqa: PTH208
