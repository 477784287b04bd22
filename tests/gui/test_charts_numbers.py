"""The arithmetic under the charts: ticks, stepped ranges, peaks, blocks. No Qt."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.charts.columns import BlockStats, keep_peaks, quantiles_of
from app.charts.ticks import (
    end_ticks,
    format_tick,
    round_ceiling,
    round_step,
    round_ticks,
    stepped_bounds,
    stepped_ceiling,
    stepped_range,
    stepped_time,
)


@pytest.mark.parametrize(
    ("span", "count", "step"),
    [(1.0, 5, 0.2), (2.2, 5, 0.5), (100, 4, 25), (512, 8, 100), (0.03, 3, 0.01), (0, 5, 1), (-1, 5, 1)],
)
def test_round_step(span: float, count: int, step: float) -> None:
    assert round_step(span, count) == pytest.approx(step)


def test_round_ticks_are_round_and_inside() -> None:
    assert round_ticks(12.3, 14.6, 5) == pytest.approx([12.5, 13, 13.5, 14, 14.5])
    assert round_ticks(-7, 11, 4) == pytest.approx([-5, 0, 5, 10])


@pytest.mark.parametrize(
    ("high", "ticks"),
    [
        (512, [0, 64, 128, 192, 256, 320, 384, 448, 512]),
        (256, [0, 32, 64, 96, 128, 160, 192, 224, 256]),
        (97, [0, 20, 40, 60, 80, 97]),
        (105, [0, 20, 40, 60, 80, 105]),
        (1, [0, 1]),
        (3, [0, 1, 2, 3]),
        (0, [0]),
    ],
)
def test_token_axes_end_at_the_last_token(high: int, ticks: list[float]) -> None:
    assert end_ticks(high, 8, binary=True) == ticks


def test_a_narrow_token_axis_has_fewer_ticks() -> None:
    assert end_ticks(512, 4, binary=True) == [0, 128, 256, 384, 512]


@given(st.integers(1, 200_000), st.integers(2, 12))
def test_token_axes_always_have_both_ends_and_never_crowd(high: int, count: int) -> None:
    ticks = end_ticks(high, count, binary=True)
    assert ticks[0] == 0 and ticks[-1] == high
    assert len(ticks) <= count + 2
    assert all(later > earlier for earlier, later in pairwise(ticks))


@pytest.mark.parametrize(
    ("value", "step", "words"),
    [
        (13.0, 0.5, "13"),
        (13.5, 0.5, "13.5"),
        (2100, 100, "2,100"),
        (-5, 5, "\u22125"),
        (0.0, 0.2, "0"),
        (-0.0, 5, "0"),
        (0.25, 0.25, "0.25"),
        (1887, 0.5, "1,887"),
    ],
)
def test_words_of_ticks(value: float, step: float, words: str) -> None:
    assert format_tick(value, step) == words


@pytest.mark.parametrize(
    ("value", "ceiling"), [(25, 30), (30, 30), (30.01, 40), (0.9, 1), (412, 500), (0, 1), (8.01, 10)]
)
def test_round_ceiling(value: float, ceiling: float) -> None:
    assert round_ceiling(value) == pytest.approx(ceiling)


def test_a_ceiling_stays_while_it_fits_and_is_filled() -> None:
    assert stepped_ceiling(25, None) == 30
    assert stepped_ceiling(29, 30) == 30
    assert stepped_ceiling(31, 30) == 40
    assert stepped_ceiling(13, 30) == 30
    assert stepped_ceiling(11, 30) == 15


def test_a_range_moves_in_steps_only() -> None:
    first = stepped_range(12.9, 13.5, None)
    assert first == pytest.approx((12.4, 14.4))
    # The core wanders within the range: nothing moves.
    for low, high in ((12.85, 13.6), (12.95, 13.4), (13.0, 13.7)):
        assert stepped_range(low, high, first) == first
    # It leaves the range, or shrinks to a sliver: another one.
    assert stepped_range(12.9, 14.5, first) != first
    assert stepped_range(13.0, 13.1, first) != first


def test_a_range_never_goes_below_zero_for_times() -> None:
    assert stepped_range(0.1, 1.0, None)[0] == 0.0


@pytest.mark.parametrize(
    ("low", "high", "floor", "bounds"),
    [
        (15.2, 33.0, None, (10, 35)),
        (0, 42, 0.0, (0, 60)),
        (48, 48, None, (47, 49)),
        (0, 0, 0.0, (0, 1.5)),
    ],
)
def test_bounds_of_small_plots(
    low: float, high: float, floor: float | None, bounds: tuple[float, float]
) -> None:
    assert stepped_bounds(low, high, None, floor) == pytest.approx(bounds)


def test_bounds_stay_while_they_fit() -> None:
    assert stepped_bounds(16, 34, (10, 35)) == (10, 35)
    assert stepped_bounds(16, 36, (10, 35)) != (10, 35)


def test_a_time_axis_follows_the_forecast_calmly() -> None:
    assert stepped_time(21.3, 1, None) == 22
    assert stepped_time(23.5, 5, 22) == 22
    assert stepped_time(21.0, 22.5, 22) == 30
    assert stepped_time(60, 23, 22) == 60


class TestKeepPeaks:
    def test_short_input_comes_back(self) -> None:
        x, y = np.arange(4.0), np.array([1.0, 5.0, 2.0, 3.0])
        assert keep_peaks(x, y, 2)[1].tolist() == [1, 5, 2, 3]

    def test_lowest_and_highest_of_each_column_in_their_order(self) -> None:
        x = np.arange(8.0)
        y = np.array([1.0, 9.0, 2.0, 3.0, 7.0, 0.0, 6.0, 6.5])
        kept_x, kept_y = keep_peaks(x, y, 2)
        assert kept_x.tolist() == [0, 1, 4, 5]
        assert kept_y.tolist() == [1, 9, 7, 0]

    def test_a_spike_in_the_unfinished_last_column_is_kept(self) -> None:
        y = np.ones(1001)
        y[1000] = 50.0
        assert 50.0 in keep_peaks(np.arange(1001.0), y, 10)[1]

    def test_missing_values_hide_no_peak(self) -> None:
        y = np.array([np.nan, 4.0, 1.0, np.nan, 2.0, 3.0, np.nan, 8.0])
        assert np.nanmax(keep_peaks(np.arange(8.0), y, 2)[1]) == 8.0

    @given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400), st.integers(1, 60))
    def test_never_loses_the_extremes_and_never_grows(self, values: list[float], columns: int) -> None:
        y = np.array(values)
        kept_x, kept = keep_peaks(np.arange(float(len(y))), y, columns)
        assert kept.max() == y.max() and kept.min() == y.min()
        assert len(kept) <= max(2 * columns, len(y) if len(y) <= 2 * columns else 0)
        assert (np.diff(kept_x) >= 0).all()


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=50))
def test_quantiles_are_numpy_s(values: list[float]) -> None:
    expected = np.quantile(np.array(values), (0.05, 0.5, 0.95))
    assert quantiles_of(np.array(values)) == pytest.approx(tuple(expected), rel=1e-9, abs=1e-9)


class TestBlockStats:
    def test_a_short_run_has_a_block_for_each_gap(self) -> None:
        stats = BlockStats()
        stats.update(["a"], [np.array([3.0, 1.0, 2.0])], 4)
        # Three gaps, all within each other's window: the median of all.
        assert stats.tokens.tolist() == [2, 3, 4]
        assert stats.p50.tolist() == [2, 2, 2]

    def test_series_are_pooled_token_by_token(self) -> None:
        stats = BlockStats()
        stats.update(["a", "b"], [np.full(40, 1.0), np.full(20, 3.0)], 41)
        # Up to gap 19 - 5 both fill the window equally, from 25 on there is only the first.
        assert stats.at(2) == 2.0
        assert stats.at(30) == 1.0
        assert stats.p5[0] == 1.0 and stats.p95[0] == 3.0

    def test_growing_gives_the_same_as_all_at_once(self) -> None:
        rng = np.random.default_rng(3)
        first, second = rng.random(700), rng.random(650)
        grown, whole = BlockStats(), BlockStats()
        for end in (1, 2, 17, 300, 301, 700):
            grown.update(["a", "b"], [first[:end], second[: max(end - 50, 0)]], 701)
        whole.update(["a", "b"], [first, second], 701)
        assert grown.p50.tolist() == whole.p50.tolist()
        assert grown.p95.tolist() == whole.p95.tolist()
        assert grown.tokens.tolist() == whole.tokens.tolist()

    def test_another_run_starts_afresh(self) -> None:
        stats = BlockStats()
        stats.update(["a"], [np.full(30, 9.0)], 31)
        stats.update(["b"], [np.full(3, 1.0)], 31)
        assert stats.p50.tolist() == [1, 1, 1]
        stats.update(["b"], [np.full(2, 4.0)], 31)
        assert stats.p50.tolist() == [4, 4]

    def test_nothing_is_none(self) -> None:
        stats = BlockStats()
        stats.update([], [], 10)
        stats.update(["a"], [np.empty(0)], 10)
        assert stats.at(3) is None
        assert len(stats.tokens) == 0

    def test_a_long_run_has_at_most_the_blocks_asked_for(self) -> None:
        stats = BlockStats(blocks=96)
        stats.update(["a"], [np.ones(99_999)], 100_000)
        assert len(stats.tokens) == 96
        assert stats.tokens[-1] <= 100_000
