"""Saved sessions: opening, listing, labelling and putting away, all beside the GUI thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QCoreApplication

from app.background import Background
from profiler.errors import SessionError, UsageError
from profiler.timeline import Timeline

if TYPE_CHECKING:
    from profiler.session.labels import Labels
    from profiler.session.library import SessionEntry
    from profiler.session.trash import HandedOver, Trashed

T = TypeVar("T")
Failed = Callable[[SessionError], None]

SUFFIX = ".dscope"


class SessionLibrary:
    """Opens and moves files. Callbacks come on the GUI thread, at a later tick."""

    def __init__(self, background: Background) -> None:
        self._background = background

    @property
    def background(self) -> Background:
        """Where files are read."""
        return self._background

    def open(
        self,
        path: Path,
        opened: Callable[[Timeline], None],
        failed: Callable[[SessionError], None],
        prepare: Callable[[Timeline], None] | None = None,
    ) -> None:
        """Read a session. The steps of all requests are read at once, so that the file can be
        moved, or disappear, while it is shown. `prepare` gets the timeline before `opened`, in the
        background's thread: for what would hold up the window."""

        def job() -> Timeline:
            timeline = _read(path)
            if prepare is not None:
                prepare(timeline)
            return timeline

        self._background.submit(job, opened, _as_session_error(path, failed))

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

    # -- the library ----------------------------------------------------------------------------

    def list(self, folder: Path, listed: Callable[[Sequence[SessionEntry]], None], failed: Failed) -> None:
        """The sessions of a folder, newest first, those that cannot be opened last."""

        def job() -> Sequence[SessionEntry]:
            from profiler.session.library import list_sessions

            return list_sessions(folder)

        self._submit(job, listed, folder, failed)

    def set_labels(
        self,
        path: Path,
        done: Callable[[Labels], None],
        failed: Failed,
        *,
        name: str | None = None,
        tags: Iterable[str] | None = None,
        note: str | None = None,
        starred: bool | None = None,
    ) -> None:
        """Change what is not None; `done` gets the labels from before, for `put_labels` (undo)."""

        def job() -> Labels:
            from profiler.session.labels import set_labels

            return set_labels(path, name=name, tags=tags, note=note, starred=starred)

        self._submit(job, done, path, failed)

    def put_labels(self, path: Path, labels: Labels, done: Callable[[Labels], None], failed: Failed) -> None:
        """Set all labels (undo, redo); `done` gets those from before."""

        def job() -> Labels:
            from profiler.session.labels import put_labels

            return put_labels(path, labels)

        self._submit(job, done, path, failed)

    def rename_file(self, path: Path, new_name: str, done: Callable[[Path], None], failed: Failed) -> None:
        """Give the file another name in its folder; `done` gets the new path. Undo: the old stem."""

        def job() -> Path:
            from profiler.session.labels import rename_file

            return rename_file(path, new_name)

        self._submit(job, done, path, failed)

    def to_trash(
        self, paths: Sequence[Path], done: Callable[[Sequence[Trashed]], None], failed: Failed
    ) -> None:
        """Move into `.trash`, one result a path: some may say in `error` why they stay."""

        def job() -> Sequence[Trashed]:
            from profiler.session.trash import to_trash

            return to_trash(paths)

        self._submit(job, done, paths[0] if paths else Path(), failed)

    def restore(
        self, trashed: Sequence[Trashed], done: Callable[[Sequence[Path]], None], failed: Failed
    ) -> None:
        """Bring back what was moved; at the first that cannot be, `failed` (those before are back)."""

        def job() -> Sequence[Path]:
            from profiler.session.trash import restore

            return [restore(item) for item in trashed if item.place is not None]

        self._submit(job, done, trashed[0].original if trashed else Path(), failed)

    def hand_over_trash(self, folder: Path, done: Callable[[HandedOver], None], failed: Failed) -> None:
        """Pass what lies in the folder's `.trash` to the system's: when undo is no longer offered."""

        def job() -> HandedOver:
            from profiler.session.trash import hand_over, in_trash

            return hand_over(in_trash(folder))

        self._submit(job, done, folder, failed)

    def _submit(self, job: Callable[[], T], done: Callable[[T], None], path: Path, failed: Failed) -> None:
        self._background.submit(job, done, _as_session_error(path, failed))


def with_suffix(path: Path) -> Path:
    """The path with `.dscope` where the user gave no suffix."""
    return path if path.suffix else path.with_name(path.name + SUFFIX)


def _read(path: Path) -> Timeline:
    from profiler.session.reader import SessionReader

    with SessionReader.open(path) as reader:
        timeline = reader.timeline()
        timeline.read_all()
    return timeline


def _as_session_error(path: Path, failed: Callable[[SessionError], None]) -> Callable[[Exception], None]:
    def convert(error: Exception) -> None:
        if isinstance(error, UsageError):  # a name or a tag that cannot work
            error = SessionError(error.message, error.detail)
        elif not isinstance(error, SessionError):
            words = QCoreApplication.translate("Library", "{0} cannot be used ({1}); the log says more.")
            text = words.format(path, type(error).__name__)
            error = SessionError(text, repr(error))
        failed(error)

    return convert
