"""Sessions and real processes: killed writers, readers beside a live one, full and read-only disks."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from profiler import events as ev
from profiler.errors import SessionError, SessionExists
from profiler.session.library import list_sessions
from profiler.session.move import save_as
from profiler.session.reader import SessionReader
from profiler.session.repair import finish, repair, verify
from profiler.session.store import SessionWriter

T0_NS = 1_000
GAP_NS = 10

WRITER = f"""
import sys
import numpy as np
from profiler import events as ev
from profiler.session.store import SessionWriter

path, batch, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
print("start", flush=True)
writer = SessionWriter.create(path, {{"os": "test"}}, name="crash")
writer.write([ev.RunStart(1, 0, "run", "m"), ev.RequestStart(1, 1, "r", {T0_NS})])
writer.commit()
print(0, flush=True)
done = 0
while done < limit:
    i = np.arange(done, done + batch)
    writer.write([ev.make_steps(1, done, {T0_NS} + {GAP_NS} * (i + 1), kv_len=i + 1, ids=i)])
    writer.write([ev.Text(1, ["x"] * batch)])
    done += batch
    writer.commit()
    if done // batch % 7 == 0:
        writer.checkpoint()
    print(done, flush=True)
print("done", flush=True)
if sys.stdin.readline():
    writer.close("finished", None)
    print("closed", flush=True)
