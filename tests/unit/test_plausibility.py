"""Numbers that cannot be, or hardly can: shown as they are, with a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from analysis_streams import add_request

from profiler import events as ev
from profiler.analysis.run import run_metrics
from profiler.timeline import Timeline

FOOTPRINT = {
    "weight_bytes_per_step": 1_000_000_000,
    "kv_layers": [],
    "state_bytes": 0,
    "static_cache_len": None,
}


def result_of(
    gap_ms: float,
    *,
    gb_s: float = 100.0,
    llc_bytes: int | None = 32_000_000,
    measured_on: str | None = None,
    device: str = "cpu",
    asked: str = "auto",
    gpus: tuple[str, ...] = (),
    **footprint: Any,
) -> dict[str, Any]:
    """1 GB a step: at 100 GB/s a gap of 10 ms is 100 %."""
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0, "run", "", {"device": asked}))
    reference = {"gb_s": gb_s, "llc_bytes": llc_bytes, "device": measured_on}
    timeline.apply(ev.Fact("footprint", FOOTPRINT | footprint, 1))
    timeline.apply(ev.Fact("reference", reference, 1))
    timeline.apply(ev.Fact("model", {"kind": "preset", "device": device}, 1))
    told = [{"index": i, "name": name} for i, name in enumerate(gpus)]
    timeline.apply(ev.Fact("telemetry", {"gpus": told}))
    add_request(timeline, 1, [100, 100 + gap_ms, 100 + 2 * gap_ms], prompt=4)
    return run_metrics(timeline, timeline.runs[1])


def test_a_plausible_run_has_no_doubts() -> None:
    result = result_of(12.5, measured_on="cpu")
    assert result["metrics"]["mbu"]["run"] == pytest.approx(0.8)
    assert result["notes"] == []


def test_above_100_percent_is_shown_and_not_clamped() -> None:
    result = result_of(5)
    assert result["metrics"]["mbu"]["run"] == pytest.approx(2.0)
    assert result["metrics"]["mbu"]["p50"] == pytest.approx(2.0)
    (note,) = result["notes"]
    assert "above 100 %" in note


def test_hardly_any_bandwidth_is_doubted() -> None:
    # 1 GB in 1000 ms of 100 GB/s: 1 %.
    result = result_of(1000)
    assert result["metrics"]["mbu"]["run"] == pytest.approx(0.01)
    (note,) = result["notes"]
    assert "only 1 % of the reference" in note and "another device" in note
    assert result_of(499)["notes"] == []  # 2.004 %


def test_a_model_in_the_cache_says_nothing_of_memory() -> None:
    # 1 GB is below twice 600 MB: one note, of the missing floor.
    (note,) = result_of(1000, llc_bytes=600_000_000)["notes"]
    assert note.startswith("No memory floor")
    assert result_of(1000, llc_bytes=None)["notes"] == []


def test_a_gpu_that_nobody_declined() -> None:
    (note,) = result_of(12.5, gpus=("NVIDIA A100",))["notes"]
    assert "ran on the CPU although" in note and "NVIDIA A100" in note
    assert result_of(12.5, gpus=("NVIDIA A100",), asked="cpu")["notes"] == []
    assert result_of(12.5, gpus=("NVIDIA A100",), device="cuda:0")["notes"] == []


def test_a_reference_of_another_device() -> None:
    (note,) = result_of(12.5, device="cuda:1", measured_on="cpu")["notes"]
    assert "measured on cpu" in note and "ran on cuda:1" in note
    assert result_of(12.5, device="cuda:0", measured_on="cuda")["notes"] == []


def test_a_static_cache_moves_the_same_bytes_at_every_step() -> None:
    # 500 tokens of 1 MB, whatever the length: 1.5 GB a step.
    layers = [{"bytes_per_token": 1_000_000, "window": None}]
    static = result_of(30, kv_layers=layers, static_cache_len=500)["metrics"]
    assert static["mbu"]["run"] == pytest.approx(0.5)
    assert static["mbu"]["floor_ms"] == pytest.approx(15.0)
    assert static["trend"]["slope_factor"] is None
    # The dynamic one holds 5, then 6 tokens: 1.0055 GB on average.
    dynamic = result_of(30, kv_layers=layers)["metrics"]
    assert dynamic["mbu"]["run"] == pytest.approx(1.0055 / 3, rel=1e-3)


def test_the_slope_factor_of_a_run() -> None:
    """Gaps that grow by 30 us a token of 1 MB, at 100 GB/s (10 us): three times the ideal traffic."""
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0, "run"))
    layers = {"kv_layers": [{"bytes_per_token": 1_000_000, "window": None}]}
    timeline.apply(ev.Fact("footprint", FOOTPRINT | layers, 1))
    timeline.apply(ev.Fact("reference", {"gb_s": 100.0}, 1))
    times, lengths = [100.0], [11]
    for length in range(12, 40):
        times.append(times[-1] + 10 + 0.03 * length)
        lengths.append(length)
    add_request(timeline, 1, times, kv_len=lengths, prompt=10)
    trend = run_metrics(timeline, timeline.runs[1])["metrics"]["trend"]
    assert trend["slope_us_per_token"] == pytest.approx(30.0, rel=1e-4)
    assert trend["slope_factor"] == pytest.approx(3.0, rel=1e-4)
