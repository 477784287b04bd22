"""What holds on any stream of events: sums, counts, what is missing, strict JSON."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiler import events as ev
from profiler.analysis.latency import request_metrics
from profiler.analysis.run import RunSummary, run_metrics
from profiler.reporting.report import report
from profiler.timeline import Timeline


@dataclass(frozen=True)
class Plan:
    t0: int
    steps: list[tuple[int, int]]
    end: str | None
    streamed: bool
    warmup: bool
    prompt: int | None
    disturbed: bool

    @property
    def real(self) -> list[tuple[int, int]]:
        return [(t, k) for t, k in self.steps if k != 0]

    @property
    def backwards(self) -> bool:
        times = [self.t0, *(t for t, _ in self.real)]
        return any(b < a for a, b in itertools.pairwise(times))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    t0 = draw(st.integers(0, 10**12))
    # Mostly forwards, at times standing still, seldom backwards.
    gaps = draw(st.lists(st.one_of(st.integers(0, 10**9), st.just(0), st.integers(-5, 10**7)), max_size=14))
    k = [draw(st.sampled_from([1, 1, 1, 0, 2, 7, ev.UNKNOWN])) for _ in gaps]
    t, steps = t0, []
    for gap, tokens in zip(gaps, k, strict=True):
        t += gap
        steps.append((t, tokens))
    return Plan(
        t0,
        steps,
        draw(st.sampled_from(["ok", "ok", "ok", "error", "cancelled", None])),
        draw(st.sampled_from([True, True, True, False])),
        draw(st.sampled_from([False, False, True])),
        draw(st.sampled_from([None, 16, 300])),
        draw(st.booleans()),
    )


def build(items: list[Plan], order: list[int]) -> Timeline:
    """The plans as events; steps of different requests interleave as `order` says."""
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0))
    timeline.apply(
        ev.Fact("footprint", {"weight_bytes_per_step": 1e8, "kv_layers": [{"bytes_per_token": 100}]}, 1)
    )
    timeline.apply(ev.Fact("reference", {"gb_s": 20.0}, 1))
    queues: list[list[ev.Event]] = []
    for no, plan in enumerate(items):
        queue: list[ev.Event] = [
            ev.RequestStart(no, 1, f"r{no}", plan.t0, plan.prompt, 8, plan.streamed, plan.warmup)
        ]
        queue += [
            ev.make_steps(no, i, [t], [k], flags=[int(plan.disturbed)]) for i, (t, k) in enumerate(plan.steps)
        ]
        if plan.end is not None:
            last = max([plan.t0, *(t for t, _ in plan.steps)])
            queue.append(ev.RequestEnd(no, last, plan.end))
        queues.append(queue)
    for pick in order:
        if queues and queues[pick % len(queues)]:
            timeline.apply(queues[pick % len(queues)].pop(0))
    for queue in queues:
        timeline.apply_all(queue)
    return timeline


def expected_status(plan: Plan) -> str:
    if plan.end == "error":
        return "failed"
    if plan.backwards:
        return "invalid"
    if plan.end == "cancelled":
        return "cancelled"
    if plan.end is None:
        return "incomplete"
    return "ok" if plan.real else "failed"


@settings(max_examples=300, deadline=None)
@given(plans())
def test_one_request(plan: Plan) -> None:
    metrics = request_metrics(build([plan], []).requests[0])
    assert metrics.status == expected_status(plan)
    real = plan.real
    known = all(k > 0 for _, k in real)
    n = sum(k for _, k in real)
    assert metrics.empty_events == len(plan.steps) - len(real)
    if known:
        assert metrics.output_tokens == n
    if metrics.status != "ok":
        assert metrics.tpot_ms is None and metrics.ttft_ms is None and len(metrics.itl_ms) == 0
        return
    span_ms = (real[-1][0] - real[0][0]) / 1e6
    assert math.fsum(metrics.itl_ms) == pytest.approx(span_ms, rel=1e-9, abs=1e-9)
    assert len(metrics.itl_ms) == len(real) - 1
    assert (metrics.ttft_ms is None) == (not plan.streamed)
    if known:
        assert (metrics.tpot_ms is None) == (n - real[0][1] <= 0)
        assert (metrics.decode_tok_s is None) == (metrics.tpot_ms is None or span_ms == 0)
    for name, value in vars_of(metrics).items():
        if value is None:
            assert metrics.reasons[name], name
        else:
            assert math.isfinite(value)


def vars_of(metrics: Any) -> dict[str, Any]:
    names = ("ttft_ms", "tpot_ms", "e2e_ms", "decode_tok_s", "output_tok_s", "effective_tok_s", "fluctuation")
    return {name: getattr(metrics, name) for name in names}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(plans(), max_size=7), st.lists(st.integers(0, 6), max_size=60))
def test_a_run(items: list[Plan], order: list[int]) -> None:
    timeline = build(items, order)
    whole = report(timeline, session_name="x")
    text = json.dumps(whole, allow_nan=False)
    assert json.loads(text) == whole
    run = whole["runs"][0]
    measured = [plan for plan in items if not plan.warmup]
    counted = [plan for plan in measured if expected_status(plan) == "ok"]
    for status in ("ok", "failed", "cancelled", "incomplete", "invalid"):
        assert run["requests"][status] == sum(expected_status(plan) == status for plan in measured)
    assert run["requests"]["warmup"] == len(items) - len(measured)
    # No gap spans two requests.
    itl = run["metrics"]["itl_ms"]
    assert itl["n"] == sum(len(plan.real) - 1 for plan in counted)
    if itl["n"]:
        spans = sum(plan.real[-1][0] - plan.real[0][0] for plan in counted) / 1e6
        assert itl["mean"] * itl["n"] == pytest.approx(spans, rel=1e-9, abs=1e-6)
    assert run["metrics"]["ttft_ms"]["n"] == sum(plan.streamed for plan in counted)
    # The order of arrival changes nothing, and neither does having looked before.
    summary = RunSummary()
    run_metrics(timeline, timeline.runs[1], live=True, summary=summary)
    json.dumps(run_metrics(timeline, timeline.runs[1], live=True, summary=summary), allow_nan=False)
    again = run_metrics(timeline, timeline.runs[1], summary=summary)
    assert again["metrics"] == run["metrics"]
    by_id = {row["id"]: row for row in run["per_request"]}
    for no, plan in enumerate(items):
        assert by_id[f"r{no}"]["itl"]["n"] == (len(plan.real) - 1 if expected_status(plan) == "ok" else 0)
