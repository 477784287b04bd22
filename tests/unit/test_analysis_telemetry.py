"""Telemetry and energy of the measured window, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from analysis_streams import add_request, empty_timeline

from profiler import events as ev
from profiler.analysis.energy import counter_difference, energy, integrate_power
from profiler.analysis.telemetry import GPU_METRICS, telemetry
from profiler.timeline import Timeline

S = 1_000_000_000


def sampled(values: list[tuple[float, float | None]], metric: str, source: str = "gpu0") -> Timeline:
    timeline = empty_timeline()
    for t_s, value in values:
        timeline.apply(ev.Sample(round(t_s * S), source, {metric: value}, 2_000_000))
    return timeline


def test_only_the_window_counts() -> None:
    timeline = sampled([(0, 100.0), (1, 200.0), (2, None), (3, 300.0), (4, 900.0)], "power_w")
    timeline.apply(
        ev.Fact(
            "telemetry",
            {
                "hz": 4.0,
                "reason": None,
                "gpus": [
                    {
                        "index": 0,
                        "uuid": "GPU-1",
                        "name": "Card",
                        "driver": "570",
                        "unavailable": {"dram_bw_pct": "older than Hopper"},
                    }
                ],
            },
        )
    )
    result = telemetry(timeline, (1 * S, 3 * S))
    (gpu,) = result["gpus"]
    assert (gpu["index"], gpu["uuid"], gpu["name"], gpu["driver"]) == (0, "GPU-1", "Card", "570")
    assert set(GPU_METRICS) <= set(gpu["metrics"])
    assert gpu["metrics"]["power_w"] == {"n": 2, "mean": 250.0, "min": 200.0, "max": 300.0, "reason": None}
    assert gpu["metrics"]["dram_bw_pct"]["reason"] == "older than Hopper"
    assert gpu["metrics"]["temperature_c"]["reason"] == "no reading within the measured requests"
    assert result["reason"] is None
    assert result["sampler"] == {"hz": 4.0, "read_ms_p50": 2.0, "read_ms_max": 2.0}


def test_no_gpu_has_a_reason() -> None:
    timeline = empty_timeline()
    assert telemetry(timeline, None)["reason"] == "no GPU was sampled"
    timeline.apply(ev.Fact("telemetry", {"gpus": [], "reason": "no NVIDIA driver", "hz": 4.0}))
    timeline.apply(ev.Sample(5, "host", {"cpu_pct": 50.0}))
    result = telemetry(timeline, (0, 10))
    assert result["reason"] == "no NVIDIA driver" and result["gpus"] == []
    assert result["host"]["metrics"]["cpu_pct"]["mean"] == 50.0
    assert result["sampler"] == {"hz": 4.0, "read_ms_p50": None, "read_ms_max": None}


def test_counter_is_interpolated_at_the_ends() -> None:
    t = np.array([0, 1, 2, 3]) * S
    joules = np.array([1000.0, 1100.0, 1300.0, 1400.0])
    assert counter_difference(t, joules, (S // 2, 5 * S // 2)) == pytest.approx(300)  # 1050 -> 1350


def test_counter_that_does_not_reach_or_goes_backwards() -> None:
    t = np.array([0, 1, 2]) * S
    assert counter_difference(t, np.array([0.0, 10.0, 20.0]), (0, 5 * S)) is None
    assert counter_difference(t, np.array([0.0, 10.0, 5.0]), (0, 2 * S)) is None
    assert counter_difference(t[:1], np.array([0.0]), (0, S)) is None


def test_power_is_integrated() -> None:
    t = np.array([0, 1, 2]) * S
    assert integrate_power(t, np.array([100.0, 200.0, np.nan]), (0, S)) == pytest.approx(150)


def test_energy_by_source() -> None:
    window = (0, 2 * S)
    timeline = sampled([(0, 100.0), (1, 150.0), (2, 200.0)], "energy_j")
    run = timeline.runs[1]
    result = energy(timeline, run, window, 50)
    assert result == {"joules": 100.0, "joules_per_token": 2.0, "source": "energy counter", "reason": None}
    timeline = sampled([(0, 100.0), (1, 100.0), (2, 100.0)], "power_w")
    result = energy(timeline, timeline.runs[1], window, 0)
    assert result["joules"] == pytest.approx(200)
    assert result["joules_per_token"] is None and "power" in str(result["source"])


def test_a_gpu_beside_a_model_on_the_cpu_is_not_its_energy() -> None:
    timeline = sampled([(0, 100.0), (2, 100.0)], "power_w")
    timeline.apply(ev.Fact("model", {"device": "cpu"}, 1))
    result = energy(timeline, timeline.runs[1], (0, 2 * S), 10)
    assert result["joules"] is None and "CPU" in str(result["reason"])
    timeline.apply(ev.Fact("telemetry", {"host": {"unavailable": {"package_energy_j": "root only"}}}))
    assert energy(timeline, timeline.runs[1], (0, 2 * S), 10)["reason"] == "root only"
    for t_s, joules in ((0, 10.0), (2, 40.0)):
        timeline.apply(ev.Sample(t_s * S, "host", {"package_energy_j": joules}))
    assert energy(timeline, timeline.runs[1], (0, 2 * S), 10)["joules_per_token"] == 3.0


def test_nothing_measured() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [], end=None)
    result = energy(timeline, timeline.runs[1], None, 0)
    assert result == {
        "joules": None,
        "joules_per_token": None,
        "source": None,
        "reason": "no request was measured",
    }
