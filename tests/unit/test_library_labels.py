"""Name, tags, note and star of a session; the name of its file."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import struct
import threading
from pathlib import Path

import pytest
from library_files import leave_open, names, write

from profiler import events as ev
from profiler.errors import SessionError, SessionExists, UsageError
from profiler.session import labels as labels_module
from profiler.session.labels import (
    Labels,
    acknowledge,
    clean_tags,
    labels_of,
    put_labels,
    read_labels,
    rename_file,
    safe_file_name,
    set_labels,
)
from profiler.session.library import list_sessions
from profiler.session.lock import SessionLock
from profiler.session.opening import connect_ro
from profiler.session.reader import SessionReader
from profiler.session.repair import repair, verify
from profiler.session.store import SessionWriter

# -- labels -----------------------------------------------------------------------------------


def test_set_and_undo_and_redo(tmp_path: Path) -> None:
    path = write(tmp_path / "2026-11-30 21.05.00 small.dscope", "2026-11-30 21.05.00 small")
    before = set_labels(path, name="After the update", tags=["nightly", "fp16"], note="a\nb", starred=True)
    assert before == Labels("2026-11-30 21.05.00 small")
    after = Labels("After the update", ("nightly", "fp16"), "a\nb", starred=True, named=True)
    assert read_labels(path) == after
    (entry,) = list_sessions(tmp_path)
    assert (entry.name, entry.tags, entry.note, entry.starred, entry.named) == (
        "After the update",
        ("nightly", "fp16"),
        "a\nb",
        True,
        True,
    )
    assert put_labels(path, before) == after
    assert read_labels(path) == before
    assert not list_sessions(tmp_path)[0].named
    assert put_labels(path, after) == before
    assert read_labels(path) == after
    assert names(tmp_path) == {path.name}
    assert verify(path) == []


def test_one_label_leaves_the_others(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope", "mine")
    set_labels(path, tags=["x"])
    set_labels(path, note="n")
    set_labels(path, starred=True)
    assert read_labels(path) == Labels("mine", ("x",), "n", starred=True)
    set_labels(path, tags=[], note="", starred=False)
    assert read_labels(path) == Labels("mine")


def test_nothing_to_change_does_not_touch_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope", "mine")
    set_labels(path, tags=["x"])
    content = path.read_bytes()
    set_labels(path)
    set_labels(path, tags=[" x "])
    assert path.read_bytes() == content


def test_the_rest_of_the_session_stays(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope", "mine", summary={"ttft_ms_p50": 1.5})
    set_labels(path, name="other", note="n")
    with SessionReader.open(path) as reader:
        assert (reader.name, reader.closed_properly, reader.ended_unexpectedly) == ("other", True, False)
        (run,) = reader.summary()["runs"]
    assert (run["name"], run["status"], run["summary"]) == ("mine", "finished", {"ttft_ms_p50": 1.5})


def test_texts_are_cleaned(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope")
    set_labels(path, name="  a\x1b[31m\n b\u202e  ", note=" one\r\n\ttwo\x00 ", tags=["a, b", " ", "x  y"])
    assert read_labels(path) == Labels("a[31m b", ("a b", "x y"), "one\n\ttwo", named=True)


def test_odd_texts_come_back_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope")
    name = "'; DROP TABLE meta; -- <img src=x> 日本 👩\u200d🔬"
    set_labels(path, name=name, tags=[name[:20]])
    assert read_labels(path) == Labels(name, (name[:20].strip(),), named=True)


@pytest.mark.parametrize(
    ("tags", "kept"),
    [
        ([], ()),
        (["b", "a", "b"], ("b", "a")),
        (["GPU", "gpu", "Gpu "], ("GPU",)),
        (["", " ", ","], ()),
    ],
)
def test_tags(tags: list[str], kept: tuple[str, ...]) -> None:
    assert clean_tags(tags) == kept


def test_too_much_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope")
    for values in (
        {"name": "x" * 201},
        {"name": " \n"},
        {"note": "x" * 10_001},
        {"tags": ["x" * 41]},
        {"tags": [str(i) for i in range(21)]},
    ):
        with pytest.raises(UsageError) as caught:
            set_labels(path, **values)  # type: ignore[arg-type]
        assert caught.value.field == next(iter(values))
    set_labels(path, name="x" * 200, note="x" * 10_000, tags=[f"{i:040}" for i in range(20)])
    assert len(read_labels(path).tags) == 20


def test_labels_of_a_wrong_kind_count_as_missing() -> None:
    assert labels_of({}) == Labels()
    assert labels_of({"name": 3, "tags": "abc", "note": ["x"], "starred": 1, "named": "yes"}) == Labels()
    assert labels_of({"tags": ["a", 1, None, "b"]}) == Labels(tags=("a", "b"))


# -- files that cannot be changed -------------------------------------------------------------


def test_a_session_that_is_being_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    with SessionWriter.create(path, {}, name="now") as writer:
        writer.write([ev.RunStart(1, 0)])
        writer.commit()
        for change in (lambda: set_labels(path, name="x"), lambda: acknowledge(path)):
            with pytest.raises(SessionError, match="is being recorded right now"):
                change()
        writer.write([ev.RunEnd(1, 1)])
    set_labels(path, name="x")
    assert read_labels(path).name == "x"


def test_a_locked_session(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope")
    lock = SessionLock.acquire(path)
    with pytest.raises(SessionError, match="is being recorded right now"):
        set_labels(path, name="x")
    lock.release()


def test_a_session_that_another_program_writes_without_our_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.dscope")
    monkeypatch.setattr("profiler.session.store.BUSY_MS", 1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(SessionError, match="in use by another program"):
        set_labels(path, name="x")
    other.close()
    assert read_labels(path).name == "mine"


def test_a_read_only_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.dscope")
    monkeypatch.setattr(labels_module, "connect_rw", connect_ro)
    with pytest.raises(SessionError, match=r"cannot be changed .*read-only"):
        set_labels(path, name="x")
    assert names(tmp_path) == {"a.dscope"}


def test_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.dscope")

    def refuse(_path: Path) -> SessionLock:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(SessionLock, "acquire", refuse)
    with pytest.raises(SessionError, match=r"cannot be changed .*read-only"):
        set_labels(path, name="x")


def test_a_newer_session(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope")
    data = bytearray(path.read_bytes())
    struct.pack_into(">I", data, 60, 99)
    path.write_bytes(data)
    with pytest.raises(SessionError, match="newer Decodescope"):
        set_labels(path, name="x")
    assert path.read_bytes() == data


def test_what_is_no_session(tmp_path: Path) -> None:
    (tmp_path / "text.dscope").write_text("hello")
    other = tmp_path / "other.dscope"
    shutil.copyfile(write(tmp_path / "a.dscope"), other)
    con = sqlite3.connect(other)
    con.execute("CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM run; END")
    con.commit()
    con.close()
    content = other.read_bytes()
    for path, words in (
        (tmp_path / "missing.dscope", "is not there"),
        (tmp_path / "text.dscope", "not a Decodescope session"),
        (other, "for safety"),
    ):
        with pytest.raises(SessionError, match=words):
            set_labels(path, name="x")
    assert other.read_bytes() == content


def test_a_cut_off_recording_takes_labels_and_stays_cut_off(tmp_path: Path) -> None:
    path = leave_open(tmp_path / "a.dscope")
    set_labels(path, name="kept", starred=True)
    with SessionReader.open(path) as reader:
        assert (reader.name, reader.ended_unexpectedly) == ("kept", True)
        assert reader.summary()["requests"] == 1


def test_repair_keeps_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope")
    set_labels(path, name="kept", tags=["x", "y"], note="n", starred=True)
    out = tmp_path / "out.dscope"
    repair(path, out)
    assert read_labels(out) == Labels("kept", ("x", "y"), "n", starred=True, named=True)


def test_two_programs_change_one_session(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope")
    refused: list[str] = []
    odd: list[BaseException] = []

    def change(**values: object) -> None:
        for _ in range(20):
            try:
                set_labels(path, **values)  # type: ignore[arg-type]
                set_labels(path, **{key: type(value)() for key, value in values.items()})  # type: ignore[arg-type]
            except SessionError as error:
                refused.append(error.message)
            except BaseException as error:  # noqa: BLE001 - told by the main thread
                odd.append(error)

    threads = [
        threading.Thread(target=change, kwargs=values) for values in ({"note": "n"}, {"tags": ("a", "b")})
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert odd == []
    assert all("is being recorded right now" in text for text in refused)
    assert verify(path) == []
    set_labels(path, note="end", tags=["end"])
    assert read_labels(path) == Labels("mine", ("end",), "end")


# -- the file's own name ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("before", "before.dscope"),
        ("before.dscope", "before.dscope"),
        ("v1.2", "v1.2.dscope"),
        ("a/b\\c:d", "a-b-c-d.dscope"),
        ("../../etc/passwd", "-..-etc-passwd.dscope"),
        ("  .hidden. ", "hidden.dscope"),
        ('<"what?">*|', "-what-.dscope"),
        ("line\nbreak\x00\x1b", "line-break.dscope"),
        ("\u202egnp.exe", "gnp.exe.dscope"),
        ("con", "_con.dscope"),
        ("COM1.txt", "_COM1.txt.dscope"),
        ("console", "console.dscope"),
        ("日本", "日本.dscope"),
        ("é" * 100, "é" * 75 + ".dscope"),
    ],
)
def test_safe_file_names(name: str, file: str) -> None:
    assert safe_file_name(name) == file


@pytest.mark.parametrize("name", ["", " ", "...", ".dscope", "///", "\x00", "."])
def test_no_file_name(name: str) -> None:
    with pytest.raises(UsageError, match="no name for a file"):
        safe_file_name(name)


def test_rename_the_file_and_back(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope", "mine")
    new = rename_file(path, "b: better")
    assert new == tmp_path / "b- better.dscope"
    assert names(tmp_path) == {"b- better.dscope"}
    assert read_labels(new).name == "mine"
    assert rename_file(new, path.stem) == path
    assert names(tmp_path) == {"a.dscope"}
    assert rename_file(path, "a") == path


def test_never_over_another_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope", "a")
    other = write(tmp_path / "b.dscope", "b")
    with pytest.raises(SessionExists):
        rename_file(path, "b")
    assert (read_labels(path).name, read_labels(other).name) == ("a", "b")


def test_no_renaming_of_what_is_open(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    with SessionWriter.create(path, {}), pytest.raises(SessionError, match="is being recorded right now"):
        rename_file(path, "b")
    cut = leave_open(tmp_path / "cut.dscope")
    with pytest.raises(SessionError, match="was not closed properly"):
        rename_file(cut, "b")
    assert names(tmp_path) == {"a.dscope", "cut.dscope", "cut.dscope-wal"}
