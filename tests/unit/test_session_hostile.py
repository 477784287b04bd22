"""Files that are no sessions, no longer sessions, or made to harm: one clear sentence each."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from pathlib import Path

import pytest

from profiler import events as ev
from profiler.errors import SessionError
from profiler.session import opening, schema
from profiler.session.lock import SessionLock
from profiler.session.reader import SessionReader
from profiler.session.store import SessionWriter


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "good.dscope"
    with SessionWriter.create(path, {"os": "Linux"}) as writer:
        writer.write([ev.RunStart(1, 0), ev.RequestStart(1, 1, "r", 0)])
        writer.write([ev.make_steps(1, 0, range(1, 5001), ids=range(5000))])
        writer.write([ev.RequestEnd(1, 6000, "ok"), ev.RunEnd(1, 7000)])
    return path


def refused(path: Path) -> str:
    with pytest.raises(SessionError) as caught:
        SessionReader.open(path)
    message = caught.value.message
    assert str(path) in message
    assert "\n" not in message
    assert not list(path.parent.glob("*-wal"))
    return message


def sql(path: Path, *statements: str) -> None:
    con = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        con.execute(statement)
    con.close()


def test_not_there(tmp_path: Path) -> None:
    assert "is not there; check the path" in refused(tmp_path / "none.dscope")


def test_a_name_that_cannot_be() -> None:
    with pytest.raises(SessionError, match="cannot be the name of a file"):
        SessionReader.open("a\0b.dscope")


def test_a_folder(tmp_path: Path) -> None:
    assert "is a folder" in refused(tmp_path)
    with pytest.raises(SessionError, match="is a folder"):
        SessionReader.open(tmp_path.anchor)


def test_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    path.touch()
    assert "is empty" in refused(path)


@pytest.mark.parametrize("content", [b"hello, this is a text\n" * 100, b"{}", b"\0" * 4096, b"SQLx"])
def test_a_text_named_like_a_session(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.dscope"
    path.write_bytes(content)
    assert "is not a Decodescope session" in refused(path)


def test_a_database_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    sql(path, "CREATE TABLE bookmarks (url TEXT)")
    assert "is a database of another program" in refused(path)


def test_a_newer_version(session: Path) -> None:
    sql(session, f"PRAGMA user_version={schema.VERSION + 1}")
    message = refused(session)
    assert "newer Decodescope" in message
    assert "update Decodescope" in message


def test_no_version(session: Path) -> None:
    sql(session, "PRAGMA user_version=0")
    assert "is damaged" in refused(session)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("CREATE VIEW evil AS SELECT load_extension('x')", "view"),
        ("CREATE TRIGGER evil AFTER INSERT ON run BEGIN DELETE FROM step; END", "trigger"),
        ("CREATE TABLE evil (x)", "table"),
        ("CREATE INDEX evil ON run (abs(no))", "index"),
    ],
)
def test_what_no_session_has_is_refused(session: Path, statement: str, kind: str) -> None:
    sql(session, statement)
    message = refused(session)
    assert f"holds a {kind} ('evil')" in message


@pytest.mark.parametrize(
    "statements",
    [
        ("ALTER TABLE note ADD COLUMN extra TEXT",),
        ("DROP TABLE note",),
        ("DROP TABLE note", "CREATE VIEW note AS SELECT 1 AS no, 1 AS run, 'x' AS text"),
    ],
)
def test_other_tables_of_the_same_name_are_refused(session: Path, statements: tuple[str, ...]) -> None:
    sql(session, *statements)
    assert "tables that are not those of a session" in refused(session)


@pytest.mark.parametrize("quarter", [1, 2, 3])
def test_truncated_at_every_quarter(session: Path, quarter: int) -> None:
    os.truncate(session, session.stat().st_size * quarter // 4)
    message = refused(session)
    assert "is cut off" in message
    assert "dscope repair" in message


@pytest.mark.parametrize("size", [20, 99, 511])
def test_truncated_to_a_stump(session: Path, size: int) -> None:
    os.truncate(session, size)
    assert "is cut off" in refused(session)


def test_every_damaged_page_gives_a_sentence_or_nothing_at_all(session: Path) -> None:
    good = session.read_bytes()
    damaged = 0
    for page in range(len(good) // 4096):
        content = bytearray(good)
        content[page * 4096 + 200 : page * 4096 + 3000] = b"\xa5" * 2800
        session.write_bytes(content)
        try:
            with SessionReader.open(session) as reader:
                timeline = reader.timeline()
                for request in timeline.iter_requests():
                    len(request)
        except SessionError as error:
            damaged += 1
            assert "damaged" in error.message or "for safety" in error.message
    assert damaged > len(good) // 4096 // 2


def test_a_value_of_a_wrong_type_is_damage(session: Path) -> None:
    sql(
        session,
        "PRAGMA writable_schema=ON",
        "UPDATE sqlite_master SET sql=replace(sql, 'STRICT, WITHOUT', 'WITHOUT') WHERE name='step'",
    )
    sql(
        session,
        "UPDATE step SET offset_ns='soon' WHERE i=3",
        "PRAGMA writable_schema=ON",
        "UPDATE sqlite_master SET sql=replace(sql, ') WITHOUT ROWID', ') STRICT, WITHOUT ROWID') "
        "WHERE name='step'",
    )
    assert "is damaged" in refused(session)


def test_json_that_is_none_is_damage(session: Path) -> None:
    sql(session, "UPDATE run SET config='{\"x\": NaN}'")
    with SessionReader.open(session) as reader, pytest.raises(SessionError, match="is damaged"):
        reader.timeline()


def test_deeply_nested_json_is_damage(session: Path) -> None:
    deep = "[" * 200_000 + "]" * 200_000
    sql(session, f"UPDATE fact SET value='{deep}'")
    with pytest.raises(SessionError, match="is damaged"):
        SessionReader.open(session)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE step SET k=1e12 WHERE i=3",
        "UPDATE step SET ids=4294967296 WHERE i=3",
        "UPDATE step SET ids='text' WHERE i=3",
        "UPDATE step SET ids=x'0102' WHERE i=3",
        "UPDATE step SET flags=256 WHERE i=3",
    ],
)
def test_steps_that_cannot_be_are_damage(session: Path, change: str) -> None:
    sql(session, change)
    with SessionReader.open(session) as reader:
        request = reader.timeline().requests[1]
        with pytest.raises(SessionError, match="is damaged"):
            len(request)


def test_an_unknown_status_is_damage(session: Path) -> None:
    sql(session, "UPDATE request SET status='great'")
    with SessionReader.open(session) as reader, pytest.raises(SessionError, match="is damaged"):
        reader.timeline()


def test_a_file_too_large_is_not_read(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_FILE_BYTES", 1000)
    assert "larger than any session" in refused(session)


def test_reading_changes_nothing(session: Path) -> None:
    before = session.read_bytes()
    with SessionReader.open(session) as reader:
        len(reader.timeline().requests[1])
        with reader._connection() as con, pytest.raises(sqlite3.OperationalError):
            con.execute("DELETE FROM step")
    assert session.read_bytes() == before
    assert [file.name for file in session.parent.iterdir()] == ["good.dscope"]


def test_names_with_odd_characters(session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ordner mit ünï?#%20"
    folder.mkdir()
    path = folder / "a?mode=rwc&x#y %41.dscope"
    shutil.copy(session, path)
    with SessionReader.open(path) as reader:
        assert len(reader.timeline().requests[1]) == 5000


def _died(session: Path) -> Path:
    """A copy of a session as its program left it when it was killed: file and log."""
    path = session.with_name("live.dscope")
    writer = SessionWriter.create(path, {})
    writer.write([ev.RunStart(1, 0), ev.RequestStart(1, 1, "r", 0), ev.make_steps(1, 0, [1, 2, 3])])
    writer.commit()
    dead = session.with_name("dead") / "dead.dscope"
    dead.parent.mkdir()
    shutil.copy(path, dead)
    shutil.copy(f"{path}-wal", f"{dead}-wal")
    writer.close()
    return dead


def test_a_read_only_place_is_read_through_a_copy(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = _died(session)
    monkeypatch.setattr(opening.os, "access", lambda *_: False)
    with SessionReader.open(dead) as reader:
        assert reader.ended_unexpectedly
        assert reader.timeline().requests[1].t_ns.tolist() == [1, 2, 3]
        copies = [reader._database.folder] if reader._database else []
        assert copies and copies[0] is not None and copies[0].is_dir()
    assert not copies[0].exists()
    assert {file.name for file in dead.parent.iterdir()} == {"dead.dscope", "dead.dscope-wal"}


def test_a_closed_file_in_a_read_only_place(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql(session, "PRAGMA journal_mode=WAL")
    monkeypatch.setattr(opening.os, "access", lambda *_: False)
    with SessionReader.open(session) as reader:
        assert len(reader.timeline().requests[1]) == 5000
    assert [file.name for file in session.parent.iterdir()] == ["good.dscope"]


def test_an_older_version_is_migrated_in_a_copy(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = session.read_bytes()

    def add(con: sqlite3.Connection) -> None:
        con.execute("ALTER TABLE note ADD COLUMN t_ns INTEGER")

    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, add])
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with SessionReader.open(session) as reader:
        assert len(reader.timeline().requests[1]) == 5000
    schema.expected_schema.cache_clear()
    assert session.read_bytes() == before


def test_a_file_that_is_just_being_started(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    path.touch()
    lock = SessionLock.acquire(path)
    assert "is being started right now" in refused(path)
    lock.release()


def test_the_header_is_what_sqlite_writes(session: Path) -> None:
    head = session.read_bytes()[:100]
    assert head[68:72] == struct.pack(">I", 0x44534350) == b"DSCP"
    assert opening.read_header(session) == opening.Header(schema.VERSION, False)
