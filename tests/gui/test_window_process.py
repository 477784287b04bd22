"""The window as a process: what it imports, and that kill -9 leaves a clean session."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli import environment
from processes import all_gone, descendants, is_worker, kill, wait_until

from profiler.errors import SessionError
from profiler.session.reader import SessionReader

WINDOW = """
import json, sys
from app.options import parse_options
from app.start import run_window
code = run_window(parse_options(sys.argv[1:]))
heavy = ("torch", "transformers", "accelerate", "gguf", "pynvml", "plotly")
print(json.dumps({"code": code, "heavy": [name for name in heavy if name in sys.modules]}))
"""


def test_a_window_that_has_shown_a_run_has_no_torch(tmp_path: Path) -> None:
    script = tmp_path / "window.py"
    script.write_text(f"if __name__ == '__main__':\n    exec({WINDOW!r})\n")
    result = subprocess.run(
        [sys.executable, str(script), "--model", "synthetic:ttft_ms=5,itl_ms=1", "--output-tokens", "20",
         "--autostart", "--quit-when-done", "--save", str(tmp_path / "x.dscope")],
        capture_output=True, text=True, env=environment(), timeout=100, check=False,
    )  # fmt: skip
    assert result.stdout, result.stderr
    assert json.loads(result.stdout.splitlines()[-1]) == {"code": 0, "heavy": []}
    with SessionReader.open(tmp_path / "x.dscope") as reader:
        assert reader.timeline().runs[1].status == "finished"


def steps_in(folder: Path) -> int:
    for path in folder.glob("*.dscope"):
        try:
            with SessionReader.open(path) as reader:
                return sum(len(request) for request in reader.timeline().iter_requests())
        except SessionError:
            pass  # being made
    return 0


def kill_a_window(home: Path, model: str, delay_s: float) -> None:
    sessions = home / "sessions"
    window = subprocess.Popen(
        [sys.executable, "-m", "app", "--model", model, "--prompt-tokens", "16", "--output-tokens", "4000",
         "--warmup", "0", "--repeats", "1", "--autostart"],
        env=environment(DECODESCOPE_HOME=str(home)), stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_until(lambda: steps_in(sessions), 90, "steps in the file")
    time.sleep(delay_s)
    left = descendants(window.pid)
    assert len([process for process in left if is_worker(process)]) == 2  # engine and worker
    killed_ns = time.perf_counter_ns()
    kill(window.pid)
    window.communicate()
    all_gone(left, 10)
    (path,) = sessions.iterdir()  # one file: the engine has closed it
    with SessionReader.open(path) as reader:
        assert not reader.ended_unexpectedly
        timeline = reader.timeline()
        run = timeline.runs[1]
        assert (run.status, run.reason) == ("interrupted", "the window ended unexpectedly")
        (request,) = run.requests
        assert request.end_status == "cancelled"
        assert killed_ns - int(request.t_ns[-1]) < 1_000_000_000


@pytest.mark.slow
def test_kill_of_a_window(tmp_path: Path) -> None:
    kill_a_window(tmp_path / "a", "preset:nano", 0.1)
    kill_a_window(tmp_path / "b", "preset:nano", 0.7)
    kill_a_window(tmp_path / "c", "synthetic:ttft_ms=10,itl_ms=5", 0.3)
