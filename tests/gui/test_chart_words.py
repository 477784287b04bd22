"""Words on charts: none lies on another, none is half covered, none leaves its chart."""

from __future__ import annotations

from collections.abc import Iterator

import gallery
import numpy as np
import pytest
from clipping import chart_problems
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from app.charts import (
    BandwidthChart,
    BandwidthSeries,
    FirstTokenBar,
    FirstTokenChart,
    TelemetryChart,
    TelemetryRow,
    TokenLatencyChart,
    TokenSeries,
    TrendLine,
    Zone,
)
from app.charts.compare_distribution import DistributionChart
from app.charts.compare_lines import CompareLinesChart, bandwidth_subject, latency_subject
from app.charts.compare_quantiles import QuantileChart
from app.charts.compare_style import DistributionSeries, LineSeries, QuantileSeries
from app.charts.frame import Run, apart, draw_words
from app.charts.notes import Notes, Spot, fitted_lines, place_readout
from app.charts.spike_lane import Spike
from app.charts.words import WordsPainter
from app.theme import DARK
from profiler.analysis.selection import TokenRange

SIZES = {"150 %": (340, 170), "1280x800": (425, 190), "1920x1080": (745, 330)}


# Where there is most room, words meet least often.
ROOMY = "1920x1080"


@pytest.fixture(
    params=[
        pytest.param(value, id=name, marks=pytest.mark.slow if name == ROOMY else ())
        for name, value in SIZES.items()
    ]
)
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    return request.param


# -- the states of the gallery -----------------------------------------------------------------


@pytest.mark.parametrize("state", [state for state in gallery.STATES if state != "empty"])
def test_the_states_of_the_gallery(qtbot: QtBot, state: str, size: tuple[int, int]) -> None:
    page = gallery.draw(state, DARK, size)
    qtbot.addWidget(page)
    page.show()
    for chart in page.findChildren(gallery.ChartCard):
        assert chart_problems(chart) == []


# -- everything at once ------------------------------------------------------------------------


def shown(qtbot: QtBot, chart, size: tuple[int, int]):  # type: ignore[no-untyped-def]
    qtbot.addWidget(chart)
    chart.resize(*size)
    chart.show()
    return chart


