"""Files around a session: its side files, errors of the operating system in words, and putting
a finished file in its place without ever replacing another by accident.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from profiler.errors import SessionError, SessionExists, UsageError

SUFFIX = ".dscope"
_NO_SPACE = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


def check_not_precious(source: Path, target: Path) -> None:
    """Replacing `target` must destroy neither what is read nor a recording that is being written.

    UsageError or SessionError with one sentence; nothing is said of files that are not there.
    """
    from profiler.session.lock import is_locked

    try:
        same = target.samefile(source)
        recorded = target.is_file() and is_locked(target)
    except (OSError, ValueError):
        return  # one of them is not there, or cannot be: the reader or the writer says so
    if same:
        raise UsageError(f"{target} is the file that is read; choose another name.", field="out")
    if recorded:
        raise SessionError(f"{target} is being recorded right now; choose another name.")


def side_files(path: Path) -> list[Path]:
    """SQLite's log, shared memory and journal beside a session (they need not exist)."""
    return [path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")]


def has_log(path: Path) -> bool:
    """Is there a log or journal beside the file that holds data?"""
    wal, _, journal = side_files(path)
    return any(_size(file) > 0 for file in (wal, journal))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def os_error(error: OSError, path: Path) -> SessionError:
    """One sentence for a file that could not be made or written at `path`."""
    folder = path.parent
    if error.errno in _NO_SPACE:
        text = f"The disk of {folder} is full; free some space or choose another folder."
    elif isinstance(error, (FileNotFoundError, NotADirectoryError)):
        text = f"The folder {folder} does not exist; create it first."
    elif isinstance(error, PermissionError) or error.errno == errno.EROFS:
        text = f"The folder {folder} cannot be written to; choose another folder."
    else:
        reason = error.strerror or str(error)
        text = f"{path} cannot be written ({reason.lower()}); choose another place."
    return SessionError(text, repr(error))


def exists_error(path: Path) -> SessionExists:
    """One sentence for a target that is there already."""
    return SessionExists(f"{path} exists already; choose another name, or allow it to be overwritten.")


def check_target(path: Path, overwrite: bool) -> None:
    """Can a file be put at `path`? SessionError or SessionExists if not."""
    if "\0" in str(path):
        raise SessionError(f"{str(path)!r} is no name for a file; choose another one.")
    try:
        if path.is_dir():
            raise SessionError(f"{path} is a folder; give the name of a file in it.")
        if not path.parent.is_dir():
            raise SessionError(f"The folder {path.parent} does not exist; create it first.")
        if not overwrite and os.path.lexists(path):
            raise exists_error(path)
    except OSError as error:  # a name that is too long, a folder one may not enter
        raise os_error(error, path) from error


def temporary_beside(path: Path) -> Path:
    """A name in the folder of `path`, for a file that becomes `path` when it is complete."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def publish(complete: Path, target: Path, overwrite: bool) -> None:
    """Make `complete` (in the folder of `target`, synced) appear as `target`, all at once.

    Raises SessionExists when the target exists and `overwrite` is False, also if it came into
    being a moment ago; SessionError on other failures. `complete` is then still there.
    """
    try:
        if overwrite:
            # A log of the file that is replaced must never be applied to the new one.
            for side in side_files(target):
                side.unlink(missing_ok=True)
            complete.replace(target)
            return
        try:
            os.link(complete, target)
        except FileExistsError:
            raise exists_error(target) from None
        except OSError:
            # No hard links here (FAT, some network drives): the gap is small.
            if os.path.lexists(target):
                raise exists_error(target) from None
            complete.rename(target)
            return
        complete.unlink()
    except OSError as error:
        raise os_error(error, target) from error


def copy_synced(source: Path, target: Path) -> None:
    """Copy and wait until it is on the disk. OSError."""
    with source.open("rb") as reading, target.open("xb") as writing:
        shutil.copyfileobj(reading, writing, 1 << 20)
        writing.flush()
        os.fsync(writing.fileno())


def remove_session(path: Path) -> None:
    """Remove a file and its side files, as far as they are there and can be removed."""
    for file in (path, *side_files(path)):
        try:
            file.unlink(missing_ok=True)
        except OSError:
            pass  # the error that led here is the one to tell
