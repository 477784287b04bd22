"""Record first: everything the engine sees goes into the session file before it is shown.

Commits twice a second and checkpoints every 5 s, so that a killed engine loses less than a
second. When the disk refuses, the events since the last commit are kept in memory and the
commit is tried again at every tick; what the file cannot take by the end goes, together with
what it holds, into another folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from profiler import events as ev
from profiler.errors import SessionError
from profiler.session import move
from profiler.session.reader import SessionReader
from profiler.session.replay import replay
from profiler.session.store import SessionWriter
from profiler.units import NS_PER_S

COMMIT_NS = NS_PER_S // 2
CHECKPOINT_NS = 5 * NS_PER_S


class Recorder:
    """Writes one session file. Thread: the engine's main thread only.

    Raises SessionError from the constructor when the file cannot be made. Later problems do
    not raise: `problem` holds the sentence, `unsaved` the events that wait.
    With `replace`, `path` may exist: the recording goes beside it and takes its place at close.
    """

    def __init__(self, path: Path, facts: dict[str, Any], name: str, *, replace: bool = False) -> None:
        self.target = path
        self.path = path
        if replace and path.exists():
            self.path = path.with_name(f"{path.stem} (recording {os.getpid()}).dscope")
        self._writer = SessionWriter.create(self.path, facts, name=name)
        self._facts, self._name = facts, name
        self.problem: str | None = None
        self.rescued: Path | None = None
        self.unsaved: list[ev.Event] = []
        self._last_commit_ns = 0
        self._last_checkpoint_ns = 0

    def write(self, events: Sequence[ev.Event]) -> None:
        """Take in events; they are in the file for good after the next commit."""
        self.unsaved.extend(events)
        if self.problem is None:
            self._try(lambda: self._writer.write(events))

    def tick(self, now_ns: int) -> None:
        """Call often: commits and checkpoints when it is time."""
        if now_ns - self._last_commit_ns < COMMIT_NS:
            return
        self._last_commit_ns = now_ns
        self.commit()
        if now_ns - self._last_checkpoint_ns >= CHECKPOINT_NS and self.problem is None:
            self._last_checkpoint_ns = now_ns
            self._try(self._writer.checkpoint)

    def commit(self) -> None:
        """Make everything so far permanent (unless the disk refuses: see `problem`)."""
        if self.problem is not None:
            # What was refused was rolled back: write it all again.
            self._try(lambda: self._writer.write(self.unsaved), again=True)
        if self.problem is None and self.unsaved and self._try(self._writer.commit):
            self.unsaved = []

    def set_summary(self, run: int, summary: dict[str, Any]) -> None:
        """Figures for the library's list."""
        if self.problem is None:
            self._try(lambda: self._writer.set_summary(run, summary))

    def close(self, rescue_folders: Iterable[Path] = ()) -> Path:
        """One file again, at its target. Returns where it is (beside the target if that failed).

        When the disk of the target is full, everything is written into the first of
        `rescue_folders` that takes it: `rescued` is that file, and is returned.
        """
        self.commit()
        self._try(self._writer.close)
        if self.problem is not None:
            for folder in rescue_folders:
                if self._rescue(folder):
                    assert self.rescued is not None
                    return self.rescued
        if self.path != self.target and self.problem is None:
            try:
                move.save_as(self.path, self.target, overwrite=True)
                self.path = self.target
            except SessionError as error:
                self.problem = error.message
        return self.path

    def _rescue(self, folder: Path) -> bool:
        """Everything that was seen, as a whole session in another folder. False: not there either."""
        path = folder / f"{self.target.stem} rescued {os.getpid()}.dscope"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (
                SessionReader.open(self.path) as reader,
                SessionWriter.create(path, self._facts, name=self._name) as writer,
            ):
                timeline = reader.timeline()
                for run in timeline.runs.values():
                    run.status = "running"  # its end is among what could not be written
                writer.write(replay(timeline))
                writer.write(self.unsaved)
                writer.commit()
        except (SessionError, OSError):
            path.unlink(missing_ok=True)
            return False
        self.rescued = path
        return True

    def _try(self, action: Any, *, again: bool = False) -> bool:
        try:
            action()
        except SessionError as error:
            self.problem = error.message
            return False
        if again:
            self.problem = None
        return True