def cursors(tokens: int) -> Iterator[int]:
    """Both ends and places between."""
    yield from (2, tokens // 5, tokens // 2, tokens * 4 // 5, tokens)


def full_latency(chart: TokenLatencyChart, centre_ms: float, tokens: int, live: bool) -> None:
    """Three repeats with the limit, trend, target, spikes of each cause, and points off the axis."""
    gaps = [gallery.gaps_ms(tokens - 1, number, centre_ms) for number in range(3)]
    places = sorted({int(place) for place in np.linspace(3, tokens - 1, 14)})
    causes = ("gc", "window", "sampler", "unknown")
    spikes = []
    for number, token in enumerate(places):
        gaps[-1][token - 2] = 9 * centre_ms
        spikes.append(Spike(token, 9 * centre_ms, causes[number % 4], "Repeat 3"))  # type: ignore[arg-type]
    if live:
        gaps[-1] = gaps[-1][: tokens * 2 // 3]
    chart.refresh(
        [TokenSeries(f"Repeat {number + 1}", entry) for number, entry in enumerate(gaps)],
        tokens,
        2 if live else None,
        floor_ms=0.62 * centre_ms,
        target_ms=1.02 * centre_ms,
        trend=TrendLine(2, centre_ms, tokens, 1.01 * centre_ms, "+0.26 µs per token", "95 % CI 0.19 to 0.33"),
        spikes=tuple(spikes),
    )


@pytest.mark.parametrize("live", [False, True], ids=["finished", "live"])
@pytest.mark.parametrize("log", [False, True], ids=["straight", "log"])
@pytest.mark.parametrize(("centre_ms", "tokens"), [(13.1, 512), (0.31, 100_000), (1234.5, 40)])
def test_latency_with_all_there_is(
    qtbot: QtBot, size: tuple[int, int], centre_ms: float, tokens: int, log: bool, live: bool
) -> None:
    chart = shown(qtbot, TokenLatencyChart(), size)
    full_latency(chart, centre_ms, tokens, live)
    chart.set_log_axis(log)
    chart.set_frozen(live)
    for selected in (None, TokenRange(1, 4), TokenRange(tokens // 2, tokens)):
        chart.set_range(selected)
        chart.set_cursor(None)
        assert chart_problems(chart) == []
        for token in cursors(tokens):
            chart.set_cursor(token)
            assert chart_problems(chart) == [], (selected, token)
    chart.set_view((tokens * 0.4, tokens * 0.6))
    assert chart_problems(chart) == []


@pytest.mark.parametrize("tokens", [40, 100_000])
@pytest.mark.parametrize(
    ("reference", "source", "peak"),
    [
        (300.0, "data sheet", None),
        (4800.0, "data sheet", 4240.0),
        (12.3, "measured here", None),
        (None, "", None),
    ],
)
def test_bandwidth_with_all_there_is(
    qtbot: QtBot, size: tuple[int, int], tokens: int, reference: float | None, source: str, peak: float | None
) -> None:
    chart = shown(qtbot, BandwidthChart(), size)
    at = np.arange(2.0, tokens + 1)
    for level in (7.5, 88.0):
        chart.clear()
        series = [BandwidthSeries(f"Repeat {n}", at, np.full(len(at), level - n)) for n in (1, 2)]
        chart.refresh(
            series,
            tokens,
            reference,
            source,
            gallery.busy_windows(min(tokens, 500)),
            busy_window_s=0.25,
            running_index=1,
            gpm=(at, np.full(len(at), level)),
            measured_peak_gb_s=peak,
        )
        for selected in (None, TokenRange(tokens // 3, tokens // 2), TokenRange(tokens - 5, tokens)):
            chart.set_range(selected)
            for token in (None, *cursors(tokens)):
                chart.set_cursor(token)
                assert chart_problems(chart) == [], (level, selected, token)


@pytest.mark.parametrize("value_ms", [0.52, 21.3, 9_500.0, 80_000.0])
def test_first_tokens_with_all_there_is(qtbot: QtBot, size: tuple[int, int], value_ms: float) -> None:
    chart = shown(qtbot, FirstTokenChart(), size)
    for repeats in (1, 5, 80):
        bars = [gallery.first_bar("Warm-up 1", 30 * value_ms, warmup=True, cold=True)]
        bars += [gallery.first_bar(f"Repeat {n + 1}", value_ms * (1 + 0.5 * (n % 3))) for n in range(repeats)]
        bars += [
            FirstTokenBar("Repeat with a long name", status="failed"),
            FirstTokenBar("Last", status="waiting"),
        ]
        for target in (None, 1.9 * value_ms, 500.0):
            for limit in (None, 0.98 * value_ms, 20 * value_ms):
                chart.refresh(bars, target, limit_ms=limit)
                assert chart_problems(chart) == [], (repeats, target, limit)


@pytest.mark.parametrize("count", [2, 5, 6, 8])
@pytest.mark.parametrize("until_s", [0.4, 5400.0])
def test_telemetry_with_all_there_is(qtbot: QtBot, size: tuple[int, int], count: int, until_s: float) -> None:
    chart = shown(qtbot, TelemetryChart(), size)
    t = np.linspace(0, until_s, 60)
    rows = [
        TelemetryRow("SM clock", "MHz", t, 1980 + 60 * np.sin(t), "data1", 4),
        TelemetryRow("Power", "W", t, 680 + 20 * np.sin(t), "data2"),
        TelemetryRow("Process memory", "GiB", t, 0.83 + 0.001 * t / until_s, "data3", low=0),
        TelemetryRow("GPU busy", "%", t, 99 + np.sin(t), "data3", 2, "busy", 0),
        TelemetryRow("CPU busy", "%", t, 16 + np.sin(t), "data4", 2, "busy", 0),
        TelemetryRow("Memory busy", "%", t, 36 + np.sin(t), "data2", 2, "busy", 0),
        TelemetryRow("CPU pressure", "%", t, 0 * t, "data5", 2, low=0),
        TelemetryRow("Temperature", "°C", t, 62 + 0.3 * np.sin(t), "data5"),
    ]
    zones = [Zone(f"R{n + 1}", until_s * n / 20, until_s * (n + 0.9) / 20, n == 19) for n in range(20)]
    for notice in (None, gallery.NOTICE):
        chart.refresh(rows[:count], zones, until_s, notice)
        qtbot.wait(1)  # the notice takes its height
        for at in (None, until_s / 3):
            chart.set_crosshair(at)
            assert chart_problems(chart) == [], (notice, at)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_comparisons(qtbot: QtBot, size: tuple[int, int], scale: float) -> None:
    letters = "ABCDEF"
    names = {letter: f"session {letter}" for letter in letters}
    x = np.linspace(2, 513 if scale < 100 else 100_000, 512)
    lines = [
        LineSeries(
            letter,
            x,
            np.full(512, scale * (13 + n)),
            np.full(512, scale * (12.8 + n)),
            np.full(512, scale * (13.2 + n)),
        )
        for n, letter in enumerate(letters)
    ]
    rng = np.random.default_rng(3)
    spread = [
        DistributionSeries(letter, np.sort(scale * (13 + n + rng.exponential(1, 900))))
        for n, letter in enumerate(letters)
    ]
    q = np.linspace(0.01, 0.99, 99)
    pairs = [
        QuantileSeries(letter, q, scale * (n + q), scale * (n + q - 0.2), scale * (n + q + 0.2))
        for n, letter in enumerate(letters[1:])
    ]
    latency, bandwidth = CompareLinesChart(latency_subject()), CompareLinesChart(bandwidth_subject())
    distribution, quantiles = DistributionChart(), QuantileChart()
    for chart in (latency, bandwidth, distribution, quantiles):
        shown(qtbot, chart, size)
    for count in (1, 3, 6):
        latency.refresh(lines[:count], "A", names)
        bandwidth.refresh(lines[:count], "A", names)
        distribution.refresh(spread[:count], names)
        quantiles.refresh(pairs[: count - 1], "A", names)
        for chart in (latency, bandwidth, distribution, quantiles):
            low, high = chart._plot.ranges[0]
            for at in (None, *np.linspace(low, high, 5).tolist()):
                chart.set_crosshair(at)
                assert chart_problems(chart) == [], (type(chart).__name__, count, at)


# -- the parts ---------------------------------------------------------------------------------

PLOT = QRectF(0, 0, 200, 80)


def run(text: str) -> tuple[Run, ...]:
    return (Run(text),)


def test_the_first_note_has_its_place_and_the_next_another(qapp) -> None:
    notes = Notes(PLOT)
    first = notes.put([run("limit")], [Spot(195, 70, right=True)])
    second = notes.put([run("trend")], [Spot(195, 70, right=True), Spot(195, 20, right=True)])
    assert (first.top(), first.height()) == (59, 15)
    assert second.top() == 9
    assert first.right() == second.right() == 197


def test_a_note_without_room_tries_its_short_form_and_then_stays_away(qapp) -> None:
    notes = Notes(QRectF(0, 0, 60, 15))
    rect = notes.put([run("physical limit here 44.0 ms"), run("limit")], [Spot(4, 11)])
    assert 0 < rect.width() <= 60
    assert notes.put([run("x")], [Spot(4, 11), Spot(400, 11)]).isNull()


def test_a_readout_dodges_notes(qapp) -> None:
    notes = Notes(PLOT)
    free = place_readout(notes, PLOT, 50, [run("ITL")])
    assert (free.left(), free.top()) == (56, 4)
    notes.take(QRectF(50, 0, 150, 20))
    # To the right the head is taken; the left has room for a few words.
    assert place_readout(notes, PLOT, 50, [run("ITL")]).right() <= 44
    notes.take(QRectF(0, 0, 50, 20))
    assert place_readout(notes, PLOT, 50, [run("ITL")]).bottom() == 76


def test_a_wide_readout_is_parted_and_a_high_one_cut(qapp) -> None:
    line = [Run("Token 148 · Repeat 3"), Run("  13.12 ms", "secondary")]
    assert fitted_lines([line], QRectF(0, 0, 400, 80)) == [line]
    assert [[part.text for part in one] for one in fitted_lines([line], QRectF(0, 0, 150, 80))] == [
        ["Token 148 · Repeat 3"],
        ["13.12 ms"],
    ]
    # 80 px hold a border of 9 and four lines of 15.
    assert len(fitted_lines([[Run("a")]] * 9, QRectF(0, 0, 150, 80))) == 4
    assert len(fitted_lines([[Run("a")]] * 9, QRectF(0, 0, 150, 3))) == 1


def test_ticks_keep_both_ends_and_drop_what_touches() -> None:
    ticks = [(float(n), str(n)) for n in range(5)]
    # 20 px wide, 10 px apart: the neighbours of both ends go.
    places = [(10.0 * n, 20.0) for n in range(5)]
    assert apart(ticks, places, gap=0) == [(0.0, "0"), (2.0, "2"), (4.0, "4")]
    assert apart(ticks, places, gap=25) == [(4.0, "4")]
    assert apart([], []) == []


def test_painted_words_tell_where_their_ink_is_and_what_covers_them(qapp) -> None:
    image = QImage(200, 60, QImage.Format.Format_ARGB32_Premultiplied)
    painter = WordsPainter(image)
    draw_words(painter, QRectF(0, 0, 100, 20), "right", QColor("white"), Qt.AlignmentFlag.AlignRight)
    draw_words(painter, QRectF(0, 40, 100, 20), "  left", QColor("white"), Qt.AlignmentFlag.AlignLeft)
    painter.fillRect(QRectF(90, 0, 20, 20), QColor(0, 0, 0, 255))
    painter.fillRect(QRectF(0, 40, 90, 20), QColor(0, 0, 0, 30))
    painter.end()
    right, left = painter.words
    assert right.hidden and not left.hidden
    assert right.rect.right() == pytest.approx(100, abs=1.5)
    assert left.text == "left" and left.rect.left() > 3


def test_a_chart_without_data_paints_no_words(qtbot: QtBot) -> None:
    chart = shown(qtbot, TokenLatencyChart(), (400, 230))
    assert chart.painted_words() == []
