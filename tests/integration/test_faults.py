"""kill -9 of each process at random moments: told, kept, nothing hangs, nothing left over.

The schedule is exact (5 ms a token), so that what must be in the file can be computed.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from processes import EngineGone, Session, all_gone, descendants, is_worker, kill, wait_until

from profiler import events as ev
from profiler.session.reader import SessionReader

ITL_NS = 5_000_000
MODEL = "synthetic:ttft_ms=10,itl_ms=5,stamps=exact"
LAST_SECOND_NS = 1_000_000_000
GRACE_NS = 1_000_000_000
"""What a busy machine may need to get the first request going."""
ROUNDS = 20


def tokens_recorded(path: Path, killed_ns: int) -> int:
    """How many steps the file holds; asserts that all but the last second is there."""
    with SessionReader.open(path) as reader:
        timeline = reader.timeline()
        (request,) = timeline.iter_requests() if timeline.requests else (None,)
        if request is None or len(request) == 0:
            # Nothing yet: then the run had begun within the last second.
            assert killed_ns - timeline.runs[1].t_ns < LAST_SECOND_NS + GRACE_NS
            return 0
        t_ns = request.t_ns
        assert [int(x) for x in (t_ns[1:] - t_ns[:-1])] == [ITL_NS] * (len(t_ns) - 1)
        assert killed_ns - int(t_ns[-1]) < LAST_SECOND_NS
    return len(t_ns)


def only_file(folder: Path) -> Path:
    """The one session of a library (side files may lie beside it)."""
    (path,) = folder.glob("*.dscope")
    return path


def test_kill_of_the_worker(tmp_path: Path) -> None:
    session = Session(tmp_path / "library")
    rng = random.Random(11)
    seen: set[Path] = set()
    for _ in range(ROUNDS):
        session.run(MODEL, output_tokens=100_000, warmup=0)
        session.wait_for(ev.State, lambda state: state.state == "running")
        time.sleep(rng.uniform(0, 0.8))
        worker = session.worker
        killed_ns = time.perf_counter_ns()
        kill(worker.pid)
        failure = session.wait_for(ev.Failure, timeout_s=2)
        assert "killed by SIGKILL" in failure.message
        end = session.wait_for(ev.RunEnd, timeout_s=2)
        assert end.status == "failed"
        (path,) = set(session.library.glob("*.dscope")) - seen
        seen.add(path)
        tokens_recorded(path, killed_ns)
    assert sorted(session.library.iterdir()) == sorted(seen)
    session.close()


def one_engine_kill(folder: Path, delay_s: float) -> None:
    session = Session(folder)
    session.run(MODEL, output_tokens=100_000, warmup=0)
    session.wait_for(ev.State, lambda state: state.state == "running")
    time.sleep(delay_s)
    assert session.client.pid is not None
    left = descendants(session.client.pid)
    killed_ns = time.perf_counter_ns()
    kill(session.client.pid)
    with pytest.raises(EngineGone, match="killed by SIGKILL"):
        wait_until(lambda: session.drain(0.05), 2, "the news of the engine's end")
    all_gone(left, 2)
    path = only_file(folder)
    with SessionReader.open(path) as reader:
        assert reader.ended_unexpectedly
        run = reader.timeline().runs[1]
        assert run.status == "interrupted" and run.reason == "ended unexpectedly"
    tokens_recorded(path, killed_ns)
    session.client.close()


@pytest.mark.slow
def test_kill_of_the_engine(tmp_path: Path) -> None:
    rng = random.Random(12)
    moments = [rng.uniform(0, 1.5) for _ in range(ROUNDS)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one_engine_kill, (tmp_path / str(i) for i in range(ROUNDS)), moments))


HOLDER = """
import sys
from pathlib import Path
from processes import Session
from profiler import events as ev
if __name__ == "__main__":
    session = Session(Path(sys.argv[1]))
    session.run(sys.argv[2], output_tokens=100_000, warmup=0)
    session.wait_for(ev.State, lambda state: state.state == "running")
    print("running", flush=True)
    while True:
        session.drain(1.0)
"""


def one_holder_kill(folder: Path, delay_s: float, script: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, str(script), str(folder), MODEL], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "running\n"
    time.sleep(delay_s)
    left = descendants(holder.pid)
    assert len([p for p in left if is_worker(p)]) == 2  # engine and worker
    killed_ns = time.perf_counter_ns()
    kill(holder.pid)
    holder.wait()
    holder.stdout.close()
    all_gone(left, 8)
    path = only_file(folder)
    assert sorted(folder.iterdir()) == [path]  # closed properly: one file
    with SessionReader.open(path) as reader:
        assert not reader.ended_unexpectedly
        run = reader.timeline().runs[1]
        assert run.status == "interrupted"
        assert run.reason == "the window ended unexpectedly"
        # On a busy machine the first request may not have begun at the moment of the kill.
        assert [r.end_status for r in reader.timeline().iter_requests()] in ([], ["cancelled"])
    tokens_recorded(path, killed_ns)


@pytest.mark.slow
def test_kill_of_the_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "holder.py"
    script.write_text(HOLDER)
    tests = Path(__file__).parent.parent
    monkeypatch.setenv("PYTHONPATH", f"{tests}:{tests.parent}")
    rng = random.Random(13)
    moments = [rng.uniform(0, 1.5) for _ in range(ROUNDS)]
    with ThreadPoolExecutor(2) as pool:
        list(
            pool.map(one_holder_kill, (tmp_path / str(i) for i in range(ROUNDS)), moments, [script] * ROUNDS)
        )


def test_a_worker_that_dies_by_itself(tmp_path: Path) -> None:
    session = Session(tmp_path / "library")
    session.run("synthetic:ttft_ms=5,itl_ms=2,die_at=10", output_tokens=100, warmup=1)
    failure = session.wait_for(ev.Failure)
    assert failure.where == "worker" and failure.exit_code == 4
    assert session.wait_for(ev.RunEnd).status == "failed"
    with SessionReader.open(only_file(session.library)) as reader:
        requests = list(reader.timeline().iter_requests())
        assert [len(request) for request in requests] == [100, 10]
        assert requests[1].end_status is None
    session.close()


def test_a_stopped_engine_loses_nothing(tmp_path: Path) -> None:
    """SIGSTOP of the engine for a while: the worker's schedule goes on, its backlog arrives."""
    session = Session(tmp_path / "library")
    session.run("synthetic:ttft_ms=10,rate=2000,stamps=exact", output_tokens=4000, warmup=0, repeats=1)
    session.wait_for(ev.Steps)
    engine = psutil.Process(session.client.pid)
    engine.suspend()
    time.sleep(1.0)
    engine.resume()
    assert session.wait_for(ev.RunEnd).status == "finished"
    with SessionReader.open(only_file(session.library)) as reader:
        (request,) = reader.timeline().iter_requests()
        assert len(request) == 4000
        assert set((request.t_ns[1:] - request.t_ns[:-1]).tolist()) == {500_000}
    session.close()
