"""A trace file (JSON lines) into the library: what `dscope import` does, beside the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from app.background import Background
from app.session_library import SUFFIX

Imported = tuple[Path, int]
"""The new session, and how many warnings its trace gave."""


class ImportTrace(Protocol):
    """Imports `path`; one of the two callbacks comes on the GUI thread."""

    def __call__(
        self, path: Path, done: Callable[[Imported], None], failed: Callable[[Exception], None]
    ) -> None: ...


def free_name(folder: Path, stem: str) -> Path:
    """A name in the folder that no session has: `trace`, `trace (2)`, ..."""
    target, number = folder / f"{stem}{SUFFIX}", 2
    while target.exists():
        target = folder / f"{stem} ({number}){SUFFIX}"
        number += 1
    return target


def trace_importer(background: Background, folder: Callable[[], Path]) -> ImportTrace:
    """The real one: into the folder that is shown when it is asked."""

    def import_trace(
        path: Path, done: Callable[[Imported], None], failed: Callable[[Exception], None]
    ) -> None:
        target_folder = folder()

        def job() -> Imported:
            from profiler.engine.summaries import add_summaries
            from profiler.session import trace

            target_folder.mkdir(parents=True, exist_ok=True)
            target = free_name(target_folder, path.stem)
            told = trace.import_trace(path, target)
            add_summaries(target)
            return target, len(told.warnings)

        background.submit(job, done, failed)

    return import_trace
