"""The figures of a range of tokens are those of numpy on the slice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler import events as ev
from profiler.analysis.run import run_metrics
from profiler.analysis.selection import TokenRange, selection_values
from profiler.timeline import Run, Timeline

MS = 1_000_000
FOOTPRINT = {"weight_bytes_per_step": 1_000_000_000, "kv_layers": [{"bytes_per_token": 1000, "window": None}]}
REFERENCE = {"gb_s": 100.0, "source": "measured"}


def timeline_of(*gaps_ms: list[float], warmups: int = 0, status: str = "ok") -> Timeline:
    """One request for each list of gaps; the first `warmups` of them are warm-ups."""
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0, "m", "m", {}, {}))
    timeline.apply(ev.Fact("footprint", FOOTPRINT, 1))
    timeline.apply(ev.Fact("reference", REFERENCE, 1))
    t0 = 0
    for no, gaps in enumerate(gaps_ms):
        first = t0 + 50 * MS
        stamps = first + np.round(np.concatenate(([0.0], np.cumsum(gaps))) * MS).astype(np.int64)
        lengths = [17 + at for at in range(len(stamps))]
        timeline.apply(ev.RequestStart(no, 1, f"r{no}", t0, 16, 999, True, no < warmups, None, None))
        timeline.apply(ev.make_steps(no, 0, stamps, kv_len=lengths))
        t0 = int(stamps[-1]) + MS
        timeline.apply(ev.RequestEnd(no, t0, status, "length"))
    timeline.apply(ev.RunEnd(1, t0, "finished", None))
    return timeline


def run_of(timeline: Timeline) -> Run:
    run = timeline.last_run
    assert run is not None
    return run


def test_a_range_worked_out_by_hand() -> None:
    # Gaps belong to tokens 2, 3, 4, 5, 6: tokens 3 to 5 have the gaps 20, 30, 40.
    run = run_of(timeline_of([10, 20, 30, 40, 50]))
    values = selection_values(run, TokenRange(3, 5))
    assert (values.first, values.last, values.requests, values.gaps) == (3, 5, 1, 3)
    itl = values.metrics["itl_ms"]
    assert (itl["n"], itl["mean"], itl["p50"], itl["max"]) == (3, 30.0, 30.0, 40.0)
    assert values.metrics["tpot_ms"]["p50"] == 30.0
    assert values.metrics["decode_tok_s"]["p50"] == pytest.approx(1000 / 30)
    # 1 GB of weights and 1 kB a token of context (lengths 19, 20, 21) in 90 ms at 100 GB/s.
    moved = 3 * 1_000_000_000 + 1000 * (19 + 20 + 21)
    assert values.metrics["mbu"]["run"] == pytest.approx(moved / (0.090 * 100e9))


def test_the_first_token_has_no_gap() -> None:
    run = run_of(timeline_of([10, 20, 30]))
    assert selection_values(run, TokenRange(1, 2)).metrics["itl_ms"]["max"] == 10.0
    nothing = selection_values(run, TokenRange(1, 1))
    assert (nothing.requests, nothing.gaps) == (0, 0)
    assert nothing.metrics["itl_ms"]["p50"] is None
    assert nothing.metrics["jitter"]["jitter_ms"] is None


def test_warm_ups_and_what_failed_are_left_out_unless_asked_for() -> None:
    run = run_of(timeline_of([90, 90, 90], [10, 20, 30], warmups=1))
    assert selection_values(run, TokenRange(2, 4)).metrics["itl_ms"]["max"] == 30.0
    assert selection_values(run, TokenRange(2, 4), only=0).metrics["itl_ms"]["p50"] == 90.0
    failed = run_of(timeline_of([10, 20], status="error"))
    assert selection_values(failed, TokenRange(2, 3)).requests == 0


def test_a_request_that_never_ended_counts_only_while_the_run_goes_on() -> None:
    timeline = timeline_of([10, 20, 30])
    run = run_of(timeline)
    run.requests[0].end_status = None
    assert selection_values(run, TokenRange(2, 4)).requests == 0
    run.status = "running"
    assert selection_values(run, TokenRange(2, 4)).requests == 1


def test_shorter_answers_give_what_they_have() -> None:
    values = selection_values(run_of(timeline_of([10, 20, 30, 40], [11])), TokenRange(2, 4))
    assert (values.requests, values.gaps) == (2, 4)
    values = selection_values(run_of(timeline_of([10, 20, 30, 40], [11])), TokenRange(3, 4))
    assert (values.requests, values.gaps) == (1, 2)


@given(
    st.lists(st.lists(st.integers(1, 200), min_size=1, max_size=60), min_size=1, max_size=4),
    st.integers(1, 62),
    st.integers(1, 62),
)
def test_equal_to_numpy_on_the_slice(gaps: list[list[int]], one: int, other: int) -> None:
    run = run_of(timeline_of(*[[float(gap) for gap in part] for part in gaps]))
    tokens = TokenRange.between(one, other, 62)
    values = selection_values(run, tokens)
    first, last = max(tokens.first, 2), tokens.last
    expected = np.concatenate([np.array(part, float)[first - 2 : max(last - 1, 0)] for part in gaps])
    itl = values.metrics["itl_ms"]
    assert itl["n"] == values.gaps == len(expected)
    if len(expected):
        assert itl["mean"] == pytest.approx(expected.mean())
        for q in (50, 95, 99):
            assert itl[f"p{q}"] == pytest.approx(np.percentile(expected, q))


def test_the_whole_answer_gives_the_run_s_own_figures() -> None:
    rng = np.random.default_rng(7)
    gaps = [list(np.round(10 + rng.gamma(2, 0.4, 120), 3)) for _ in range(3)]
    timeline = timeline_of(*gaps)
    run = run_of(timeline)
    whole = run_metrics(timeline, run)["metrics"]
    values = selection_values(run, TokenRange(1, 121)).metrics
    assert values["itl_ms"] == whole["itl_ms"]
    assert values["jitter"] == whole["jitter"]
    assert values["mbu"]["run"] == whole["mbu"]["run"]
    for key in ("tpot_ms", "decode_tok_s", "fluctuation"):
        assert values[key]["p50"] == pytest.approx(whole[key]["p50"])


def test_ranges() -> None:
    assert TokenRange.between(260.4, 119.8, 512) == TokenRange(120, 260)
    assert TokenRange.between(-5, 900, 512) == TokenRange(1, 512)
    assert len(TokenRange(120, 260)) == 141
    with pytest.raises(ValueError, match="upwards"):
        TokenRange(3, 2)
