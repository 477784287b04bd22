"""One number, whoever asks: the live view, the end of the run, the report, a trace of it.

And a schedule with known stalls, whose figures are worked out here by hand.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli import dscope
from processes import Session

from profiler import events as ev
from profiler.analysis.jitter import fit_gaps
from profiler.analysis.run import RunSummary, run_metrics
from profiler.analysis.steps import step_view
from profiler.session.reader import SessionReader
from profiler.session.trace import import_trace, write_trace
from profiler.timeline import Timeline

SCHEDULE = "synthetic:ttft_ms=8,itl_ms=2,slope_us=20,jitter_ms=0.4,stall_ms=9,stall_every=7,k=2"
TOLD_ELSEWHERE = ("mbu", "memory", "energy")
"""What the model, the device and the machine told is no part of a trace."""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path / "library")
    yield session
    session.close()


def record(session: Session, model: str, **settings: Any) -> tuple[Timeline, Path]:
    """A run to its end: the timeline that a window would hold, and the file."""
    session.run(model, **settings)
    assert session.wait_for(ev.RunEnd, timeout_s=60).status == "finished"
    path = session.wait_for(ev.Recording, lambda event: event.state == "recorded").path
    timeline = Timeline()
    timeline.apply_all(session.events)
    return timeline, Path(path)


def in_file(path: Path) -> tuple[Timeline, dict[str, Any]]:
    with SessionReader.open(path) as reader:
        timeline = reader.timeline()
        (run,) = timeline.runs.values()
        return timeline, run_metrics(timeline, run)


def test_live_final_report_and_trace_say_the_same(session: Session, tmp_path: Path) -> None:
    timeline, path = record(session, SCHEDULE, output_tokens=41, repeats=6, warmup=1, sample_hz=10)
    (run,) = timeline.runs.values()

    # As the window asks: again and again, with what is known kept. The last answer counts.
    summary = RunSummary()
    partial = Timeline()
    for number, event in enumerate(session.events):
        partial.apply(event)
        if number % 5 == 0 and partial.runs:
            run_metrics(partial, partial.runs[run.no], live=True, summary=summary)
    live = run_metrics(partial, partial.runs[run.no], live=True, summary=summary)
    final = run_metrics(timeline, run)
    _, saved = in_file(path)
    told = dscope("report", path, "--json")
    assert told.returncode == 0, told.stderr
    (report,) = json.loads(told.stdout, parse_constant=lambda name: pytest.fail(name))["runs"]

    assert final["requests"]["ok"] == 6 and final["requests"]["warmup"] == 1
    # 41 tokens in steps of 2: 21 steps, 20 gaps, in each of 6 requests.
    assert final["metrics"]["itl_ms"]["n"] == 6 * 20
    assert final["metrics"]["mbu"]["run"] is not None

    # Live and final differ by the interval of the trend alone, which is not worked out live.
    interval = ("slope_ci95_us_per_token", "identifiable", "reason")
    for name, value in final["metrics"].items():
        mine = live["metrics"][name]
        if name == "trend":
            value, mine = ({k: v for k, v in each.items() if k not in interval} for each in (value, mine))
        assert mine == value, name
    assert live["per_request"] == final["per_request"]
    assert live["disturbance"] == final["disturbance"]
    assert live["window_ns"] == final["window_ns"]
    assert {k: v for k, v in live["requests"].items() if k != "running"} == final["requests"]
    assert live["requests"]["running"] == 0

    # The stream, the file, the report that scripts read: number for number.
    plain = json.loads(json.dumps(final, allow_nan=False))
    assert json.loads(json.dumps(saved, allow_nan=False)) == plain
    for key in ("requests", "empty_events", "metrics", "disturbance", "per_request", "window_ns"):
        assert report[key] == plain[key], key

    # Worked out once more from the lines of the trace.
    lines, again, copy = tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "copy.dscope"
    with SessionReader.open(path) as reader:
        write_trace(reader.timeline(), lines)
    import_trace(lines, copy)
    with SessionReader.open(copy) as reader:
        write_trace(reader.timeline(), again)
    assert lines.read_bytes() == again.read_bytes()
    _, recomputed = in_file(copy)
    for name, value in final["metrics"].items():
        mine = recomputed["metrics"][name]
        if name == "trend":  # its factor needs the bytes of a token
            value, mine = ({**each, "slope_factor": None} for each in (value, mine))
        if name not in TOLD_ELSEWHERE:
            assert mine == value, name
    assert recomputed["per_request"] == final["per_request"]
    assert recomputed["requests"] == final["requests"]
    assert recomputed["window_ns"] == final["window_ns"]


STALLS = "synthetic:ttft_ms=20,itl_ms=5,stall_ms=250,stall_every=40,stamps=exact"
STALLED_GAPS = [39, 79, 119, 159]
"""After tokens 40, 80, 120 and 160 of 200: gap i ends at token i + 2, counted from 1."""


def stalled_timeline(session: Session, slope_us: float, repeats: int) -> tuple[Timeline, dict[str, Any]]:
    _, path = record(
        session,
        f"{STALLS},slope_us={slope_us}",
        output_tokens=200,
        repeats=repeats,
        warmup=0,
        prompt_tokens=16,
    )
    with SessionReader.open(path) as reader:
        timeline = reader.timeline()
        for request in timeline.iter_requests():
            view = step_view(request)
            fit = fit_gaps(view.gaps_ms, view.gap_kv_len)
            assert fit.spikes.nonzero()[0].tolist() == STALLED_GAPS
            # Of a prompt of 16, at the 41st, 81st, 121st and 161st token.
            assert view.gap_kv_len[STALLED_GAPS].tolist() == [16 + 41, 16 + 81, 16 + 121, 16 + 161]
        return timeline, run_metrics(timeline, timeline.runs[1])


def test_stalls_are_flagged_and_nothing_is_hidden(session: Session) -> None:
    """Gaps of 5 ms, but for four of 255 ms in each of two requests: 398 gaps."""
    _, result = stalled_timeline(session, 0, 2)
    metrics = result["metrics"]
    assert metrics["itl_ms"]["n"] == 398
    assert (metrics["itl_ms"]["p50"], metrics["itl_ms"]["max"]) == (5.0, 255.0)
    assert metrics["itl_ms"]["mean"] == pytest.approx((390 * 5 + 8 * 255) / 398)
    jitter = metrics["jitter"]
    assert jitter["spikes"] == 8
    assert jitter["longest_stall_ms"] == 255.0
    # Half of the residuals and more are 0, the four stalls 250: the MAD is 0, p99 is a stall.
    assert jitter["jitter_ms"] == pytest.approx(0.0, abs=1e-9)
    assert jitter["p99_minus_p50_ms"] == pytest.approx(250.0)
    std = math.sqrt((8 * 250**2 - (8 * 250) ** 2 / 398) / 397)
    assert jitter["cv"] == pytest.approx(std / 5)
    trend = metrics["trend"]
    assert trend["slope_us_per_token"] == pytest.approx(0.0, abs=1e-9)
    assert trend["intercept_ms"] == pytest.approx(5.0)
    assert trend["identifiable"] is False
    for row in result["per_request"]:
        assert row["spikes"] == 4
        assert row["itl"] == {"n": 199, "mean": pytest.approx((995 + 1000) / 199), "p50": 5, "max": 255}
        # All above P90 + 3 * IQR = 5 ms are dropped, and only from this one figure.
        assert (row["itl_trimmed_weighted_ms"], row["dropped"]) == (pytest.approx(5.0), 4)
        assert row["tpot_ms"] == pytest.approx((199 * 5 + 4 * 250) / 199)


def test_stalls_do_not_bend_the_trend(session: Session) -> None:
    """A gap after p tokens is 5 ms + p * 20 us; the stalls come on top and are not part of the line."""
    _, result = stalled_timeline(session, 20, 1)
    metrics = result["metrics"]
    assert metrics["trend"]["slope_us_per_token"] == pytest.approx(20.0, rel=1e-6)
    # At a length of L the gap is 5 ms + (L - 17) * 20 us.
    assert metrics["trend"]["intercept_ms"] == pytest.approx(5 - 17 * 0.02)
    assert metrics["jitter"]["jitter_ms"] == pytest.approx(0.0, abs=1e-6)
    assert metrics["jitter"]["spikes"] == 4
    # The last stall, after 160 tokens.
    assert metrics["itl_ms"]["max"] == pytest.approx(5 + 160 * 0.02 + 250)
    assert metrics["jitter"]["longest_stall_ms"] == metrics["itl_ms"]["max"]
    # A step of 100 MB and 20 KiB a token at 10 GB/s: one token more takes 2.048 us.
    assert metrics["trend"]["slope_factor"] == pytest.approx(20 / 2.048, rel=1e-6)
