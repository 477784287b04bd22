"""The worker that is made ready while the user chooses: taken over, replaced, killed, never in the way.

With the real libraries: what is being warmed is their import.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from processes import Session, all_gone, descendants, is_worker, kill, settings, wait_until

from profiler import events as ev

NANO = "preset:nano"
SYNTHETIC = "synthetic:ttft_ms=1,itl_ms=1"
SHORT = {"output_tokens": 4, "repeats": 1, "warmup": 0, "sample_hz": 0.0}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path / "library")
    yield session
    session.close()


def ask_warm(session: Session, model: str = NANO, **values: object) -> int:
    return session.client.send("warm", config=settings(model, **values))


def warm(session: Session, model: str = NANO, **values: object) -> ev.JSON:
    return session.reply(ask_warm(session, model, **values), timeout_s=60).value


def workers(session: Session) -> list[psutil.Process]:
    assert session.client.pid is not None
    return [process for process in descendants(session.client.pid) if is_worker(process)]


def run(session: Session, model: str = NANO, **values: object) -> str:
    session.run(model, **{**SHORT, **values})
    return str(session.wait_for(ev.RunEnd, timeout_s=60).status)


def import_ns(session: Session) -> int:
    """How long the load of the run waited for imports."""
    (span,) = [event for event in session.events if isinstance(event, ev.Span) and event.name == "import"]
    return span.end_ns - span.t_ns


@pytest.mark.slow
def test_a_run_takes_the_warm_worker_over_and_keeps_its_model(session: Session) -> None:
    assert run(session) == "finished"
    cold_ns = import_ns(session)
    session.reply(session.client.send("free"))
    assert workers(session) == []

    assert warm(session) == {"warm": True, "reason": None}
    spare = session.worker
    for task in Path(f"/proc/{spare.pid}/task").iterdir():
        assert os.sched_getscheduler(int(task.name)) == os.SCHED_OTHER  # none is left waiting for its turn
    assert run(session) == "finished"
    assert session.worker.pid == spare.pid
    assert import_ns(session) < cold_ns / 4

    assert warm(session) == {"warm": False, "reason": "the model is loaded already"}
    assert run(session) == "finished"
    assert session.worker.pid == spare.pid
    assert not [event for event in session.events if isinstance(event, ev.Span) and event.name == "import"]


def test_start_while_it_is_importing(session: Session) -> None:
    number = ask_warm(session)
    (spare,) = wait_until(lambda: workers(session))
    assert run(session) == "finished"
    assert session.worker.pid == spare.pid
    assert session.reply(number).value["warm"] is False


@pytest.mark.slow
def test_stop_while_it_is_importing(session: Session) -> None:
    ask_warm(session)
    wait_until(lambda: workers(session))
    number = session.run(NANO, **SHORT)
    session.wait_for(ev.Progress, lambda progress: progress.stage == "import")
    session.client.send("stop")
    reply = session.reply(number)
    assert (reply.ok, reply.value) == (False, "cancelled")
    assert run(session) == "finished"


def test_killed_before_the_run(session: Session) -> None:
    ask_warm(session)
    (spare,) = wait_until(lambda: workers(session))
    kill(spare.pid)
    log = session.wait_for(ev.Log)
    assert log.message == "The worker that was being made ready was killed by SIGKILL."
    assert run(session) == "finished"
    assert session.worker.pid != spare.pid


@pytest.mark.slow
def test_killed_when_the_run_has_begun(session: Session) -> None:
    ask_warm(session)
    (spare,) = wait_until(lambda: workers(session))
    number = session.run(NANO, **SHORT)
    session.wait_for(ev.Progress, lambda progress: progress.stage == "import")
    kill(spare.pid)
    reply = session.reply(number)
    assert not reply.ok and "killed by SIGKILL" in (reply.message or "")
    assert workers(session) == []
    assert run(session) == "finished"


def test_closed_while_it_is_importing(tmp_path: Path) -> None:
    session = Session(tmp_path / "library")
    ask_warm(session)
    wait_until(lambda: workers(session))
    session.close()  # asserts that nothing is left


def test_engine_killed_while_it_is_importing(tmp_path: Path) -> None:
    session = Session(tmp_path / "library")
    ask_warm(session)
    assert session.client.pid is not None
    wait_until(lambda: workers(session))
    left = descendants(session.client.pid)
    kill(session.client.pid)
    all_gone(left, 10)
    session.client.close()


@pytest.mark.slow
def test_what_does_not_fit_is_replaced_or_dropped(session: Session) -> None:
    assert warm(session, SYNTHETIC) == {"warm": False, "reason": "no model runs"}
    assert workers(session) == []
    ask_warm(session)
    (spare,) = wait_until(lambda: workers(session))
    # Other threads, dtype and length are set in the same process; another environment is not.
    ask_warm(session, threads=1, dtype="bf16", output_tokens=9)
    second = ask_warm(session, allow_download=True)
    wait_until(lambda: [process.pid for process in workers(session)] not in ([], [spare.pid]))
    assert len(workers(session)) == 1
    assert warm(session, SYNTHETIC)["warm"] is False
    assert session.reply(second).value["warm"] is False
    assert workers(session) == []


def test_a_run_without_torch_has_a_worker_without_torch(session: Session) -> None:
    ask_warm(session)
    (spare,) = wait_until(lambda: workers(session))
    assert run(session, SYNTHETIC) == "finished"
    assert session.worker.pid != spare.pid  # and it is the only one
    assert warm(session)["warm"] is True  # beside the one that has nothing to hold
    assert len(workers(session)) == 2
    assert run(session, SYNTHETIC) == "finished"
    assert len(workers(session)) == 1


def test_none_during_a_run(session: Session) -> None:
    session.run("synthetic:ttft_ms=1,itl_ms=5", output_tokens=10_000, repeats=1, warmup=0)
    session.wait_for(ev.Steps)
    assert warm(session) == {"warm": False, "reason": "a run is going on"}
    assert len(workers(session)) == 1
    session.client.send("stop")
    session.wait_for(ev.RunEnd)


def test_free_frees_it(session: Session) -> None:
    ask_warm(session)
    wait_until(lambda: workers(session))
    session.reply(session.client.send("free"))
    wait_until(lambda: workers(session) == [])
