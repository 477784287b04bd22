"""verify, finish and repair on sessions that are damaged, unfinished or quite all right."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from profiler import events as ev
from profiler.errors import SessionError, SessionExists
from profiler.session.lock import SessionLock
from profiler.session.reader import SessionReader
from profiler.session.repair import Problem, finish, repair, verify
from profiler.session.store import SessionWriter

STEPS = 5000


def write(path: Path) -> Path:
    with SessionWriter.create(path, {"os": "Linux"}, name="mine") as writer:
        writer.write([ev.RunStart(1, 0, "run", "m")])
        for no in (1, 2, 3):
            t0_ns = no * 1_000_000
            writer.write(
                [
                    ev.RequestStart(no, 1, f"r{no}", t0_ns),
                    ev.make_steps(no, 0, np.arange(STEPS) + t0_ns, ids=np.arange(STEPS)),
                    ev.Text(no, ["x"] * STEPS),
                    ev.RequestEnd(no, t0_ns + STEPS, "ok"),
                ]
            )
        writer.write([ev.Sample(5, "host", {"x": 1.0}), ev.RunEnd(1, 9_000_000)])
    return path


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return write(tmp_path / "good.dscope")


@pytest.fixture
def dead(tmp_path: Path) -> Path:
    """What a killed program leaves: the file, its log, and a lock file that nobody holds."""
    path = tmp_path / "live.dscope"
    writer = SessionWriter.create(path, {}, name="dead")
    writer.write([ev.RunStart(1, 0), ev.RequestStart(1, 1, "r", 0), ev.make_steps(1, 0, [1, 2, 3])])
    writer.commit()
    folder = tmp_path / "dead"
    folder.mkdir()
    for end in ("", "-wal", "-shm", ".lock"):
        shutil.copy(f"{path}{end}", folder / f"dead.dscope{end}")
    writer.close()
    return folder / "dead.dscope"


def sql(path: Path, *statements: str) -> None:
    con = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        con.execute(statement)
    con.close()


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_nothing_is_wrong_with_a_good_session(session: Path) -> None:
    assert verify(session) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE step SET offset_ns=1 WHERE request_no=2 AND i=9", "1 requests whose clock went backwards"),
        ("UPDATE step SET offset_ns=-1 WHERE request_no=2 AND i=0", "1 requests whose clock went backwards"),
        ("DELETE FROM step WHERE request_no=1 AND i=7", "1 requests with missing steps"),
        ("UPDATE step SET k=-2 WHERE i=7", "3 steps with a number of tokens that cannot be"),
        ("UPDATE run SET status='odd'", "a run has the unknown status 'odd'"),
        ("UPDATE request SET status='odd' WHERE no=1", "a request has the unknown status 'odd'"),
        ("UPDATE run SET config='{'", "1 values of run.config are not JSON"),
    ],
)
def test_verify_finds_what_is_wrong(session: Path, change: str, problem: str) -> None:
    sql(session, change)
    assert verify(session) == [Problem("error", problem)]


def test_verify_finds_orphans(session: Path) -> None:
    sql(session, "DELETE FROM request WHERE no=2", "DELETE FROM source")
    assert verify(session) == [
        Problem("error", "5,000 steps of requests that are not in the file"),
        Problem("error", "1 texts of requests that are not in the file"),
        Problem("error", "1 samples of sources that are not in the file"),
    ]


def test_verify_on_what_is_no_session(tmp_path: Path, session: Path) -> None:
    with pytest.raises(SessionError, match="is not there"):
        verify(tmp_path / "none.dscope")
    os.truncate(session, 8192)
    (problem,) = verify(session)
    assert problem.severity == "error"
    assert "is cut off" in problem.message


def test_verify_says_that_a_recording_died_or_lives(dead: Path) -> None:
    unfinished = Problem("warning", "1 requests without an end")
    ended = Problem("warning", "the recording ended unexpectedly; `dscope repair` finishes it")
    assert verify(dead) == [unfinished, ended]
    lock = SessionLock.acquire(dead)
    live = Problem("warning", "the session is being recorded right now")
    assert verify(dead) == [unfinished, live]
    lock.release()


def test_a_dead_recording_is_shown_as_interrupted_and_stays_as_it_is(dead: Path) -> None:
    before = dead.read_bytes(), dead.with_name("dead.dscope-wal").read_bytes()
    with SessionReader.open(dead) as reader:
        assert reader.ended_unexpectedly
        assert not reader.live
        timeline = reader.timeline()
        assert (timeline.runs[1].status, timeline.runs[1].reason) == ("interrupted", "ended unexpectedly")
        assert timeline.requests[1].t_ns.tolist() == [1, 2, 3]
        assert reader.summary()["status"] == "interrupted"
    assert (dead.read_bytes(), dead.with_name("dead.dscope-wal").read_bytes()) == before


def test_finish_makes_one_file_of_a_dead_recording(dead: Path) -> None:
    assert finish(dead) is True
    assert names(dead.parent) == {"dead.dscope"}
    with SessionReader.open(dead) as reader:
        assert reader.ended_unexpectedly
        timeline = reader.timeline()
        assert (timeline.runs[1].status, timeline.runs[1].reason) == ("interrupted", "ended unexpectedly")
        assert timeline.runs[1].end_ns is None
        assert timeline.requests[1].t_ns.tolist() == [1, 2, 3]
        assert timeline.requests[1].end_status is None
    assert finish(dead) is False


def test_finish_leaves_a_good_session_alone(session: Path) -> None:
    before = session.read_bytes()
    assert finish(session) is False
    assert session.read_bytes() == before
    assert names(session.parent) == {"good.dscope"}


def test_finish_and_repair_refuse_a_live_session(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    with SessionWriter.create(path, {}):
        with pytest.raises(SessionError, match="is being recorded right now"):
            finish(path)
        with pytest.raises(SessionError, match="is being recorded right now"):
            repair(path, tmp_path / "b.dscope")
    assert names(tmp_path) == {"a.dscope"}


def test_repair_of_a_good_session_is_a_copy(session: Path, tmp_path: Path) -> None:
    before = session.read_bytes()
    out = tmp_path / "out.dscope"
    text = repair(session, out)
    assert text == f"1 runs, 3 requests and 15,000 steps were saved to {out}."
    assert session.read_bytes() == before
    assert verify(out) == []
    with SessionReader.open(out) as reader:
        assert reader.name == "mine"
        assert not reader.ended_unexpectedly
        timeline = reader.timeline()
        assert timeline.runs[1].status == "finished"
        np.testing.assert_array_equal(timeline.requests[3].t_ns, np.arange(STEPS) + 3_000_000)
        assert timeline.requests[3].pieces == ["x"] * STEPS
        assert timeline.samples["host"].values("x").tolist() == [1.0]


def test_repair_recovers_from_the_log(dead: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.dscope"
    assert repair(dead, out).startswith("1 runs, 1 requests and 3 steps were saved to ")
    assert names(dead.parent) >= {"dead.dscope", "dead.dscope-wal"}
    with SessionReader.open(out) as reader:
        assert reader.ended_unexpectedly
        assert reader.timeline().runs[1].status == "interrupted"
        assert reader.timeline().requests[1].t_ns.tolist() == [1, 2, 3]


@pytest.mark.parametrize("quarter", [1, 2, 3])
def test_repair_of_a_truncated_session(session: Path, tmp_path: Path, quarter: int) -> None:
    os.truncate(session, session.stat().st_size * quarter // 4)
    before = session.read_bytes()
    out = tmp_path / "out.dscope"
    text = repair(session, out)
    assert "could not be read" in text
    assert session.read_bytes() == before
    assert [problem for problem in verify(out) if "damage" in problem.message] == []
    with SessionReader.open(out) as reader:
        timeline = reader.timeline()
        saved = sum(len(request) for request in timeline.iter_requests())
        # The rows lie in the order in which they were written, behind a few pages of other tables.
        assert saved >= 3 * STEPS * (quarter / 4 - 0.15)
        for request in timeline.iter_requests():
            if request.id != f"lost-{request.no}":
                np.testing.assert_array_equal(request.t_ns, np.arange(len(request)) + request.no * 1_000_000)


def test_repair_reads_around_a_damaged_page(session: Path, tmp_path: Path) -> None:
    content = bytearray(session.read_bytes())
    page = len(content) // 4096 // 2
    content[page * 4096 : (page + 1) * 4096] = b"\xa5" * 4096
    session.write_bytes(content)
    out = tmp_path / "out.dscope"
    assert "parts of step could not be read" in repair(session, out)
    con = sqlite3.connect(out)
    saved = con.execute("SELECT count(*) FROM step").fetchone()[0]
    con.close()
    # A page holds some 200 rows; a page of the index above the rows would take more with it.
    assert 3 * STEPS - 400 <= saved < 3 * STEPS


def test_repair_gives_lost_owners_a_stand_in(session: Path, tmp_path: Path) -> None:
    sql(session, "DELETE FROM run", "DELETE FROM request WHERE no=2")
    out = tmp_path / "out.dscope"
    repair(session, out)
    with SessionReader.open(out) as reader:
        timeline = reader.timeline()
    assert sorted(request.id for request in timeline.runs[1].requests) == ["lost-2", "r1", "r3"]
    assert timeline.runs[1].status == "interrupted"


def test_repair_leaves_nothing_when_it_fails(session: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.dscope"
    text.write_text("hello " * 500)
    with pytest.raises(SessionError, match="is not a Decodescope session"):
        repair(text, tmp_path / "out.dscope")
    content = bytearray(session.read_bytes())
    content[100:4096] = b"\xa5" * 3996
    session.write_bytes(content)
    with pytest.raises(SessionError, match="too damaged: nothing in it can be read"):
        repair(session, tmp_path / "out.dscope")
    with pytest.raises(SessionExists):
        repair(session, text)
    with pytest.raises(SessionError, match="create it first"):
        repair(session, tmp_path / "missing" / "out.dscope")
    assert names(tmp_path) == {"good.dscope", "text.dscope"}
