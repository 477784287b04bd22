"""The sessions of a folder, from the summaries stored in them: hundreds list at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from profiler.errors import SessionError
from profiler.session import cache
from profiler.session.entry import SessionEntry, make_entry, read_entry, read_row
from profiler.session.files import SUFFIX
from profiler.session.labels import acknowledge
from profiler.session.lock import is_locked, lock_path

__all__ = ["SessionEntry", "acknowledge", "list_sessions", "read_entry", "unexpected"]

_NOT_A_ROW = (KeyError, TypeError, ValueError, AttributeError, IndexError)


def list_sessions(folder: str | os.PathLike[str], *, use_cache: bool = True) -> list[SessionEntry]:
    """All `.dscope` files in a folder, newest first, those that cannot be opened last.

    No step is read. About 1 ms a file the first time and 0.1 ms after that: what was read is kept
    (see `cache`). A session that is being recorded, or was not closed properly, is read anew each
    time. A file that goes away meanwhile is left out. Thread: any; several programs may list
    one folder. Raises SessionError when the folder cannot be read.
    """
    folder = Path(folder)
    try:
        names = {path.name for path in folder.iterdir()}
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise SessionError(f"The folder {folder} cannot be read ({reason}); choose another one.") from error
    known = cache.load(folder) if use_cache else {}
    kept: cache.Known = {}
    entries = []
    for name in sorted(name for name in names if Path(name).suffix == SUFFIX):
        entry = _entry(folder / name, names, known, kept)
        if entry is not None:
            entries.append(entry)
    if use_cache and kept != known:
        cache.save(folder, kept)
    good = [entry for entry in entries if entry.error is None]
    good.sort(key=lambda entry: entry.date or "", reverse=True)
    return good + [entry for entry in entries if entry.error is not None]


def _entry(path: Path, names: set[str], known: cache.Known, kept: cache.Known) -> SessionEntry | None:
    """The entry of one file, from `known` if that is its present state; what may be kept into `kept`.

    None for a file that is not there any more.
    """
    try:
        size = path.stat().st_size
        # Taken before the file is read: what changes in between is seen the next time.
        mark = None if _may_change(path, names) else cache.signature(path)
    except OSError:
        return read_entry(path) if os.path.lexists(path) else None
    if mark is not None and path.name in known and known[path.name][0] == mark:
        try:
            entry = make_entry(path, size, known[path.name][1])
        except _NOT_A_ROW:
            pass  # damaged: read again
        else:
            kept[path.name] = known[path.name]
            return entry
    try:
        row = read_row(path)
        entry = make_entry(path, size, row)
    except SessionError as error:
        return SessionEntry(path, size, error=error.message) if os.path.lexists(path) else None
    if mark is not None and not entry.live:
        kept[path.name] = (mark, row)
    return entry


def _may_change(path: Path, names: set[str]) -> bool:
    """Is it being written, or is there a log beside it, so that the file alone says too little?"""
    if lock_path(path).name in names and is_locked(path):
        return True
    return f"{path.name}-wal" in names or f"{path.name}-journal" in names


def unexpected(entries: Iterable[SessionEntry]) -> list[SessionEntry]:
    """Recordings whose program died and that nobody has acknowledged (`labels.acknowledge`)."""
    return [
        entry
        for entry in entries
        if entry.ended_unexpectedly and not entry.acknowledged and not entry.live and entry.error is None
    ]
