"""Saving under another name, the lock, and the list of a folder."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from profiler import events as ev
from profiler.errors import SessionError, SessionExists
from profiler.session import files, move
from profiler.session.library import list_sessions
from profiler.session.lock import LockTakenError, SessionLock, is_locked, lock_path
from profiler.session.move import save_as
from profiler.session.reader import SessionReader
from profiler.session.store import SessionWriter


def write(path: Path, name: str = "mine", model: str = "m") -> Path:
    with SessionWriter.create(path, {}, name=name) as writer:
        writer.write([ev.RunStart(1, 0, name, model), ev.RunEnd(1, 5)])
        writer.set_summary(1, {"ttft_ms": 1.5})
    return path


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def name_of(path: Path) -> str:
    with SessionReader.open(path) as reader:
        return reader.name


def test_save_as_moves(tmp_path: Path) -> None:
    source = write(tmp_path / "a.dscope")
    (tmp_path / "sub").mkdir()
    target = tmp_path / "sub" / "b.dscope"
    assert save_as(source, target) == target
    assert name_of(target) == "mine"
    assert names(tmp_path) == {"sub"}
    assert names(target.parent) == {"b.dscope"}


def test_save_as_copies(tmp_path: Path) -> None:
    source = write(tmp_path / "a.dscope")
    save_as(source, tmp_path / "b.dscope", keep_source=True)
    assert names(tmp_path) == {"a.dscope", "b.dscope"}
    assert not (tmp_path / "a.dscope").samefile(tmp_path / "b.dscope")
    assert name_of(tmp_path / "b.dscope") == "mine"


def test_save_as_across_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_link(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(move.os, "link", no_link)
    source = write(tmp_path / "a.dscope")
    save_as(source, tmp_path / "b.dscope")
    assert names(tmp_path) == {"b.dscope"}
    assert name_of(tmp_path / "b.dscope") == "mine"


def test_save_as_never_replaces_by_accident(tmp_path: Path) -> None:
    source = write(tmp_path / "a.dscope", "new")
    target = write(tmp_path / "b.dscope", "old")
    with pytest.raises(SessionExists, match="exists already"):
        save_as(source, target)
    assert (name_of(source), name_of(target)) == ("new", "old")
    # A log that belonged to the replaced file must not be applied to the new one.
    (tmp_path / "b.dscope-wal").write_bytes(b"old log")
    save_as(source, target, overwrite=True)
    assert names(tmp_path) == {"b.dscope"}
    assert name_of(target) == "new"


def test_a_target_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    part, target = tmp_path / "part", tmp_path / "target"
    part.write_text("new")
    target.write_text("old")
    with pytest.raises(SessionExists):
        files.publish(part, target, overwrite=False)
    assert (part.read_text(), target.read_text()) == ("new", "old")


def test_save_as_onto_itself_changes_nothing(tmp_path: Path) -> None:
    source = write(tmp_path / "a.dscope")
    before = source.read_bytes()
    assert save_as(source, tmp_path / "." / "a.dscope", overwrite=True) == source
    assert source.read_bytes() == before


def test_save_as_refuses(tmp_path: Path) -> None:
    source = write(tmp_path / "a.dscope")
    with pytest.raises(SessionError, match="does not exist; create it first"):
        save_as(source, tmp_path / "missing" / "b.dscope")
    with pytest.raises(SessionError, match="is a folder"):
        save_as(source, tmp_path, overwrite=True)
    with pytest.raises(SessionError, match="is not there"):
        save_as(tmp_path / "none.dscope", tmp_path / "b.dscope")
    with SessionWriter.create(tmp_path / "live.dscope", {}) as writer:
        with pytest.raises(SessionError, match="is being recorded right now"):
            save_as(writer.path, tmp_path / "b.dscope")
        with pytest.raises(SessionError, match="is being recorded right now"):
            save_as(source, writer.path, overwrite=True)
        shutil.copy(writer.path, tmp_path / "dead.dscope")
        writer.write([ev.RunStart(1, 0)])
        writer.commit()
        shutil.copy(f"{writer.path}-wal", tmp_path / "dead.dscope-wal")
    with pytest.raises(SessionError, match="was not closed properly"):
        save_as(tmp_path / "dead.dscope", tmp_path / "b.dscope")
    assert names(tmp_path) == {"a.dscope", "live.dscope", "dead.dscope", "dead.dscope-wal"}


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "The disk of /data is full; free some space or choose another folder."),
        (errno.ENOENT, "The folder /data does not exist; create it first."),
        (errno.EACCES, "The folder /data cannot be written to; choose another folder."),
        (errno.EROFS, "The folder /data cannot be written to; choose another folder."),
        (errno.EIO, "/data/a.dscope cannot be written (input/output error); choose another place."),
    ],
)
def test_errors_of_the_system_in_words(number: int, sentence: str) -> None:
    error = OSError(number, os.strerror(number))
    assert files.os_error(error, Path("/data/a.dscope")).message == sentence


def test_the_lock_is_held_once(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    assert not is_locked(path)
    lock = SessionLock.acquire(path)
    assert is_locked(path)
    assert is_locked(path)
    with pytest.raises(LockTakenError):
        SessionLock.acquire(path)
    assert lock_path(path).read_text() == f"{os.getpid()}\n"
    lock.release()
    lock.release()
    assert not is_locked(path)
    assert names(tmp_path) == set()


def test_a_lock_file_that_nobody_holds_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    lock_path(path).write_text("12345\n")
    assert not is_locked(path)
    with SessionWriter.create(path, {}):
        assert is_locked(path)
    assert names(tmp_path) == {"a.dscope"}


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    lock = SessionLock.acquire(path)
    with pytest.raises(SessionExists):
        SessionWriter.create(path, {})
    assert not path.exists()
    lock.release()


def test_the_list_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "a.dscope", "first", "preset:nano")
    write(tmp_path / "b.dscope", "second", "preset:small")
    (tmp_path / "text.dscope").write_text("hello")
    (tmp_path / "other.txt").write_text("hello")
    with SessionWriter.create(tmp_path / "live.dscope", {}, name="live") as writer:
        writer.write([ev.RunStart(1, 0, "", "demo"), ev.RequestStart(1, 1, "r", 0)])
        writer.commit()
        entries = {entry.path.name: entry for entry in list_sessions(tmp_path)}
    assert list(entries)[-1] == "text.dscope"
    assert len(entries) == 4
    first = entries["a.dscope"]
    assert (first.name, first.model, first.status, first.error) == ("first", "preset:nano", "finished", None)
    assert first.summary == {"ttft_ms": 1.5}
    assert first.size_bytes == (tmp_path / "a.dscope").stat().st_size
    assert first.date is not None
    live = entries["live.dscope"]
    assert (live.live, live.status, live.requests, live.summary) == (True, "running", 1, None)
    error = entries["text.dscope"].error
    assert error is not None
    assert "is not a Decodescope session" in error


def test_the_list_of_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="cannot be read"):
        list_sessions(tmp_path / "missing")
