"""`from profiler import Recorder`, in real scripts: run, failed, interrupted, killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from cli import ROOT, dscope, environment
from make_models import save_tiny_llama
from processes import all_gone, descendants, kill, wait_until

from profiler import Recorder
from profiler.errors import SessionError, UsageError
from profiler.reporting.report import report
from profiler.session.reader import SessionReader
from profiler.session.repair import verify
from profiler.timeline import Timeline

# A plain script: no main guard, stamps as fast as a real model.
LOOP = """
import signal, sys, time
from profiler import Recorder
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs start without it
with Recorder("a.dscope", model="loop") as rec:
    with rec.request(prompt_tokens=4, max_new_tokens=100000) as req:
        for i in range(100000):
            time.sleep(0.005)
            req.step(i)
            print(i + 1, time.perf_counter_ns(), flush=True)
            {extra}
"""


def start(folder: Path, code: str) -> subprocess.Popen[str]:
    script = folder / "script.py"
    script.write_text(code)
    return subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(),
    )


def read(path: Path) -> tuple[dict[str, Any], Timeline]:
    """The only run's report, and the timeline. The file is sound."""
    assert not [problem for problem in verify(path) if problem.severity == "error"]
    with SessionReader.open(path) as reader:
        timeline = reader.timeline()
        (run,) = report(timeline)["runs"]
        return run, timeline


def recording_process(pid: int) -> psutil.Process:
    (process,) = wait_until(lambda: descendants(pid), what="the recording process")
    return process


