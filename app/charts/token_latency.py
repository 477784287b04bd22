"""Inter-token latency: one dot a token, the rolling median, the band, the trend, the limit, spikes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QCoreApplication, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QMenu, QWidget

from app.charts.base import AXIS_LEFT_PX, AXIS_RIGHT_PX
from app.charts.canvas import PlotCanvas
from app.charts.columns import FIRST_GAP_TOKEN, BlockStats
from app.charts.data_table import Column, TableData, labelled
from app.charts.frame import (
    Frame,
    Run,
    draw_bottom_axis,
    draw_dashed_v,
    draw_grid,
    draw_side_axis,
    draw_words,
)
from app.charts.ghosts import token_ghost
from app.charts.notes import Notes
from app.charts.spike_lane import LANE_PX, Spike, SpikeLane, cause_words
from app.charts.ticks import format_tick, log_ticks, round_step, round_ticks
from app.charts.token_axis import LatencyAxis, floor_array, steady, token_ceiling
from app.charts.token_chart import MARGINS, ChartTexts, TokenChart
from app.charts.token_layers import TokenLayers, TokenSeries, points
from app.charts.token_legend import legend_items
from app.charts.token_marks import (
    TrendLine,
    paint_floor,
    paint_live,
    paint_outside,
    paint_target,
    percent_ticks,
    put_trend_words,
)
from app.theme import Palette
from profiler.units import format_number

translate = QCoreApplication.translate

Floats = npt.NDArray[np.float64]

LANE_MARGINS = (MARGINS[0], MARGINS[1] + LANE_PX, MARGINS[2], MARGINS[3])


def block_stats(series: Sequence[TokenSeries], x_max: int) -> BlockStats:
    """Band and median of series as `TokenLatencyChart.refresh` would compute them. Thread: any."""
    stats = BlockStats()
    _take_in(stats, _counted(series), _axis_end(series, x_max))
    return stats


def _counted(series: Sequence[TokenSeries]) -> list[TokenSeries]:
    """Those that band and median are made of: warm-ups only while there is nothing else."""
    with_gaps = [entry for entry in series if len(entry.gaps_ms)]
    return [entry for entry in with_gaps if not entry.warmup] or with_gaps


def _axis_end(series: Sequence[TokenSeries], x_max: int) -> int:
    longest = max((len(entry.gaps_ms) for entry in series), default=0) + 1
    return token_ceiling(max(int(x_max), 1), longest)


def _take_in(stats: BlockStats, counted: Sequence[TokenSeries], x_max: int) -> None:
    stats.update([entry.label for entry in counted], [entry.gaps_ms for entry in counted], x_max)


class TokenLatencyChart(TokenChart):
    """Answers: how steady is each token?"""

    def __init__(self, parent: QWidget | None = None) -> None:
        layers = self._layers = TokenLayers()
        self._earlier, self._current, self._band = layers.earlier, layers.current, layers.band
        self._median, self._trend_curve, self._floor_curve = layers.median, layers.trend, layers.floor
        canvas = PlotCanvas(MARGINS, self._paint_below, self._paint_above)
        layers.add_to(canvas)
        texts = ChartTexts(
            translate("TokenLatencyChart", "Inter-token latency"),
            translate("TokenLatencyChart", "How steady is each token?"),
            translate(
                "TokenLatencyChart", "One dot per token, the rolling median, and the cause of each stall."
            ),
        )
        super().__init__(texts, token_ghost, canvas, parent)
        self._lane = SpikeLane()
        self._series: list[TokenSeries] = []
        self._counted: list[TokenSeries] = []
        self._running: int | None = None
        self._selected = -1
        self._trend: TrendLine | None = None
        self._floor: Floats | None = None
        self._target: float | None = None
        self._spikes: tuple[Spike, ...] = ()
        self._axis = LatencyAxis()
        self._shown_stats = layers.stats
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
        spikes: tuple[Spike, ...] = (),
    ) -> None:
        """Show the series (in the order of the run).

        x_max: output length asked for (tokens); the axis grows in steps where it is passed.
        running_index: which series is live, None when none is. selected: which one has the
        large dots; by default the live one, else the last. floor_ms: the physical limit, a
        number or one value per output token from token 1. target_ms: a line where it is in range.
        spikes: in the lane above the plot. Warm-ups stay out of band and median
        while there is any other series.
        """
        self._series = list(series)
        self._running = running_index
        if selected is None:
            selected = running_index if running_index is not None else len(self._series) - 1
        self._selected = selected
        self._trend = trend
        self._target = target_ms
        self._spikes = spikes
        self._x_max = _axis_end(self._series, x_max)
        self._counted = _counted(self._series)
        _take_in(self._stats, self._counted, self._x_max)
        self._floor = floor_array(floor_ms, self._x_max)
        self.set_legend(
            legend_items(
                band=len(self._counted) >= 2,
                trend=trend is not None,
                limit=self._floor is not None,
                spikes=len(spikes),
            )
        )
        self._draw_view()
        self.shown()

    def use_statistics(self, stats: BlockStats) -> None:
        """Band and median of what the next `refresh` shows, computed elsewhere (`block_stats`).

        What does not fit the series is computed again.
        """
        self._layers.stats = stats

    def clear(self) -> None:
        """No data; the axes stay."""
        self._layers.clear()
        self._axis = LatencyAxis()
        self._view = self._y_view = None
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
        if self._spikes:
            words += ", " + self.tr("{} spikes").format(f"{len(self._spikes):,}")
        if self._trend and self._trend.slope:
            words += ", " + self.tr("trend {}").format(self._trend.slope)
        return words + "."

    def table(self) -> TableData:
        """Every gap shown: request, token, gap, and the forward pass where it was taken."""
        tokens, gaps = points(self._series)
        lengths = [len(entry.gaps_ms) for entry in self._series]
        columns = [
            labelled([entry.label for entry in self._series], lengths, self.tr("Request")),
            Column(self.tr("Token"), tokens, digits=None),
            Column(self.tr("ITL (ms)"), gaps),
        ]
        if any(entry.forward_ms is not None for entry in self._series):
            parts = [
                np.full(len(entry.gaps_ms), np.nan) if entry.forward_ms is None else entry.forward_ms
                for entry in self._series
            ]
            columns.append(Column(self.tr("Forward pass (ms)"), np.concatenate(parts)))
        return TableData(tuple(columns))

    # -- the logarithmic axis --------------------------------------------------------------------

    @property
    def log_axis(self) -> bool:
        """Does the y axis go by the logarithm?"""
        return self._layers.log

    def set_log_axis(self, on: bool) -> None:
        """Logarithmic y axis on or off; a zoom of y is given up."""
        if on != self._layers.log:
            self._layers.log = on
            self._y_view = self._axis.log_y = None
            self.view_moved()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_L and not event.modifiers():
            self.set_log_axis(not self.log_axis)
            return
        super().keyPressEvent(event)

    def extend_menu(self, menu: QMenu) -> None:
        menu.addSeparator()
        action = self.add_check(self.tr("Logarithmic axis") + "\tL", self.log_axis)
        action.triggered.connect(self.set_log_axis)
        super().extend_menu(menu)

    # -- what is computed once a refresh or a zoom ---------------------------------------------

    @property
    def _stats(self) -> BlockStats:
        return self._layers.stats

    @property
    def _above(self) -> int:
        return self._layers.above

    @property
    def _above_points(self) -> Floats:
        return self._layers.above_points

    def live_token(self) -> int | None:
        if self._running is None or not 0 <= self._running < len(self._series):
            return None
        return len(self._series[self._running].gaps_ms) + FIRST_GAP_TOKEN - 1

    def view_moved(self) -> None:
        self._draw_view()
        self.redraw()

    def apply_layers(self) -> None:
        self._layers.show(self.hidden)
        self._lay_out_lane()

    @property
    def _lane_shown(self) -> bool:
        return bool(self._spikes) and self.layer_shown("spikes")

    def _lay_out_lane(self) -> None:
        self._plot.set_margins(LANE_MARGINS if self._lane_shown else MARGINS)

    def _draw_view(self) -> None:
        self._lay_out_lane()
        self._choose_range()
        span = self.x_span
        y = self._y_view or (self._axis.log_y if self.log_axis else self._y)
        self._plot.set_ranges(span, y or (0, 1), self.log_axis and y is not None)
        whole = span == (0.0, float(self._x_max))
        part = None if whole else span
        layers = self._layers
        self._shown_stats = layers.shown_stats(self._counted, part, self._x_max)
        layers.fill_lines(self._shown_stats, len(self._counted) >= 2, self._trend, self._floor)
        layers.fill_dots(self._series, self._selected, part, y)
        self._renew_axes()

    def _renew_axes(self) -> None:
        self._plot.renew_below((self.palette_now.name, self._x_max, self._y is None, steady(self._centre)))

    def _choose_range(self) -> None:
        axis = self._axis
        axis.choose(self._stats, self._floor)
        if axis.y is not None and self.log_axis:
            axis.choose_log(max(float(entry.gaps_ms.max()) for entry in self._series if len(entry.gaps_ms)))

    @property
    def _y(self) -> tuple[float, float] | None:
        return self._axis.y

    @property
    def _centre(self) -> float | None:
        return self._axis.centre_ms

    # -- painting ----------------------------------------------------------------------------

    def apply_palette(self, palette: Palette) -> None:
        self._renew_axes()
        self._layers.recolour(palette)

    def _ticks(self, frame: Frame) -> list[tuple[float, str]]:
        count = min(max(int(frame.plot.height() // 26), 2), 8)
        # From one second on in seconds: "1,000" does not fit beside the title.
        scale = 1000 if frame.y_high >= 1000 else 1
        if frame.log_y:
            ticks = log_ticks(frame.y_low, frame.y_high, count)
            return [(tick, format_tick(tick / scale, float(f"{tick / scale:.2g}"))) for tick in ticks]
        step = round_step(frame.y_high - frame.y_low, count)
        ticks = round_ticks(frame.y_low, frame.y_high, count)
        return [(tick, format_tick(tick / scale, step / scale)) for tick in ticks]

    def _paint_below(self, painter: QPainter) -> None:
        frame, palette = self._plot.frame(), self.palette_now
        if self._y is not None:
            ticks = self._ticks(frame)
            draw_grid(painter, frame, [tick for tick, _ in ticks], palette)
            title = self.tr("ITL (ms)") if frame.y_high < 1000 else self.tr("ITL (s)")
            draw_side_axis(painter, frame, ticks, palette, title, width=AXIS_LEFT_PX)
            if self._centre:
                marks = percent_ticks(frame, self._centre)
                title = self.tr("times the median") if frame.log_y else self.tr("against median (%)")
                draw_side_axis(
                    painter, frame, marks, palette, title, right=True, width=AXIS_RIGHT_PX, marks=False
                )
        x_ticks = self.x_ticks(frame.plot.width())
        draw_bottom_axis(painter, frame, x_ticks, palette, self.tr("Output token"))

    def _paint_above(self, painter: QPainter) -> None:
        frame = self._plot.frame()
        plot = frame.plot
        palette = self.palette_now
        if self._y is None:
            align = Qt.AlignmentFlag.AlignHCenter
            draw_words(painter, plot, self._nothing(), palette.color("muted"), align)
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        self.paint_range(painter, frame)
        notes = Notes(plot)
        self.put_chip(notes, frame)
        self.put_frozen(notes, frame)
        with_floor = self._floor is not None and self.layer_shown("limit")
        if self._floor is not None and with_floor:
            paint_floor(painter, frame, palette, notes, float(self._floor[-1]), self._centre)
        if self._target is not None:
            paint_target(painter, frame, palette, notes, self._target)
        if self._trend is not None and self.layer_shown("trend"):
            curves = [self._centre] + (
                [float(self._floor[-1])] if self._floor is not None and with_floor else []
            )
            heights = [frame.y_px(value) for value in curves if value is not None]
            put_trend_words(notes, plot, palette, self._trend, heights)
        if self.layer_shown("token"):
            layers = self._layers
            paint_outside(painter, frame, palette, notes, layers.above_points, layers.above, layers.below)
        if self._lane_shown:
            self._lane.paint(painter, frame, palette, self._spikes, id(self._spikes), self._centre)
        live = self.live_token()
        if live is not None:
            paint_live(painter, frame, palette, notes, live)
        x = self._paint_crosshair(painter, frame)
        lines = [] if x is None or self.crosshair is None else self.readout(round(self.crosshair))
        self.paint_notes(painter, notes, frame, x, lines)

    def _nothing(self) -> str:
        """Why there is no dot."""
        if self._running is None and self._series:
            return self.tr("one token only: there is no gap to show")
        return self.tr("no tokens yet")

    def _paint_crosshair(self, painter: QPainter, frame: Frame) -> float | None:
        """The line at the cursor and a dot at its gap; returns its pixel, None where there is none."""
        at = self.crosshair
        if at is None or not frame.x_low <= at <= frame.x_high:
            return None
        palette, plot = self.palette_now, frame.plot
        x = frame.x_px(at)
        draw_dashed_v(painter, x, plot.top(), plot.bottom(), palette.color("text"))
        value = self.gap_at(round(at))
        if value is not None and frame.y_low <= value <= frame.y_high:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(palette.color("text"), 1.5))
            painter.setBrush(palette.color("data1"))
            painter.drawEllipse(QPointF(x, frame.y_px(value)), 4, 4)
        return x

    def _spoken_of(self) -> TokenSeries | None:
        """Whose values the readout tells."""
        for entry in self._series:
            if entry.label == self.cursor_label:
                return entry
        return self._series[self._selected] if 0 <= self._selected < len(self._series) else None

    def gap_at(self, token: int) -> float | None:
        """The gap before a token of the request under the cursor, ms."""
        entry = self._spoken_of()
        index = token - FIRST_GAP_TOKEN
        if entry is None or not 0 <= index < len(entry.gaps_ms):
            return None
        return float(entry.gaps_ms[index])

    def readout(self, token: int) -> list[list[Run]]:
        """The lines of the box beside the crosshair: whose token, its gap, what it is made of."""
        entry = self._spoken_of()
        lines = [self.token_words(token, "" if entry is None else entry.label)]
        value = self.gap_at(token)
        if entry is not None and value is not None:
            lines[0].append(Run(f"  {format_number(value, 4)} ms", "text"))
            lines += self._forward_line(entry.forward_ms, token - FIRST_GAP_TOKEN, value)
            spike = next((s for s in self._spikes if s.token == token and s.label == entry.label), None)
            if spike is not None:
                cause = self.tr("cause unknown") if spike.cause == "unknown" else cause_words(spike.cause)
                lines.append([Run(self.tr("spike: {}").format(cause), "text")])
        median = self._shown_stats.at(token)
        if median is not None:
            lines.append([Run(self.tr("median {} ms").format(format_number(median, 4)), "secondary")])
        return lines

    def _forward_line(self, forward: Floats | None, index: int, gap_ms: float) -> list[list[Run]]:
        """How a gap divides into the forward pass and the rest; no line where that is not known."""
        if forward is None or index >= len(forward) or not np.isfinite(forward[index]):
            return []
        rest = max(gap_ms - float(forward[index]), 0.0)
        words = self.tr("forward {} ms").format(format_number(float(forward[index])))
        return [
            [Run(words, "text"), Run("  " + self.tr("rest {} ms").format(format_number(rest)), "secondary")]
        ]
