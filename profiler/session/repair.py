"""What to do with a session that is not as it should be: look, finish, salvage.

`verify` says what is wrong, `finish` closes a recording whose program died, `repair` saves what
can be read of a damaged file into a new one. None of them changes a file that is being written.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from profiler import events as ev
from profiler.errors import SessionError
from profiler.session import schema
from profiler.session.codec import load_strict_json
from profiler.session.files import check_target, os_error, publish, remove_session, temporary_beside
from profiler.session.lock import LockTakenError, SessionLock, is_locked
from profiler.session.opening import copy_with_log, open_database, read_header
from profiler.session.salvage import salvage
from profiler.session.store import connect_rw, mark_finished, to_one_file

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: `error` (data is damaged or missing) or `warning` (odd, but whole)."""

    severity: Severity
    message: str


# -- verify -----------------------------------------------------------------------------------

_CHECKS: tuple[tuple[Severity, str, str], ...] = (
    (
        "error",
        "steps of requests that are not in the file",
        "SELECT count(*) FROM step WHERE request_no NOT IN (SELECT no FROM request)",
    ),
    (
        "error",
        "texts of requests that are not in the file",
        "SELECT count(*) FROM text WHERE request_no NOT IN (SELECT no FROM request)",
    ),
    (
        "error",
        "busy times of requests that are not in the file",
        "SELECT count(*) FROM busy WHERE request_no NOT IN (SELECT no FROM request)",
    ),
    (
        "error",
        "spans of requests or runs that are not in the file",
        "SELECT count(*) FROM span WHERE run NOT IN (SELECT no FROM run) "
        "OR (request_no NOT NULL AND request_no NOT IN (SELECT no FROM request))",
    ),
    (
        "error",
        "requests of runs that are not in the file",
        "SELECT count(*) FROM request WHERE run NOT IN (SELECT no FROM run)",
    ),
    (
        "error",
        "samples of sources that are not in the file",
        "SELECT count(*) FROM sample WHERE source NOT IN (SELECT no FROM source)",
    ),
    (
        "error",
        "requests with missing steps",
        "SELECT count(*) FROM (SELECT 1 FROM step GROUP BY request_no HAVING count(*) <> max(i) + 1)",
    ),
    (
        "error",
        "steps with a number of tokens that cannot be",
        "SELECT count(*) FROM step WHERE k < 0 OR kv_len < 0",
    ),
    (
        "error",
        "requests whose clock went backwards",
        "SELECT count(DISTINCT request_no) FROM (SELECT request_no, offset_ns, "
        "lag(offset_ns, 1, 0) OVER (PARTITION BY request_no ORDER BY i) AS previous FROM step) "
        "WHERE offset_ns < previous",
    ),
    (
        "warning",
        "spans or intervals that end before they begin",
        "SELECT (SELECT count(*) FROM span WHERE end_ns < t_ns) "
        "+ (SELECT count(*) FROM interval WHERE end_ns < t_ns)",
    ),
    (
        "warning",
        "requests without an end",
        "SELECT count(*) FROM request WHERE status IS NULL",
    ),
)


def verify(path: str | os.PathLike[str]) -> list[Problem]:
    """Everything that is wrong with a session; an empty list when nothing is.

    Reads every page. Raises SessionError only when there is no such file.
    """
    path = Path(path)
    if not path.is_file():
        read_header(path)
    live = is_locked(path)
    try:
        database = open_database(path, thorough=False)
    except SessionError as error:
        return [Problem("error", error.message)]
    problems: list[Problem] = []
    try:
        con = database.con
        rows = con.execute("PRAGMA integrity_check(20)").fetchall()
        problems.extend(Problem("error", f"damage: {text}") for (text,) in rows if text != "ok")
        for severity, what, sql in _CHECKS:
            count = con.execute(sql).fetchone()[0]
            if count:
                problems.append(Problem(severity, f"{count:,} {what}"))
        problems.extend(_check_values(con))
        closed = con.execute("SELECT value FROM meta WHERE key='closed'").fetchone()
        if live:
            problems.append(Problem("warning", "the session is being recorded right now"))
        elif closed != ("true",):
            problems.append(
                Problem("warning", "the recording ended unexpectedly; `dscope repair` finishes it")
            )
    except sqlite3.Error as error:
        problems.append(Problem("error", f"damage: {error}"))
    finally:
        database.close()
    return problems


