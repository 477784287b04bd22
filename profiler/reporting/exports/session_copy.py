"""A copy of a session file, also one that tells neither who nor what."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from profiler.errors import SessionError
from profiler.reporting.exports.privacy import clean, clean_config, names_in
from profiler.reporting.outside_text import without_names
from profiler.session.files import check_target, publish, remove_session, temporary_beside
from profiler.session.move import save_as


def copy_session(source: Path, path: Path, overwrite: bool, private: bool) -> None:
    """Copy the session at `source`. SessionError, SessionExists with one sentence.

    `private`: without prompts, answers, token ids, labels of a person, logs, user and host names;
    the copy is rewritten afterwards, so that nothing is left in its free pages.
    """
    check_target(path, overwrite)
    part = temporary_beside(path)
    try:
        save_as(source, part, keep_source=True)
        if private:
            _strip(part)
        publish(part, path, overwrite)
    except sqlite3.Error as error:
        raise SessionError(f"{path} could not be written ({error}); check the disk.") from error
    finally:
        remove_session(part)


def _strip(path: Path) -> None:
    con = sqlite3.connect(path, isolation_level=None)
    try:
        names = _names(con)
        con.execute("PRAGMA secure_delete=ON")
        con.execute("BEGIN IMMEDIATE")
        for statement in (
            "DELETE FROM text",
            "DELETE FROM log",
            "UPDATE step SET ids=NULL",
            "DELETE FROM meta WHERE key IN ('note', 'tags', 'starred', 'named')",
            "UPDATE failure SET detail=NULL",
            "UPDATE span SET detail=NULL",
            "UPDATE interval SET detail=NULL",
        ):
            con.execute(statement)
        con.execute("UPDATE meta SET value=? WHERE key='name'", (json.dumps(""),))
        _each(con, "run", "no", ("name", "model", "reason"), lambda text: without_names(text, names))
        con.execute("UPDATE run SET name=model")
        _each(con, "run", "no", ("config",), lambda text: _json(clean_config(json.loads(text), names)))
        _each(
            con, "run", "no", ("environment", "summary"), lambda text: _json(clean(json.loads(text), names))
        )
        for table, row_key in (("fact", "no"), ("meta", "key")):
            for number, key, text in con.execute(f"SELECT {row_key}, key, value FROM {table}").fetchall():
                value = clean({key: json.loads(text)}, names)[key]
                con.execute(f"UPDATE {table} SET value=? WHERE {row_key}=?", (_json(value), number))
        for table, columns in (
            ("request", ("id", "label", "error")),
            ("note", ("text",)),
            ("failure", ("message",)),
            ("span", ("name",)),
        ):
            _each(con, table, "no", columns, lambda text: without_names(text, names))
        con.execute("COMMIT")
        con.execute("VACUUM")
    finally:
        con.close()


def _names(con: sqlite3.Connection) -> tuple[str, ...]:
    told: list[Any] = []
    for column in ("config", "environment"):
        told += [json.loads(text) for (text,) in con.execute(f"SELECT {column} FROM run")]
    for table in ("fact", "meta"):
        rows = con.execute(f"SELECT key, value FROM {table}")
        told += [{key: json.loads(text)} for key, text in rows]
    plain = [text for (text,) in con.execute("SELECT error FROM request") if text]
    return names_in(told, plain)


def _each(con: sqlite3.Connection, table: str, key: str, columns: tuple[str, ...], change: Any) -> None:
    for column in columns:
        rows = con.execute(f"SELECT {key}, {column} FROM {table} WHERE {column} IS NOT NULL").fetchall()
        con.executemany(
            f"UPDATE {table} SET {column}=? WHERE {key}=?",
            [(change(text), row_key) for row_key, text in rows],
        )


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
