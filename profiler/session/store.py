"""Writing a session file while the measurement runs.

    writer = SessionWriter.create(path, facts)      schema and manifest are on the disk now
    writer.write(events); writer.commit()           as often as nothing later may be lost
    writer.checkpoint()                             every few seconds: log into file
    writer.close()                                  one file again, marked as closed

While it is open there are `FILE-wal`, `FILE-shm` and `FILE.lock` beside the file; whatever was
committed survives the end of the process at any moment.
Thread: any, but one at a time. Cost: about 2 us a step in batches.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from profiler import events as ev
from profiler.errors import SessionError
from profiler.session import schema
from profiler.session.codec import from_text, maybe_text, to_json, to_text
from profiler.session.files import (
    check_target,
    exists_error,
    os_error,
    publish,
    remove_session,
    temporary_beside,
)
from profiler.session.lock import LockTakenError, SessionLock
from profiler.session.rows import RowWriter

ENDED_UNEXPECTEDLY = "ended unexpectedly"
"""The reason of a run whose program died."""
BUSY_MS = 2000
"""How long a write waits for a reader that holds the file."""


class SessionWriter:
    """One session file being written. See the module's docstring."""

    def __init__(self, path: Path, con: sqlite3.Connection, lock: SessionLock) -> None:
        """Use `create`."""
        self.path = path
        self._con = con
        self._lock = lock
        self._closed = False
        self._error: SessionError | None = None
        self._final_bytes = 0
        self._rows = RowWriter(con)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        facts: Mapping[str, ev.JSON],
        *,
        name: str = "",
        shared_memory: bool = True,
    ) -> SessionWriter:
        """A new session file with `facts` about the machine and program (its manifest).

        Raises SessionExists when there is a file at `path` or it is being written, SessionError
        (one sentence) when the folder is missing or read-only or the disk is full; no file is
        left then. `shared_memory` False: for a file system known to have none; where it turns
        out to have none, that is found out. Other processes then cannot read until the end.
        """
        path = Path(path)
        check_target(path, overwrite=False)
        try:
            lock = SessionLock.acquire(path)
        except LockTakenError:
            raise exists_error(path) from None
        except OSError as error:
            raise os_error(error, path) from error
        part = temporary_beside(path)
        con: sqlite3.Connection | None = None
        created = False
        try:
            # Complete before it appears: whenever this process ends, the file can be opened.
            _build(part, facts, name)
            publish(part, path, overwrite=False)
            created = True
            con = _open_log(path, shared_memory)
            return cls(path, con, lock)
        except BaseException as error:
            if con is not None:
                con.close()
            if created:
                remove_session(path)
            lock.release()
            if isinstance(error, (OSError, sqlite3.Error)):
                raise _sentence(error, path, kept=False) from error
            raise
        finally:
            remove_session(part)

    def __enter__(self) -> SessionWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing ----------------------------------------------------------------------------

    def write(self, events: Iterable[ev.Event]) -> None:
        """Add events, in order; they are safe after `commit`.

        Progress, State, Reply, Recording and Resync are not stored. What the session has seen
        already (a request's number, a step's number) changes nothing. Raises SessionError when
        the disk is full or gone: what was committed stays, everything since then was taken
        back and may be written again later, when there is space.
        """
        con = self._usable()
        try:
            if not con.in_transaction:
                con.execute("BEGIN")
            for event in events:
                self._rows.write(event)
        except sqlite3.Error as error:
            self._fail(error)

    def commit(self) -> None:
        """Everything written so far survives the end of this process. SessionError as in `write`."""
        con = self._usable()
        try:
            if con.in_transaction:
                con.execute("COMMIT")
        except sqlite3.Error as error:
            self._fail(error)
        self._rows.committed()
        self._error = None

    def checkpoint(self) -> None:
        """`commit`, then move the log into the file and wait for the disk (a few ms a MB)."""
        self.commit()
        try:
            self._con.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as error:
            self._fail(error)

    def set_summary(self, run_no: int, summary: Mapping[str, ev.JSON]) -> None:
        """Store what a library shows of a run. Safe after `commit`."""
        self._change("UPDATE run SET summary=CAST(? AS TEXT) WHERE no=?", (to_json(dict(summary)), run_no))

    def set_cell(self, run_no: int, cell: str, attempt: int) -> None:
        """Say which cell of an experiment a run measures, and which try it is (from 1)."""
        self._change(
            "UPDATE run SET cell=CAST(? AS TEXT), attempt=? WHERE no=?", (to_text(cell), attempt, run_no)
        )

    def set_name(self, name: str) -> None:
        """Rename the session (its label, not its file). Safe after `commit`."""
        self._change("UPDATE meta SET value=CAST(? AS TEXT) WHERE key='name'", (to_json(name),))

    @property
    def bytes_written(self) -> int:
        """Size that the file has when it is closed now, bytes. Cost: some us."""
        if self._closed:
            return self._final_bytes
        pages = int(self._con.execute("PRAGMA page_count").fetchone()[0])
        return pages * int(self._con.execute("PRAGMA page_size").fetchone()[0])

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._closed

    def close(
        self,
        status: str = "interrupted",
        reason: str | None = "The recording was closed before the run ended.",
    ) -> None:
        """Commit, mark the file as closed and make it one file again. Later calls do nothing.

        `status` and `reason` are for runs that have no RunEnd. Raises SessionError when that
        fails (unless the last `write` or `commit` has said so already): the file then stays
        beside its log, and the next open recovers it. The lock is released in any case.
        """
        if self._closed:
            return
        self._closed = True
        con = self._con
        try:
            if not con.in_transaction:
                con.execute("BEGIN")
            con.execute(
                "UPDATE run SET status=?, reason=CAST(? AS TEXT) WHERE status='running'",
                (status, maybe_text(reason)),
            )
            _set_meta(con, "closed", True)
            con.execute("COMMIT")
            self._final_bytes = to_one_file(con)
        except sqlite3.Error as error:
            if self._error is None:
                raise _sentence(error, self.path, kept=True) from error
        finally:
            con.close()
            self._lock.release()

    # -- inside -----------------------------------------------------------------------------

    def _usable(self) -> sqlite3.Connection:
        if self._closed:
            raise SessionError(f"{self.path} is closed; start a new recording.")
        return self._con

    def _change(self, sql: str, values: tuple[Any, ...]) -> None:
        con = self._usable()
        try:
            if not con.in_transaction:
                con.execute("BEGIN")
            con.execute(sql, values)
        except sqlite3.Error as error:
            self._fail(error)

    def _fail(self, error: sqlite3.Error) -> NoReturn:
        self._error = _sentence(error, self.path, kept=True)
        try:
            if self._con.in_transaction:
                self._con.execute("ROLLBACK")
        except sqlite3.Error:
            pass  # the first error is the one to tell
        self._rows.rolled_back()
        raise self._error from error


