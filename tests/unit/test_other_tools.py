"""The same stamps under the definitions of other tools, worked out by hand."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from analysis_streams import MS, add_request, empty_timeline
from rich.console import Console

from profiler import events as ev
from profiler.analysis.definitions import DEFINITIONS
from profiler.errors import UsageError
from profiler.reporting.other_definitions import TOOLS
from profiler.reporting.other_text import other_text
from profiler.reporting.other_tools import definitions_elsewhere, find_tool, report_as, stepped_percentile
from profiler.timeline import Timeline


def two_requests() -> Timeline:
    """r1: 5 tokens in three chunks, with spans; r2: 2 tokens 10 ms apart; a warm-up and a failure."""
    timeline = empty_timeline()
    add_request(timeline, 1, [100, 120, 180], k=[2, 1, 2], prompt=10, end_ms=200)
    timeline.apply(ev.Span(1, "tokenize", 0, 10 * MS, 1))
    timeline.apply(ev.Span(1, "prefill", 20 * MS, 90 * MS, 1))
    timeline.apply(ev.Span(1, "sample", 90 * MS, 100 * MS, 1))
    add_request(timeline, 2, [1050, 1060], t0_ms=1000)
    add_request(timeline, 3, [9000, 9900], t0_ms=8000, warmup=True)
    add_request(timeline, 4, [1030], t0_ms=1020, end="error", end_ms=1040)
    return timeline


def figures(timeline: Timeline, tool: str) -> dict[str, Any]:
    (run,) = report_as(timeline, tool)["runs"]
    return run["figures"]


def means(timeline: Timeline, tool: str) -> dict[str, float | None]:
    return {name: figure["value"] for name, figure in figures(timeline, tool).items()}


def test_vllm_divides_by_the_tokens_but_one() -> None:
    assert means(two_requests(), "vllm") == pytest.approx(
        {
            "ttft_ms": 75.0,  # 100, 50
            "tpot_ms": 15.0,  # 80 / 4 = 20, 10 / 1 = 10
            "itl_ms": 30.0,  # 20, 60, 10
            "e2el_ms": 120.0,  # 180, 60
            "output_tok_s": 7 / 1.06,
            "requests_per_s": 2 / 1.06,
        }
    )
    itl = figures(two_requests(), "vllm")["itl_ms"]
    assert itl["statistics"] == pytest.approx(
        {"n": 3, "mean": 30.0, "min": 10.0, "p50": 20.0, "p90": 52.0, "p95": 56.0, "p99": 59.2, "max": 60.0}
    )
    assert itl["ours"] == {"metric": "itl_ms", "value": pytest.approx(30.0)}
    tpot = figures(two_requests(), "vllm")["tpot_ms"]
    assert tpot["ours"]["value"] == pytest.approx((80 / 3 + 10) / 2)
    assert "tokens - 1" in tpot["formula"]


def test_aiperf_has_a_mean_of_each_request() -> None:
    assert means(two_requests(), "aiperf") == pytest.approx(
        {
            "ttft_ms": 75.0,
            "ttst_ms": 15.0,  # 20, 10
            "itl_ms": 15.0,
            "icl_ms": 30.0,
            "request_latency_ms": 120.0,
            "output_tok_s_per_user": 75.0,  # 50, 100
            "output_tok_s": 7 / 1.06,
            "requests_per_s": 2 / 1.06,
        }
    )


def test_guidellm_counts_ttft_into_tpot_and_weighs_by_tokens() -> None:
    found = figures(two_requests(), "guidellm")
    assert means(two_requests(), "guidellm") == pytest.approx(
        {
            "ttft_ms": 75.0,
            "itl_ms": 18.0,  # (4 * 20 + 1 * 10) / 5
            "tpot_ms": 240 / 7,  # 180 / 5 = 36 five times, 60 / 2 = 30 twice
            "request_latency_ms": 130.0,  # 200, 60: to the end of the stream
            "output_tok_s": (25 + 2 / 0.06) / 2,
        }
    )
    assert found["itl_ms"]["statistics"]["p50"] == 20.0
    assert found["tpot_ms"]["statistics"]["p50"] == 36.0
    assert found["ttft_ms"]["statistics"]["p50"] == 50.0  # of two values the one that holds half


def test_llmperf_counts_ttft_into_the_itl() -> None:
    assert means(two_requests(), "llmperf") == pytest.approx(
        {
            "ttft_ms": 75.0,
            "inter_token_latency_ms": 33.0,  # 36, 30
            "end_to_end_latency_ms": 130.0,
            "request_output_tok_s": (25 + 2 / 0.06) / 2,
        }
    )


def test_optimum_splits_before_the_first_sampling() -> None:
    found = figures(two_requests(), "optimum")
    assert {name: figure["value"] for name, figure in found.items()} == pytest.approx(
        {
            "prefill_ms": 80.0,  # 90 - 10: tokenising is left out, the set-up of generate() is in
            "prefill_tok_s": 125.0,  # 10 / 0.080
            "per_token_ms": None,
            "decode_ms": 110.0,  # 200 - 90
            "decode_tok_s": 4 / 0.110,
        }
    )
    assert found["prefill_ms"]["statistics"]["n"] == 1
    assert found["prefill_tok_s"]["statistics"] is None
    assert "after sampling" in found["per_token_ms"]["reason"]


def test_optimum_throughput_is_a_ratio_of_sums() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [100, 200], prompt=10, end_ms=200)
    timeline.apply(ev.Span(1, "prefill", 0, 50 * MS, 1))
    add_request(timeline, 2, [1200, 1400], t0_ms=1000, prompt=30, end_ms=1400)
    timeline.apply(ev.Span(1, "prefill", 1000 * MS, 1050 * MS, 2))
    found = means(timeline, "optimum")
    assert found["prefill_tok_s"] == pytest.approx(40 / 0.100)
    assert found["decode_tok_s"] == pytest.approx(2 / (0.150 + 0.350))


def test_llama_bench_has_the_prompt_alone() -> None:
    found = figures(two_requests(), "llama-bench")
    assert found["pp_tok_s"]["value"] == pytest.approx(10 / 0.070)
    assert found["tg_tok_s"]["value"] is None
    assert "leaves out" in found["tg_tok_s"]["reason"]
    assert found["tg_tok_s"]["ours"]["value"] == pytest.approx((3 / 0.080 + 1 / 0.010) / 2)


def test_warm_ups_and_failures_are_left_out_and_told() -> None:
    (run,) = report_as(two_requests(), "VLLM")["runs"]
    assert run["requests"] == {"counted": 2, "left_out": 1, "warmup": 1}


def test_all_tokens_in_one_chunk_are_a_tpot_of_0_elsewhere() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [100], k=[4])
    assert means(timeline, "vllm")["tpot_ms"] == 0.0
    found = figures(timeline, "aiperf")
    assert found["itl_ms"]["value"] == 0.0
    assert (found["output_tok_s_per_user"]["value"], found["output_tok_s_per_user"]["reason"]) == (
        None,
        "no time passed",
    )
    assert (found["ttst_ms"]["value"], found["ttst_ms"]["reason"]) == (None, "one event")
    assert figures(timeline, "vllm")["tpot_ms"]["ours"] == {"metric": "tpot_ms", "value": None}


def test_one_token() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [100])
    for tool, name in (("vllm", "tpot_ms"), ("aiperf", "itl_ms"), ("guidellm", "itl_ms")):
        figure = figures(timeline, tool)[name]
        assert (figure["value"], figure["reason"]) == (None, "one token")
    assert means(timeline, "guidellm")["tpot_ms"] == 100.0
    assert means(timeline, "llmperf")["inter_token_latency_ms"] == 100.0


def test_not_streamed() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [400], k=[8], streamed=False, end_ms=400)
    for tool in ("vllm", "aiperf", "guidellm", "llmperf"):
        assert figures(timeline, tool)["ttft_ms"]["reason"] == "not streamed"
    assert figures(timeline, "vllm")["tpot_ms"]["reason"] == "not streamed"
    assert figures(timeline, "vllm")["itl_ms"]["reason"] == "not streamed"
    assert means(timeline, "guidellm")["tpot_ms"] == 50.0


def test_a_total_that_the_server_told() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [100, 190], k=[ev.UNKNOWN, ev.UNKNOWN], end_ms=200)
    assert figures(timeline, "vllm")["tpot_ms"]["reason"] == "the number of tokens was not told"
    assert figures(timeline, "guidellm")["tpot_ms"]["reason"] == "the number of tokens was not told"
    timeline.apply(ev.Fact("usage", {"r1": 10}, 1))
    assert means(timeline, "vllm")["tpot_ms"] == 10.0
    assert means(timeline, "guidellm")["tpot_ms"] == 19.0


def test_empty_chunks_are_told_where_the_tool_counts_them() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [50, 100, 110], k=[0, 1, 1])
    (run,) = report_as(timeline, "vllm")["runs"]
    assert run["figures"]["ttft_ms"]["value"] == 100.0
    assert len(run["notes"]) == 1 and "1 empty events" in run["notes"][0]
    assert report_as(timeline, "aiperf")["runs"][0]["notes"] == []


def test_an_end_before_the_last_token() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [100, 200], end_ms=150)
    for tool, name in (("guidellm", "request_latency_ms"), ("llmperf", "request_output_tok_s")):
        figure = figures(timeline, tool)[name]
        assert (figure["value"], figure["reason"]) == (None, "the end event lies before the last token")


def test_percentiles_of_values_that_occurred() -> None:
    values = np.arange(1.0, 21.0)[::-1]
    ones = np.ones(20)
    assert [stepped_percentile(values, ones, p) for p in (50, 90, 95, 99)] == [10.0, 18.0, 19.0, 20.0]
    assert stepped_percentile(np.array([7.0]), np.array([3.0]), 99) == 7.0


@pytest.mark.parametrize("tool", TOOLS)
def test_every_figure_has_a_formula_and_a_value_or_a_reason(tool: str) -> None:
    nothing = empty_timeline()
    low, high = -(2**63), 2**63 - 1
    odd = empty_timeline()
    odd.apply(ev.RequestStart(1, 1, "r1", low, 0))
    odd.apply(ev.Span(1, "prefill", high, low, 1))
    odd.apply(ev.make_steps(1, 0, [low, high, high], [1, 3, 1]))
    odd.apply(ev.RequestEnd(1, high, "ok"))
    odd.apply(ev.RequestStart(2, 1, "r2", high))
    odd.apply(ev.make_steps(2, 0, [low]))
    odd.apply(ev.RequestEnd(2, low, "ok"))
    for timeline in (two_requests(), nothing, odd, Timeline()):
        value = report_as(timeline, tool, session_name="s\x1b[31m", path="p")
        json.dumps(value, allow_nan=False)
        for run in value["runs"]:
            for figure in run["figures"].values():
                assert figure["formula"] and figure["unit"] and figure["label"]
                assert (figure["value"] is None) == (figure["reason"] is not None), figure
        file = io.StringIO()
        console = Console(file=file, width=100, no_color=True, highlight=False)
        for part in other_text(value):
            console.print(part)
        assert "\x1b" not in file.getvalue()
    assert len({figure.name for figure in TOOLS[tool].figures}) == len(TOOLS[tool].figures)


def test_what_stands_for_ours_is_defined() -> None:
    known = {definition.name for definition in DEFINITIONS}
    named = {f.ours for tool in TOOLS.values() for f in tool.figures if f.ours is not None}
    named |= {name for tool in TOOLS.values() for f in tool.figures for name in f.also}
    assert named <= known
    assert [(tool.name, figure.name) for tool, figure in definitions_elsewhere("itl_ms")] == [
        ("vllm", "itl_ms"),
        ("aiperf", "itl_ms"),
        ("aiperf", "icl_ms"),
        ("guidellm", "itl_ms"),
        ("llmperf", "inter_token_latency_ms"),
        ("optimum", "per_token_ms"),
    ]


def test_an_unknown_tool() -> None:
    with pytest.raises(UsageError, match="choose one of vllm, aiperf, guidellm, llmperf, optimum"):
        find_tool("trtllm")
