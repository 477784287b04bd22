"""The tables of a session file, and how older files become newer ones.

A session is an SQLite database with our `application_id`; `user_version` is the version of the
tables below. `MIGRATIONS[i]` brings version i to i + 1, so a new file is made by running all of
them and an old one by running the rest. All tables are STRICT: a value of a wrong type is
damage that `quick_check` finds, not a surprise in a chart.

Times are ns on the session's clock (`time.perf_counter_ns`), JSON is strict and in TEXT columns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import cache

APPLICATION_ID = 0x44534350
"""`DSCP` in the file's header, at byte 68."""

_V1 = """
-- name, created (ISO 8601, a label), created_t_ns (the same moment on the session's clock),
-- closed (true once the file was closed properly), ended_unexpectedly. Values are JSON.
CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- cell and attempt: an experiment's cell that this run measures, and which try it is.
CREATE TABLE run (
    no INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    model TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    t_ns INTEGER NOT NULL,
    end_ns INTEGER,
    config TEXT NOT NULL,
    environment TEXT NOT NULL,
    summary TEXT,
    cell TEXT,
    attempt INTEGER
) STRICT;

-- status: NULL until the request's end event.
CREATE TABLE request (
    no INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    t_ns INTEGER NOT NULL,
    prompt_tokens INTEGER,
    max_new_tokens INTEGER,
    streamed INTEGER NOT NULL,
    warmup INTEGER NOT NULL,
    batch_id TEXT,
    label TEXT,
    end_ns INTEGER,
    status TEXT,
    stop_reason TEXT,
    error TEXT
) STRICT;

-- One row a step. offset_ns: since the request's t_ns. k, kv_len: NULL when not known.
-- ids: the integer when there is one, int32 little-endian when there are several, else NULL.
CREATE TABLE step (
    request_no INTEGER NOT NULL,
    i INTEGER NOT NULL,
    offset_ns INTEGER NOT NULL,
    k INTEGER,
    kv_len INTEGER,
    flags INTEGER NOT NULL,
    ids ANY,
    PRIMARY KEY (request_no, i)
) STRICT, WITHOUT ROWID;

-- The pieces of one text event, joined. lengths: one byte w, then the length of each piece in
-- characters as a little-endian integer of w bytes.
CREATE TABLE text (
    request_no INTEGER NOT NULL,
    i INTEGER NOT NULL,
    text TEXT NOT NULL,
    lengths BLOB NOT NULL,
    PRIMARY KEY (request_no, i)
) STRICT, WITHOUT ROWID;

-- Device busy time of each step from step i on, us, uint32 little-endian.
CREATE TABLE busy (
    request_no INTEGER NOT NULL,
    i INTEGER NOT NULL,
    busy_us BLOB NOT NULL,
    PRIMARY KEY (request_no, i)
) STRICT, WITHOUT ROWID;

-- request_no: NULL for a span of the run itself.
CREATE TABLE span (
    no INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    request_no INTEGER,
    name TEXT NOT NULL,
    t_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    detail TEXT
) STRICT;

-- metrics: the names (a JSON array) that the arrays in sample.data hold the values of. A source
-- whose metrics change gets another row.
CREATE TABLE source (
    no INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    metrics TEXT NOT NULL
) STRICT;

CREATE TABLE sample (
    no INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    t_ns INTEGER NOT NULL,
    read_ns INTEGER,
    data TEXT NOT NULL
) STRICT;

CREATE TABLE interval (
    no INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    t_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    detail TEXT
) STRICT;

-- run: NULL for a fact about the session. The last row of a key counts.
CREATE TABLE fact (
    no INTEGER PRIMARY KEY,
    run INTEGER,
    key TEXT NOT NULL,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE note (
    no INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE log (
    no INTEGER PRIMARY KEY,
    level TEXT NOT NULL,
    t_ns INTEGER NOT NULL,
    source TEXT NOT NULL,
    message TEXT NOT NULL,
    detail TEXT
) STRICT;

CREATE TABLE failure (
    no INTEGER PRIMARY KEY,
    place TEXT NOT NULL,
    t_ns INTEGER NOT NULL,
    message TEXT NOT NULL,
    detail TEXT,
    field TEXT,
    exit_code INTEGER NOT NULL
) STRICT;
"""


def _run_script(con: sqlite3.Connection, script: str) -> None:
    # Not executescript(): it commits, and a migration must be all or nothing.
    for statement in script.split(";\n"):
        if statement.strip():
            con.execute(statement)


def _create_v1(con: sqlite3.Connection) -> None:
    _run_script(con, _V1)


MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_create_v1]
"""`MIGRATIONS[i](con)` brings version i to i + 1, inside a transaction of the caller."""

VERSION = len(MIGRATIONS)
"""The version that this program writes, and the newest that it reads."""


def migrate(con: sqlite3.Connection, version: int) -> None:
    """Bring the tables from `version` (0: an empty file) to VERSION, in one transaction.

    `con` is in autocommit mode (`isolation_level=None`) and not in a transaction.
    """
    con.execute("BEGIN IMMEDIATE")
    try:
        for step in MIGRATIONS[version:]:
            step(con)
        con.execute(f"PRAGMA application_id={APPLICATION_ID}")
        con.execute(f"PRAGMA user_version={VERSION}")
    except BaseException:
        con.execute("ROLLBACK")
        raise
    con.execute("COMMIT")


SchemaRow = tuple[str, str, str | None]


def schema_rows(con: sqlite3.Connection) -> set[SchemaRow]:
    """What the file says it consists of: (type, name, SQL text) of every table, index, view, trigger."""
    return set(con.execute("SELECT type, name, sql FROM sqlite_master"))


@cache
def expected_schema(version: int) -> frozenset[SchemaRow]:
    """`schema_rows` of an untouched file of `version` (1 .. VERSION)."""
    con = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for step in MIGRATIONS[:version]:
            step(con)
        return frozenset(schema_rows(con))
    finally:
        con.close()


def table_names() -> list[str]:
    """The tables of the current version, in the order in which they are declared."""
    con = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for step in MIGRATIONS:
            step(con)
        return [name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    finally:
        con.close()
