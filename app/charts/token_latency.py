"""Inter-token latency: one dot a token, the rolling median, the band, the trend, the limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QCoreApplication, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget

from app.charts.base import AXIS_LEFT_PX, AXIS_RIGHT_PX, ChartCard
from app.charts.canvas import PlotCanvas
from app.charts.columns import FIRST_GAP_TOKEN, BlockStats
from app.charts.frame import (
    Frame,
    Run,
    box_size,
    draw_bottom_axis,
    draw_box,
    draw_dashed_v,
    draw_grid,
    draw_side_axis,
    draw_words,
    place_beside,
)
from app.charts.ghosts import token_ghost
from app.charts.items import BandItem, DotsItem
from app.charts.ticks import end_ticks, format_tick, round_step, round_ticks, stepped_range
from app.charts.token_marks import (
    TrendLine,
    paint_floor,
    paint_live,
    paint_outside,
    paint_target,
    paint_trend_words,
    percent_ticks,
)
from app.theme import Palette
from app.widgets import LegendItem
from profiler.units import format_number

translate = QCoreApplication.translate

Floats = npt.NDArray[np.float64]

MARGINS = (AXIS_LEFT_PX, 8, AXIS_RIGHT_PX, 38)
MAX_TRIANGLES = 200


@dataclass(frozen=True)
class TokenSeries:
    """Gaps of one request in ms: gap i is the wait for output token i + 2.

    `forward_ms`: of each gap the time of the forward pass (NaN: not known), None where nobody
    took it.
    """

    label: str
    gaps_ms: Floats
    warmup: bool = False
    forward_ms: Floats | None = None


class TokenLatencyChart(ChartCard):
    """Answers: how steady is each token?"""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._earlier = DotsItem(2.0)
        self._current = DotsItem(3.0)
        self._band = BandItem()
        self._median = pg.PlotCurveItem(antialias=False, skipFiniteCheck=False)
        self._trend_curve = pg.PlotCurveItem(antialias=True)
        self._floor_curve = pg.PlotCurveItem(antialias=True)
        self._stats = BlockStats()
        canvas = PlotCanvas(MARGINS, self._paint_below, self._paint_above)
        for item in (
            self._band,
            self._earlier,
            self._current,
            self._median,
            self._floor_curve,
            self._trend_curve,
        ):
            canvas.addItem(item, ignoreBounds=True)
        super().__init__(
            translate("TokenLatencyChart", "Inter-token latency"),
            translate("TokenLatencyChart", "How steady is each token?"),
            translate(
                "TokenLatencyChart", "One dot per token, the rolling median, and the cause of each stall."
            ),
            token_ghost,
            canvas,
            parent,
        )
        canvas.pointed.connect(self._pointed)
        self._plot: PlotCanvas = canvas
        self._series: list[TokenSeries] = []
        self._running: int | None = None
        self._selected = -1
        self._trend: TrendLine | None = None
        self._floor: Floats | None = None
        self._target: float | None = None
        self._centre: float | None = None
        self._y: tuple[float, float] | None = None
        self._x_max = 1
        self._above_points: Floats = np.empty(0)
        self._above = self._below = 0
        self._dots_key: tuple[object, ...] = ()
        self.apply_palette(self.palette_now)

    # -- data ----------------------------------------------------------------------------

    def refresh(
        self,
        series: Sequence[TokenSeries],
        x_max: int,
        running_index: int | None = None,
        *,
        selected: int | None = None,
        floor_ms: Floats | float | None = None,
        target_ms: float | None = None,
        trend: TrendLine | None = None,
    ) -> None:
        """Show the series (in the order of the run).

        x_max: output length asked for (tokens); the axis grows in steps where it is passed.
        running_index: which series is live, None when none is. selected: which one has the
        large dots; by default the live one, else the last. floor_ms: the physical limit, a
        number or one value per output token from token 1. target_ms: a line where it is in range.
        Warm-ups stay out of band and median while there is any other series.
        """
        self._series = list(series)
        self._running = running_index
        if selected is None:
            selected = running_index if running_index is not None else len(self._series) - 1
        self._selected = selected
        self._trend = trend
        self._target = target_ms
        longest = max((len(entry.gaps_ms) for entry in self._series), default=0) + 1
        self._x_max = _token_ceiling(max(int(x_max), 1), longest)
        counted = [entry for entry in self._series if not entry.warmup and len(entry.gaps_ms)]
        if not counted:
            counted = [entry for entry in self._series if len(entry.gaps_ms)]
        keys = [entry.label for entry in counted]
        self._stats.update(keys, [entry.gaps_ms for entry in counted], self._x_max)
        self._floor = _floor_array(floor_ms, self._x_max)
        self._choose_range()
        self._fill(len(counted))
        self._legend_items(len(counted))
        self._plot.renew_below((self.palette_now.name, self._x_max, self._y, _steady(self._centre)))
        self.shown()

    def clear(self) -> None:
        """No data; the axes stay."""
        self._stats = BlockStats()
        self._y = None
        self.refresh([], self._x_max)

    def summary(self) -> str:
        """One sentence: median, spread, what lies beyond the axis."""
        count = sum(len(entry.gaps_ms) for entry in self._series)
        if count == 0 or self._centre is None:
            return self.tr("Inter-token latency: no tokens yet.")
        words = self.tr("Inter-token latency of {} tokens: median {} ms").format(
            f"{count:,}", format_number(self._centre, 4)
        )
        if self._above:
            words += ", " + self.tr("{} above the axis").format(f"{self._above:,}")
        if self._trend and self._trend.slope:
            words += ", " + self.tr("trend {}").format(self._trend.slope)
        return words + "."

    # -- what is computed once a refresh ------------------------------------------------------

    def _choose_range(self) -> None:
        p5, p50, p95 = self._stats.p5, self._stats.p50, self._stats.p95
        good = np.isfinite(p50)
        if not good.any():
            self._centre = None
            self._y = None
            self._plot.set_ranges((0, self._x_max), (0, 1))
            return
        self._centre = float(np.median(p50[good]))
        low, high = float(np.quantile(p5[good], 0.08)), float(np.quantile(p95[good], 0.92))
        least = max(0.04 * self._centre, 1e-6)
        if high - low < least:
            middle = (high + low) / 2
            low, high = middle - least / 2, middle + least / 2
        if self._floor is not None:
            # The axis starts some 10 % below the limit; the limit then is part of the core.
            low = min(low, 0.95 * float(np.nanmin(self._floor)))
            self._y = stepped_range(low, high, self._y, below=0.05, above=0.35)
        else:
            self._y = stepped_range(low, high, self._y)
        self._plot.set_ranges((0, self._x_max), self._y)

    def _fill(self, counted: int) -> None:
        stats = self._stats
        self._median.setData(stats.tokens, stats.p50, connect="finite")
        if counted >= 2:
            self._band.setData(stats.tokens, stats.p5, stats.p95)
        else:
            self._band.setData(np.empty(0), np.empty(0), np.empty(0))
        others = [entry for number, entry in enumerate(self._series) if number != self._selected]
        # Earlier repeats do not change while the run goes on: their dots are not touched then.
        key = tuple((entry.label, len(entry.gaps_ms)) for entry in others)
        if key != self._dots_key:
            self._dots_key = key
            self._earlier.setData(*_points(others))
        current = [self._series[self._selected]] if 0 <= self._selected < len(self._series) else []
        self._current.setData(*_points(current))
        self._find_outside()
        if self._trend is None:
            self._trend_curve.setData([], [])
        else:
            line = self._trend
            self._trend_curve.setData([line.x0, line.x1], [line.y0_ms, line.y1_ms])
        if self._floor is None:
            self._floor_curve.setData([], [])
        else:
            step = max(len(self._floor) // 256, 1)
            tokens = np.arange(1, len(self._floor) + 1, dtype=float)
            self._floor_curve.setData(tokens[::step], self._floor[::step])

    def _find_outside(self) -> None:
        self._above = self._below = 0
        found = []
        if self._y is not None:
            for item in (self._earlier, self._current):
                x, y = item.getData()
                high = np.flatnonzero(y > self._y[1])
                self._above += len(high)
                self._below += int((y < self._y[0]).sum())
                found.append(x[high[:: max(len(high) // MAX_TRIANGLES, 1)]])
        self._above_points = np.concatenate(found) if found else np.empty(0)

    def _legend_items(self, counted: int) -> None:
        items = [
            LegendItem(self.tr("token"), "data1", "dots"),
            LegendItem(self.tr("rolling median"), "text", short=self.tr("median")),
        ]
        if counted >= 2:
            items.append(
                LegendItem(
                    self.tr("p5–p95"),
                    "data1",
                    "band",
                    tip=self.tr("5 % to 95 % of all measured repeats, around each token."),
                )
            )
        if self._trend is not None:
            items.append(LegendItem(self.tr("trend"), "data2", "dashed", tip=self.tr("Theil–Sen line")))
        if self._floor is not None:
            items.append(
                LegendItem(
                    self.tr("limit"),
                    "data3",
                    "dashdot",
                    tip=self.tr("The time that reading the weights and the KV cache once must take here."),
                )
            )
        self.set_legend(items)

    # -- painting ----------------------------------------------------------------------------

    def apply_palette(self, palette: Palette) -> None:
        self._plot.renew_below((palette.name, self._x_max, self._y, _steady(self._centre)))
        self._earlier.set_color(palette.color("data1", 88 if palette.dark else 80))
        self._current.set_color(palette.color("data1", 225))
        self._band.set_color(palette.color("data1", 46 if palette.dark else 36))
        self._median.setPen(pg.mkPen(palette.text, width=1))
        self._trend_curve.setPen(pg.mkPen(palette.data2, width=1.5, dash=[5, 3]))
        self._floor_curve.setPen(pg.mkPen(palette.data3, width=1.6, dash=[6, 2.5, 1.5, 2.5]))

    def _ticks(self, frame: Frame) -> tuple[list[float], float]:
        count = min(max(int(frame.plot.height() // 26), 2), 8)
        step = round_step(frame.y_high - frame.y_low, count)
        return round_ticks(frame.y_low, frame.y_high, count), step

    def _paint_below(self, painter: QPainter) -> None:
        frame, palette = self._plot.frame(), self.palette_now
        x_count = max(min(int(frame.plot.width() // 42), 8), 2)
        x_ticks = [(tick, format_tick(tick, 1)) for tick in end_ticks(self._x_max, x_count, binary=True)]
        if self._y is not None:
            ticks, step = self._ticks(frame)
            draw_grid(painter, frame, ticks, palette)
            # From one second on in seconds: "1,000" does not fit beside the title.
            scale, title = (1, self.tr("ITL (ms)"))
            if frame.y_high >= 1000:
                scale, title = 1000, self.tr("ITL (s)")
            words = [(tick, format_tick(tick / scale, step / scale)) for tick in ticks]
            draw_side_axis(painter, frame, words, palette, title, width=AXIS_LEFT_PX)
            if self._centre:
                percents = percent_ticks(frame, self._centre)
                title = self.tr("against median (%)")
                draw_side_axis(
                    painter, frame, percents, palette, title, right=True, width=AXIS_RIGHT_PX, marks=False
                )
        draw_bottom_axis(painter, frame, x_ticks, palette, self.tr("Output token"))

    def _paint_above(self, painter: QPainter) -> None:
        frame = self._plot.frame()
        plot = frame.plot
        if self._y is None:
            draw_words(
                painter,
                plot,
                self._nothing(),
                self.palette_now.color("muted"),
                Qt.AlignmentFlag.AlignHCenter,
            )
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        palette = self.palette_now
        if self._floor is not None:
            paint_floor(painter, frame, palette, float(self._floor[-1]), self._centre)
        if self._target is not None:
            paint_target(painter, frame, palette, self._target)
        taken = [
            paint_outside(painter, frame, palette, self._above_points, self._above, self._below),
            QRectF()
            if self._trend is None
            else paint_trend_words(painter, frame.plot, palette, self._trend, self._floor is not None),
        ]
        if self._running is not None and 0 <= self._running < len(self._series):
            token = len(self._series[self._running].gaps_ms) + FIRST_GAP_TOKEN - 1
            paint_live(painter, frame, palette, token, taken)
        self._paint_crosshair(painter, frame)

    def _nothing(self) -> str:
        """Why there is no dot."""
        if self._running is None and self._series:
            return self.tr("one token only: there is no gap to show")
        return self.tr("no tokens yet")

    def _paint_crosshair(self, painter: QPainter, frame: Frame) -> None:
        at = self.crosshair
        if at is None or not frame.x_low <= at <= frame.x_high:
            return
        palette, plot = self.palette_now, frame.plot
        x = frame.x_px(at)
        draw_dashed_v(painter, x, plot.top(), plot.bottom(), palette.color("text"))
        token = round(at)
        lines = [[Run(self.tr("Token {}").format(f"{token:,}"), "text", 600)]]
        if 0 <= self._selected < len(self._series):
            gaps = self._series[self._selected].gaps_ms
            index = token - FIRST_GAP_TOKEN
            if 0 <= index < len(gaps):
                value = float(gaps[index])
                lines[0].append(Run(f"  {format_number(value, 4)} ms", "text"))
                if frame.y_low <= value <= frame.y_high:
                    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                    painter.setPen(QPen(palette.color("text"), 1.5))
                    painter.setBrush(palette.color("data1"))
                    painter.drawEllipse(QPointF(x, frame.y_px(value)), 4, 4)
                lines += self._forward_line(index, value)
        median = self._stats.at(at)
        if median is not None:
            lines.append([Run(self.tr("median {} ms").format(format_number(median, 4)), "secondary")])
        width, _ = box_size(lines)
        draw_box(painter, place_beside(x, width, plot.left(), plot.right()), plot.top() + 4, lines, palette)

    def _forward_line(self, index: int, gap_ms: float) -> list[list[Run]]:
        """How a gap divides into the forward pass and the rest; no line where that is not known."""
        forward = self._series[self._selected].forward_ms
        if forward is None or index >= len(forward) or not np.isfinite(forward[index]):
            return []
        rest = max(gap_ms - float(forward[index]), 0.0)
        words = self.tr("forward {} ms").format(format_number(float(forward[index])))
        return [
            [Run(words, "text"), Run("  " + self.tr("rest {} ms").format(format_number(rest)), "secondary")]
        ]

    def _pointed(self, x: float | None) -> None:
        self.hovered.emit(None if x is None else round(x))


def _steady(value: float | None) -> float | None:
    """A value as far as the axis shows it: four figures."""
    return None if value is None else float(f"{value:.4g}")


def _token_ceiling(x_max: int, longest: int) -> int:
    """`x_max`, doubled as often as the data asks."""
    while x_max < longest:
        x_max *= 2
    return x_max


def _floor_array(floor_ms: Floats | float | None, x_max: int) -> Floats | None:
    if floor_ms is None:
        return None
    values = np.atleast_1d(np.asarray(floor_ms, float))
    if not np.isfinite(values).all() or len(values) == 0:
        return None
    return np.full(x_max, float(values[0])) if len(values) == 1 else values


def _points(series: Sequence[TokenSeries]) -> tuple[Floats, Floats]:
    if not series:
        return np.empty(0), np.empty(0)
    x = [np.arange(len(entry.gaps_ms), dtype=float) + FIRST_GAP_TOKEN for entry in series]
    if len(series) == 1:
        return x[0], series[0].gaps_ms
    return np.concatenate(x), np.concatenate([entry.gaps_ms for entry in series])
