"""Reading a damaged database row by row, around its damage, into a new one.

Damage makes single pages unreadable. Rows are read upwards until the first error, then
downwards from the far end, then by seeking between the two.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from profiler.session import schema
from profiler.session.opening import connect_ro
from profiler.session.store import connect_rw, mark_finished

_MAX_PROBES = 2000
"""Seeks into a damaged stretch before it is given up."""
_BATCH = 5000


def salvage(copy: Path, part: Path) -> tuple[dict[str, int], set[str]]:
    """Copy all rows of a private copy that can be read into a new file `part`.

    Returns how many rows of each table, and the tables that lost some. Raises sqlite3.Error
    where the file cannot be read at all, OSError where `part` cannot be made.
    """
    con = _open_damaged(copy)
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644))
    new = connect_rw(part)
    counts: dict[str, int] = {}
    lost: set[str] = set()
    try:
        version = con.execute("PRAGMA user_version").fetchone()[0]
        for migration in schema.MIGRATIONS[version:]:
            migration(con)
        schema.migrate(new, 0)
        new.execute("BEGIN")
        for table in schema.table_names():
            counts[table] = _copy_table(con, new, table, lost)
        _adopt_orphans(new)
        new.execute("INSERT OR IGNORE INTO meta VALUES ('name', '\"\"')")
        closed = new.execute("SELECT value FROM meta WHERE key='closed'").fetchone()
        new.execute("COMMIT")
        if closed != ("true",):
            mark_finished(new)
    finally:
        con.close()
        new.close()
    return counts, lost


def _open_damaged(copy: Path) -> sqlite3.Connection:
    con = connect_rw(copy)
    try:
        # Recovers the log as far as it is good.
        con.execute("PRAGMA cell_size_check=ON")
        con.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if con.execute("PRAGMA user_version").fetchone()[0] == schema.VERSION:
            con.close()
            con = connect_ro(copy)
    except BaseException:
        con.close()
        raise
    return con


def _copy_table(con: sqlite3.Connection, new: sqlite3.Connection, table: str, lost: set[str]) -> int:
    columns = [row[1] for row in new.execute(f"PRAGMA table_info({table})")]
    names = ", ".join(columns)
    insert = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"
    saved = 0
    for select, key in _stretches(con, table, names, lost):
        rows = _rows(con, select, key, lambda: lost.add(table))
        while batch := list(islice(rows, _BATCH)):
            try:
                saved += new.executemany(insert, batch).rowcount
            except (sqlite3.IntegrityError, OverflowError):
                saved += sum(_insert(new, insert, row, lambda: lost.add(table)) for row in batch)
    return saved


def _insert(new: sqlite3.Connection, insert: str, row: tuple[Any, ...], damaged: Callable[[], object]) -> int:
    try:
        return new.execute(insert, row).rowcount
    except (sqlite3.IntegrityError, OverflowError):
        damaged()  # a value of a wrong type
        return 0


_Select = Callable[[str, str], str]


def _stretches(
    con: sqlite3.Connection, table: str, names: str, lost: set[str]
) -> Iterator[tuple[_Select, str]]:
    """How to read a table: by its row number, a request at a time, or (the small one) whole."""

    def select(condition: str) -> _Select:
        return lambda where, order: f"SELECT {names}, {{key}} FROM {table} WHERE {condition}{where} {order}"

    if table == "meta":
        yield select("1"), "key"
    elif table not in ("step", "text", "busy"):
        yield select("1"), "no"
    else:
        for no in _request_numbers(con, table, lambda: lost.add(table)):
            yield select(f"request_no={no}"), "i"


def _request_numbers(con: sqlite3.Connection, table: str, damaged: Callable[[], object]) -> Iterator[int]:
    """The requests that have rows in a table, found by seeking from one to the next."""
    numbers: set[int] = set()

    def choose(where: str, order: str) -> str:
        return f"SELECT request_no, {{key}} FROM {table} WHERE 1{where} {order}"

    last: int | None = None
    try:
        while True:
            row = con.execute(
                f"SELECT min(request_no) FROM {table}"
                + ("" if last is None else f" WHERE request_no > {last}")
            ).fetchone()
            if row[0] is None:
                break
            last = int(row[0])
            numbers.add(last)
    except sqlite3.DatabaseError:
        damaged()
        # The list of requests and the far end of the table tell of the rest.
        for source, key in (
            (lambda w, o: f"SELECT no, {{key}} FROM request WHERE 1{w} {o}", "no"),
            (choose, "request_no"),
        ):
            for (number,) in _rows(con, source, key, damaged):
                if isinstance(number, int):  # damage can read as anything
                    numbers.add(number)
    yield from sorted(numbers)


def _rows(
    con: sqlite3.Connection, select: _Select, key: str, damaged: Callable[[], object]
) -> Iterator[tuple[Any, ...]]:
    """All rows of a select that can be read: up from below, down from above, probes in between."""
    bottom: Any = None
    try:
        for *row, at in con.execute(select("", f"ORDER BY {key}").format(key=key)):
            yield tuple(row)
            bottom = at
        return
    except sqlite3.DatabaseError:
        damaged()
    top: Any = None
    above = "" if bottom is None else f" AND {key} > ?"
    try:
        for *row, at in con.execute(
            select(above, f"ORDER BY {key} DESC").format(key=key), () if bottom is None else (bottom,)
        ):
            yield tuple(row)
            top = at
        return
    except sqlite3.DatabaseError:
        pass
    if isinstance(bottom, str) or isinstance(top, str):
        return
    yield from _probe(
        con,
        select(f" AND {key} > ? AND {key} < ?", f"ORDER BY {key}").format(key=key),
        -1 if bottom is None else int(bottom),
        (1 << 62) if top is None else int(top),
    )


def _probe(con: sqlite3.Connection, sql: str, low: int, high: int) -> Iterator[tuple[Any, ...]]:
    """Rows between two damaged places: seek ahead in growing steps until something can be read."""
    step = 1
    for _ in range(_MAX_PROBES):
        if low + step >= high:
            return
        low += step
        step *= 2
        try:
            for *row, at in con.execute(sql, (low, high)):
                yield tuple(row)
                low, step = int(at), 1
            return
        except sqlite3.DatabaseError:
            continue


def _adopt_orphans(new: sqlite3.Connection) -> None:
    """A run for requests, and a request for steps, whose own rows are lost."""
    new.execute(
        "INSERT INTO request (no, run, id, t_ns, streamed, warmup) "
        "SELECT DISTINCT request_no, ifnull((SELECT max(no) FROM run), 1), 'lost-' || request_no, 0, 1, 0 "
        "FROM step WHERE request_no NOT IN (SELECT no FROM request)"
    )
    new.execute(
        "INSERT INTO run (no, name, model, status, t_ns, config, environment) "
        "SELECT run, '', '', 'running', min(t_ns), '{}', '{}' FROM request "
        "WHERE run NOT IN (SELECT no FROM run) GROUP BY run"
    )
    for table, column, owner in (
        ("text", "request_no", "request"),
        ("busy", "request_no", "request"),
        ("sample", "source", "source"),
    ):
        new.execute(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT no FROM {owner})")