"""


class Child:
    """The writing program: tells on its output how many steps it has committed."""

    def __init__(self, path: Path, batch: int, limit: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(batch), str(limit)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.line() == "start"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def kill(self) -> list[str]:
        """Kill it now; returns the lines that it had still written."""
        self.process.kill()
        rest, _ = self.process.communicate()
        # The last line may be cut in the middle.
        return rest.split("\n")[:-1]


def check_steps(path: Path, at_least: int) -> int:
    """Read a session of WRITER; its steps are a whole prefix. Returns how many there are."""
    with SessionReader.open(path) as reader:
        assert reader.name == "crash"
        request = reader.timeline().requests[1]
        n = len(request)
        assert n >= at_least
        np.testing.assert_array_equal(request.t_ns, T0_NS + GAP_NS * np.arange(1, n + 1))
        np.testing.assert_array_equal(request.ids, np.arange(n))
        return n


@pytest.mark.parametrize("seed", range(20))
def test_a_killed_writer_loses_nothing_that_it_had_committed(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    path = tmp_path / "a.dscope"
    child = Child(path, dice.choice([1, 50, 2000]), 10_000_000)
    committed = 0
    for _ in range(dice.randrange(1, 60)):
        committed = int(child.line())
    rest = child.kill()
    committed = max([committed, *map(int, rest)])

    with SessionReader.open(path) as reader:
        assert reader.ended_unexpectedly
        assert not reader.live
        run = reader.timeline().runs[1]
        assert (run.status, run.reason) == ("interrupted", "ended unexpectedly")
    found = check_steps(path, committed)
    assert not [problem for problem in verify(path) if problem.severity == "error"]
    (entry,) = list_sessions(tmp_path)
    assert (entry.status, entry.ended_unexpectedly, entry.error) == ("interrupted", True, None)

    out = tmp_path / "out.dscope"
    repair(path, out)
    assert check_steps(out, found) == found
    assert finish(path)
    assert check_steps(path, found) == found
    assert {file.name for file in tmp_path.iterdir()} == {"a.dscope", "out.dscope"}


@pytest.mark.parametrize("seed", range(10))
def test_a_writer_killed_while_it_creates_the_file_leaves_none_or_a_whole_one(
    tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "a.dscope"
    child = Child(path, 1, 1)
    # Spin for a moment of the machine's own length: the creation takes some milliseconds.
    for _ in range(random.Random(seed).randrange(200)):
        path.exists()
        list(tmp_path.iterdir())
    child.kill()
    if path.exists():
        with SessionReader.open(path) as reader:
            assert reader.name == "crash"
            assert reader.facts == {"os": "test"}
            assert reader.ended_unexpectedly
        finish(path)
        assert path.exists()


def test_readers_beside_a_live_writer(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    child = Child(path, 200, 40_000)
    assert child.line() == "0"
    seen = []
    while (line := child.line()) != "done":
        if int(line) % 2000 == 0:
            seen.append(check_steps(path, int(line)))
            with SessionReader.open(path) as reader:
                assert reader.live
                assert reader.timeline().runs[1].status == "running"
    assert seen == sorted(seen)
    assert len(seen) == 20

    # Nobody else writes, moves or finishes what is being recorded.
    with pytest.raises(SessionExists):
        SessionWriter.create(path, {})
    with pytest.raises(SessionError, match="is being recorded right now"):
        save_as(path, tmp_path / "b.dscope")
    with pytest.raises(SessionError, match="is being recorded right now"):
        finish(path)

    # A reader that is open while the writer closes sees it all, and leaves one file.
    with SessionReader.open(path) as reader:
        timeline = reader.timeline()
        assert child.process.stdin is not None
        child.process.stdin.write("close\n")
        child.process.stdin.flush()
        assert child.line() == "closed"
        assert len(timeline.requests[1]) == 40_000
    child.process.communicate()
    assert child.process.returncode == 0
    assert {file.name for file in tmp_path.iterdir()} == {"a.dscope"}
    with SessionReader.open(path) as reader:
        assert not reader.live
        assert reader.timeline().runs[1].status == "finished"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_keeps_what_was_committed(small_disk: Path) -> None:
    path = small_disk / "a.dscope"
    writer = SessionWriter.create(path, {}, name="crash")
    writer.write([ev.RunStart(1, 0), ev.RequestStart(1, 1, "r", T0_NS)])
    writer.commit()
    committed = 0
    with pytest.raises(SessionError, match=r"The disk of .* is full; free some space"):
        while True:
            i = np.arange(committed, committed + 500)
            writer.write([ev.make_steps(1, committed, T0_NS + GAP_NS * (i + 1), ids=i)])
            writer.commit()
            committed += 500
    assert committed > 5000
    writer.close()
    found = check_steps(path, committed)
    with pytest.raises(SessionError, match="is full"):
        SessionWriter.create(small_disk / "b.dscope", {})
    assert not (small_disk / "b.dscope").exists()
    # Saved elsewhere nothing is missing.
    out = small_disk.parent / "out.dscope"
    repair(path, out)
    assert check_steps(out, committed) == found


def test_a_full_disk_at_save_as_leaves_the_source(small_disk: Path, tmp_path: Path) -> None:
    source = tmp_path / "a.dscope"
    with SessionWriter.create(source, {}, name="crash") as writer:
        i = np.arange(60_000)
        writer.write([ev.RunStart(1, 0), ev.RequestStart(1, 1, "r", T0_NS)])
        writer.write([ev.make_steps(1, 0, T0_NS + GAP_NS * (i + 1), ids=i)])
    with pytest.raises(SessionError, match=r"The disk of .* is full"):
        save_as(source, small_disk / "b.dscope")
    assert check_steps(source, 60_000) == 60_000
    assert list(small_disk.iterdir()) == []


def test_a_read_only_disk(small_disk: Path, tmp_path: Path) -> None:
    path = small_disk / "a.dscope"
    child = Child(path, 10, 10_000_000)
    committed = [int(child.line()) for _ in range(20)][-1]
    child.kill()
    with SessionWriter.create(small_disk / "closed.dscope", {}, name="closed"):
        pass
    before = {file.name: file.read_bytes() for file in small_disk.iterdir()}
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    check_steps(path, committed)
    with SessionReader.open(small_disk / "closed.dscope") as reader:
        assert reader.name == "closed"
    assert {file.name: file.read_bytes() for file in small_disk.iterdir()} == before
    with pytest.raises(SessionError, match="cannot be written to; choose another folder"):
        SessionWriter.create(small_disk / "b.dscope", {})
    with pytest.raises(SessionError, match="cannot be written to"):
        finish(path)
    with pytest.raises(SessionError, match="cannot be written to"):
        save_as(small_disk / "closed.dscope", small_disk / "moved.dscope")
    save_as(small_disk / "closed.dscope", tmp_path / "copy.dscope", keep_source=True)
    repair(path, tmp_path / "out.dscope")
    check_steps(tmp_path / "out.dscope", committed)