def _build(path: Path, facts: Mapping[str, ev.JSON], name: str) -> None:
    """An empty session with its manifest, on the disk, as one file."""
    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644))
    con = connect_rw(path)
    try:
        schema.migrate(con, 0)
        con.execute("BEGIN")
        _set_meta(con, "name", name)
        # A label for people, and the same moment on the session's clock.
        _set_meta(con, "created", datetime.now(UTC).isoformat(timespec="seconds"))
        _set_meta(con, "created_t_ns", time.perf_counter_ns())
        _set_meta(con, "closed", False)
        rows = RowWriter(con)
        for key, value in facts.items():
            rows.write(ev.Fact(key, value))
        con.execute("COMMIT")
    finally:
        con.close()


def _set_meta(con: sqlite3.Connection, key: str, value: ev.JSON) -> None:
    con.execute("INSERT OR REPLACE INTO meta VALUES (?, CAST(? AS TEXT))", (key, to_json(value)))


def connect_rw(path: Path) -> sqlite3.Connection:
    """A writing connection with our settings, in autocommit mode. The file must exist."""
    con = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_MS / 1000,
    )
    con.text_factory = from_text
    con.execute("PRAGMA trusted_schema=OFF")
    return con


def _open_log(path: Path, shared_memory: bool) -> sqlite3.Connection:
    """A connection in WAL mode; without shared memory where the file system has none."""
    for exclusive in (False, True) if shared_memory else (True,):
        con = connect_rw(path)
        try:
            if exclusive:
                # Set before the log is first touched, this keeps its index in our own memory.
                con.execute("PRAGMA locking_mode=EXCLUSIVE")
            mode = con.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            con.execute("PRAGMA synchronous=NORMAL")
            # The first write transaction is what needs the shared memory.
            con.execute("BEGIN IMMEDIATE")
            con.execute("COMMIT")
        except sqlite3.Error:
            con.close()
            if exclusive:
                raise
            continue
        if mode == "wal" or exclusive:
            return con
        con.close()
    raise AssertionError("unreachable")


def mark_finished(con: sqlite3.Connection) -> None:
    """Mark running runs as interrupted and the file as closed, in one transaction."""
    con.execute("BEGIN IMMEDIATE")
    con.execute("UPDATE run SET status='interrupted', reason=? WHERE status='running'", (ENDED_UNEXPECTEDLY,))
    for key in ("closed", "ended_unexpectedly"):
        con.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, to_json(True)))
    con.execute("COMMIT")


def to_one_file(con: sqlite3.Connection) -> int:
    """Move the log into the file and leave WAL mode; returns the file's size in bytes.

    While another process reads the file the mode cannot change: the log is then emptied, and
    the file stays complete in itself all the same.
    """
    pages = int(con.execute("PRAGMA page_count").fetchone()[0])
    size = pages * int(con.execute("PRAGMA page_size").fetchone()[0])
    try:
        con.execute("PRAGMA journal_mode=DELETE").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
        con.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return size


def _sentence(error: OSError | sqlite3.Error, path: Path, kept: bool) -> SessionError:
    if isinstance(error, OSError):
        return os_error(error, path)
    rest = f" What was recorded until now is kept in {path}." if kept else ""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
        text = f"The disk of {path.parent} is full; free some space or choose another folder.{rest}"
    else:
        text = f"{path} cannot be written ({error}); choose another place.{rest}"
    return SessionError(text, repr(error))
