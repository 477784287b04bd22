"""Zoom, layers, log axis, range, keys, table and pictures of single charts."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from gallery import draw, gaps_ms, telemetry_rows
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.charts import (
    BandwidthChart,
    BandwidthSeries,
    ChartCard,
    FirstTokenBar,
    FirstTokenChart,
    TelemetryChart,
    TokenLatencyChart,
    TokenSeries,
    TrendLine,
    Zone,
)
from app.charts.base import Command
from app.charts.data_table import Column, DataTable, TableData
from app.charts.pictures import save_picture
from app.charts.spike_lane import Spike, SpikeLane
from app.charts.ticks import log_range, log_ticks, window_ticks
from app.charts.token_chart import followed, kept_within, zoomed
from app.theme import DARK
from app.widgets import Legend, LegendItem
from profiler.analysis.selection import TokenRange


@pytest.fixture
def chart(qtbot) -> TokenLatencyChart:
    chart = TokenLatencyChart()
    qtbot.addWidget(chart)
    chart.resize(510, 300)
    chart.refresh([TokenSeries("Repeat 1", gaps_ms(511, 1)), TokenSeries("Repeat 2", gaps_ms(511, 2))], 512)
    with qtbot.waitExposed(chart):
        chart.show()
    return chart


def at_token(chart: TokenLatencyChart | BandwidthChart, token: float) -> QPoint:
    frame = chart._plot.frame()
    return QPointF(frame.x_px(token), frame.plot.center().y()).toPoint()


def turn_wheel(canvas: QWidget, at: QPoint, notches: int, keys: Qt.KeyboardModifier) -> None:
    event = QWheelEvent(
        QPointF(at),
        QPointF(canvas.mapToGlobal(at)),
        QPoint(),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        keys,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(canvas, event)


class TestView:
    def test_arithmetic(self) -> None:
        assert zoomed((0, 100), 50, 0.5, 1) == (25, 75)
        assert zoomed((0, 100), 0, 0.5, 1) == (0, 50)
        assert zoomed((10, 12), 11, 0.1, 1) == (10.5, 11.5)
        assert kept_within((-10, 30), 0, 100) == (0, 40)
        assert kept_within((80, 120), 0, 100) == (60, 100)
        assert kept_within((-1, 101), 0, 100) is None
        # The last 128 of 512, on in steps of 16.
        assert followed(10, 128, 512) == (0, 128)
        assert followed(200, 128, 512) == followed(208, 128, 512) == (80, 208)
        assert followed(209, 128, 512) == (96, 224)

    def test_the_wheel_zooms_about_the_mouse(self, chart: TokenLatencyChart, qtbot) -> None:
        seen: list[object] = []
        chart.view_changed.connect(seen.append)
        here = at_token(chart, 128)
        before = chart._plot.frame().x_value(here.x())
        turn_wheel(chart._plot.viewport(), here, 3, Qt.KeyboardModifier.NoModifier)
        view = chart.view
        assert view is not None and view[1] - view[0] == pytest.approx(512 * 0.8**3)
        assert chart._plot.frame().x_value(here.x()) == pytest.approx(before)
        assert seen == [view] == [chart._plot.ranges[0]]
        QTest.keyClick(chart, Qt.Key.Key_Home)
        assert chart.view is None and seen[-1] is None
        assert chart._plot.ranges[0] == (0, 512)

    def test_with_shift_it_zooms_the_other_axis(self, chart: TokenLatencyChart) -> None:
        low, high = chart._plot.ranges[1]
        turn_wheel(chart._plot.viewport(), at_token(chart, 200), 2, Qt.KeyboardModifier.ShiftModifier)
        close = chart._plot.ranges[1]
        assert close[1] - close[0] == pytest.approx((high - low) * 0.64)
        assert chart.view is None
        QTest.mouseDClick(chart._plot.viewport(), Qt.MouseButton.LeftButton, pos=at_token(chart, 200))
        assert chart._plot.ranges[1] == (low, high)

    def test_the_middle_button_pans(self, chart: TokenLatencyChart) -> None:
        chart._show((100.0, 200.0))
        port, here = chart._plot.viewport(), at_token(chart, 150)
        QTest.mousePress(port, Qt.MouseButton.MiddleButton, pos=here)
        QTest.mouseMove(port, here - QPoint(50, 0))
        QTest.mouseRelease(port, Qt.MouseButton.MiddleButton, pos=here - QPoint(50, 0))
        assert chart.view is not None
        assert chart.view[0] == pytest.approx(100 + 50 * 100 / chart._plot.frame().plot.width())

    def test_a_close_view_has_its_own_median(self, chart: TokenLatencyChart) -> None:
        gaps = np.full(9999, 10.0)
        gaps[5000:5040] = 20.0
        chart.refresh([TokenSeries("Repeat 1", gaps)], 10_000)
        # Forty tokens are no more than half a block of the whole run.
        assert max(chart._median.getData()[1]) < 20
        chart._show((4980.0, 5062.0))
        tokens, median = chart._median.getData()
        assert median[np.abs(tokens - 5020).argmin()] == 20.0
        assert median[0] == 10.0
        x, _ = chart._current.getData()
        assert (x[0], x[-1]) == (4980, 5062)

    def test_follow_shows_the_last_tokens_while_live(self, chart: TokenLatencyChart) -> None:
        chart.set_follow(128)
        series = [TokenSeries("Repeat 1", gaps_ms(300, 1))]
        chart.refresh(series, 512, 0)
        assert chart._plot.ranges[0] == (176, 304)
        chart.refresh(series, 512)
        assert chart._plot.ranges[0] == (0, 512)

    def test_telemetry_zooms_in_time(self, qtbot) -> None:
        chart = TelemetryChart()
        qtbot.addWidget(chart)
        chart.resize(510, 264)
        chart.refresh(telemetry_rows(20), [Zone("R1", 0, 9), Zone("R2", 10, 20)], 20)
        here = chart._plot().center().toPoint()
        turn_wheel(chart.canvas, here, 4, Qt.KeyboardModifier.NoModifier)
        assert chart.view is not None and chart.view[1] - chart.view[0] == pytest.approx(20 * 0.8**4)
        assert not chart.grab().isNull()
        chart.reset_view()
        assert chart.view is None


class TestLogAxis:
    def test_ticks_are_1_2_5(self) -> None:
        assert log_ticks(8, 220, 4) == pytest.approx([10, 20, 50, 100, 200])
        assert log_ticks(1, 1e6, 6) == pytest.approx([1, 10, 100, 1e3, 1e4, 1e5, 1e6])
        assert log_ticks(12, 15, 4) == pytest.approx([12, 13, 14, 15])

    def test_the_range_holds_the_tail_and_stays(self) -> None:
        low, high = log_range(12.0, 130.0, None)
        assert 11 <= low <= 12 and high == 150
        assert log_range(12.5, 120.0, (low, high)) == (low, high)

    def test_key_and_menu(self, chart: TokenLatencyChart) -> None:
        gaps = gaps_ms(511, 1)
        gaps[100] = 400.0
        chart.refresh([TokenSeries("Repeat 1", gaps)], 512)
        assert chart._above == 3
        QTest.keyClick(chart, Qt.Key.Key_L)
        assert chart.log_axis
        assert chart._above == 0
        frame = chart._plot.frame()
        assert frame.y_high >= 400 and frame.log_y
        # Equal factors are equally far apart.
        steps = np.diff([frame.y_px(value) for value in (20, 40, 80, 160)])
        assert steps == pytest.approx([steps[0]] * 3)
        assert chart._current.getData()[1][100] == pytest.approx(np.log10(400))
        assert not chart.grab().isNull()
        chart.fill_menu()
        entry = next(a for a in chart.menu.actions() if a.text().startswith("Logarithmic"))
        assert entry.isChecked()
        entry.trigger()
        assert not chart.log_axis
        assert chart._current.getData()[1][100] == 400

    def test_a_gap_of_zero_is_below(self, chart: TokenLatencyChart) -> None:
        gaps = np.full(50, 10.0)
        gaps[7] = 0.0
        chart.set_log_axis(True)
        chart.refresh([TokenSeries("Repeat 1", gaps)], 51)
        assert chart._layers.below == 1
        assert not chart.grab().isNull()


class TestLayers:
    def test_a_click_on_the_legend_hides_and_shows(self, chart: TokenLatencyChart) -> None:
        place = next(place for place in chart.legend.places() if place[0].key == "median")
        for shown in (False, True):
            QTest.mouseClick(chart.legend, Qt.MouseButton.LeftButton, pos=QPoint(round(place[1]) + 4, 12))
            assert chart._median.isVisible() is shown
            assert next(item for item in chart.legend.items if item.key == "median").off is not shown

    def test_the_menu_has_a_check_mark_for_each(self, chart: TokenLatencyChart) -> None:
        trend = TrendLine(2, 13.0, 512, 13.2, "+0.26 µs per token")
        spikes = (Spike(9, 20.0, "gc", "Repeat 1"),)
        chart.refresh(chart._series, 512, floor_ms=11.0, trend=trend, spikes=spikes)
        for words, key in (("trend", "trend"), ("limit", "limit"), ("spikes", "spikes"), ("token", "token")):
            chart.fill_menu()
            entry = next(action for action in chart.menu.actions() if action.text() == words)
            assert entry.isChecked()
            entry.trigger()
            assert not chart.layer_shown(key)
        assert not chart._trend_curve.isVisible() and not chart._floor_curve.isVisible()
        assert not chart._current.isVisible() and not chart._earlier.isVisible()
        assert not chart.grab().isNull()
        # What is hidden stays hidden when there is more data.
        chart.refresh(chart._series, 512, trend=trend)
        assert not chart._trend_curve.isVisible()

    def test_spikes_have_a_lane_above_the_plot(self, chart: TokenLatencyChart) -> None:
        top = chart._plot.frame().plot.top()
        spikes = (Spike(50, 17.0, "gc", "Repeat 1"), Spike(300, 19.0, "unknown", "Repeat 2"))
        chart.refresh(chart._series, 512, spikes=spikes)
        assert chart._plot.frame().plot.top() > top
        assert not chart.grab().isNull()
        chart.toggle_layer("spikes")
        assert chart._plot.frame().plot.top() == top
        assert "2 spikes" in chart.summary()

    def test_lane_places_longest_first_and_counts_what_has_no_room(self, chart: TokenLatencyChart) -> None:
        frame = chart._plot.frame()
        spikes = [Spike(100, 15.0), Spike(101, 30.0), Spike(400, 16.0), Spike(900, 99.0)]
        lane = SpikeLane()
        places = lane.places(spikes, 1, frame)
        assert [(spike.token, words) for spike, _, words in places] == [(101, True), (400, True)]
        assert lane.left_out == 1

    def test_bandwidth_layers(self, qtbot) -> None:
        chart = BandwidthChart()
        qtbot.addWidget(chart)
        chart.refresh([BandwidthSeries("Repeat 1", np.arange(2.0, 66.0), np.full(64, 7.5))], 65, 300)
        chart.toggle_layer("model")
        assert not chart._current.isVisible()
        chart.toggle_layer("model")
        assert chart._current.isVisible()

    def test_the_legend_puts_what_has_no_room_behind_a_count(self, qtbot) -> None:
        legend = Legend()
        qtbot.addWidget(legend)
        words = ("token", "rolling median", "p5–p95", "trend", "limit", "spikes")
        legend.set_items([LegendItem(word, "data1", short="median" if " " in word else "") for word in words])
        legend.resize(260, 24)
        shown = legend.places()
        assert all(words for _, _, _, words in shown)
        assert len(shown) + len(legend.hidden) == 6 and len(legend.hidden) >= 1
        asked: list[QPoint] = []
        legend.more_asked.connect(asked.append)
        QTest.mouseClick(legend, Qt.MouseButton.LeftButton, pos=QPoint(252, 12))
        assert len(asked) == 1
        assert not legend.grab().isNull()


class TestRange:
    def test_a_drag_selects(self, chart: TokenLatencyChart) -> None:
        seen: list[tuple[object, bool]] = []
        chart.range_dragged.connect(lambda tokens, done: seen.append((tokens, done)))
        port = chart._plot.viewport()
        QTest.mousePress(port, Qt.MouseButton.LeftButton, pos=at_token(chart, 120))
        QTest.mouseMove(port, at_token(chart, 200))
        QTest.mouseMove(port, at_token(chart, 260))
        QTest.mouseRelease(port, Qt.MouseButton.LeftButton, pos=at_token(chart, 260))
        tokens, done = seen[-1]
        assert done and isinstance(tokens, TokenRange)
        assert abs(tokens.first - 120) <= 1 and abs(tokens.last - 260) <= 1
        assert [done for _, done in seen[:-1]] == [False] * (len(seen) - 1)
        assert not chart.grab().isNull()

    def test_a_grip_moves_one_end(self, chart: TokenLatencyChart) -> None:
        chart.set_range(TokenRange(120, 260))
        port = chart._plot.viewport()
        QTest.mousePress(port, Qt.MouseButton.LeftButton, pos=at_token(chart, 260))
        QTest.mouseMove(port, at_token(chart, 300))
        QTest.mouseRelease(port, Qt.MouseButton.LeftButton, pos=at_token(chart, 300))
        assert chart._range is not None
        assert chart._range.first == 120 and abs(chart._range.last - 300) <= 1

    def test_a_click_is_no_range(self, chart: TokenLatencyChart) -> None:
        chosen: list[object] = []
        chart.chosen.connect(chosen.append)
        QTest.mouseClick(chart._plot.viewport(), Qt.MouseButton.LeftButton, pos=at_token(chart, 200))
        assert chart._range is None
        assert len(chosen) == 1 and abs(int(str(chosen[0])) - 200) <= 1


class TestKeys:
    def test_keys_say_what_is_wanted(self, chart: TokenLatencyChart) -> None:
        steps: list[int] = []
        commands: list[Command] = []
        chart.stepped.connect(steps.append)
        chart.commanded.connect(commands.append)
        QTest.keyClick(chart, Qt.Key.Key_Right)
        QTest.keyClick(chart, Qt.Key.Key_Left)
        QTest.keyClick(chart, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
        assert steps == [1, -1, 16]
        for key in (Qt.Key.Key_S, Qt.Key.Key_Return, Qt.Key.Key_Space, Qt.Key.Key_Escape):
            QTest.keyClick(chart, key)
        assert commands == [Command.SELECT, Command.ACCEPT, Command.FREEZE, Command.RELEASE]

    def test_the_ghost_takes_no_focus(self, qtbot) -> None:
        chart = TokenLatencyChart()
        qtbot.addWidget(chart)
        assert chart.focusPolicy() == Qt.FocusPolicy.NoFocus
        chart.clear()
        assert chart.focusPolicy() == Qt.FocusPolicy.StrongFocus

    def test_the_ring_is_for_the_keyboard(self, chart: TokenLatencyChart) -> None:
        chart.activateWindow()
        chart.setFocus(Qt.FocusReason.TabFocusReason)
        assert chart._ring.isVisible()
        chart.clearFocus()
        assert not chart._ring.isVisible()
        chart.setFocus(Qt.FocusReason.MouseFocusReason)
        assert not chart._ring.isVisible()


class TestData:
    def test_every_gap_is_in_the_table(self, chart: TokenLatencyChart) -> None:
        forward = np.array([9.0, np.nan, 9.5])
        chart.refresh(
            [
                TokenSeries("Warm-up\t1", np.array([12.5, 13.0]), warmup=True),
                TokenSeries("Repeat 1", np.array([10.0, 11.25, 12.0]), forward_ms=forward),
            ],
            4,
        )
        assert chart.table().tsv().splitlines() == [
            "Request\tToken\tITL (ms)\tForward pass (ms)",
            "Warm-up 1\t2\t12.5\t",
            "Warm-up 1\t3\t13\t",
            "Repeat 1\t2\t10\t9",
            "Repeat 1\t3\t11.25\t",
            "Repeat 1\t4\t12\t9.5",
        ]

    def test_the_other_charts_have_tables_with_units(self, qtbot) -> None:
        page = draw("live", DARK, (510, 264))
        qtbot.addWidget(page)
        headings = {
            type(chart).__name__: [column.heading for column in table.columns]
            for chart in page.findChildren(ChartCard)
            if (table := chart.table()) is not None
        }
        assert headings == {
            "TokenLatencyChart": ["Request", "Token", "ITL (ms)"],
            "FirstTokenChart": [
                "Request",
                "Time to first token (ms)",
                "tokenize (ms)",
                "prefill (ms)",
                "sample (ms)",
            ],
            "BandwidthChart": ["Request", "Token", "Bandwidth use, model-based (%)", "Bandwidth (GB/s)"],
            "TelemetryChart": ["Metric (unit)", "Time (s)", "Value"],
        }

    def test_copy(self, chart: TokenLatencyChart, qapp) -> None:
        chart.copy_data()
        lines = qapp.clipboard().text().splitlines()
        assert len(lines) == 1 + 2 * 511

    def test_a_million_rows_open_and_copy_what_is_selected(self, qtbot, qapp) -> None:
        count = 1_000_000
        table = DataTable(
            "ITL",
            TableData(
                (Column("Token", np.arange(count), digits=None), Column("ITL (ms)", np.full(count, 0.5)))
            ),
        )
        qtbot.addWidget(table)
        with qtbot.waitExposed(table):
            table.show()
        model = table.view.model()
        assert (model.rowCount(), model.columnCount()) == (count, 2)
        assert model.index(count - 1, 0).data() == "999999"
        assert model.headerData(1, Qt.Orientation.Horizontal) == "ITL (ms)"
        table.view.selectRow(3)
        QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
        assert qapp.clipboard().text() == "Token\tITL (ms)\n3\t0.5\n"

    def test_show_as_table(self, chart: TokenLatencyChart, qtbot) -> None:
        dialog = chart.show_table()
        assert dialog is not None
        qtbot.addWidget(dialog)
        assert dialog.windowTitle() == "Inter-token latency"
        dialog.close()


class TestPictures:
    def test_a_png_is_a_picture_of_the_card(self, chart: TokenLatencyChart, tmp_path: Path) -> None:
        path = tmp_path / "chart.png"
        save_picture(chart, path, DARK)
        image = QImage(str(path))
        assert (image.width(), image.height()) == (2 * chart.width(), 2 * chart.height())
        assert len({image.pixel(x, image.height() // 2) for x in range(0, image.width(), 3)}) > 3

    def test_an_svg_has_words_and_not_a_picture_of_them(
        self, chart: TokenLatencyChart, tmp_path: Path
    ) -> None:
        path = tmp_path / "chart.svg"
        save_picture(chart, path, DARK)
        root = ET.parse(path).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        words = " ".join("".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text"))
        assert "Inter-token latency" in words and "Output token" in words

    def test_what_cannot_be_written_is_an_error(self, chart: TokenLatencyChart, tmp_path: Path) -> None:
        for name in ("nowhere/chart.png", "nowhere/chart.svg"):
            with pytest.raises(OSError):
                save_picture(chart, tmp_path / name, DARK)
        with pytest.raises(ValueError, match="neither a PNG nor an SVG"):
            save_picture(chart, tmp_path / "chart.bmp", DARK)

    def test_the_menu_asks_for_a_file(self, chart: TokenLatencyChart) -> None:
        kinds: list[str] = []
        chart.save_picture_asked.connect(kinds.append)
        for action in chart.menu.actions():
            if action.text().startswith("Save as"):
                action.trigger()
        assert kinds == ["png", "svg"]


def test_the_last_label_of_the_first_token_axis_is_whole(qtbot) -> None:
    chart = FirstTokenChart()
    qtbot.addWidget(chart)
    chart.resize(420, 230)
    chart.refresh([FirstTokenBar("Repeat 1", (("prefill", 80_000.0),), 80_000.0)])
    assert chart._axis == 100_000
    # "100,000" is some 44 px wide; half of it is to the right of the plot.
    assert chart.canvas.width() - chart._frame().plot.right() >= 22


def test_rows_of_the_first_token_chart_are_told_and_marked(qtbot) -> None:
    chart = FirstTokenChart()
    qtbot.addWidget(chart)
    chart.resize(510, 264)
    chart.refresh([FirstTokenBar(f"Repeat {n}", (("prefill", 20.0),), 20.0) for n in range(1, 4)])
    hovered: list[object] = []
    chosen: list[object] = []
    chart.hovered.connect(hovered.append)
    chart.chosen.connect(chosen.append)
    _, pitch, _ = chart._rows()
    second = QPointF(200, 4 + 1.5 * pitch)
    chart._pointed(second)
    QTest.mouseClick(chart.canvas, Qt.MouseButton.LeftButton, pos=second.toPoint())
    assert 1 in hovered and chosen == [1]
    before = chart.canvas.grab().toImage()
    chart.set_crosshair(1)
    assert chart.canvas.grab().toImage() != before


def test_ticks_of_a_part_of_the_token_axis_are_whole() -> None:
    assert window_ticks(118.2, 262.9, 6) == [125, 150, 175, 200, 225, 250]
    assert window_ticks(3.1, 7.2, 8) == [4, 5, 6, 7]


def test_the_readout_names_the_request(chart: TokenLatencyChart) -> None:
    chart.request_labels = ("Repeat 1", "Repeat 2")
    chart.refresh([TokenSeries("Repeat 1", np.full(9, 10.0)), TokenSeries("Repeat 2", np.full(9, 12.0))], 10)

    def words(label: str | None) -> str:
        chart.set_cursor(5, label)
        return "".join(run.text for run in chart.readout(5)[0])

    assert words(None) == "Token 5 · Repeat 2  12.00 ms"
    assert words("Repeat 1") == "Token 5 · Repeat 1  10.00 ms"
