"""What makes a GPU check pass, by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from analysis_streams import add_request, empty_timeline

from profiler import events as ev

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))

import gpu_verdicts as gv

S = 1_000_000_000


def test_compare_is_by_ratio_and_ends_count() -> None:
    assert gv.compare("x", 1.1, 1.0, "J", 0.9, 1.1).status == "pass"
    assert gv.compare("x", 1.2, 1.0, "J", 0.9, 1.1).status == "FAIL"
    assert gv.compare("x", 1.0, 0.0, "J", 0.9, 1.1).status == "FAIL"
    assert gv.compare("x", 0.5, 2.0, "GB/s", 0.2, 1).measured == "0.5 GB/s (25.0 %)"


@pytest.mark.parametrize(
    ("statuses", "code"),
    [(["pass", "not run"], 0), (["pass", "FAIL"], 1), (["not run"], 1), ([], 1)],
)
def test_exit_code(statuses: list[gv.Status], code: int) -> None:
    assert gv.exit_code([gv.Verdict("x", status) for status in statuses]) == code


def recorded(dram_pct: float) -> gv.Timeline:
    """10 GB a step, a step each 10 ms from 1 s to 3 s; a card of 2000 GB/s read each 0.5 s."""
    timeline = empty_timeline()
    footprint = {"weight_bytes_per_step": 10e9, "kv_layers": []}
    timeline.apply(ev.Fact("footprint", footprint, 1))
    gpu = {"source": "gpu0", "limits": {"advertised_gb_s": 2000.0}, "unavailable": {}}
    timeline.apply(ev.Fact("telemetry", {"gpus": [gpu]}))
    add_request(timeline, 1, [1000 + 10 * i for i in range(201)], t0_ms=500, prompt=5)
    # Outside of decoding the counter says something else, which must not count.
    for t_s, pct in ((0.5, 3.0), (1.0, 3.0), (1.5, dram_pct), (2.0, dram_pct), (2.5, dram_pct), (3.25, 3.0)):
        timeline.apply(ev.Sample(round(t_s * S), "gpu0", {"dram_bw_pct": pct}))
    return timeline


def test_bytes_over_time_against_the_counter() -> None:
    for dram_pct, status in ((50.0, "pass"), (54.0, "pass"), (60.0, "FAIL"), (40.0, "FAIL")):
        timeline = recorded(dram_pct)
        verdict = gv.counter_against_bytes("x", timeline, timeline.runs[1])
        assert verdict.status == status and verdict.note == "3 readings"
    timeline = recorded(50.0)
    assert gv.counter_against_bytes("x", timeline, timeline.runs[1]).measured == "1000 GB/s (100.0 %)"


def test_what_cannot_be_said_is_not_run() -> None:
    timeline = empty_timeline()
    assert gv.counter_against_bytes("x", timeline, timeline.runs[1]).status == "not run"
    assert gv.energy_against_power("x", timeline, (0, S)).status == "not run"
    for t_s in (0, 1):
        timeline.apply(ev.Sample(t_s * S, "gpu0", {"power_w": 100.0}))
    assert gv.energy_against_power("x", timeline, (0, S)).note == "the card tells no energy"


def test_the_same_card_by_either_form_of_its_name() -> None:
    run = {"telemetry": {"gpus": [{"uuid": "GPU-12ab-1-2-3-4"}], "reason": None}}
    assert gv.same_card("x", run, "12AB-1-2-3-4").status == "pass"
    assert gv.same_card("x", run, "GPU-12ab-1-2-3-4").status == "pass"
    assert gv.same_card("x", run, "ffff-1-2-3-4").status == "FAIL"
    two = {"telemetry": {"gpus": [*run["telemetry"]["gpus"], {"uuid": "GPU-b"}], "reason": None}}
    assert gv.same_card("x", two, "12ab-1-2-3-4").status == "FAIL"
