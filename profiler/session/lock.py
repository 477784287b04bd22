"""The lock that says "this session is being written": an OS lock on `FILE.lock`.

The operating system drops the lock when its process ends, however it ends, so a lock file that
a dead process left behind is no obstacle. The lock belongs to the open file, not to the
process (`flock`): a reader in the same process sees it as held, and closing the reader's own
handle does not release it.
Where a file system has no locks at all the writer goes on without one.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    # Far behind the process id in the file, which must stay readable.
    _LOCKED_BYTE = 1 << 30

    def _lock(fd: int) -> None:
        os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

    def _lock_shared(fd: int) -> None:
        _lock(fd)
else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _lock_shared(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)


_TAKEN = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}
_TRIES = 20


class LockTakenError(Exception):
    """Another program (or another writer in this one) holds the lock."""


def lock_path(path: Path) -> Path:
    """The lock file of a session."""
    return path.with_name(path.name + ".lock")


class SessionLock:
    """Held from `acquire` to `release`. Thread: one at a time."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd: int | None = fd

    @classmethod
    def acquire(cls, session: Path) -> SessionLock:
        """Take the lock of a session file (which need not exist yet).

        Raises LockTakenError, or OSError where the lock file cannot be made.
        """
        path = lock_path(session)
        for _ in range(_TRIES):
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                _lock(fd)
            except OSError as error:
                if error.errno not in _TAKEN:
                    return cls(path, fd)  # a file system without locks
                os.close(fd)
                if _probing_only(path):
                    continue
                raise LockTakenError(str(path)) from None
            # The holder before us may have removed the file between our open and our lock.
            if _same_file(fd, path):
                os.ftruncate(fd, 0)
                os.lseek(fd, 0, os.SEEK_SET)
                os.write(fd, f"{os.getpid()}\n".encode())
                return cls(path, fd)
            os.close(fd)
        raise LockTakenError(str(path))

    def release(self) -> None:
        """Give the lock back and remove its file. Calling it again does nothing."""
        fd, self._fd = self._fd, None
        if fd is None:
            return
        # On Windows an open file cannot be removed; elsewhere removing it first leaves no
        # moment in which another writer locks a file that is about to vanish.
        if sys.platform == "win32":
            os.close(fd)
        try:
            self._path.unlink()
        except OSError:
            # A lock file without a lock is harmless.
            pass
        if sys.platform != "win32":
            os.close(fd)


def _same_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except OSError:
        return False


def _probing_only(path: Path) -> bool:
    """Was it only `is_locked` of another program that stood in the way for a moment?"""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError:
        return True
    try:
        _lock_shared(fd)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(fd)


def is_locked(session: Path) -> bool:
    """Is a living program writing this session? False where that cannot be found out."""
    try:
        # Reading is enough for a shared lock, so this works in a read-only place, too.
        fd = os.open(lock_path(session), os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    except (OSError, ValueError):  # ValueError: no such path can be
        return False
    try:
        _lock_shared(fd)
    except OSError as error:
        return error.errno in _TAKEN
    else:
        return False
    finally:
        os.close(fd)
