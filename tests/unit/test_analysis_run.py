"""The numbers of a run, and that live and final are the same."""

from __future__ import annotations

import pytest
from analysis_streams import MS, add_request, empty_timeline

from profiler import events as ev
from profiler.analysis.definitions import DEFINITIONS, find
from profiler.analysis.run import RunSummary, run_metrics
from profiler.timeline import Timeline


def numbers(timeline: Timeline, **settings: object) -> dict[str, object]:
    return run_metrics(timeline, timeline.runs[1], **settings)  # type: ignore[arg-type]


def test_counts_totals_and_rates() -> None:
    timeline = empty_timeline()
    add_request(timeline, 0, [9000, 9900], warmup=True, k=[1, 0])
    add_request(timeline, 1, [1100, 1110, 1120], t0_ms=1000, k=[1, 0, 2])
    add_request(timeline, 2, [], t0_ms=1200, end="error")
    add_request(timeline, 3, [1500, 2000], t0_ms=1400)
    add_request(timeline, 4, [2500], t0_ms=2100, end=None)
    add_request(timeline, 5, [900, 800], t0_ms=0)
    result = numbers(timeline)
    assert result["requests"] == {
        "ok": 2,
        "failed": 1,
        "cancelled": 0,
        "incomplete": 1,
        "invalid": 1,
        "warmup": 1,
    }
    assert result["empty_events"] == 1
    metrics = result["metrics"]
    assert metrics["output_tokens"] == {"total": 5}
    assert metrics["itl_ms"]["n"] == 2 and metrics["itl_ms"]["max"] == 500
    assert metrics["itl_per_token_ms"]["min"] == 10
    assert metrics["itl_request_mean_ms"]["mean"] == 260
    # From 1000 to the last token at 2500, the unfinished request's; the invalid one is left out.
    assert result["window_ns"] == [1000 * MS, 2500 * MS]
    assert metrics["run_tok_s"] == 5 / 1.5
    assert metrics["requests_per_s"] == 2 / 1.5
    assert any("backwards" in note for note in result["notes"])


def test_nothing_measured_is_all_null() -> None:
    result = numbers(empty_timeline())
    metrics = result["metrics"]
    assert metrics["ttft_ms"]["n"] == 0 and metrics["run_tok_s"] is None
    assert metrics["reasons"]["ttft_ms"] == "no request counts"
    assert result["window_ns"] is None


def test_disturbed_steps() -> None:
    timeline = empty_timeline()
    # Steps end at 100, 110, 120, 150 (flagged by the recording) and 160; a redraw from 112 to 115.
    add_request(timeline, 1, [100, 110, 120, 150, 160], flags=[0, 0, 0, ev.DISTURBED, 0])
    timeline.apply(ev.Interval("redraw", 112 * MS, 115 * MS))
    timeline.apply(ev.Interval("gc", 155 * MS, 156 * MS))
    result = numbers(timeline)
    disturbed = result["disturbance"]
    assert disturbed["disturbed_steps_pct"] == 40
    assert disturbed["itl_p99_ms"] > 29
    assert disturbed["itl_p99_undisturbed_ms"] == 10
    assert disturbed["itl_mean_ratio"] is None
    timeline.apply(ev.Fact("overhead", {"itl_mean_ratio": 1.004, "itl_mean_ratio_ci95": [0.99, 1.01]}))
    assert numbers(timeline)["disturbance"]["itl_mean_ratio"] == 1.004


def test_an_empty_event_belongs_to_the_gap_it_falls_into() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [100, 105, 110, 120], k=[1, 0, 1, 1], flags=[0, ev.DISTURBED, 0, 0])
    assert numbers(timeline)["disturbance"]["disturbed_steps_pct"] == pytest.approx(100 / 3)


def test_live_equals_final_once_the_request_has_ended() -> None:
    timeline = empty_timeline()
    summary = RunSummary()
    steps = [100 + 10 * i + (i % 7) for i in range(60)]
    add_request(timeline, 1, steps, prompt=16, end=None)
    live = numbers(timeline, live=True, summary=summary)
    assert live["requests"]["running"] == 1 and live["requests"]["ok"] == 0
    assert live["metrics"]["itl_ms"]["n"] == 59
    assert live["metrics"]["ttft_ms"]["p50"] == 100
    assert live["metrics"]["e2e_ms"]["n"] == 0
    assert numbers(timeline)["requests"]["incomplete"] == 1
    timeline.apply(ev.RequestEnd(1, 800 * MS, "ok", "length"))
    timeline.apply(ev.Interval("sampler", 150 * MS, 160 * MS))
    live = numbers(timeline, live=True, summary=summary)
    final = numbers(timeline, summary=summary)
    assert final == numbers(timeline)
    for name in ("ttft_ms", "itl_ms", "tpot_ms", "jitter", "output_tokens", "run_tok_s", "mbu"):
        assert live["metrics"][name] == final["metrics"][name]
    assert live["metrics"]["trend"]["slope_us_per_token"] == final["metrics"]["trend"]["slope_us_per_token"]
    assert live["disturbance"] == final["disturbance"] and live["disturbance"]["disturbed_steps_pct"] > 0


def test_a_request_that_then_fails_leaves_the_numbers() -> None:
    timeline = empty_timeline()
    summary = RunSummary()
    add_request(timeline, 1, [100, 110], end=None)
    assert numbers(timeline, live=True, summary=summary)["metrics"]["itl_ms"]["n"] == 1
    timeline.apply(ev.RequestEnd(1, 200 * MS, "error", "error", "out of memory"))
    result = numbers(timeline, live=True, summary=summary)
    assert result["metrics"]["itl_ms"]["n"] == 0
    assert result["metrics"]["reasons"]["itl_ms"] == "no request counts"
    assert result["per_request"][0]["reasons"]["status"] == "failed: out of memory"


def test_total_only_servers_are_labelled() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [100, 120, 160], k=[-1, -1, -1])
    timeline.apply(ev.Fact("usage", {"r1": 7}, 1))
    result = numbers(timeline)
    assert result["metrics"]["tpot_ms"]["p50"] == 10
    assert result["metrics"]["itl_per_token_ms"]["n"] == 0
    assert any("one token in the first chunk" in note for note in result["notes"])


def test_utilisation_of_a_batch() -> None:
    timeline = empty_timeline()
    timeline.apply(ev.Fact("footprint", {"weight_bytes_per_step": 1e9, "kv_layers": []}, 1))
    timeline.apply(ev.Fact("reference", {"gb_s": 50.0}, 1))
    for no in (1, 2):
        add_request(timeline, no, [100, 120], prompt=8, batch="b1")
    result = numbers(timeline)
    assert result["metrics"]["mbu"]["run"] == 1.0
    assert result["metrics"]["ttft_ms"]["p50"] == 100  # never divided by the batch
    timeline.apply(ev.Fact("reference", {"gb_s": 40.0}, 1))
    assert any("above 100 %" in note for note in numbers(timeline)["notes"])


def test_every_metric_of_the_report_has_a_definition() -> None:
    metrics = numbers(empty_timeline())["metrics"]
    for name in metrics:
        if name not in ("jitter", "trend", "memory", "energy", "reasons"):
            assert find(name) is not None, name
    for name in metrics["jitter"]:
        assert find(f"jitter.{name}") is not None, name
    assert find("itl_ms.p99") is find("ITL") is find("itl")
    assert find("nonsense") is None
    assert len({definition.name for definition in DEFINITIONS}) == len(DEFINITIONS)
    assert all(d.label and d.formula and d.missing_when and d.source for d in DEFINITIONS)
