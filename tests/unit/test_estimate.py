"""How long a run will take: literal facts in, seconds worked out by hand out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from analysis_streams import add_request, empty_timeline

from profiler import events as ev
from profiler.analysis.run import run_metrics
from profiler.analysis.run_time import Estimate, KnownRun, ModelFacts, estimate_time, known_run, with_run
from profiler.config import RunConfig

KNOWN = KnownRun("demo", "auto", "auto", 100, 500.0, 10.0, 6.0, 20.0)
FACTS = ModelFacts("SmolLM2", 135e6, "fp32", 540e6, 40_000)


def config(**settings: Any) -> RunConfig:
    return RunConfig(
        **{"model": "demo", "prompt_tokens": 100, "output_tokens": 101, "repeats": 3, **settings}
    )


def test_from_the_last_run_of_the_same_model() -> None:
    # 6 s of loading; 4 requests of 500 ms and 100 gaps of 10 ms: 4 * 1.5 s.
    assert estimate_time(config(), FACTS, [KNOWN]) == Estimate(12.0, "run")


def test_a_longer_prompt_takes_longer_a_shorter_one_is_not_counted_on() -> None:
    # Twice the prompt: 4 * (1.0 + 1.0) s.
    assert estimate_time(config(prompt_tokens=200), FACTS, [KNOWN]).seconds == 14.0
    assert estimate_time(config(prompt_tokens=50), FACTS, [KNOWN]).seconds == 12.0


def test_a_text_of_unknown_length_takes_the_time_of_before() -> None:
    given = RunConfig(model="demo", prompt="Hello", output_tokens=101)
    assert estimate_time(given, FACTS, [KNOWN]).seconds == 12.0


def test_one_token_needs_no_gap() -> None:
    short = KnownRun("demo", "auto", "auto", 100, 500.0, None, None, None)
    assert estimate_time(config(output_tokens=1), FACTS, [short]) == Estimate(2.0, "run")


@pytest.mark.parametrize("other", [{"model": "preset:1b"}, {"dtype": "bf16"}, {"device": "cuda"}])
def test_another_model_precision_or_device_is_another_run(other: dict[str, str]) -> None:
    assert estimate_time(config(**other), FACTS, [KNOWN]).basis != "run"


def test_at_least_by_the_memory() -> None:
    # 404 steps read 540 MB of weights and 150.5 tokens of 40 kB at 20 GB/s:
    # 404 * (540e6 + 6.02e6) / 20e9 = 11.029604 s.
    estimate = estimate_time(config(model="preset:small"), FACTS, [KNOWN])
    assert estimate.basis == "memory"
    assert estimate.seconds == pytest.approx(11.029604)


@pytest.mark.parametrize(
    ("given", "facts", "known"),
    [
        (config(), FACTS, []),
        (config(model="other"), ModelFacts(), [KNOWN]),
        (config(model="other", device="cuda"), FACTS, [KNOWN]),  # that memory was not measured
        (config(model="other", ignore_eos=False), FACTS, [KNOWN]),  # may end after a token
    ],
)
def test_no_time_is_invented(given: RunConfig, facts: ModelFacts, known: list[KnownRun]) -> None:
    assert estimate_time(given, facts, known) == Estimate(None, "none")


def test_what_a_run_teaches() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [500, 510, 520], prompt=100)
    add_request(timeline, 2, [1500, 1510, 1520], t0_ms=1000, prompt=90)
    run = timeline.runs[1]
    run.spans += [ev.Span(1, "import", 0, 2_000_000_000), ev.Span(1, "load", 0, 4_000_000_000)]
    run.facts["reference"] = {"gb_s": 20.0}
    assert known_run(config(), run, run_metrics(timeline, run)) == KNOWN


def test_a_run_without_a_token_teaches_nothing() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [], end="error")
    run = timeline.runs[1]
    assert known_run(config(), run, run_metrics(timeline, run)) is None


def test_the_newest_run_takes_the_place_of_one_alike() -> None:
    other = KnownRun("preset:1b", "auto", "auto", 1, 2.0, 3.0, 4.0, None)
    warm = KnownRun("demo", "auto", "auto", 100, 400.0, 9.0, None, 21.0)
    # The model was loaded already: loading takes what it took before.
    assert with_run([other, KNOWN], warm) == [
        KnownRun("demo", "auto", "auto", 100, 400.0, 9.0, 6.0, 21.0),
        other,
    ]


def test_no_more_than_32_are_kept() -> None:
    known: list[KnownRun] = []
    for number in range(40):
        known = with_run(known, KnownRun(f"m{number}", "auto", "auto", 1, 2.0, 3.0, 4.0, None))
    assert [known[0].model, known[-1].model, len(known)] == ["m39", "m8", 32]


def test_json_round_trip() -> None:
    assert KnownRun.from_json(json.loads(json.dumps(KNOWN.to_json()))) == KNOWN


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {**KNOWN.to_json(), "ttft_ms": None},
        {**KNOWN.to_json(), "model": 5},
        {**KNOWN.to_json(), "x": 1},
    ],
)
def test_what_is_no_known_run_is_left_out(value: Any) -> None:
    assert KnownRun.from_json(value) is None


def test_facts_of_an_inspect_reply() -> None:
    reply = {"label": "SmolLM2", "parameters": 135e6, "dtype": "fp32", "weight_bytes": 540e6}
    assert ModelFacts.from_reply({**reply, "kv_bytes_per_token": 40_000, "fit": None}) == FACTS
    assert ModelFacts.from_reply({"label": None, "parameters": "many"}) == ModelFacts()
