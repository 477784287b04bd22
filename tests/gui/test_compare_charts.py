"""The charts of a comparison: arithmetic by hand, what they hold, and what they say."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.charts.compare_base import ChartDeck, StageChart, draw_end_letters, session_pen
from app.charts.compare_distribution import DistributionChart, ecdf_points, stretched
from app.charts.compare_lines import CompareLinesChart, bandwidth_subject, latency_subject, signed
from app.charts.compare_quantiles import QuantileChart
from app.charts.compare_style import (
    LETTERS,
    STYLES,
    DistributionSeries,
    LineSeries,
    QuantileSeries,
    rolling_quantiles,
)
from app.charts.first_token import FirstTokenBar
from app.theme import DARK, LIGHT, apply_theme

NAMES = {"A": "first", "B": "second <b>x</b>", "C": "third"}


def line(letter: str, level: float, tokens: int = 100) -> LineSeries:
    x = np.arange(2.0, 2.0 + tokens)
    p50 = np.full(tokens, level)
    return LineSeries(letter, x, p50, p50 - 0.2, p50 + 0.2)


def test_every_session_has_a_letter_and_no_two_look_alike() -> None:
    assert list(STYLES) == list(LETTERS)
    assert len({style.role for style in STYLES.values()}) == 6
    # A and B are told apart by their letters at the line's end; all later ones are dashed, too.
    dashes = [style.dash for style in STYLES.values()][2:]
    assert None not in dashes
    assert len(set(dashes)) == 4
    assert session_pen("C", DARK).dashPattern() == [5, 2.5]


def test_rolling_quantiles_are_those_of_numpy_on_the_window() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0])
    y = np.array([10.0, 20.0, 30.0, 40.0, 12.0, 22.0, 32.0, 42.0])
    middles, p10, p50, p90 = rolling_quantiles(x, y, 4.0, blocks=4, half_window=0)
    # [0, 1) holds nothing; [1, 2) holds 10 and 12; [3, 4] holds 30, 32, 40, 42.
    assert middles.tolist() == [1.5, 2.5, 3.5]
    assert p50.tolist() == [11.0, 21.0, 36.0]
    assert p10 == pytest.approx([10.2, 20.2, 30.6])
    assert p90 == pytest.approx([11.8, 21.8, 41.4])
    wide = rolling_quantiles(x, y, 4.0, blocks=4, half_window=1)
    assert wide[2].tolist() == [16.0, 26.0, 31.0]


def test_rolling_quantiles_leave_holes_and_missing_values_out() -> None:
    x = np.array([0.5, 9.5, 5.5])
    y = np.array([1.0, 3.0, np.nan])
    middles, _, p50, _ = rolling_quantiles(x, y, 10.0, blocks=10, half_window=0)
    assert middles.tolist() == [0.5, 9.5]
    assert p50.tolist() == [1.0, 3.0]
    assert all(len(part) == 0 for part in rolling_quantiles(x[:0], y[:0], 10.0))


def test_a_distribution_answers_like_numpy() -> None:
    rng = np.random.default_rng(3)
    values = np.sort(rng.lognormal(size=1001))
    series = DistributionSeries("A", values)
    for q in (0.0, 0.01, 0.5, 0.95, 0.99, 1.0):
        assert series.quantile(q) == pytest.approx(float(np.quantile(values, q)), rel=1e-12)
    assert series.share_below(float(values[499])) == 500 / 1001
    one = DistributionSeries("A", np.array([7.0]))
    assert one.quantile(0.99) == 7.0
    assert np.isnan(DistributionSeries("A", np.empty(0)).quantile(0.5))


def test_the_tail_is_stretched() -> None:
    assert stretched(np.array([0.0, 0.9, 0.99])) == pytest.approx([0.0, 1.0, 2.0])
    x, y = ecdf_points(np.array([1.0, 2.0, 3.0, 4.0]))
    assert x.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert y[:3] == pytest.approx([0.124939, 0.301030, 0.602060], abs=1e-6)
    many_x, many_y = ecdf_points(np.sort(np.random.default_rng(1).random(50_000)))
    assert len(many_x) <= 1500
    assert (np.diff(many_y) >= 0).all()
    assert many_y[-1] == pytest.approx(-np.log10(1 - 0.9995), abs=0.01)


def test_the_lines_readout_names_all_and_the_baseline_first_of_all(qtbot) -> None:
    chart = CompareLinesChart(latency_subject())
    qtbot.addWidget(chart)
    chart.resize(600, 300)
    chart.refresh([line("A", 12.0), line("B", 12.6), line("C", 11.4, 50)], "A", NAMES)
    readout = chart.readout(30)
    assert [(letter, value) for letter, value, _ in readout] == [("A", 12.0), ("B", 12.6), ("C", 11.4)]
    assert readout[0][2] is None
    assert readout[1][2] == pytest.approx(5.0)
    assert readout[2][2] == pytest.approx(-5.0)
    # C is shorter: where it has ended it is not in the readout.
    assert [letter for letter, _, _ in chart.readout(80)] == ["A", "B"]
    assert chart._curves["B"].getData()[1].tolist() == [12.6] * 100
    low = chart._bands["B"].getData()[1]
    assert low[0] == pytest.approx(12.4)
    assert "B 12.60 ms" in chart.summary()
    assert [item.label for item in chart.legend.items] == ["A", "B", "C"]
    assert chart.legend.items[1].tip == "B: second <b>x</b>"
    chart.refresh([line("B", 12.6)], "B", NAMES)
    assert chart._curves["A"].getData()[0] is None or len(chart._curves["A"].getData()[0]) == 0


def test_the_mouse_and_the_keys_move_one_mark(qtbot) -> None:
    chart = CompareLinesChart(latency_subject())
    qtbot.addWidget(chart)
    chart.resize(600, 300)
    chart.refresh([line("A", 12.0)], "A", NAMES)
    chart.show()
    told: list[float | None] = []
    chart.hovered.connect(told.append)
    chart.hovered.connect(chart.set_crosshair)
    frame = chart.canvas.frame()
    at = QPoint(round(frame.x_px(50.0)), round(frame.plot.center().y()))
    QTest.mouseMove(chart.canvas.viewport(), at)
    assert told and told[-1] == 50.0
    QTest.keyClick(chart, Qt.Key.Key_Right)
    assert told[-1] == 51.0
    QTest.keyClick(chart, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert told[-1] == 35.0
    QTest.keyClick(chart, Qt.Key.Key_Escape)
    assert told[-1] is None


def test_a_session_can_be_hidden(qtbot) -> None:
    chart = CompareLinesChart(latency_subject())
    qtbot.addWidget(chart)
    chart.refresh([line("A", 12.0), line("B", 12.6)], "A", NAMES)
    chart.toggle_layer("A")
    assert not chart._curves["A"].isVisible()
    assert not chart._bands["A"].isVisible()
    # Hidden, it still is what the others are measured against.
    assert chart.readout(30) == [("B", 12.6, pytest.approx(5.0))]
    assert chart.table().columns[0].text(0) == "B"
    assert [item.off for item in chart.legend.items] == [True, False]
    chart.refresh([line("A", 12.0), line("B", 12.6)], "A", NAMES)
    assert not chart._curves["A"].isVisible()
    chart.toggle_layer("A")
    assert chart._curves["A"].isVisible()


def test_every_chart_is_a_table_too(qtbot) -> None:
    lines, ecdf, quantile = CompareLinesChart(latency_subject()), DistributionChart(), QuantileChart()
    for chart in (lines, ecdf, quantile):
        qtbot.addWidget(chart)
    lines.refresh([line("A", 12.0, 2), line("B", 12.6, 2)], "A", NAMES)
    assert lines.table().tsv().splitlines() == [
        "session\toutput token\tp10 (ms)\tp50 (ms)\tp90 (ms)",
        "A\t2\t11.8\t12\t12.2",
        "A\t3\t11.8\t12\t12.2",
        "B\t2\t12.4\t12.6\t12.8",
        "B\t3\t12.4\t12.6\t12.8",
    ]
    ecdf.refresh([DistributionSeries("A", np.arange(1.0, 102.0))], NAMES)
    assert ecdf.table().row_text(49) == "A\t50\t51"
    one = np.array([0.5])
    quantile.refresh([QuantileSeries("B", one, one, one - 1, one + 1)], "A", NAMES)
    assert quantile.table().row_text(0) == "B − A\t0.5\t0.5\t-0.5\t1.5"


def test_time_keeps_fractions_and_says_seconds(qtbot) -> None:
    chart = CompareLinesChart(bandwidth_subject())
    qtbot.addWidget(chart)
    x = np.linspace(0.01, 0.99, 50)
    values = np.full(50, 6.5)
    chart.refresh([LineSeries("A", x, values, values, values)], "A", NAMES, time=True)
    assert chart.canvas.ranges[0][1] == pytest.approx(1.0)
    assert chart.canvas.ranges[1][0] == 0.0
    told: list[float | None] = []
    chart.hovered.connect(told.append)
    chart._pointed(0.347)
    assert told == [0.347]


def test_the_distribution_marks_three_quantiles(qtbot) -> None:
    chart = DistributionChart()
    qtbot.addWidget(chart)
    chart.resize(560, 320)
    values = np.arange(1.0, 102.0)
    chart.refresh([DistributionSeries("A", values), DistributionSeries("B", values + 10)], NAMES)
    assert chart.marks("A") == [51.0, 96.0, 100.0]
    assert chart.marks("B") == [61.0, 106.0, 110.0]
    assert "A 51.0 / 96.0 / 100" in chart.summary()
    chart.set_crosshair(51.0)
    assert not chart.grab().isNull()


def test_one_stall_does_not_flatten_the_distribution(qtbot) -> None:
    chart = DistributionChart()
    qtbot.addWidget(chart)
    values = np.sort(np.concatenate((np.linspace(10, 11, 999), [5000.0])))
    chart.refresh([DistributionSeries("A", values)], NAMES)
    assert chart.canvas.ranges[0][1] < 20
    assert chart._beyond == 1


def test_the_quantile_plot_holds_differences_in_per_cent_of_the_axis(qtbot) -> None:
    chart = QuantileChart()
    qtbot.addWidget(chart)
    chart.resize(560, 320)
    q = np.array([0.1, 0.5, 0.9])
    difference = np.array([-0.5, 0.0, 1.0])
    chart.refresh([QuantileSeries("B", q, difference, difference - 0.1, difference + 0.1)], "A", NAMES)
    x, y = chart._curves["B"].getData()
    assert x.tolist() == [10.0, 50.0, 90.0]
    assert y.tolist() == [-0.5, 0.0, 1.0]
    assert chart.canvas.ranges[1][0] <= -0.6 and chart.canvas.ranges[1][1] >= 1.1
    assert chart.legend.items[0].label == "B − A"
    assert "B − A 0.000 ms" in chart.summary()
    chart.set_crosshair(50.0)
    assert not chart.grab().isNull()


def test_stages_have_no_median_of_medians(qtbot) -> None:
    chart = StageChart()
    qtbot.addWidget(chart)
    chart.refresh([FirstTokenBar("A", (("prefill", 19.0),), 20.0), FirstTokenBar("B", (), 30.0)])
    assert chart._median is None
    assert chart.summary() == "Median time to first token: A 20.0 ms, B 30.0 ms."


def test_tabs_change_charts_and_keep_the_focus(qtbot) -> None:
    charts = (DistributionChart(), QuantileChart(), StageChart())
    deck = ChartDeck(charts, ("One", "Two", "Three"), "Charts")
    qtbot.addWidget(deck)
    deck.resize(560, 300)
    deck.show()
    deck.bars[0].setFocus()
    deck.bars[0].setCurrentIndex(2)
    assert deck.currentWidget() is charts[2]
    assert deck.bars[2].currentIndex() == 2
    deck.bars[2].setCurrentIndex(0)
    assert deck.currentWidget() is charts[0]
    assert deck.bars[0].currentIndex() == 0
    assert [bar.accessibleName() for bar in deck.bars] == ["Charts"] * 3


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda palette: palette.name)
@pytest.mark.parametrize("size", [(280, 170), (520, 220), (900, 480)])
def test_all_states_paint(qtbot, palette, size) -> None:
    lines = CompareLinesChart(latency_subject())
    charts = (
        lines,
        CompareLinesChart(bandwidth_subject()),
        DistributionChart(),
        QuantileChart(),
        StageChart(),
    )
    for chart in charts:
        qtbot.addWidget(chart)
        chart.resize(*size)
        apply_theme(chart, palette)
        assert chart.ghost_shown
        assert not chart.grab().isNull()
        chart.clear() if not isinstance(chart, StageChart) else chart.refresh([])
        assert not chart.grab().isNull()
    lines.refresh([line(letter, 12 + number) for number, letter in enumerate(LETTERS)], "A", NAMES)
    lines.set_crosshair(99.0)
    assert not lines.grab().isNull()


def test_words_of_a_signed_number() -> None:
    assert signed(2.44, 1) == "+2.4"
    assert signed(-4.7, 1) == "−4.7"
    assert signed(-0.001, 1) == "0.0"


def test_letters_without_a_line_are_not_drawn() -> None:
    class Nothing:
        """A painter that must not be used."""

    from PySide6.QtCore import QRectF

    from app.charts.frame import Frame

    draw_end_letters(Nothing(), Frame(QRectF(0, 0, 100, 100), 0, 1, 0, 1), [("A", 5.0, 0.5)], DARK)  # type: ignore[arg-type]
