"""Telemetry: readings of the hardware as small plots over one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QCoreApplication, QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QMenu, QWidget

from app.charts.base import ChartCard
from app.charts.canvas import PaintedCanvas
from app.charts.columns import keep_peaks
from app.charts.data_table import Column, TableData, labelled
from app.charts.frame import (
    Frame,
    Run,
    draw_bottom_axis,
    draw_dashed_v,
    draw_runs,
    draw_words,
    font,
    runs_width,
    text_width,
)
from app.charts.ghosts import telemetry_ghost
from app.charts.ticks import end_ticks, format_tick, round_ticks, stepped_bounds, stepped_time
from app.charts.token_chart import kept_within, zoomed
from app.theme import Palette
from app.widgets import Banner, LegendItem
from profiler.units import DASH, format_number

translate = QCoreApplication.translate

Floats = npt.NDArray[np.float64]

ZONE_PX, RIGHT_PX, BOTTOM_PX = 12, 54, 20
LEAST_ROW_PX = 18.0
"""With less, plots at the end are left out rather than drawn over each other."""
NAME_PX = 13.0
"""Height of one name in a plot of several rows."""
BOTH_TICKS_PX = 32.0
"""A small plot at least so high has words at its lowest and its highest tick."""
TICK_COLUMN_PX = 40
LEAST_SPAN_S = 0.02


@dataclass(frozen=True)
class TelemetryRow:
    """One metric: times in seconds from the start of the run, and values (NaN: missing).

    `digits` are significant figures of the value at the right. Rows of the same `group`
    (not "") share one small plot and must follow each other. `low`: the axis starts there
    or below (0 for shares).
    """

    label: str
    unit: str
    t_s: Floats
    values: Floats
    color_role: str = "data1"
    digits: int = 3
    group: str = ""
    low: float | None = None


@dataclass(frozen=True)
class Zone:
    """A request on the lane above: `t1_s` is its end, or now while it runs."""

    label: str
    t0_s: float
    t1_s: float
    running: bool = False


class TelemetryChart(ChartCard):
    """Answers: what did the hardware do meanwhile?"""

    def __init__(self, parent: QWidget | None = None) -> None:
        canvas = PaintedCanvas(self._paint)
        super().__init__(
            translate("TelemetryChart", "Telemetry"),
            translate("TelemetryChart", "What did the hardware do meanwhile?"),
            translate("TelemetryChart", "Clocks, power, temperature and utilisation on one time axis."),
            telemetry_ghost,
            canvas,
            parent,
        )
        self.banner = Banner(link="")
        self.banner.hide()
        self.body.insertWidget(1, self.banner)
        canvas.pointed.connect(self._pointed)
        gestures = canvas.gestures
        gestures.active = True
        gestures.clicked.connect(self._clicked)
        gestures.zoomed.connect(self._zoomed)
        gestures.panned.connect(self._panned)
        gestures.reset_asked.connect(self.reset_view)
        self._view: tuple[float, float] | None = None
        self._panels: list[list[TelemetryRow]] = []
        self._bounds: dict[str, tuple[float, float]] = {}
        self._zones: list[Zone] = []
        self._axis: float | None = None
        self._now = 0.0

    def refresh(
        self,
        rows: Sequence[TelemetryRow],
        zones: Sequence[Zone] = (),
        t_max_s: float = 0.0,
        notice: str | None = None,
    ) -> None:
        """Show the rows, top to bottom; `t_max_s` is the expected end (grows in steps if passed).

        `notice` is one calm sentence above the plots (e.g. that there is no NVIDIA GPU).
        """
        panels: list[list[TelemetryRow]] = []
        for row in rows:
            if row.group and panels and panels[-1][0].group == row.group:
                panels[-1].append(row)
            else:
                panels.append([row])
        self._panels = panels
        self._zones = list(zones)
        self._now = max(
            [float(row.t_s[-1]) for row in rows if len(row.t_s)] + [zone.t1_s for zone in zones] + [0.0]
        )
        self._axis = stepped_time(max(t_max_s, 1.0), self._now, self._axis)
        for panel in panels:
            values = [row.values[np.isfinite(row.values)] for row in panel]
            values = [part for part in values if len(part)]
            if values:
                low = min(float(part.min()) for part in values)
                high = max(float(part.max()) for part in values)
                key = panel[0].group or panel[0].label
                bottom, top = stepped_bounds(low, high, self._bounds.get(key), panel[0].low)
                if panel[0].unit == "%" and high <= 100:
                    top = min(top, 100.0)
                self._bounds[key] = (bottom, top)
        self.banner.setVisible(bool(notice))
        if notice and notice != self.banner.text:
            self.banner.set_text(notice)
        if zones:
            tip = self.tr("Each block is one request: W a warm-up, R a measured repeat.")
            label = self.tr("request, W warm-up, R repeat")
            self.set_legend([LegendItem(label, "data1", "band", short=self.tr("request"), tip=tip)])
        else:
            self.set_legend([])
        self.shown()

    def clear(self) -> None:
        """No readings; the axis stays."""
        self._panels, self._zones, self._now, self._view = [], [], 0.0, None
        self._bounds.clear()
        self.shown()

    def summary(self) -> str:
        """One sentence: the last value of each row."""
        parts = []
        for panel in self._panels:
            for row in panel:
                value = _value_at(row, None)
                if value is not None:
                    parts.append(f"{row.label} {format_number(value, row.digits)} {row.unit}".strip())
        if not parts:
            return self.tr("Telemetry: no readings yet.")
        return self.tr("Telemetry: {}.").format(", ".join(parts))

    # -- painting ----------------------------------------------------------------------------

    def _left_px(self) -> float:
        """Width of the column of names: as wide as they ask, at most a third of the card."""
        names = [text_width(f"{row.label}  {row.unit}", 11, 500) for panel in self._panels for row in panel]
        return min(max(names, default=60) + 14, self.canvas.width() * 0.3) + TICK_COLUMN_PX

    def _plot(self) -> QRectF:
        left = self._left_px()
        top = ZONE_PX + 6 if self._zones else 4
        return QRectF(
            left,
            top,
            max(self.canvas.width() - left - RIGHT_PX, 1),
            max(self.canvas.height() - top - BOTTOM_PX, 1),
        )

    def _paint(self, painter: QPainter) -> None:
        palette = self.palette_now
        plot = self._plot()
        frame = self._frame(plot)
        count = max(min(int(plot.width() // 28), 12), 2)
        if self._view is None:
            ticks = end_ticks(frame.x_high, count)
        else:
            ticks = round_ticks(frame.x_low, frame.x_high, max(count - 3, 2)) or [frame.x_low]
        step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
        words = [(tick, format_tick(tick, step)) for tick in ticks]
        words[-1] = (ticks[-1], f"{words[-1][1]} s")
        self._paint_zones(painter, frame)
        draw_bottom_axis(painter, frame, words, palette)
        if not self._panels:
            text = self.tr("no readings yet")
            draw_words(painter, plot, text, palette.color("muted"), Qt.AlignmentFlag.AlignHCenter)
            return
        for number, (panel, area) in enumerate(self._areas(plot)):
            if number:
                painter.setPen(QPen(palette.color("border"), 1))
                y = round(area.top()) + 0.5
                painter.drawLine(QLineF(plot.left() - 4, y, plot.right(), y))
            self._paint_panel(painter, frame, area, panel)
        if self.crosshair is not None and frame.x_low <= self.crosshair <= frame.x_high:
            x = frame.x_px(self.crosshair)
            draw_dashed_v(painter, x, plot.top(), plot.bottom(), palette.color("text"))
        if self._now > 0:
            at = self.crosshair if self.crosshair is not None else self._now
            rect = QRectF(plot.right(), 0, RIGHT_PX - 6, ZONE_PX)
            seconds = f"{at:.1f} s" if frame.x_high - frame.x_low > 2 else f"{at:.3f} s"
            draw_words(painter, rect, seconds, palette.color("secondary"), Qt.AlignmentFlag.AlignRight)

    def _areas(self, plot: QRectF) -> list[tuple[list[TelemetryRow], QRectF]]:
        """The small plots that have room, and where they lie: equally high unless names ask for more."""
        needs = [max(LEAST_ROW_PX, NAME_PX * len(panel)) for panel in self._panels]
        count = len(needs)
        while count > 1 and sum(needs[:count]) > plot.height():
            count -= 1
        needs = needs[:count]
        pitch = plot.height() / count
        if max(needs) <= pitch:
            heights = [pitch] * count
        else:
            spare = max(plot.height() - sum(needs), 0.0) / count
            heights = [need + spare for need in needs]
        tops = [plot.top() + sum(heights[:number]) for number in range(count)]
        return [
            (panel, QRectF(plot.left(), top, plot.width(), height))
            for panel, top, height in zip(self._panels, tops, heights, strict=False)
        ]

    def _paint_zones(self, painter: QPainter, frame: Frame) -> None:
        palette, plot = self.palette_now, frame.plot
        for zone in self._zones:
            left = max(frame.x_px(zone.t0_s), plot.left())
            right = min(frame.x_px(zone.t1_s), plot.right())
            if right < plot.left() or left > plot.right():
                continue
            # A gap of 1 px between neighbours, so that they can be told apart.
            width = max(right - left - 1, 1.0)
            strong = zone.running
            column = QRectF(left, plot.top(), width, plot.height())
            painter.fillRect(column, palette.mix("data1", 42 if strong else 22))
            lane = QRectF(left, 0, width, ZONE_PX)
            painter.fillRect(lane, palette.mix("data1", 130 if strong else 60))
            size = 11 if text_width(zone.label, 11, 500) + 4 <= width else 10
            if text_width(zone.label, size, 500) + 2 <= width:
                color = palette.color("text" if strong else "secondary")
                draw_words(
                    painter,
                    lane,
                    zone.label,
                    color,
                    Qt.AlignmentFlag.AlignHCenter,
                    size,
                    600 if strong else 500,
                )

    def _paint_panel(self, painter: QPainter, frame: Frame, area: QRectF, panel: list[TelemetryRow]) -> None:
        palette = self.palette_now
        bounds = self._bounds.get(panel[0].group or panel[0].label)
        both = area.height() >= BOTH_TICKS_PX
        # As far from the edges as keeps the words of neighbours apart.
        inner = area.adjusted(0, 6, 0, -6) if both else area.adjusted(0, 4, 0, -4)
        if bounds is not None:
            small = Frame(inner, frame.x_low, frame.x_high, *bounds)
            step = bounds[1] - bounds[0]
            for value in bounds if both else bounds[1:]:
                y = small.y_px(value)
                rect = QRectF(inner.left() - 46, y - 7, 41, 14)
                text = format_tick(value, step)
                draw_words(painter, rect, text, palette.color("secondary"), Qt.AlignmentFlag.AlignRight)
            for row in panel:
                self._paint_curve(painter, small, row)
        line = min(14.0, area.height() / len(panel))
        top = area.center().y() - line * len(panel) / 2
        for number, row in enumerate(panel):
            base = top + number * line + line / 2 + 4
            role = palette.text_role(row.color_role) if len(panel) > 1 else "text"
            self._paint_name(painter, base, row, role)
            value = _value_at(row, self.crosshair)
            text = DASH if value is None else format_number(value, row.digits)
            runs = [Run(text, "text" if value is not None else "muted", 600)]
            draw_runs(painter, area.right() + RIGHT_PX - 6 - runs_width(runs), base, runs, palette)

    def _paint_name(self, painter: QPainter, base: float, row: TelemetryRow, role: str) -> None:
        room = self._left_px() - TICK_COLUMN_PX - 4
        painter.setFont(font(11, 500))
        label = painter.fontMetrics().elidedText(row.label, Qt.TextElideMode.ElideRight, int(room))
        runs = [Run(label, role, 500)]
        if row.unit and runs_width(runs) + text_width(f"  {row.unit}") <= room:
            runs.append(Run(f"  {row.unit}", "muted" if role == "text" else role))
        draw_runs(painter, 4, base, runs, self.palette_now)

    def _paint_curve(self, painter: QPainter, frame: Frame, row: TelemetryRow) -> None:
        if len(row.t_s) == 0:
            return
        t, values = row.t_s, row.values
        if self._view is not None:
            first = max(int(np.searchsorted(t, frame.x_low)) - 1, 0)
            last = int(np.searchsorted(t, frame.x_high, side="right")) + 1
            t, values = t[first:last], values[first:last]
            painter.setClipRect(frame.plot.adjusted(0, -2, 0, 3))
        t, values = keep_peaks(t, values, max(int(frame.plot.width()), 1))
        span_x = frame.plot.width() / (frame.x_high - frame.x_low)
        span_y = frame.plot.height() / ((frame.y_high - frame.y_low) or 1.0)
        x = frame.plot.left() + (t - frame.x_low) * span_x
        y = frame.plot.bottom() - (values - frame.y_low) * span_y
        painter.setPen(QPen(self.palette_now.color(row.color_role), 1))
        if len(x) == 1:
            painter.drawLine(QLineF(x[0], y[0], x[0] + 2, y[0]))
        elif len(x):
            painter.drawPath(pg.functions.arrayToQPath(x, np.round(y) + 0.5, connect="finite"))
        painter.setClipping(False)

    def apply_palette(self, palette: Palette) -> None:
        self.banner.set_theme(palette)

    # -- mouse and view ----------------------------------------------------------------------

    def _frame(self, plot: QRectF) -> Frame:
        return Frame(plot, *(self._view or (0.0, self._axis or 1.0)), 0.0, 1.0)

    def _seconds(self, at: QPointF | None) -> float | None:
        plot = self._plot()
        return None if at is None or not plot.contains(at) else self._frame(plot).x_value(at.x())

    def _pointed(self, at: QPointF | None) -> None:
        self.hovered.emit(self._seconds(at))

    def _clicked(self, at: QPointF) -> None:
        seconds = self._seconds(at)
        if seconds is not None:
            self.chosen.emit(seconds)

    @property
    def view(self) -> tuple[float, float] | None:
        """The time zoomed to, s; None: all of it."""
        return self._view

    def _zoomed(self, at: QPointF, factor: float, _vertical: bool) -> None:
        frame = self._frame(self._plot())
        span = zoomed((frame.x_low, frame.x_high), frame.x_value(at.x()), factor, LEAST_SPAN_S)
        self._view = kept_within(span, 0.0, self._axis or 1.0)
        self.redraw()

    def _panned(self, step: QPointF) -> None:
        frame = self._frame(self._plot())
        shift = -step.x() * (frame.x_high - frame.x_low) / frame.plot.width()
        self._view = kept_within((frame.x_low + shift, frame.x_high + shift), 0.0, self._axis or 1.0)
        self.redraw()

    def reset_view(self) -> None:
        """The whole run again."""
        self._view = None
        self.redraw()

    def extend_menu(self, menu: QMenu) -> None:
        menu.addSeparator()
        reset = menu.addAction(self.tr("Reset zoom") + "\tHome")
        reset.setEnabled(self._view is not None)
        reset.triggered.connect(self.reset_view)

    def table(self) -> TableData:
        """One line a reading: metric, seconds since the start of the run, value and its unit."""
        rows = [row for panel in self._panels for row in panel]
        lengths = [len(row.t_s) for row in rows]
        empty = np.empty(0)
        names = [f"{row.label} ({row.unit})" if row.unit else row.label for row in rows]
        return TableData(
            (
                labelled(names, lengths, self.tr("Metric (unit)")),
                Column(self.tr("Time (s)"), np.concatenate([r.t_s for r in rows]) if rows else empty),
                Column(self.tr("Value"), np.concatenate([r.values for r in rows]) if rows else empty),
            )
        )


def _value_at(row: TelemetryRow, t_s: float | None) -> float | None:
    """The last reading at or before `t_s` (None: the very last); None where it is missing."""
    if len(row.t_s) == 0:
        return None
    index = len(row.t_s) - 1 if t_s is None else int(np.searchsorted(row.t_s, t_s, side="right")) - 1
    if index < 0 or not np.isfinite(row.values[index]):
        return None
    return float(row.values[index])
