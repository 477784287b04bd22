"""The sessions of a folder, from the summaries stored in them: hundreds list at once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from profiler.errors import SessionError
from profiler.events import JSON
from profiler.session.files import SUFFIX
from profiler.session.reader import SessionReader


@dataclass(frozen=True)
class SessionEntry:
    """One session of a list. `error`: why it cannot be opened (the rest is then missing).

    `date` is ISO 8601, `status` and `model` those of the last run, `summary` what was stored
    for it (see `SessionWriter.set_summary`), `runs` all of them as `SessionReader.summary` says.
    """

    path: Path
    size_bytes: int
    name: str = ""
    model: str = ""
    date: str | None = None
    status: str | None = None
    live: bool = False
    ended_unexpectedly: bool = False
    requests: int = 0
    runs: tuple[dict[str, JSON], ...] = ()
    error: str | None = None

    @property
    def summary(self) -> dict[str, JSON] | None:
        """The stored summary of the last run, or None."""
        value = self.runs[-1]["summary"] if self.runs else None
        return value if isinstance(value, dict) else None


def list_sessions(folder: str | os.PathLike[str]) -> list[SessionEntry]:
    """All `.dscope` files in a folder, newest first, those that cannot be opened last.

    No step is read: about 1 ms a file. Raises SessionError when the folder cannot be read.
    """
    folder = Path(folder)
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SessionError(f"The folder {folder} cannot be read ({reason}); choose another one.") from error
    entries = [read_entry(path) for path in paths]
    good = [entry for entry in entries if entry.error is None]
    good.sort(key=lambda entry: entry.date or "", reverse=True)
    return good + [entry for entry in entries if entry.error is not None]


def read_entry(path: Path) -> SessionEntry:
    """The entry of one file. Never raises: what is wrong is in `error`."""
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    try:
        with SessionReader.open(path, thorough=False) as reader:
            value = reader.summary()
    except SessionError as error:
        return SessionEntry(path, size, error=error.message)
    runs = tuple(value.pop("runs"))
    return SessionEntry(path, size, runs=runs, **value)
