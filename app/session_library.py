"""Saved sessions: opening one away from the GUI thread, and giving one another name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.background import Background
from profiler.errors import SessionError
from profiler.timeline import Timeline

SUFFIX = ".dscope"


class SessionLibrary:
    """Opens and moves files. Callbacks come on the GUI thread, at a later tick."""

    def __init__(self, background: Background) -> None:
        self._background = background

    def open(
        self,
        path: Path,
        opened: Callable[[Timeline], None],
        failed: Callable[[SessionError], None],
    ) -> None:
        """Read a session. The steps of all requests are read at once, so that the file can be
        moved, or disappear, while it is shown."""
        self._background.submit(lambda: _read(path), opened, _as_session_error(path, failed))

    def save_as(
        self,
        source: Path,
        target: Path,
        overwrite: bool,
        saved: Callable[[Path], None],
        failed: Callable[[SessionError], None],
    ) -> None:
        """Copy an opened session to another name. SessionExists is passed to `failed` like any other."""

        def job() -> Path:
            from profiler.session import move

            move.save_as(source, target, overwrite=overwrite, keep_source=True)
            return target

        self._background.submit(job, saved, _as_session_error(target, failed))


def with_suffix(path: Path) -> Path:
    """The path with `.dscope` where the user gave no suffix."""
    return path if path.suffix else path.with_name(path.name + SUFFIX)


def _read(path: Path) -> Timeline:
    from profiler.session.reader import SessionReader

    with SessionReader.open(path) as reader:
        timeline = reader.timeline()
        for request in timeline.iter_requests():
            len(request)  # reads its steps
    return timeline


def _as_session_error(path: Path, failed: Callable[[SessionError], None]) -> Callable[[Exception], None]:
    def convert(error: Exception) -> None:
        if not isinstance(error, SessionError):
            text = f"{path} cannot be used ({type(error).__name__}); the log says more."
            error = SessionError(text, repr(error))
        failed(error)

    return convert
