"""Memory bandwidth: what the model must read each step, beside what the GPU reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QCoreApplication, QLineF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget

from app.charts.base import AXIS_LEFT_PX, AXIS_RIGHT_PX, ChartCard
from app.charts.canvas import PlotCanvas
from app.charts.columns import BlockStats, keep_peaks
from app.charts.frame import (
    Frame,
    Run,
    box_size,
    draw_bottom_axis,
    draw_box,
    draw_dashed_v,
    draw_grid,
    draw_note,
    draw_side_axis,
    draw_words,
    hatch_brush,
    place_beside,
)
from app.charts.ghosts import bandwidth_ghost
from app.charts.ticks import end_ticks, format_tick, round_step, round_ticks, stepped_ceiling
from app.theme import Palette
from app.widgets import ElidedLabel, LegendItem
from profiler.analysis.busy_windows import TOO_SHORT
from profiler.units import THIN, format_number

translate = QCoreApplication.translate

Floats = npt.NDArray[np.float64]

MARGINS = (AXIS_LEFT_PX, 8, AXIS_RIGHT_PX, 38)
COLUMNS = 480
"""Most pixel columns a curve is worth: two points each."""


@dataclass(frozen=True)
class BandwidthSeries:
    """Model-based utilisation of one request: per cent of the reference at each token."""

    label: str
    tokens: Floats
    mbu_pct: Floats
    warmup: bool = False


@dataclass(frozen=True)
class BusyWindow:
    """One reading of a window, placed on the tokens it covers; `inside`: wholly within decode."""

    token_from: float
    token_to: float
    pct: float
    inside: bool = True


class BandwidthChart(ChartCard):
    """Answers: how hard does the memory work?"""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._raw = pg.PlotCurveItem(antialias=False)
        self._earlier = pg.PlotCurveItem(antialias=False)
        self._current = pg.PlotCurveItem(antialias=True)
        self._gpm_curve = pg.PlotCurveItem(antialias=False)
        canvas = PlotCanvas(MARGINS, self._paint_below, self._paint_above)
        for item in (self._raw, self._earlier, self._gpm_curve, self._current):
            canvas.addItem(item, ignoreBounds=True)
        super().__init__(
            translate("BandwidthChart", "Memory bandwidth"),
            translate("BandwidthChart", "How hard does the memory work?"),
            translate("BandwidthChart", "Bytes the model must read, next to what the GPU reports."),
            bandwidth_ghost,
            canvas,
            parent,
        )
        self.explanation = ElidedLabel(role="muted")
        self.explanation.hide()
        self.body.addWidget(self.explanation)
        canvas.pointed.connect(lambda x: self.hovered.emit(None if x is None else round(x)))
        self._plot: PlotCanvas = canvas
        self._smooth: dict[str, BlockStats] = {}
        self._series: list[BandwidthSeries] = []
        self._current_index = -1
        self._running: int | None = None
        self._reference: float | None = None
        self._source = ""
        self._peak: float | None = None
        self._gpm: tuple[Floats, Floats] | None = None
        self._busy: list[BusyWindow] = []
        self._reason: str | None = None
        self._x_max = 1
        self._top: float | None = None
        self.apply_palette(self.palette_now)

    def refresh(
        self,
        series: Sequence[BandwidthSeries],
        x_max: int,
        reference_gb_s: float | None = None,
        reference_source: str = "",
        busy: Sequence[BusyWindow] | None = None,
        busy_reason: str | None = None,
        *,
        busy_window_s: float | None = None,
        running_index: int | None = None,
        gpm: tuple[Floats, Floats] | None = None,
        gpm_reason: str | None = None,
        measured_peak_gb_s: float | None = None,
        reason: str | None = None,
    ) -> None:
        """Show utilisation over output tokens, zero-based.

        reference_gb_s is what 100 % means (GB/s), reference_source where it comes from
        ("measured here", "data sheet"). busy None: not available, busy_reason says why (the
        legend keeps "n/a"). busy_window_s is how far back one reading looks. gpm: (tokens, per
        cent of the same reference), gpm_reason why there is none. measured_peak_gb_s: a line
        beside a data sheet. reason: why there is no model-based line at all (one sentence).
        """
        self._series = [entry for entry in series if len(entry.tokens)]
        known = [entry.label for entry in self._series]
        live = series[running_index].label if running_index is not None else None
        self._running = known.index(live) if live in known else None
        self._current_index = self._running if self._running is not None else len(self._series) - 1
        self._reference, self._source = reference_gb_s, reference_source
        self._peak = measured_peak_gb_s
        self._gpm = gpm if gpm is not None and len(gpm[0]) else None
        self._busy = list(busy or ())
        self._reason = reason
        self._x_max = max(int(x_max), 1)
        for entry in self._series:
            while self._x_max < entry.tokens[-1]:
                self._x_max *= 2
        self._fill()
        self._legend_items(busy is None, busy_reason, gpm, gpm_reason)
        self._explain(busy, busy_reason, busy_window_s)
        self._plot.renew_below((self.palette_now.name, self._x_max, self._reference))
        self.shown()

    def _explain(self, busy: Sequence[BusyWindow] | None, reason: str | None, window_s: float | None) -> None:
        """The one sentence under the axis: what busy time is, or that it is withheld."""
        text = ""
        if window_s is not None and busy:
            text = self.tr("Busy time is the share of time memory was touched in the last {}, not bandwidth.")
            text = text.format(f"{format_number(window_s, 2)}{THIN}s")
        elif window_s is not None and reason == TOO_SHORT:
            text = self.tr("Busy time is withheld: too short for this counter, which looks back {}.")
            text = text.format(f"{format_number(window_s, 2)}{THIN}s")
        if self.explanation.text() != text:
            self.explanation.setText(text)
        self.explanation.setVisible(bool(text))

    def clear(self) -> None:
        """No data; the axes stay."""
        self._smooth.clear()
        self._top = None
        self.refresh([], self._x_max, self._reference, self._source)

    def summary(self) -> str:
        """One sentence: utilisation of the current request and what 100 % is."""
        if self._reason:
            return self.tr("Memory bandwidth: {}").format(self._reason)
        if not self._series:
            return self.tr("Memory bandwidth: no tokens yet.")
        entry = self._series[self._current_index]
        what = self.tr("the reference")
        if self._reference is not None:
            what = f"{format_number(self._reference)} GB/s" + (f" ({self._source})" if self._source else "")
        median = format_number(float(np.median(entry.mbu_pct)))
        words = self.tr("Memory bandwidth: median {} % of {}").format(median, what)
        if self._gpm is not None:
            counted = format_number(float(np.nanmedian(self._gpm[1])))
            words += ", " + self.tr("the GPU's own counter {} %").format(counted)
        return words + "."

    # -- what is computed once a refresh ------------------------------------------------------

    def _fill(self) -> None:
        lines = []
        tops = [window.pct for window in self._busy]
        for entry in self._series:
            stats = self._smooth.setdefault(entry.label, BlockStats())
            stats.update([entry.label], [entry.mbu_pct], self._x_max)
            # Blocks count from the first entry; the tokens are the caller's.
            x = stats.tokens + (entry.tokens[0] - 2)
            lines.append((x, stats.p50))
            good = stats.p95[np.isfinite(stats.p95)]
            if len(good):
                tops.append(float(np.quantile(good, 0.98)))
        self._raw.setData([], [])
        self._current.setData([], [])
        if self._series:
            entry = self._series[self._current_index]
            x, y = keep_peaks(entry.tokens, entry.mbu_pct, COLUMNS)
            self._raw.setData(x, y)
            self._current.setData(*lines[self._current_index], connect="finite")
        others = [line for number, line in enumerate(lines) if number != self._current_index]
        if others:
            # NaN parts the lines of separate requests.
            hole = np.array([np.nan])
            x = np.concatenate([part for line in others for part in (line[0], hole)])
            y = np.concatenate([part for line in others for part in (line[1], hole)])
            self._earlier.setData(x, y, connect="finite")
        else:
            self._earlier.setData([], [])
        if self._gpm is not None:
            self._gpm_curve.setData(*keep_peaks(*self._gpm, COLUMNS), connect="finite")
            tops.append(float(np.nanmax(self._gpm[1])))
        else:
            self._gpm_curve.setData([], [])
        if self._peak and self._reference:
            tops.append(100 * self._peak / self._reference)
        if tops:
            self._top = stepped_ceiling(1.12 * max(tops), self._top, fill=0.45)
        self._plot.set_ranges((0, self._x_max), (0, self._top or 100.0))

    def _legend_items(
        self,
        no_busy: bool,
        busy_reason: str | None,
        gpm: tuple[Floats, Floats] | None,
        gpm_reason: str | None,
    ) -> None:
        tip = self.tr("Weights and KV cache a step must read, divided by its time and by the reference.")
        items = [LegendItem(self.tr("model-based"), "data3", short=self.tr("model"), tip=tip)]
        if self._reason:
            items = [
                LegendItem(
                    self.tr("model-based n/a"), "data3", short=self.tr("n/a"), tip=self._reason, muted=True
                )
            ]
        if no_busy:
            tip = busy_reason or self.tr("The GPU does not report it.")
            label = self.tr("DRAM busy time n/a")
            items.append(LegendItem(label, "data2", "step", short=self.tr("busy n/a"), tip=tip, muted=True))
        else:
            tip = self.tr("Share of time in which memory was touched, not bandwidth.")
            items.append(
                LegendItem(self.tr("DRAM busy time"), "data2", "step", short=self.tr("busy"), tip=tip)
            )
            if any(not window.inside for window in self._busy):
                tip = self.tr("The window also covers prefill or the end; it is left out of statistics.")
                items.append(
                    LegendItem(self.tr("not all decode"), "muted", "hatch", short=self.tr("part"), tip=tip)
                )
        if gpm is not None:
            tip = self.tr("The GPU's own counter of DRAM traffic, compared in GB/s.")
            items.append(LegendItem(self.tr("GPM DRAM"), "data4", "dashed", short=self.tr("GPM"), tip=tip))
        elif gpm_reason:
            items.append(LegendItem(self.tr("GPM n/a"), "data4", "dashed", tip=gpm_reason, muted=True))
        self.set_legend(items)

    # -- painting ----------------------------------------------------------------------------

    def apply_palette(self, palette: Palette) -> None:
        self._plot.renew_below((palette.name, self._x_max, self._reference))
        self._raw.setPen(pg.mkPen(palette.color("data3", 70), width=1))
        self._earlier.setPen(pg.mkPen(palette.color("data3", 110), width=1))
        self._current.setPen(pg.mkPen(palette.data3, width=1.5))
        self._gpm_curve.setPen(pg.mkPen(palette.data4, width=1, dash=[5, 3]))

    def _paint_below(self, painter: QPainter) -> None:
        frame, palette = self._plot.frame(), self.palette_now
        count = max(min(int(frame.plot.height() // 34), 5), 2)
        top = frame.y_high
        step = round_step(top, count)
        ticks = [tick for tick in round_ticks(0, top, count) if top - tick > 0.4 * step]
        ticks.append(top)
        draw_grid(painter, frame, ticks[1:], palette)
        words = [(tick, format_tick(tick, step)) for tick in ticks]
        draw_side_axis(painter, frame, words, palette, self.tr("Bandwidth use (%)"), width=AXIS_LEFT_PX)
        if self._reference:
            right = _speed_ticks(ticks, self._reference, top, count)
            draw_side_axis(painter, frame, right, palette, "GB/s", right=True, width=AXIS_RIGHT_PX)
        x_count = max(min(int(frame.plot.width() // 42), 8), 2)
        x_ticks = [(tick, format_tick(tick, 1)) for tick in end_ticks(self._x_max, x_count, binary=True)]
        draw_bottom_axis(painter, frame, x_ticks, palette, self.tr("Output token"))

    def _paint_above(self, painter: QPainter) -> None:
        frame, palette = self._plot.frame(), self.palette_now
        plot = frame.plot
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        self._paint_busy(painter, frame)
        if self._peak and self._reference:
            y = round(frame.y_px(100 * self._peak / self._reference)) + 0.5
            pen = QPen(palette.color("data3"), 1.6)
            pen.setDashPattern([4, 1.7, 1, 1.7])
            painter.setPen(pen)
            painter.drawLine(QLineF(plot.left(), y, plot.right(), y))
            words = [Run(self.tr("measured peak {} GB/s").format(format_number(self._peak)), "data3", 500)]
            draw_note(painter, plot.right() - 4, y + 14, words, palette, right=True)
        if self._reason or not self._series:
            words = self._reason or self.tr("no tokens yet")
            painter.setFont(self.font())
            draw_words(
                painter,
                plot,
                painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, int(plot.width()) - 12),
                palette.color("muted"),
                Qt.AlignmentFlag.AlignHCenter,
            )
        if self._running is not None:
            x = round(frame.x_px(float(self._series[self._running].tokens[-1]))) + 0.5
            painter.setPen(QPen(palette.color("accent"), 1))
            painter.drawLine(QLineF(x, plot.top(), x, plot.bottom()))
        if self._reference:
            source = f", {self._source}" if self._source else ""
            text = f"100 % = {format_number(self._reference)} GB/s{source}"
            y = plot.top() + 16 if self._data_at_foot() else plot.bottom() - 8
            draw_note(painter, plot.right() - 4, y, [Run(text, "secondary")], palette, right=True)
        self._paint_crosshair(painter, frame)

    def _data_at_foot(self) -> bool:
        """Does a line run where the words at the foot would be, and is the head free?"""
        room = 0.2 * self._plot.ranges[1][1]
        for curve in (self._current, self._earlier):
            x, y = curve.getData()
            if x is not None and len(x):
                tail = y[(x > 0.4 * self._x_max) & np.isfinite(y)]
                if len(tail) and float(tail.min()) < room:
                    return self._peak is None
        return False

    def _paint_busy(self, painter: QPainter, frame: Frame) -> None:
        palette, plot = self.palette_now, frame.plot
        ratio = painter.device().devicePixelRatioF()
        line, squares = [], []
        before: BusyWindow | None = None
        for window in self._busy:
            left = max(frame.x_px(window.token_from), plot.left())
            right = min(frame.x_px(window.token_to), plot.right())
            y = round(frame.y_px(min(window.pct, frame.y_high))) + 0.5
            if not window.inside:
                area = QRectF(left, plot.top(), max(right - left, 1), plot.height())
                painter.fillRect(area, palette.color("muted", 24))
                painter.fillRect(area, hatch_brush(palette.color("muted", 90), ratio))
                painter.setPen(QPen(palette.color("muted"), 2))
                painter.drawLine(QLineF(left, y, right, y))
                before = None
                continue
            if before is not None:
                last = round(frame.y_px(min(before.pct, frame.y_high))) + 0.5
                line.append(QLineF(left, last, left, y))
            line.append(QLineF(left, y, right, y))
            squares.append(QRectF(left - 2, y - 2, 4, 4))
            before = window
        painter.setPen(QPen(palette.color("data2"), 1.2))
        painter.drawLines(line)
        # Squares only while they stand apart.
        if len(squares) * 7 < plot.width():
            for square in squares:
                painter.fillRect(square, palette.color("data2"))

    def _paint_crosshair(self, painter: QPainter, frame: Frame) -> None:
        at = self.crosshair
        if at is None or not frame.x_low <= at <= frame.x_high:
            return
        palette, plot = self.palette_now, frame.plot
        lines = [[Run(self.tr("Token {}").format(f"{round(at):,}"), "text", 600)]]
        window = next((entry for entry in self._busy if entry.token_from <= at < entry.token_to), None)
        if window is not None:
            left, right = frame.x_px(window.token_from), frame.x_px(window.token_to)
            shade = QRectF(left, plot.top(), right - left, plot.height())
            painter.fillRect(shade, palette.color("data2", 40))
        if self._series:
            entry = self._series[self._current_index]
            index = int(np.searchsorted(entry.tokens, round(at)))
            if index < len(entry.tokens) and entry.tokens[index] == round(at):
                value = float(entry.mbu_pct[index])
                lines.append([Run(self.tr("model {} %").format(format_number(value)), "text")])
                if self._reference:
                    speed = format_number(value * self._reference / 100)
                    lines[-1].append(Run(f"  {speed} GB/s", "secondary"))
        if window is not None:
            ends = round(window.token_from), round(window.token_to)
            span = "  " + self.tr("tokens {}–{}").format(*ends)
            words = self.tr("busy time {} %").format(format_number(window.pct, 2))
            lines.append([Run(words, "text"), Run(span, "secondary")])
        lines += self._gpm_line(at)
        x = frame.x_px(at)
        draw_dashed_v(painter, x, plot.top(), plot.bottom(), palette.color("text"))
        width, _ = box_size(lines)
        draw_box(painter, place_beside(x, width, plot.left(), plot.right()), plot.top() + 4, lines, palette)

    def _gpm_line(self, at: float) -> list[list[Run]]:
        """The counter's reading nearest to a token; no line before the first and after the last."""
        if self._gpm is None or not self._gpm[0][0] <= at <= self._gpm[0][-1]:
            return []
        value = float(self._gpm[1][int(np.argmin(np.abs(self._gpm[0] - at)))])
        line = [Run(self.tr("GPM {} %").format(format_number(value)), "text")]
        if self._reference:
            line.append(Run(f"  {format_number(value * self._reference / 100)} GB/s", "secondary"))
        return [line]


def _speed_ticks(
    ticks: Sequence[float], reference_gb_s: float, top_pct: float, count: int
) -> list[tuple[float, str]]:
    """(per cent, words in GB/s) for the right axis: at the grid if that is round, else on its own."""
    speeds = [tick * reference_gb_s / 100 for tick in ticks]
    if all(speed == 0 or abs(float(f"{speed:.1e}") / speed - 1) < 1e-9 for speed in speeds):
        return [(tick, format_number(speed, 2)) for tick, speed in zip(ticks, speeds, strict=True)]
    top = top_pct * reference_gb_s / 100
    # On its own the axis may have one tick more: none of them needs a grid line.
    count += 1
    step = round_step(top, count)
    return [(speed * 100 / reference_gb_s, format_tick(speed, step)) for speed in round_ticks(0, top, count)]