@pytest.mark.slow
def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    section = text.split("## In your own script\n", 1)[1].split("\n## ", 1)[0]
    (example,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len([line for line in example.splitlines() if line.strip()]) <= 11
    model = save_tiny_llama(tmp_path / "model")
    assert example.count('"path/to/model"') == 2
    process = start(tmp_path, example.replace('"path/to/model"', repr(str(model))))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err

    run, timeline = read(tmp_path / "mine.dscope")
    assert (run["status"], run["reason"], run["model"]) == ("finished", None, "my model")
    assert run["requests"]["ok"] == 3
    for row, prompt in zip(
        run["per_request"], ("Hello", "What is a token?", "Why is the sky blue?"), strict=True
    ):
        # One token a byte, and perhaps one for the start: what generate() told the streamer.
        assert row["prompt_tokens"] in (len(prompt), len(prompt) + 1)
        assert 1 <= row["output_tokens"] <= 64
        assert row["stop_reason"] == ("length" if row["output_tokens"] == 64 else "stop")
        assert row["itl"]["n"] == row["output_tokens"] - 1
        assert 0 < row["ttft_ms"] <= row["e2e_ms"]
    # The same facts as a recorded session has.
    assert timeline.facts["telemetry"]["hz"] == 4
    assert len(timeline.samples["host"]) >= 1
    assert run["telemetry"]["reason"] or run["telemetry"]["gpus"]
    environment_told = run["environment"]
    assert environment_told["hardware"]["cpu"] and environment_told["software"]["packages"]["torch"]
    assert environment_told["software"]["threads"] >= 1
    assert environment_told["gc"] == "left to the script"
    facts = timeline.runs[1].facts
    assert facts["model"]["parameters"] == 100_160 and facts["model"]["device"] == "cpu"
    assert abs(facts["clock"]["offset_ns"]) < 1_000_000 + facts["clock"]["half_rtt_ns"]
    assert run["metrics"]["mbu"]["run"] is not None, run["metrics"]["mbu"]
    assert run["metrics"]["memory"]["peak_bytes"] > 50_000_000
    assert "3 ok requests" in dscope("report", tmp_path / "mine.dscope").stdout
    assert {p.name for p in tmp_path.iterdir()} == {"model", "mine.dscope", "script.py"}


def test_plain_calls_give_the_numbers_that_arithmetic_gives(tmp_path: Path) -> None:
    path = tmp_path / "plain.dscope"
    ms = 1_000_000
    rec = Recorder(path, model="m", name="my run", config={"beams": 1}, sample_hz=10)
    process = psutil.Process(rec._process.pid)
    with rec.span("load"):
        pass
    warm = rec.request(prompt_tokens=5, warmup=True, t0_ns=1 * ms)
    warm.step(1, t_ns=900 * ms)
    warm.end(t_ns=900 * ms)
    first = rec.request(prompt_tokens=10, max_new_tokens=4, batch_id="b", t0_ns=1000 * ms)
    second = rec.request(prompt_tokens=20, max_new_tokens=4, batch_id="b", t0_ns=1000 * ms)
    first.span_at("prefill", 1000 * ms, 1090 * ms)
    for i, t_ms in enumerate((1100, 1110, 1130)):
        first.step([i], t_ns=t_ms * ms)
        second.step(k=2, t_ns=t_ms * ms)
    first.text("Hel")
    first.text("lo")
    first.end("ok", "length", t_ns=1131 * ms)
    second.end("error", error="it broke", t_ns=1131 * ms)
    rec.request(prompt_tokens=1)  # never ended
    rec.note("A remark.")
    rec.fact("my_setting", {"a": [1, None]})
    with pytest.raises(UsageError, match="strict JSON"):
        rec.fact("bad", float("nan"))
    assert rec.close() == path == rec.path
    assert rec.close("failed") == path  # changes nothing
    all_gone([process])
    for call in (rec.request, lambda: rec.note("x"), rec.__enter__):
        with pytest.raises(UsageError, match=r"^The recording .* is closed; open a new Recorder\.$"):
            call()
    with pytest.raises(UsageError, match="closed"):
        first.step()

    run, timeline = read(path)
    assert (run["status"], run["name"], run["config"]["beams"]) == ("finished", "my run", 1)
    counts = {"ok": 1, "failed": 1, "cancelled": 0, "incomplete": 1, "invalid": 0, "warmup": 1}
    assert run["requests"] == counts
    rows = {row["id"]: row for row in run["per_request"]}
    assert list(rows) == ["w1", "r1", "r2", "r3"]
    assert rows["r1"]["ttft_ms"] == 100 and rows["r1"]["e2e_ms"] == 130
    assert rows["r1"]["tpot_ms"] == 15 and rows["r1"]["output_tokens"] == 3
    assert rows["r1"]["text"] == "Hello" and rows["r1"]["spans_ms"] == {"prefill": 90}
    assert rows["r2"]["output_tokens"] == 6 and rows["r2"]["error"] == "it broke"
    assert timeline.requests[3].kv_len.tolist() == [22, 24, 26]
    assert "A remark." in run["notes"]
    assert timeline.runs[1].facts["my_setting"] == {"a": [1, None]}
    assert [span.name for span in timeline.runs[1].spans] == ["load"]


def test_an_existing_file_is_replaced_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    path.write_bytes(b"old")
    with Recorder(path, overwrite=True, sample_hz=0) as rec, rec.request(prompt_tokens=1) as req:
        req.step()
    run, timeline = read(path)
    assert run["requests"]["ok"] == 1
    assert timeline.facts["telemetry"]["reason"] == "the sampler was switched off"
    assert [p.name for p in tmp_path.iterdir()] == ["a.dscope"]


def test_an_exception_inside_fails_the_run_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    with pytest.raises(ValueError, match="my bug"), Recorder(path, sample_hz=0) as rec:
        with pytest.raises(KeyError), rec.request(prompt_tokens=1):
            raise KeyError("caught by the script")
        with rec.request(prompt_tokens=1) as req:
            req.step()
            raise ValueError("my bug")
    run, timeline = read(path)
    assert (run["status"], run["reason"]) == ("failed", "ValueError: my bug")
    assert run["requests"]["failed"] == 2
    assert [f.message for f in timeline.failures] == [
        "Request 1: KeyError: 'caught by the script'",
        "Request 2: ValueError: my bug",
        "ValueError: my bug",
    ]


def test_ctrl_c_stops_the_run(tmp_path: Path) -> None:
    script = start(tmp_path, LOOP.replace("{extra}", "pass"))
    assert script.stdout is not None
    for _ in range(20):
        script.stdout.readline()
    child = recording_process(script.pid)
    child.send_signal(signal.SIGINT)  # as from a terminal: it does not listen
    script.send_signal(signal.SIGINT)
    _, err = script.communicate(timeout=30)
    assert "KeyboardInterrupt" in err and "Decodescope" not in err
    all_gone([child], 20)
    run, _ = read(tmp_path / "a.dscope")
    assert (run["status"], run["reason"]) == ("stopped", "stopped by the user")
    assert run["requests"]["cancelled"] == 1
    assert run["per_request"][0]["output_tokens"] >= 20


@pytest.mark.parametrize("forked", [False, True])
def test_a_killed_script_leaves_a_file_with_all_but_the_last_second(tmp_path: Path, forked: bool) -> None:
    # A process forked from the script holds the pipe open after the script's death.
    extra = "if i == 10 and __import__('os').fork() == 0: sys.stdout.close(); time.sleep(60)"
    script = start(tmp_path, LOOP.replace("{extra}", extra if forked else "pass"))
    assert script.stdout is not None
    lines = []
    while len(lines) < 300:
        lines.append(script.stdout.readline().split())
    children = descendants(script.pid)
    assert len(children) == (2 if forked else 1)
    recorder = next(child for child in children if "profiler.engine.script" in " ".join(child.cmdline()))
    kill(script.pid)
    rest = script.stdout.readlines() if not forked else []
    script.wait()
    try:
        all_gone([recorder], 20)
    finally:
        for child in children:
            if child != recorder:
                kill(child.pid)
    script.stdout.close()
    assert script.stderr is not None
    script.stderr.close()

    lines += [line.split() for line in rest if line.count(" ") == 1 and line.endswith("\n")]
    last_ns = int(lines[-1][1])
    due = sum(int(t_ns) <= last_ns - 1_000_000_000 for _, t_ns in lines)
    assert due >= 20
    run, timeline = read(tmp_path / "a.dscope")
    assert (run["status"], run["reason"]) == ("interrupted", "the script ended unexpectedly")
    request = timeline.requests[1]
    assert len(request) >= due
    assert request.ids.tolist() == list(range(len(request)))
    assert run["requests"]["incomplete"] == 1
    assert {p.name for p in tmp_path.iterdir()} == {"a.dscope", "script.py"}


def test_a_script_that_ends_without_close_keeps_every_step(tmp_path: Path) -> None:
    code = """
from profiler import Recorder
rec = Recorder("a.dscope", sample_hz=0)
req = rec.request(prompt_tokens=1)
for i in range(1000):
    req.step(i)
"""
    script = start(tmp_path, code)
    out, err = script.communicate(timeout=60)
    assert (script.returncode, out, err) == (0, "", "")
    run, timeline = read(tmp_path / "a.dscope")
    assert (run["status"], run["reason"]) == (
        "interrupted",
        "the script ended before the recording was closed",
    )
    assert len(timeline.requests[1]) == 1000


def test_a_killed_recording_process_does_not_disturb_the_script(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    rec = Recorder(path, sample_hz=0)
    request = rec.request(prompt_tokens=1)
    request.step(1)
    process = psutil.Process(rec._process.pid)

    def stored() -> bool:
        with SessionReader.open(path) as reader:
            timeline = reader.timeline()
            return 1 in timeline.requests and len(timeline.requests[1]) == 1

    wait_until(stored, what="the step in the file")
    process.kill()
    all_gone([process])
    for i in range(1000):
        request.step(i)
    request.end()
    with pytest.raises(SessionError, match=r"killed by SIGKILL.* kept.* See .*a\.dscope\.$"):
        rec.close()
    run, timeline = read(path)
    assert run["status"] == "interrupted"
    assert len(timeline.requests[1]) == 1


def test_a_fault_of_our_own_ends_the_recording_and_not_the_script(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    rec = Recorder(path, sample_hz=0)
    request = rec.request(prompt_tokens=1)
    request.step(1)
    assert rec._outbox.flush()
    rec._outbox.emit(object(), now=True)  # type: ignore[arg-type] - no event at all
    wait_until(rec._broken.is_set, what="the end of the writing")
    request.step(2)
    with pytest.raises(SessionError, match=r"ended the recording early.* What was recorded is in .*\.$"):
        rec.close()
    run, timeline = read(path)
    assert run["status"] == "interrupted" and len(timeline.requests[1]) == 1


def test_a_folder_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with pytest.raises(SessionError, match="cannot be written to"):
        Recorder(folder / "a.dscope")
