"""The metrics of one request, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from analysis_streams import MS, add_request, empty_timeline, one_request

from profiler import events as ev
from profiler.analysis.latency import SCALARS, request_metrics


def test_plain_request() -> None:
    metrics = request_metrics(one_request([100, 110, 130, 140], t0_ms=20, asked=6))
    assert metrics.status == "ok"
    assert metrics.ttft_ms == 80
    assert metrics.itl_ms.tolist() == [10, 20, 10]
    assert metrics.tpot_ms == pytest.approx(40 / 3)
    assert metrics.e2e_ms == 120
    assert metrics.output_tokens == 4
    assert metrics.decode_tok_s == 75  # 3 tokens in 40 ms
    assert metrics.output_tok_s == pytest.approx(4 / 0.120)
    assert metrics.effective_tok_s == pytest.approx(4 / (0.080 + 4 * 0.040 / 3))
    assert metrics.fluctuation == pytest.approx((19 - 10) / 10)  # p95 of 10, 10, 20 is 19
    assert metrics.shortfall == 2
    assert metrics.reasons["shortfall"] == "stopped: length"
    # P90 18, IQR 5: nothing above 33; weights 2, 3, 4.
    assert metrics.itl_trimmed_weighted_ms == pytest.approx((2 * 10 + 3 * 20 + 4 * 10) / 9)
    assert metrics.dropped == 0


def test_several_tokens_a_step_count_for_rates_not_for_gaps() -> None:
    metrics = request_metrics(one_request([500, 530, 560, 600], k=[1, 3, 2, 4]))
    assert metrics.itl_ms.tolist() == [30, 30, 40]
    assert metrics.itl_per_token_ms is not None
    assert metrics.itl_per_token_ms.tolist() == [10, 15, 10]
    assert metrics.tpot_ms == pytest.approx(100 / 9)
    assert metrics.output_tokens == 10


def test_empty_events_move_nothing() -> None:
    # The first of them lies before t0, the last goes back in time: they are no steps.
    metrics = request_metrics(one_request([5, 450, 500, 650, 640], t0_ms=10, k=[0, 1, 0, 1, 0], end_ms=900))
    assert metrics.status == "ok"
    assert metrics.empty_events == 3
    assert metrics.ttft_ms == 440
    assert metrics.itl_ms.tolist() == [200]
    assert metrics.e2e_ms == 640


@pytest.mark.parametrize(("k", "why"), [([1], "one token"), ([5], "one event")])
def test_one_step_has_no_tpot(k: list[int], why: str) -> None:
    metrics = request_metrics(one_request([100], k=k))
    assert metrics.ttft_ms == 100
    assert metrics.tpot_ms is None and metrics.reasons["tpot_ms"] == why
    assert metrics.decode_tok_s is None and metrics.effective_tok_s is None
    assert metrics.fluctuation is None
    assert len(metrics.itl_ms) == 0 and metrics.itl_trimmed_weighted_ms is None
    assert metrics.itl_per_token_ms is not None and len(metrics.itl_per_token_ms) == 0


def test_two_steps_at_once_are_a_gap_of_zero() -> None:
    metrics = request_metrics(one_request([100, 100]))
    assert metrics.itl_ms.tolist() == [0]
    assert metrics.tpot_ms == 0
    assert metrics.decode_tok_s is None and metrics.reasons["decode_tok_s"] == "no time passed"
    assert metrics.effective_tok_s == 20


def test_no_time_at_all() -> None:
    metrics = request_metrics(one_request([0, 0]))
    assert (metrics.ttft_ms, metrics.tpot_ms, metrics.e2e_ms) == (0, 0, 0)
    assert metrics.output_tok_s is None and metrics.effective_tok_s is None
    metrics = request_metrics(one_request([10, 10, 10]))
    assert metrics.fluctuation is None and metrics.reasons["fluctuation"] == "the median gap is 0"


@pytest.mark.parametrize("steps", [[100, 99], [-1, 5]])
def test_backward_clock_is_invalid(steps: list[float]) -> None:
    metrics = request_metrics(one_request(steps))
    assert metrics.status == "invalid"
    assert metrics.reasons["ttft_ms"] == "clock went backwards"
    assert all(getattr(metrics, name) is None for name in SCALARS)
    assert len(metrics.itl_ms) == 0 and metrics.output_tokens == 2


@pytest.mark.parametrize(
    ("end", "status"), [("error", "failed"), ("cancelled", "cancelled"), (None, "incomplete")]
)
def test_what_did_not_end_well_keeps_its_tokens_only(end: str | None, status: str) -> None:
    metrics = request_metrics(one_request([100, 110], end=end))
    assert metrics.status == status
    assert metrics.output_tokens == 2
    assert all(getattr(metrics, name) is None and metrics.reasons[name] for name in SCALARS)


def test_an_answer_without_a_token_failed() -> None:
    for steps, k in (([], None), ([50.0], [0])):
        metrics = request_metrics(one_request(steps, k=k, end_ms=100))
        assert (metrics.status, metrics.reasons["ttft_ms"]) == ("failed", "no token")


def test_an_error_is_not_hidden_behind_a_bad_clock() -> None:
    assert request_metrics(one_request([100, 90], end="error")).status == "failed"


def test_not_streamed_ends_with_its_end_event() -> None:
    metrics = request_metrics(one_request([400], k=[8], streamed=False, end_ms=500))
    assert metrics.ttft_ms is None and metrics.reasons["ttft_ms"] == "not streamed"
    assert metrics.e2e_ms == 500
    assert metrics.output_tok_s == 16
    assert metrics.effective_tok_s is None
    assert metrics.tpot_ms is None and metrics.reasons["tpot_ms"] == "one event"


def test_only_the_total_is_told() -> None:
    request = one_request([100, 120, 160], k=[-1, -1, -1])
    metrics = request_metrics(request, usage_tokens=7)
    assert metrics.output_tokens == 7
    assert metrics.tpot_ms == 10  # 60 ms over 6
    assert metrics.reasons["tpot_ms"] == "assumes one token in the first chunk"
    assert metrics.itl_ms.tolist() == [20, 40]
    assert metrics.itl_per_token_ms is None
    unknown = request_metrics(request)
    assert unknown.output_tokens is None and unknown.tpot_ms is None and unknown.output_tok_s is None


def test_a_usage_chunk_tells_the_total_by_its_length() -> None:
    # An event of no token: 16 prompt tokens and 7 of the answer.
    request = one_request([100, 160, 161], k=[-1, -1, 0], kv_len=[-1, -1, 23], prompt=16)
    metrics = request_metrics(request)
    assert metrics.output_tokens == 7 and metrics.tpot_ms == 10 and metrics.empty_events == 1


def test_one_event_with_a_told_total() -> None:
    metrics = request_metrics(one_request([100], k=[-1]), usage_tokens=5)
    assert metrics.tpot_ms is None and metrics.reasons["tpot_ms"] == "one event"


def test_prompt_rate_leaves_out_cached_tokens() -> None:
    timeline = empty_timeline()
    request = add_request(timeline, 1, [100], prompt=100)
    assert request_metrics(request).prompt_tok_s is None
    timeline.apply(ev.Span(1, "prefill", 0, 50 * MS, 1, {"cached_tokens": 60}))
    assert request_metrics(request).prompt_tok_s == 800  # 40 tokens in 50 ms
    timeline.apply(ev.Span(1, "prefill", 50 * MS, 60 * MS, 1, {"cached_tokens": 40}))
    metrics = request_metrics(request)
    assert metrics.prompt_tok_s is None and "processed" in metrics.reasons["prompt_tok_s"]


def test_running_request_says_what_it_can() -> None:
    metrics = request_metrics(one_request([100, 120], end=None), running=True)
    assert metrics.status == "running"
    assert (metrics.ttft_ms, metrics.tpot_ms) == (100, 20)
    assert metrics.e2e_ms is None and metrics.reasons["e2e_ms"] == "still running"
    waiting = request_metrics(one_request([], end=None), running=True)
    assert waiting.ttft_ms is None and waiting.reasons["ttft_ms"] == "still running"


def test_stamps_at_the_ends_of_64_bits() -> None:
    low, high = -(2**63), 2**63 - 1
    timeline = empty_timeline()
    timeline.apply(ev.RequestStart(1, 1, "r1", low))
    timeline.apply(ev.make_steps(1, 0, np.array([low, high], np.int64)))
    timeline.apply(ev.RequestEnd(1, high, "ok"))
    metrics = request_metrics(timeline.requests[1])
    assert metrics.itl_ms.tolist() == [(2**64 - 1) / 1e6]
    assert metrics.e2e_ms == (2**64 - 1) / 1e6