def _check_values(con: sqlite3.Connection) -> Iterator[Problem]:
    for column, table, allowed in (
        ("status", "run", ev.RUN_STATUSES),
        ("status", "request", ev.END_STATUSES),
    ):
        for (value,) in con.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} NOT NULL"):
            if value not in allowed:
                yield Problem("error", f"a {table} has the unknown {column} {value!r}")
    for table, column in (("meta", "value"), ("run", "config"), ("run", "environment"), ("fact", "value")):
        bad = 0
        for (value,) in con.execute(f"SELECT {column} FROM {table}"):
            try:
                load_strict_json(value)
            except ValueError:
                bad += 1
        if bad:
            yield Problem("error", f"{bad:,} values of {table}.{column} are not JSON")


# -- finish -----------------------------------------------------------------------------------


def finish(path: str | os.PathLike[str]) -> bool:
    """Close a recording whose program died, in place: its log into the file, its running runs
    interrupted ("ended unexpectedly"). True if there was something to do.

    Raises SessionError when it is being written, damaged, or in a read-only place.
    """
    path = Path(path)
    read_header(path)
    try:
        lock = SessionLock.acquire(path)
    except LockTakenError:
        raise SessionError(f"{path} is being recorded right now; stop the recording first.") from None
    except OSError as error:
        raise os_error(error, path) from error
    try:
        # All checks on what a stranger may have made, before it is opened for writing.
        database = open_database(path)
        try:
            closed = database.con.execute("SELECT value FROM meta WHERE key='closed'").fetchone()
        finally:
            database.close()
        if closed == ("true",):
            return False
        con = connect_rw(path)
        try:
            version = con.execute("PRAGMA user_version").fetchone()[0]
            if version < schema.VERSION:
                schema.migrate(con, version)
            mark_finished(con)
            to_one_file(con)
        finally:
            con.close()
    except sqlite3.Error as error:
        raise SessionError(
            f"{path} cannot be finished ({error}); use `dscope repair` to save it into a new file.",
            repr(error),
        ) from error
    finally:
        lock.release()
    return True


# -- repair -----------------------------------------------------------------------------------


def repair(path: str | os.PathLike[str], out: str | os.PathLike[str]) -> str:
    """Save everything that can be read of `path` (and its log) into the new session `out`.

    The original is not touched. Returns one sentence on what was saved. Raises SessionExists,
    or SessionError where nothing can be read or `out` cannot be written; nothing is left then.
    """
    path, out = Path(path), Path(out)
    check_target(out, overwrite=False)
    _check_ours(path)
    if is_locked(path):
        raise SessionError(f"{path} is being recorded right now; stop the recording first.")
    part = temporary_beside(out)
    folder = Path(tempfile.mkdtemp(prefix="decodescope-"))
    try:
        counts, lost = salvage(_whole_copy(path, folder), part)
        if not counts.get("meta") and not counts.get("run") and not counts.get("request"):
            raise SessionError(f"{path} is too damaged: nothing in it can be read.")
        publish(part, out, overwrite=False)
    except sqlite3.Error as error:
        raise SessionError(
            f"{path} is too damaged: nothing in it can be read ({error}).", repr(error)
        ) from error
    except OSError as error:
        raise os_error(error, out) from error
    finally:
        remove_session(part)
        shutil.rmtree(folder, ignore_errors=True)
    what = (
        f"{counts.get('run', 0):,} runs, {counts.get('request', 0):,} requests and "
        f"{counts.get('step', 0):,} steps were saved to {out}"
    )
    return f"{what}; parts of {', '.join(sorted(lost))} could not be read." if lost else f"{what}."


def _check_ours(path: Path) -> None:
    """Refuse what is no session at all or a newer one; damage and truncation are welcome."""
    try:
        read_header(path)
    except SessionError:
        if not path.is_file():
            raise
        with path.open("rb") as file:
            head = file.read(100)
        if len(head) < 100 or head[68:72] != struct.pack(">I", schema.APPLICATION_ID):
            raise
        if struct.unpack_from(">I", head, 60)[0] > schema.VERSION:
            raise


def _whole_copy(path: Path, folder: Path) -> Path:
    """A copy with its log, as long as its header says: SQLite opens no shorter one at all."""
    copy = copy_with_log(path, folder)
    with copy.open("r+b") as file:
        head = file.read(100)
        page_size = struct.unpack_from(">H", head, 16)[0]
        expected = struct.unpack_from(">I", head, 28)[0] * (65536 if page_size == 1 else page_size)
        if file.seek(0, os.SEEK_END) < expected <= 1 << 36:
            file.truncate(expected)  # the missing pages are zeros: damage that can be stepped over
    return copy
