"""The engine as a process: verbs, states, recording, with the synthetic backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import Session

from profiler import events as ev
from profiler.session.reader import SessionReader
from profiler.timeline import Timeline


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path / "library")
    yield session
    session.close()


def read(path: str | Path) -> Timeline:
    reader = SessionReader.open(path)
    timeline = reader.timeline()
    timeline.read_all()
    reader.close()
    return timeline


def test_a_run_goes_through_its_states_and_the_file_equals_the_stream(session: Session) -> None:
    number = session.run("synthetic:ttft_ms=20,itl_ms=2", output_tokens=50, repeats=2, warmup=1)
    end = session.wait_for(ev.RunEnd)
    assert end.status == "finished"
    assert session.reply(number).ok
    states = [event.state for event in session.events if isinstance(event, ev.State)]
    assert states == ["loading", "running", "ready"]
    recordings = [event for event in session.events if isinstance(event, ev.Recording)]
    assert [event.state for event in recordings] == ["recording", "recorded"]
    files = sorted(path.name for path in session.library.iterdir())
    assert len(files) == 1 and files[0].endswith(".dscope")  # one file: no log, no lock

    live = Timeline()
    live.apply_all(session.events)
    saved = read(recordings[-1].path)
    assert saved.runs[1].status == "finished"
    assert len(saved.runs[1].requests) == 3
    for mine, theirs in zip(live.iter_requests(), saved.iter_requests(), strict=True):
        assert mine.t_ns.tolist() == theirs.t_ns.tolist()
        assert mine.ids.tolist() == theirs.ids.tolist()
        assert mine.kv_len.tolist() == theirs.kv_len.tolist()
        assert mine.pieces == theirs.pieces
        assert (mine.id, mine.end_status, mine.spans) == (theirs.id, theirs.end_status, theirs.spans)
        assert len(theirs) == 50
    assert live.samples["host"].t_ns.tolist() == saved.samples["host"].t_ns.tolist()
    first_step = min(int(request.t_ns[0]) for request in saved.iter_requests())
    assert saved.samples["host"].t_ns[0] < first_step  # the run starts when the sampler has read once
    assert abs(saved.runs[1].facts["clock"]["offset_ns"]) < 1_000_000_000


def test_the_model_stays_loaded_between_runs_of_the_same_build(session: Session) -> None:
    session.run("synthetic:load_s=0.2,ttft_ms=1,itl_ms=1")
    session.wait_for(ev.RunEnd)
    pid = session.worker.pid
    session.run("synthetic:load_s=0.2,ttft_ms=1,itl_ms=1", output_tokens=5)
    session.wait_for(ev.RunEnd)
    assert session.worker.pid == pid
    session.run("synthetic:load_s=0,ttft_ms=1,itl_ms=1", output_tokens=5)
    session.wait_for(ev.RunEnd)
    assert session.worker.pid != pid
    session.client.send("free")
    session.wait_for(ev.State, lambda state: state.state == "idle")
    assert len(list(session.library.iterdir())) == 3


def test_stop_ends_at_the_next_step_and_keeps_the_session(session: Session) -> None:
    session.run("synthetic:ttft_ms=5,itl_ms=5", output_tokens=100_000, warmup=0)
    session.wait_for(ev.Steps)
    session.client.send("stop")
    end = session.wait_for(ev.RunEnd, timeout_s=3)
    assert end.status == "stopped"
    path = session.wait_for(ev.Recording, lambda event: event.state == "recorded").path
    (request,) = read(path).iter_requests()
    assert request.end_status == "cancelled" and len(request) > 0


def test_a_load_can_be_cancelled_and_leaves_no_file(session: Session) -> None:
    number = session.run("synthetic:load_s=60")
    session.wait_for(ev.Progress, lambda event: event.stage == "load")
    session.client.send("stop")
    reply = session.reply(number, timeout_s=3)
    assert not reply.ok and reply.value == "cancelled"
    session.wait_for(ev.State, lambda state: state.state == "idle")
    assert not session.library.exists() or list(session.library.iterdir()) == []


def test_kill_ends_a_run_at_once(session: Session) -> None:
    session.run("synthetic:ttft_ms=60000", output_tokens=5)  # a "prefill" of a minute
    session.wait_for(ev.RequestStart)
    session.client.send("kill")
    end = session.wait_for(ev.RunEnd, timeout_s=2)
    assert end.status == "stopped" and "kill" in end.reason
    session.run("synthetic:ttft_ms=1,itl_ms=0", output_tokens=5)
    assert session.wait_for(ev.RunEnd).status == "finished"


def test_a_failing_request_is_told_and_kept(session: Session) -> None:
    session.run("synthetic:ttft_ms=1,itl_ms=1,fail_at=4", output_tokens=10, warmup=1)
    end = session.wait_for(ev.RunEnd)
    assert end.status == "failed" and "token 4" in end.reason
    failure = session.wait_for(ev.Failure)
    assert failure.message.startswith("Repeat 1: ")
    path = session.wait_for(ev.Recording, lambda event: event.state == "recorded").path
    assert [request.end_status for request in read(path).iter_requests()] == ["ok", "error"]


def test_bad_input_is_refused_before_a_worker_is_started(session: Session) -> None:
    number = session.run("synthetic:nonsense=1")
    reply = session.reply(number)
    assert not reply.ok and reply.field == "model" and "nonsense" in reply.message
    assert session.wait_for(ev.Failure).field == "model"
    number = session.client.send("run", config={"model": "synthetic", "output_tokens": 0})
    reply = session.reply(number)
    assert not reply.ok and reply.exit_code == 2 and "at least 1" in reply.message
    number = session.client.send("fly")
    assert "fly" in session.reply(number).message


def test_save_as_in_mid_run_takes_effect_at_the_end(session: Session, tmp_path: Path) -> None:
    target = tmp_path / "named ü.dscope"
    session.run("synthetic:ttft_ms=5,itl_ms=5", output_tokens=60, repeats=1, warmup=0)
    session.wait_for(ev.Steps)
    number = session.client.send("save_as", path=str(target))
    assert session.reply(number).ok
    assert not target.exists()
    session.wait_for(ev.RunEnd)
    assert list(session.library.iterdir()) == []
    assert len(read(target).requests[1]) == 60

    again = tmp_path / "again.dscope"
    number = session.client.send("save_as", path=str(again))
    assert session.reply(number).ok
    assert again.exists() and not target.exists()
    target.write_text("mine")
    number = session.client.send("save_as", path=str(target))
    reply = session.reply(number)
    assert not reply.ok and "exists" in reply.message
    assert target.read_text() == "mine" and again.exists()
    number = session.client.send("save_as", path=str(tmp_path / "nowhere" / "x.dscope"))
    assert "does not exist" in session.reply(number).message


def test_redraws_make_steps_disturbed(session: Session) -> None:
    session.run(
        "synthetic:ttft_ms=20,itl_ms=10,stamps=exact", output_tokens=20, repeats=1, warmup=0, sample_hz=0
    )
    steps = session.wait_for(ev.Steps)
    at_ns = int(steps.t_ns[0])
    session.client.report_redraws([(at_ns + 1_000_000, at_ns + 2_000_000)])
    session.wait_for(ev.RunEnd)
    path = session.wait_for(ev.Recording, lambda event: event.state == "recorded").path
    saved = read(path)
    (request,) = saved.iter_requests()
    assert np_true(saved.disturbed(request)) == [1]


def np_true(values: object) -> list[int]:
    return [i for i, value in enumerate(values) if value]  # type: ignore[arg-type, var-annotated]


def test_closing_while_running_stops_and_keeps(session: Session) -> None:
    session.run("synthetic:ttft_ms=5,itl_ms=5", output_tokens=100_000, warmup=0)
    session.wait_for(ev.Steps)
    session.close()
    (path,) = session.library.iterdir()
    saved = read(path)
    assert saved.runs[1].status == "stopped" and "closed" in (saved.runs[1].reason or "")


def test_closing_in_a_prefill_that_cannot_be_stopped_keeps_the_file_whole(session: Session) -> None:
    session.run("synthetic:ttft_ms=60000", output_tokens=5, warmup=0)
    session.wait_for(ev.RequestStart)
    session.worker.suspend()  # deaf, as in a long forward pass
    session.close()
    (path,) = session.library.iterdir()
    assert read(path).runs[1].status == "stopped"


def test_an_odd_path_is_refused_and_the_run_goes_on(session: Session, tmp_path: Path) -> None:
    session.run("synthetic:ttft_ms=5,itl_ms=5", output_tokens=60, repeats=1, warmup=0)
    session.wait_for(ev.Steps)
    for name in ("x" * 300, "nul\0"):
        reply = session.reply(session.client.send("save_as", path=str(tmp_path / f"{name}.dscope")))
        assert not reply.ok and reply.exit_code == 2
    assert session.wait_for(ev.RunEnd).status == "finished"


def test_kill_and_start_at_once(session: Session) -> None:
    for _ in range(3):
        session.run("synthetic:ttft_ms=1,itl_ms=1", output_tokens=5, repeats=1, warmup=0)
        assert session.wait_for(ev.RunEnd).status == "finished"
        session.client.send("kill")


def test_two_engines_share_a_library(tmp_path: Path) -> None:
    sessions = [Session(tmp_path / "library") for _ in range(2)]
    for _ in range(3):
        for one in sessions:
            one.run("synthetic:ttft_ms=1,itl_ms=1", output_tokens=5, repeats=1, warmup=0)
        for one in sessions:
            assert one.wait_for(ev.RunEnd).status == "finished"
    assert len(list((tmp_path / "library").iterdir())) == 6
    for one in sessions:
        one.close()
