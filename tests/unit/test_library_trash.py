"""To the trash and back; nothing is ever deleted."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from library_files import leave_open, names, write

from profiler import events as ev
from profiler.errors import SessionError, SessionExists
from profiler.session import trash
from profiler.session.labels import read_labels
from profiler.session.library import list_sessions
from profiler.session.lock import lock_path
from profiler.session.reader import SessionReader
from profiler.session.store import SessionWriter
from profiler.session.trash import HandedOver, Trashed, hand_over, in_trash, restore, to_trash


class SystemTrash:
    """A system's trash: a folder that remembers where its files were. `refuse`: these names not."""

    def __init__(self, folder: Path, refuse: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.refuse = refuse
        self.origins: list[str] = []
        folder.mkdir()

    def __call__(self, path: str) -> None:
        if Path(path).name in self.refuse:
            raise OSError(errno.EXDEV, "Couldn't find mount point")
        Path(path).rename(self.folder / Path(path).name)
        self.origins.append(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "sessions"
    path.mkdir()
    return path


def test_there_and_back(folder: Path) -> None:
    path = write(folder / "a.dscope", "mine")
    content = path.read_bytes()
    (item,) = to_trash([path])
    assert item == Trashed(path, folder / ".trash" / "1" / "a.dscope", None)
    assert names(folder) == {".trash"}
    assert list_sessions(folder) == []
    assert restore(item) == path
    assert names(folder) == {"a.dscope"}
    assert path.read_bytes() == content


def test_side_files_go_along_and_come_back(folder: Path) -> None:
    path = leave_open(folder / "cut.dscope")
    (folder / "cut.dscope-shm").write_bytes(b"shm")
    lock_path(path).write_text("1\n")  # of a program that died
    (item,) = to_trash([path])
    assert names(folder) == {".trash"}
    assert names(folder / ".trash" / "1") == {
        "origin.json",
        "cut.dscope",
        "cut.dscope-wal",
        "cut.dscope-shm",
    }
    restore(item)
    assert names(folder) == {"cut.dscope", "cut.dscope-wal", "cut.dscope-shm"}
    with SessionReader.open(path) as reader:
        assert (reader.ended_unexpectedly, reader.summary()["requests"]) == (True, 1)


def test_several_of_one_name(folder: Path) -> None:
    path = write(folder / "a.dscope", "first")
    (one,) = to_trash([path])
    write(path, "second")
    (two,) = to_trash([path])
    assert one.place != two.place
    assert restore(one) == path
    assert read_labels(path).name == "first"
    with pytest.raises(SessionExists):
        restore(two)
    to_trash([path])
    restore(two)
    assert read_labels(path).name == "second"


def test_many_with_some_that_cannot_go(folder: Path) -> None:
    a, c = write(folder / "a.dscope"), write(folder / "c.dscope")
    damaged = folder / "damaged.dscope"
    damaged.write_text("hello")
    live = folder / "live.dscope"
    (folder / "text.txt").touch()
    (folder / "folder.dscope").mkdir()
    with SessionWriter.create(live, {}) as writer:
        writer.write([ev.RunStart(1, 0)])
        writer.commit()
        before = names(folder) - {a.name, c.name, damaged.name} | {".trash"}
        items = to_trash(
            [a, live, folder / "missing.dscope", damaged, folder / "text.txt", folder / "folder.dscope", c]
        )
        assert names(folder) == before
        writer.write([ev.RunEnd(1, 1)])
    assert [item.place is None for item in items] == [False, True, True, False, True, True, False]
    assert "is being recorded right now" in str(items[1].error)
    for i in (2, 4, 5):
        assert "is no session that could be moved" in str(items[i].error)
    assert [item.original for item in items if item.error is None] == [a, damaged, c]


def test_hostile_names(folder: Path) -> None:
    files = ["-rf.dscope", "a\nb.dscope", "..dscope.dscope", "half \udc80.dscope", "origin.json.dscope"]
    paths = [write(folder / "x.dscope").rename(folder / file) for file in files]
    items = to_trash(paths)
    assert [item.error for item in items] == [None] * 5
    assert sorted(in_trash(folder), key=str) == sorted(items, key=str)
    assert [restore(item) for item in items] == paths
    assert names(folder) == set(files)


def test_a_link_goes_and_not_what_it_points_to(folder: Path, tmp_path: Path) -> None:
    target = write(tmp_path / "target.dscope")
    link = folder / "link.dscope"
    link.symlink_to(target)
    (item,) = to_trash([link])
    assert target.is_file()
    assert item.place is not None
    assert item.place.is_symlink()
    assert restore(item) == link
    assert link.is_symlink()


@contextmanager
def failing_rename(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[None]:
    """A file of this name cannot be renamed: another program has it open, on Windows."""
    real = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if self.name == name and trash.FOLDER in str(target):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", rename)
        yield


@pytest.mark.parametrize("stuck", ["cut.dscope", "cut.dscope-wal"])
def test_a_move_that_fails_half_way_leaves_all_where_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch, stuck: str
) -> None:
    path = leave_open(folder / "cut.dscope")
    with failing_rename(monkeypatch, stuck):
        (item,) = to_trash([path])
    assert item.place is None
    assert "cannot be moved to the trash (permission denied)" in str(item.error)
    assert names(folder) == {"cut.dscope", "cut.dscope-wal"}
    with pytest.raises(SessionError, match="was not moved to the trash"):
        restore(item)


def test_a_folder_that_takes_no_trash(folder: Path) -> None:
    path = write(folder / "a.dscope")
    (folder / ".trash").write_text("a file")
    (item,) = to_trash([path])
    assert "cannot be moved to the trash" in str(item.error)
    assert names(folder) == {"a.dscope", ".trash"}


def test_a_move_that_was_interrupted_can_be_undone(folder: Path) -> None:
    # The session was moved, its log was not yet, when the machine went down.
    path = leave_open(folder / "cut.dscope")
    home = folder / ".trash" / "1"
    home.mkdir(parents=True)
    (home / "origin.json").write_text('{"name": "cut.dscope", "sides": ["cut.dscope-wal"]}')
    path.rename(home / path.name)
    (item,) = in_trash(folder)
    restore(item)
    with SessionReader.open(path) as reader:
        assert reader.summary()["requests"] == 1


def test_no_restoring_over_a_recording_or_without_a_folder(folder: Path) -> None:
    path = write(folder / "a.dscope")
    (item,) = to_trash([path])
    with SessionWriter.create(path, {}), pytest.raises(SessionExists):
        restore(item)
    path.unlink()
    restore(item)
    with pytest.raises(SessionError, match=r"is not in .* any more"):
        restore(item)


def test_what_lies_in_the_trash_is_found_at_the_next_start(folder: Path) -> None:
    paths = [write(folder / f"{name}.dscope") for name in "abc"]
    items = to_trash(paths)
    assert in_trash(folder) == items
    restore(items[1])
    assert in_trash(folder) == [items[0], items[2]]
    assert in_trash(folder / "missing") == []


@pytest.mark.parametrize(
    "origin",
    [
        '{"name": "../../evil.dscope"}',
        '{"name": "/etc/passwd.dscope"}',
        '{"name": "a.txt"}',
        '{"name": ""}',
        '{"name": 3}',
        '{"name": "other.dscope"}',
        "[]",
        "{",
        "",
    ],
)
def test_a_folder_of_the_trash_that_is_none_of_ours(folder: Path, origin: str) -> None:
    (item,) = to_trash([write(folder / "a.dscope")])
    assert item.place is not None
    (item.place.parent / "origin.json").write_text(origin)
    assert in_trash(folder) == []


# -- to the system's trash --------------------------------------------------------------------


def test_handed_over_from_where_they_were(folder: Path, tmp_path: Path) -> None:
    system = SystemTrash(tmp_path / "system")
    paths = [write(folder / "a.dscope"), leave_open(folder / "cut.dscope")]
    items = to_trash(paths)
    assert hand_over(items, send=system) == HandedOver(2)
    assert system.origins == [str(folder / name) for name in ("a.dscope", "cut.dscope", "cut.dscope-wal")]
    assert names(folder) == set()
    assert hand_over(items, send=system) == HandedOver(0)
    with pytest.raises(SessionError, match=r"look for it in the system's trash"):
        restore(items[0])


def test_handed_over_while_the_name_is_taken(folder: Path, tmp_path: Path) -> None:
    system = SystemTrash(tmp_path / "system")
    path = write(folder / "a.dscope", "old")
    items = to_trash([path])
    write(path, "new")
    assert hand_over(items, send=system).sent == 1
    assert system.origins == [str(folder / "a (2).dscope")]
    assert read_labels(path).name == "new"
    assert read_labels(tmp_path / "system" / "a (2).dscope").name == "old"


def test_what_the_system_does_not_take_is_kept_and_said(folder: Path, tmp_path: Path) -> None:
    system = SystemTrash(tmp_path / "system", refuse=("b.dscope",))
    items = to_trash([write(folder / f"{name}.dscope", name) for name in "abc"])
    result = hand_over(items, send=system)
    assert result.sent == 2
    assert result.reason == (
        "The system's trash did not take b.dscope (Couldn't find mount point); "
        f"it is kept in {folder / '.trash'}."
    )
    (kept,) = result.kept
    assert names(folder) == {".trash"}
    assert read_labels(restore(kept)).name == "b"
    assert names(folder) == {"b.dscope"}


def test_a_system_trash_that_takes_the_session_but_not_its_log(folder: Path, tmp_path: Path) -> None:
    system = SystemTrash(tmp_path / "system", refuse=("cut.dscope-wal",))
    items = to_trash([leave_open(folder / "cut.dscope")])
    result = hand_over(items, send=system)
    assert (result.sent, len(result.kept)) == (0, 1)
    assert names(tmp_path / "system") == {"cut.dscope"}
    # Kept, and not beside the place of a later session of this name.
    assert names(folder) == {".trash"}
    assert [path.name for path in (folder / ".trash").rglob("*-wal")] == ["cut.dscope-wal"]


def test_an_interrupted_move_is_handed_over_whole(folder: Path, tmp_path: Path) -> None:
    system = SystemTrash(tmp_path / "system")
    path = leave_open(folder / "cut.dscope")
    (item,) = to_trash([path])
    assert item.place is not None
    item.place.with_name("cut.dscope-wal").rename(folder / "cut.dscope-wal")
    assert hand_over([item], send=system) == HandedOver(1)
    assert names(tmp_path / "system") == {"cut.dscope", "cut.dscope-wal"}
    assert names(folder) == set()


def test_no_restoring_beside_the_log_of_another(folder: Path) -> None:
    path = write(folder / "a.dscope")
    (item,) = to_trash([path])
    log = folder / "a.dscope-wal"
    log.write_bytes(b"of another")
    with pytest.raises(SessionExists, match=r"a\.dscope-wal exists already"):
        restore(item)
    assert (names(folder), log.read_bytes()) == ({".trash", log.name}, b"of another")


def test_items_that_were_never_moved_are_skipped(folder: Path, tmp_path: Path) -> None:
    system = SystemTrash(tmp_path / "system")
    assert hand_over([Trashed(folder / "a.dscope", None, "why")], send=system) == HandedOver(0)


def test_origin_is_plain_json(folder: Path) -> None:
    (item,) = to_trash([write(folder / "a.dscope")])
    assert item.place is not None
    assert json.loads((item.place.parent / "origin.json").read_text()) == {
        "name": "a.dscope",
        "sides": [],
    }
