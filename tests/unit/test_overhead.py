"""Our own cost: ratios of paired blocks, and what is left of p99 without our readings and redraws."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from profiler import events as ev
from profiler.analysis.overhead import overhead_ratios
from profiler.engine.own_cost import OwnCost
from profiler.worker.blocks import VARIANT_STAGE

MS = 1_000_000


def test_ratio_of_means_over_paired_blocks() -> None:
    blocks = [(cycle, name, [gap] * 4) for cycle in range(10) for name, gap in (("bare", 100), ("full", 103))]
    row = overhead_ratios(blocks, "full")
    assert row["itl_mean_ratio"] == pytest.approx(1.03)
    assert row["itl_mean_ratio_ci95"] == [pytest.approx(1.03), pytest.approx(1.03)]
    assert (row["itl_p50_ratio"], row["itl_p99_ratio"]) == (pytest.approx(1.03), pytest.approx(1.03))
    assert (row["blocks"], row["reason"]) == (10, None)
    assert row["itl_p99_undisturbed_ratio"] is None  # nobody said which gaps were left alone


def test_a_slow_neighbour_hits_both_sides_of_a_cycle() -> None:
    slow = [1.0] * 8 + [5.0] * 2
    blocks = [
        (cycle, name, [round(gap * factor)] * 4)
        for cycle, factor in enumerate(slow)
        for name, gap in (("bare", 1000), ("full", 1010))
    ]
    low, high = overhead_ratios(blocks, "full")["itl_mean_ratio_ci95"]
    assert low == pytest.approx(1.01) and high == pytest.approx(1.01)


def test_cycles_without_a_partner_do_not_count() -> None:
    blocks = [(cycle, "bare", [100]) for cycle in range(9)] + [(cycle, "full", [100]) for cycle in range(5)]
    row = overhead_ratios(blocks, "full")
    assert (row["itl_mean_ratio"], row["blocks"]) == (None, 5)
    assert row["reason"] == "fewer than 6 blocks of each were measured"


def test_p99_without_disturbed_gaps() -> None:
    blocks, alone = [], []
    for cycle in range(6):
        blocks += [(cycle, "bare", [100, 100]), (cycle, "full", [100, 400])]
        alone += [[True, True], [True, False]]
    row = overhead_ratios(blocks, "full", alone)
    assert row["itl_p99_ratio"] == pytest.approx(4.0)
    assert row["itl_p99_undisturbed_ratio"] == pytest.approx(1.0)
    none_left = [[True, True], [False, False]] * 6
    assert overhead_ratios(blocks, "full", none_left)["itl_p99_undisturbed_ratio"] is None


def own_cost(clock: Callable[[], int], told: list[ev.Event], paused: list[bool]) -> OwnCost:
    return OwnCost(("bare", "full"), 60, clock, None, paused.append, told.append)


def test_stamps_become_gaps_and_intervals_mark_them() -> None:
    paused: list[bool] = []
    cost = own_cost(lambda: 0, [], paused)
    rest = cost.take([ev.Progress(VARIANT_STAGE, text="bare"), ev.Progress("load", 0.5)])
    assert rest == [ev.Progress("load", 0.5)]
    assert paused == [True]
    cost.take([ev.Progress(VARIANT_STAGE, text="full")])
    assert paused == [True, False]
    told = []
    for cycle in range(6):
        begin = cycle * 100 * MS
        told.append([cycle, "bare", [begin, begin + 10 * MS, begin + 20 * MS]])
        told.append([cycle, "full", [begin + 50 * MS, begin + 60 * MS, begin + 90 * MS]])
        # Within the long gap of the full road.
        cost.disturbed([ev.Interval("sampler", begin + 70 * MS, begin + 71 * MS)])
        cost.disturbed([ev.Interval("gc", begin + 52 * MS, begin + 53 * MS)])  # the model's own matter
    assert cost.take([ev.Fact("overhead_blocks", told, 1)]) == []
    (row,) = cost.result()
    assert row["itl_mean_ratio"] == pytest.approx(2.0)
    assert row["itl_p99_ratio"] == pytest.approx(3.0)  # 10 and 30 ms, six of each
    assert row["itl_p99_undisturbed_ratio"] == pytest.approx(1.0)
