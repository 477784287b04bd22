"""What a big session's charts need is computed beside the window, and is the same."""

from __future__ import annotations

import numpy as np
from pytestqt.qtbot import QtBot

from app.charts.token_latency import TokenLatencyChart, block_stats
from app.charts.token_layers import TokenSeries


def series() -> list[TokenSeries]:
    rng = np.random.default_rng(5)
    made = [TokenSeries(f"Repeat {n}", 5 + rng.random(700), False, None) for n in (1, 2, 3)]
    return [TokenSeries("Warm-up 1", np.full(700, 50.0), True, None), *made]


def test_statistics_computed_beforehand_are_those_of_the_chart(qtbot: QtBot) -> None:
    own, given = TokenLatencyChart(), TokenLatencyChart()
    for chart in (own, given):
        qtbot.addWidget(chart)
    own.refresh(series(), 600)
    stats = block_stats(series(), 600)
    before = stats.p50.copy()
    given.use_statistics(stats)
    given.refresh(series(), 600)
    assert given._stats is stats
    np.testing.assert_array_equal(stats.p50, before)
    for name in ("tokens", "p5", "p50", "p95"):
        np.testing.assert_array_equal(getattr(own._stats, name), getattr(stats, name))
    assert np.all(stats.p50 < 6)  # the warm-up is left out


def test_statistics_of_something_else_are_computed_again(qtbot: QtBot) -> None:
    chart = TokenLatencyChart()
    qtbot.addWidget(chart)
    chart.use_statistics(block_stats([TokenSeries("other", np.full(700, 99.0), False, None)], 600))
    chart.refresh(series(), 600)
    assert np.all(chart._stats.p50 < 6)
