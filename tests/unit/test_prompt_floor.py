"""The compute limit of TTFT, by hand; from a shape through the file's facts to the report."""

from __future__ import annotations

import json
from typing import Any

import pytest
from analysis_streams import add_request, empty_timeline

from profiler import events as ev
from profiler.analysis.prompt_floor import compute_rate, prompt_floor_ms, ttft_floor
from profiler.analysis.run import run_metrics
from profiler.shapes import PromptWork, prompt_work, prompt_work_from_fact, shape_from_config
from profiler.timeline import Timeline
from profiler.worker.sources.presets import read_preset

# 1000 parameters for each token, 500 for the last one; 10 FLOPs a pair without and 20 with a window of 2.
WORK = PromptWork(1000, 500, ((10, None), (20, 2)))
FOOTPRINT: dict[str, Any] = {"prompt_work": WORK.to_fact()}
REFERENCE = {"compute": {"tflop_s": 1e-6, "dtype": "bf16", "n": 4096, "reason": None}}
"""A million FLOPs a second, so that the milliseconds can be read."""


def test_flops_of_a_prompt_by_hand() -> None:
    # 4 tokens: 2*1000*4 + 2*500; pairs 1+2+3+4 = 10 and, with the window, 1+2+2+2 = 7.
    assert WORK.flops(4) == 8000 + 1000 + 10 * 10 + 20 * 7
    assert WORK.flops(0) == 0
    assert WORK.flops(1) == 2000 + 1000 + 10 + 20


def test_nano_by_hand() -> None:
    config, _ = read_preset("nano")
    work = prompt_work(shape_from_config(config))
    # A layer: q and o 384*384, k and v 384*128, three matrices 384*1024, two norms of 384.
    layer = 2 * 384 * 384 + 2 * 384 * 128 + 3 * 384 * 1024 + 2 * 384
    assert work.body_parameters == 8 * layer + 384
    assert work.head_parameters == 6144 * 384
    # Scores and values: 2 + 2 FLOPs for each of 6 * 64 numbers, in 8 layers.
    assert work.attention == ((8 * 4 * 384, None),)


def test_only_the_experts_of_a_token_are_multiplied() -> None:
    config, _ = read_preset("moe")
    work = prompt_work(shape_from_config(config))
    layer = 2 * 384 * 384 + 2 * 384 * 128 + 2 * 384 + 8 * 384 + 2 * (3 * 384 * 768)
    assert work.body_parameters == 8 * layer + 384
    assert work.head_parameters == 8192 * 384


def test_a_fact_goes_through_json_and_back() -> None:
    assert prompt_work_from_fact(json.loads(json.dumps(WORK.to_fact()))) == WORK


@pytest.mark.parametrize(
    "fact",
    [
        None,
        [],
        "x",
        {},
        {"body_parameters": 1, "head_parameters": 1},
        {"body_parameters": -1, "head_parameters": 1, "attention": []},
        {"body_parameters": float("nan"), "head_parameters": 1, "attention": []},
        {"body_parameters": True, "head_parameters": 1, "attention": []},
        {"body_parameters": 1, "head_parameters": 1, "attention": [None]},
    ],
)
def test_facts_that_say_nothing(fact: Any) -> None:
    assert prompt_work_from_fact(fact) is None


def test_the_floor_by_hand() -> None:
    # 9240 FLOPs at 1e6 a second.
    assert prompt_floor_ms(WORK, 4, 1e-6) == pytest.approx(9.24)
    assert prompt_floor_ms(WORK, 4, 1e-6, batch=3) == pytest.approx(27.72)
    floor = ttft_floor([(4, 1), (1, 1), (4, 1)], FOOTPRINT, REFERENCE, "bf16")
    assert floor["ttft_floor_ms"] == pytest.approx(9.24)
    assert floor["ttft_floor_prompt_tokens"] == 4
    assert (floor["reference_tflop_s"], floor["ttft_floor_reason"]) == (1e-6, None)


@pytest.mark.parametrize(
    ("prompts", "footprint", "reference", "dtype", "words"),
    [
        ([(4, 1)], FOOTPRINT, None, None, "not measured"),
        ([(4, 1)], FOOTPRINT, {"gb_s": 10.0}, None, "not measured"),
        ([(4, 1)], FOOTPRINT, {"compute": {"tflop_s": None, "reason": "no bf16 here"}}, None, "no bf16"),
        ([(4, 1)], FOOTPRINT, {"compute": {"tflop_s": float("inf")}}, None, "not measured"),
        ([(4, 1)], FOOTPRINT, REFERENCE, "fp32", "measured in bf16, the model computes in fp32"),
        ([(4, 1)], None, REFERENCE, None, "not known"),
        ([(4, 1)], {"prompt_work": None}, REFERENCE, None, "not known"),
        ([(None, 1)], FOOTPRINT, REFERENCE, None, "length"),
        ([], FOOTPRINT, REFERENCE, None, "no request"),
    ],
)
def test_missing_with_a_reason(prompts: Any, footprint: Any, reference: Any, dtype: Any, words: str) -> None:
    floor = ttft_floor(prompts, footprint, reference, dtype)
    assert floor["ttft_floor_ms"] is None and words in floor["ttft_floor_reason"]


def test_a_rate_of_nobody_knows_what_is_taken() -> None:
    assert compute_rate({"compute": {"tflop_s": 2.0}}, "fp32") == (2.0, None)


def measured(ttft_ms: float, **facts: Any) -> Timeline:
    timeline = empty_timeline()
    for key, value in facts.items():
        timeline.apply(ev.Fact(key, value, 1))
    add_request(timeline, 1, [ttft_ms, ttft_ms + 10], prompt=4)
    return timeline


def test_in_the_report_without_a_bandwidth() -> None:
    timeline = measured(20, footprint=FOOTPRINT, reference=REFERENCE, model={"dtype": "bf16"})
    result = run_metrics(timeline, timeline.runs[1])
    assert result["metrics"]["mbu"]["ttft_floor_ms"] == pytest.approx(9.24)
    assert result["metrics"]["mbu"]["run"] is None
    assert result["notes"] == []


def test_a_ttft_below_the_floor_is_shown_and_said() -> None:
    timeline = measured(5, footprint=FOOTPRINT, reference=REFERENCE)
    result = run_metrics(timeline, timeline.runs[1])
    assert result["metrics"]["ttft_ms"]["p50"] == 5
    assert any("below the compute floor" in note for note in result["notes"])


def test_prompts_of_a_batch_share_the_time() -> None:
    timeline = empty_timeline()
    timeline.apply(ev.Fact("footprint", FOOTPRINT, 1))
    timeline.apply(ev.Fact("reference", REFERENCE, 1))
    for no in (1, 2):
        add_request(timeline, no, [100, 110], prompt=4, batch="b")
    mbu = run_metrics(timeline, timeline.runs[1])["metrics"]["mbu"]
    assert mbu["ttft_floor_ms"] == pytest.approx(2 * 9.24)
