"""Where the engine's recordings go: open, close, name, rescue. One at a time.

The recorder writes; this decides on names and places, and tells what became of the file.
"""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from profiler import events as ev
from profiler.engine import inspection
from profiler.engine.job import Job
from profiler.engine.recorder import Recorder
from profiler.errors import SessionError, SessionExists, UsageError
from profiler.paths import library_dir
from profiler.session import files, move

Tell = Callable[[ev.Event], None]


class Recordings:
    """Thread: the engine's main thread only.

    `library` None: the user's own folder. `tell` gets Recording, Failure and Log events about
    the file itself; they are for the subscriber and are not recorded.
    """

    def __init__(self, library: Path | None, tell: Tell, clock: Callable[[], int]) -> None:
        self._library = library
        self._tell = tell
        self._clock = clock
        self._recorder: Recorder | None = None
        self._pending: tuple[Path, bool] | None = None
        self._told: str | None = None
        self.last_path: Path | None = None
        """The file of the last run that is over."""

    @property
    def open(self) -> bool:
        """Is a recording going on?"""
        return self._recorder is not None

    @property
    def path(self) -> Path | None:
        """Where the recording is that goes on, else where the last one is."""
        return self._recorder.path if self._recorder is not None else self.last_path

    def start(self, job: Job) -> None:
        """A new file for the run of `job`. SessionError with one sentence when there can be none."""
        try:
            self._recorder = self._make(job)
        except OSError as error:
            raise SessionError(f"No recording can be made: {error}.") from error
        self._told = None
        self._tell(ev.Recording(str(self._recorder.path), "recording", job.name))

    def _make(self, job: Job) -> Recorder:
        facts = inspection.session_facts(self._clock())
        if job.path is not None:
            return Recorder(job.path, facts, job.name or job.path.stem, replace=job.overwrite)
        folder = self._library or library_dir()
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            path = inspection.recording_path(folder, job.config)
            try:
                return Recorder(path, facts, job.name or path.stem)
            except SessionExists:
                continue  # another engine took the name in this moment

    def write(self, events: Sequence[ev.Event]) -> None:
        """Into the file, if one is open."""
        if self._recorder is not None:
            self._recorder.write(events)

    def commit(self) -> None:
        """Make everything so far permanent."""
        if self._recorder is not None:
            self._recorder.commit()

    def tick(self) -> str | None:
        """Call often: commits when it is time. Returns the sentence of a new problem, once."""
        if self._recorder is None:
            return None
        self._recorder.tick(self._clock())
        return self._new_problem(self._recorder)

    def _new_problem(self, recorder: Recorder) -> str | None:
        if recorder.problem is None or recorder.problem == self._told:
            return None
        self._told = recorder.problem
        self._fail(f"The recording cannot go on: {recorder.problem}")
        return recorder.problem

    def _fail(self, message: str, detail: str | None = None) -> None:
        self._tell(ev.Failure("disk", self._clock(), message, detail, exit_code=2))

    def close(self, run: int) -> None:
        """The run is over: summary, one file, its final name. Never raises for an odd file."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        recorder.commit()
        try:
            recorder.set_summary(run, inspection.summary_of(recorder.path, run))
        except Exception:  # noqa: BLE001 - odd data must not keep a file from being closed
            text = "The summary for the library could not be made."
            self._tell(ev.Log("error", self._clock(), "engine", text, traceback.format_exc()))
        path = recorder.close(self._rescue_folders())
        pending, self._pending = self._pending, None
        message = recorder.problem
        if recorder.rescued is not None:
            message = f"{message} Everything that was recorded is in {path} instead."
            self._fail(message)
        elif message is not None:
            self._new_problem(recorder)
        elif pending is not None:
            path, message = self._move(path, *pending)
        self.last_path = path
        self._tell(ev.Recording(str(path), "recorded" if message is None else "failed", path.stem, message))

    def _move(self, path: Path, target: Path, overwrite: bool) -> tuple[Path, str | None]:
        try:
            move.save_as(path, target, overwrite=overwrite)
        except SessionError as error:
            message = f"{error.message} The recording is kept in {path}."
            self._fail(message, error.detail)
            return path, message
        return target, None

    def _rescue_folders(self) -> Iterator[Path]:
        """Where a recording goes when its own disk is full."""
        try:
            yield self._library or library_dir()
        except OSError:
            pass
        yield Path(tempfile.gettempdir())

    def save_as(self, target: Path, *, overwrite: bool) -> Callable[[], Any] | None:
        """Name the recording: one that goes on gets its name at the end (None is returned).

        Else what is to be done now, on a background thread; call `moved` after it. SessionError,
        SessionExists, UsageError.
        """
        files.check_target(target, overwrite=overwrite)
        if self._recorder is not None:
            self._pending = (target, overwrite)
            return None
        source = self.last_path
        if source is None:
            raise UsageError("There is no recording to save yet; start a run first.")
        return lambda: move.save_as(source, target, overwrite=overwrite)

    def moved(self, target: Path) -> None:
        """The last recording lies at `target` now."""
        self.last_path = target
        self._tell(ev.Recording(str(target), "recorded", target.stem))
