"""Every chart in every state: what it holds, what it says, and that it paints without a warning."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest
from gallery import SIZES, STATES, draw, gaps_ms, make_charts, telemetry_rows
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest

from app.charts import (
    BandwidthChart,
    BandwidthSeries,
    BusyWindow,
    FirstTokenBar,
    FirstTokenChart,
    TelemetryChart,
    TelemetryRow,
    TokenLatencyChart,
    TokenSeries,
    TrendLine,
    Zone,
)
from app.charts.bandwidth_marks import speed_ticks
from app.charts.frame import Frame
from app.charts.items import disc_kernel, dots_image
from app.charts.token_marks import percent_ticks
from app.theme import DARK, LIGHT


def has_color(image: QImage, color: str) -> bool:
    """Is there a pixel of exactly that colour?"""
    wanted = QColor(color).rgb()
    return any(image.pixel(x, y) == wanted for x in range(image.width()) for y in range(image.height()))


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda palette: palette.name)
@pytest.mark.parametrize("state", list(STATES))
@pytest.mark.parametrize("size", list(SIZES))
def test_every_state_paints_at_every_size(qtbot, state: str, size: str, palette) -> None:
    page = draw(state, palette, SIZES[size])
    qtbot.addWidget(page)
    assert not page.grab().isNull()


def test_charts_begin_as_ghosts_that_ask_a_question(qtbot) -> None:
    for chart in make_charts():
        qtbot.addWidget(chart)
        assert chart.ghost_shown
        assert chart.accessibleDescription().split("?")[0]
        assert "?" in chart.accessibleDescription()
        chart.clear()
        assert not chart.ghost_shown
        chart.show_ghost(True)
        assert chart.ghost_shown


def test_charts_share_a_layout_policy(qtbot) -> None:
    for chart in make_charts():
        qtbot.addWidget(chart)
        policy = chart.canvas.sizePolicy()
        assert policy.horizontalPolicy() == policy.verticalPolicy() == policy.Policy.Ignored


class TestTokenLatency:
    @pytest.fixture
    def chart(self, qtbot) -> TokenLatencyChart:
        chart = TokenLatencyChart()
        qtbot.addWidget(chart)
        chart.resize(510, 264)
        return chart

    def test_the_first_gap_is_token_2(self, chart: TokenLatencyChart) -> None:
        chart.refresh([TokenSeries("Repeat 1", np.array([10.0, 11.0, 12.0]))], 4)
        x, y = chart._current.getData()
        assert x.tolist() == [2, 3, 4]
        assert y.tolist() == [10, 11, 12]

    def test_the_running_request_has_the_large_dots(self, chart: TokenLatencyChart) -> None:
        series = [TokenSeries("Repeat 1", np.array([10.0, 11.0])), TokenSeries("Repeat 2", np.array([12.0]))]
        chart.refresh(series, 3, 1)
        assert chart._current.getData()[1].tolist() == [12]
        assert chart._earlier.getData()[1].tolist() == [10, 11]
        chart.refresh(series, 3, None, selected=0)
        assert chart._current.getData()[1].tolist() == [10, 11]

    def test_the_band_needs_two_measured_repeats(self, chart: TokenLatencyChart) -> None:
        one = TokenSeries("Warm-up 1", np.full(8, 20.0), warmup=True)
        two = TokenSeries("Repeat 1", np.full(8, 10.0))
        chart.refresh([one, two], 9)
        assert len(chart._band.getData()[0]) == 0
        assert "p5–p95" not in [item.label for item in chart.legend.items]
        chart.refresh([one, two, TokenSeries("Repeat 2", np.full(8, 12.0))], 9)
        _, low, high = chart._band.getData()
        assert set(low.tolist()) == {10.0} and set(high.tolist()) == {12.0}
        assert "p5–p95" in [item.label for item in chart.legend.items]

    def test_warmups_stay_out_of_the_median(self, chart: TokenLatencyChart) -> None:
        warm = TokenSeries("Warm-up 1", np.full(8, 99.0), warmup=True)
        chart.refresh([warm, TokenSeries("Repeat 1", np.full(8, 10.0))], 9)
        assert set(chart._median.getData()[1].tolist()) == {10.0}
        chart.refresh([warm], 9)
        assert set(chart._median.getData()[1].tolist()) == {99.0}

    def test_outsiders_are_counted_at_the_edge(self, chart: TokenLatencyChart) -> None:
        gaps = np.full(200, 10.0)
        gaps[[20, 90]] = 40.0
        chart.refresh([TokenSeries("Repeat 1", gaps)], 201)
        assert chart._above == 2
        assert sorted(chart._above_points.tolist()) == [22, 92]
        assert "2 above the axis" in chart.summary()

    def test_the_axis_does_not_move_with_each_token(self, chart: TokenLatencyChart) -> None:
        gaps = gaps_ms(511, 4)
        ranges = set()
        for end in range(60, 511, 9):
            chart.refresh([TokenSeries("Repeat 1", gaps[:end])], 512, 0)
            ranges.add(chart._plot.ranges)
        assert {x for x, _ in ranges} == {(0.0, 512.0)}
        assert len(ranges) <= 3

    def test_an_answer_longer_than_asked_for_doubles_the_axis(self, chart: TokenLatencyChart) -> None:
        chart.refresh([TokenSeries("Repeat 1", np.full(130, 10.0))], 64)
        assert chart._plot.ranges[0] == (0, 256)

    def test_with_a_limit_the_axis_begins_below_it_and_not_at_zero(self, chart: TokenLatencyChart) -> None:
        chart.refresh([TokenSeries("Repeat 1", gaps_ms(255, 1, 19.0))], 256, floor_ms=11.8)
        low = chart._plot.ranges[1][0]
        assert 0.75 * 11.8 <= low < 11.8
        assert "limit" in [item.label for item in chart.legend.items]
        assert set(chart._floor_curve.getData()[1].tolist()) == {11.8}

    def test_a_limit_per_token(self, chart: TokenLatencyChart) -> None:
        floor = np.linspace(8.0, 9.0, 64)
        chart.refresh([TokenSeries("Repeat 1", np.full(63, 12.0))], 64, floor_ms=floor)
        x, y = chart._floor_curve.getData()
        assert (x[0], x[-1], y[0], y[-1]) == (1, 64, 8, 9)

    def test_trend_and_its_words(self, chart: TokenLatencyChart) -> None:
        trend = TrendLine(2, 10.0, 9, 10.5, "+0.07 µs per token", "95 % CI 0.05 to 0.09")
        chart.refresh([TokenSeries("Repeat 1", np.full(8, 10.0))], 9, trend=trend)
        assert chart._trend_curve.getData()[1].tolist() == [10.0, 10.5]
        assert "trend +0.07 µs per token" in chart.summary()

    def test_one_token_says_so(self, chart: TokenLatencyChart) -> None:
        chart.refresh([TokenSeries("Repeat 1", np.empty(0))], 1)
        assert chart._nothing() == "one token only: there is no gap to show"
        chart.refresh([], 1)
        assert chart._nothing() == "no tokens yet"
        assert chart.summary() == "Inter-token latency: no tokens yet."

    def test_summary(self, chart: TokenLatencyChart) -> None:
        chart.refresh([TokenSeries("Repeat 1", np.full(1500, 13.2))], 1501)
        assert chart.summary() == "Inter-token latency of 1,500 tokens: median 13.20 ms."
        assert chart.accessibleDescription() == chart.summary()

    def test_clear_keeps_the_axis(self, chart: TokenLatencyChart) -> None:
        chart.refresh([TokenSeries("Repeat 1", np.full(8, 10.0))], 64)
        chart.clear()
        assert chart._plot.ranges[0] == (0, 64)
        assert len(chart._current.getData()[0]) == 0

    def test_hovering_tells_the_token(self, chart: TokenLatencyChart, qtbot) -> None:
        chart.refresh([TokenSeries("Repeat 1", np.full(99, 10.0))], 100)
        with qtbot.waitExposed(chart):
            chart.show()
        plot = chart._plot.frame().plot
        seen: list[object] = []
        chart.hovered.connect(seen.append)
        QTest.mouseMove(chart._plot.viewport(), plot.center().toPoint())
        QTest.mouseMove(chart._plot.viewport(), QPointF(plot.left() - 20, plot.center().y()).toPoint())
        assert seen[0] in (50, 51) and seen[-1] is None

    def test_dots_are_where_their_values_are(self, chart: TokenLatencyChart) -> None:
        gaps = np.full(99, 10.0)
        chart.refresh([TokenSeries("Repeat 1", gaps)], 100)
        chart.set_theme(DARK)
        # A card within a window is where an offset would show.
        image = chart.grab().toImage()
        frame = chart._plot.frame()
        corner = chart._plot.mapTo(chart, chart._plot.rect().topLeft())
        y = round(corner.y() + frame.y_px(10.0))
        blue = QColor(DARK.data1)
        for token in (2, 51, 100):
            x = round(corner.x() + frame.x_px(token))
            near = [image.pixelColor(x + dx, y + dy) for dx in (-2, -1, 0, 1) for dy in (-2, -1, 0, 1)]
            assert any(abs(pixel.blue() - blue.blue()) < 60 for pixel in near), token


def test_the_right_axis_is_round_in_per_cent() -> None:
    frame = Frame(QRectF(46, 8, 400, 150), 0, 512, 9.0, 11.2)
    assert percent_ticks(frame, 10.0) == [
        (pytest.approx(9.0), "\u221210"),
        (pytest.approx(9.5), "\u22125"),
        (pytest.approx(10.0), "0"),
        (pytest.approx(10.5), "+5"),
        (pytest.approx(11.0), "+10"),
    ]
    wide = Frame(QRectF(46, 8, 400, 150), 0, 512, 0.0, 320.0)
    assert [words for _, words in percent_ticks(wide, 10.0)] == ["0", "+1k", "+2k", "+3k"]


class TestDots:
    def test_a_disc_of_three_pixels(self) -> None:
        kernel = {(dx, dy): alpha for dx, dy, alpha in disc_kernel(3.0)}
        assert kernel[(0, 0)] == 255
        assert kernel[(1, 0)] == kernel[(0, 1)] == kernel[(-1, 0)]
        assert 0 < kernel[(1, 1)] < kernel[(1, 0)]
        assert max(abs(dx) for dx, _ in kernel) <= 2

    def test_dots_beyond_the_edge_are_left_out(self) -> None:
        columns, rows = np.array([-1, 3, 99]), np.array([2, 2, 2])
        image = dots_image(columns, rows, 6, 5, 1.0, QColor("#ff0000"))
        red = [(x, y) for x in range(6) for y in range(5) if image.pixelColor(x, y).alpha() > 0]
        assert red == [(3, 2)]
        assert image.pixelColor(3, 2).name() == "#ff0000"

    def test_many_dots_give_the_same_picture_as_few(self) -> None:
        columns, rows = np.array([1, 4]), np.array([1, 3])
        few = dots_image(columns, rows, 6, 5, 3.0, QColor("#56B4E9"))
        many = dots_image(np.tile(columns, 5000), np.tile(rows, 5000), 6, 5, 3.0, QColor("#56B4E9"))
        assert few == many


class TestFirstToken:
    @pytest.fixture
    def chart(self, qtbot) -> FirstTokenChart:
        chart = FirstTokenChart()
        qtbot.addWidget(chart)
        chart.resize(510, 264)
        return chart

    def test_cold_and_warm_ups_stay_out_of_the_median(self, chart: FirstTokenChart) -> None:
        chart.refresh(
            [
                FirstTokenBar("Warm-up 1", (("prefill", 400.0),), 400.0, warmup=True, cold=True),
                FirstTokenBar("Repeat 1", (("prefill", 20.0),), 20.0),
                FirstTokenBar("Repeat 2", (("prefill", 22.0),), 22.0),
                FirstTokenBar("Repeat 3", (), None, status="failed"),
                FirstTokenBar("Repeat 4", status="waiting"),
            ],
            500,
        )
        assert chart.summary() == (
            "Time to first token: median 21.0 ms over 2 requests, within the target of 500 ms."
        )
        assert chart._axis == 30
        assert "cold run" in [item.label for item in chart.legend.items]

    def test_a_target_in_reach_is_on_the_axis(self, chart: FirstTokenChart) -> None:
        chart.refresh([FirstTokenBar("Repeat 1", (), 265.0)], 500)
        assert chart._axis == 600
        assert "within" in chart.summary()
        chart.refresh([FirstTokenBar("Repeat 1", (), 265.0)], 200)
        assert "over the target" in chart.summary()

    def test_unknown_spans_are_other(self, chart: FirstTokenChart) -> None:
        chart.refresh([FirstTokenBar("Repeat 1", (("queue", 3.0), ("prefill", 9.0)), 12.0)])
        assert [item.label for item in chart.legend.items] == ["prefill", "other"]

    def test_many_repeats_never_overlap(self, chart: FirstTokenChart) -> None:
        chart.refresh([FirstTokenBar(f"Repeat {number}", (), 20.0) for number in range(500)])
        rows, pitch, hidden = chart._rows()
        assert pitch >= 4
        assert len(rows) + hidden == 500
        assert rows[-1][1].label == "Repeat 499"
        assert len(rows) * pitch <= chart.canvas.height()

    def test_hovering_a_bar_tells_its_spans(self, chart: FirstTokenChart) -> None:
        chart.refresh([FirstTokenBar("Repeat <1>", (("prefill", 19.0), ("sample", 1.0)), 20.0)])
        chart._pointed(QPointF(200, 10))
        assert chart.canvas.toolTip() == "<p>Repeat &lt;1&gt; 20.0 ms<br>prefill 19.0 ms, sample 1.00 ms</p>"

    def test_nothing_measured(self, chart: FirstTokenChart) -> None:
        chart.clear()
        assert chart.summary() == "Time to first token: no measured request yet."


class TestBandwidth:
    @pytest.fixture
    def chart(self, qtbot) -> BandwidthChart:
        chart = BandwidthChart()
        qtbot.addWidget(chart)
        chart.resize(510, 264)
        return chart

    def test_the_axis_begins_at_zero_and_holds_all_sources(self, chart: BandwidthChart) -> None:
        series = BandwidthSeries("Repeat 1", np.arange(2.0, 66.0), np.full(64, 7.5))
        chart.refresh([series], 65, 300, "data sheet", [BusyWindow(0, 20, 11.0)])
        assert chart._plot.ranges[1] == (0, 15)
        assert chart.summary() == "Memory bandwidth: median 7.50 % of 300 GB/s (data sheet)."

    def test_a_missing_source_stays_in_the_legend_with_its_reason(self, chart: BandwidthChart) -> None:
        series = BandwidthSeries("Repeat 1", np.arange(2.0, 66.0), np.full(64, 60.0))
        chart.refresh(
            [series], 65, 12.3, "measured here", None, "It needs an NVIDIA GPU.", gpm_reason="Needs Hopper."
        )
        tips = {item.label: item.tip for item in chart.legend.items}
        assert tips["DRAM busy time n/a"] == "It needs an NVIDIA GPU."
        assert tips["GPM n/a"] == "Needs Hopper."

    def test_without_model_bytes_it_says_why(self, chart: BandwidthChart) -> None:
        chart.refresh([], 65, None, "", None, None, reason="The model's shape is not known.")
        assert chart.summary() == "Memory bandwidth: The model's shape is not known."
        assert chart.legend.items[0].label == "model-based n/a"

    def test_lines_of_separate_requests_do_not_join(self, chart: BandwidthChart) -> None:
        series = [
            BandwidthSeries(f"Repeat {number}", np.arange(2.0, 10.0), np.full(8, 50.0 + number))
            for number in range(3)
        ]
        chart.refresh(series, 9, 100, "data sheet", [], running_index=2)
        x, y = chart._earlier.getData()
        assert np.isnan(x).sum() == np.isnan(y).sum() == 2
        assert chart._current.getData()[1].tolist() == [52.0] * 8

    def test_speeds_are_at_the_grid_where_that_is_round(self) -> None:
        ticks = [0.0, 5.0, 10.0, 15.0]
        assert speed_ticks(ticks, 300, 15, 3) == [(0, "0"), (5, "15"), (10, "30"), (15, "45")]
        own = speed_ticks([0.0, 20.0, 40.0, 60.0, 80.0], 12.3, 80, 4)
        assert [words for _, words in own] == ["0", "2", "4", "6", "8"]
        assert own[1][0] == pytest.approx(100 * 2 / 12.3)

    def test_clear(self, chart: BandwidthChart) -> None:
        series = BandwidthSeries("Repeat 1", np.arange(2.0, 66.0), np.full(64, 60.0))
        chart.refresh([series], 65, 12.3, "measured here")
        chart.clear()
        assert chart.summary() == "Memory bandwidth: no tokens yet."
        assert chart._plot.ranges[1] == (0, 100)


class TestTelemetry:
    @pytest.fixture
    def chart(self, qtbot) -> TelemetryChart:
        chart = TelemetryChart()
        qtbot.addWidget(chart)
        chart.resize(510, 264)
        return chart

    def test_rows_of_a_group_share_a_plot(self, chart: TelemetryChart) -> None:
        chart.refresh(telemetry_rows(10), [Zone("R1", 0, 5)], 12)
        assert [len(panel) for panel in chart._panels] == [1, 1, 1, 2]
        assert chart._axis == 12

    def test_last_value_and_value_at_a_time(self, chart: TelemetryChart) -> None:
        row = TelemetryRow("Power", "W", np.array([0.0, 1.0, 2.0]), np.array([15.0, 31.7, np.nan]))
        chart.refresh([row, TelemetryRow("Temperature", "°C", np.array([0.0]), np.array([54.0]))], [], 5)
        # The last reading of the power is missing: it is not told as a number.
        assert chart.summary() == "Telemetry: Temperature 54.0 °C."

    def test_shares_end_at_100(self, chart: TelemetryChart) -> None:
        t = np.array([0.0, 1.0])
        chart.refresh([TelemetryRow("CPU busy", "%", t, np.array([3.0, 99.5]), low=0)], [], 5)
        assert chart._bounds["CPU busy"] == (0, 100)

    def test_the_notice_is_calm_and_goes_away(self, chart: TelemetryChart) -> None:
        chart.refresh([], [], 5, "No NVIDIA GPU here.")
        assert not chart.banner.isHidden()
        assert chart.banner.text == "No NVIDIA GPU here."
        chart.refresh([], [], 5)
        assert chart.banner.isHidden()

    def test_hovering_tells_the_time(self, chart: TelemetryChart) -> None:
        chart.refresh(telemetry_rows(10), [], 10)
        chart.grab()
        seen: list[float | None] = []
        chart.hovered.connect(seen.append)
        chart._pointed(chart._plot().center())
        chart._pointed(None)
        assert seen[0] == pytest.approx(5.0)
        assert seen[1] is None

    def test_an_empty_or_single_reading_paints(self, chart: TelemetryChart) -> None:
        empty = np.empty(0)
        chart.refresh([TelemetryRow("Power", "W", empty, empty)], [], 5)
        chart.grab()
        chart.refresh([TelemetryRow("Power", "W", np.array([1.0]), np.array([np.nan]))], [], 5)
        chart.grab()
        chart.refresh([TelemetryRow("Power", "W", np.array([1.0]), np.array([5.0]))], [], 5)
        chart.grab()

    def test_the_band_of_a_running_request_is_drawn(self, chart: TelemetryChart) -> None:
        chart.set_theme(LIGHT)
        chart.refresh(telemetry_rows(4), [Zone("R1", 1, 3, running=True)], 5)
        assert has_color(chart.canvas.grab().toImage(), LIGHT.mix("data1", 42).name())


def test_the_theme_can_change_at_any_time(qtbot) -> None:
    chart = TokenLatencyChart()
    qtbot.addWidget(chart)
    chart.resize(400, 230)
    chart.refresh([TokenSeries("Repeat 1", np.full(300, 10.0))], 512, 0)
    chart.set_theme(LIGHT)
    assert has_color(chart.canvas.grab().toImage(), LIGHT.accent)
    chart.set_theme(DARK)
    assert has_color(chart.canvas.grab().toImage(), DARK.accent)


def test_the_menu_copies_a_picture(qtbot, qapp) -> None:
    chart = FirstTokenChart()
    qtbot.addWidget(chart)
    chart.resize(400, 230)
    chart.menu.actions()[0].trigger()
    assert qapp.clipboard().pixmap().size() == chart.size()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal from Python 3.12 on")
def test_1000_redraws_lose_no_reference_to_none(qtbot) -> None:
    """PySide6 6.12.0 lost about 11 a redraw and aborted after some thousand frames."""
    charts = make_charts()
    gaps, rows = gaps_ms(200, 1), telemetry_rows(20)
    series = BandwidthSeries("Repeat 1", np.arange(2.0, 202.0), 90 / gaps)
    for chart in charts:
        qtbot.addWidget(chart)
        chart.resize(400, 230)

    def redraw(number: int) -> None:
        # As in a run: data grows, ranges move seldom (pyqtgraph keeps six references a move).
        end = 100 + number // 11
        token, first, bandwidth, telemetry = charts
        token.refresh([TokenSeries("Repeat 1", gaps[:end])], 256, 0)
        first.refresh([FirstTokenBar("Repeat 1", (("prefill", 19.0),), 20.0 + number % 3)], 500)
        part = BandwidthSeries("Repeat 1", series.tokens[:end], series.mbu_pct[:end])
        bandwidth.refresh([part], 256, 300, "data sheet", [BusyWindow(0, 30, 9)], running_index=0)
        telemetry.refresh(rows, [Zone("R1", 0, 5)], 22)
        for chart in charts:
            chart.canvas.grab()

    for number in range(20):
        redraw(number)
    gc.collect()
    before = sys.getrefcount(None)
    for number in range(1000):
        redraw(number)
    gc.collect()
    assert abs(sys.getrefcount(None) - before) <= 100
