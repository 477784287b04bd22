"""How the gaps of each session are distributed: shares at or below a value, the tail stretched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QCoreApplication, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from app.charts.base import AXIS_LEFT_PX, Command
from app.charts.canvas import PlotCanvas
from app.charts.compare_base import SessionChart, legend_items, lines_ghost, session_pen
from app.charts.compare_style import STYLES, DistributionSeries, Floats
from app.charts.data_table import Column, TableData, labelled
from app.charts.frame import (
    Frame,
    Run,
    draw_bottom_axis,
    draw_box,
    draw_dashed_v,
    draw_grid,
    draw_side_axis,
    draw_words,
    font,
    text_width,
)
from app.charts.notes import Notes, Spot, fitted_lines, place_readout
from app.charts.ticks import format_tick, round_step, round_ticks
from app.theme import Palette
from profiler.units import format_number

translate = QCoreApplication.translate

MARGINS = (AXIS_LEFT_PX, 8, 22, 38)
MARKS = ((0.50, "p50"), (0.95, "p95"), (0.99, "p99"))
"""Disc, square, triangle."""
TOP_SHARE = 0.9995
"""The last step of every curve goes to 1, which the stretched axis cannot show."""
SHARES = (0.0, 0.5, 0.9, 0.95, 0.99, 0.999)
POINTS = 1500
MAX_SPREAD = 6.0
TABLE_LINE_PX = 15


def stretched(share: float | Floats) -> Floats:
    """The tail-stretched axis: -log10(1 - share), so that 90, 99 and 99.9 % lie equally apart."""
    return np.asarray(-np.log10(1.0 - np.minimum(share, TOP_SHARE)))


def ecdf_points(sorted_ms: Floats) -> tuple[Floats, Floats]:
    """x (ms) and stretched share of a curve through the quantiles; dense where the tail is.

    Up to 1,500 gaps every one is a point; of more, those at evenly spaced heights of the axis.
    """
    n = len(sorted_ms)
    if n == 0:
        return np.empty(0), np.empty(0)
    shares = np.arange(1, n + 1) / n
    if n > POINTS:
        heights = np.linspace(0, float(stretched(TOP_SHARE)), POINTS)
        picks = np.unique(np.searchsorted(stretched(shares), heights).clip(0, n - 1))
        return sorted_ms[picks], stretched(shares[picks])
    return sorted_ms, stretched(shares)


def paint_mark(painter: QPainter, number: int, x: float, y: float, half: float = 4.0) -> None:
    """The mark of p50 (disc), p95 (square) or p99 (triangle), in the painter's brush."""
    if number == 0:
        painter.drawEllipse(QPointF(x, y), half, half)
    elif number == 1:
        painter.drawRect(QRectF(x - half + 0.3, y - half + 0.3, 2 * half - 0.6, 2 * half - 0.6))
    else:
        painter.drawPolygon(
            QPolygonF(
                [
                    QPointF(x, y - half - 0.7),
                    QPointF(x + half + 0.4, y + half - 0.5),
                    QPointF(x - half - 0.4, y + half - 0.5),
                ]
            )
        )


class DistributionChart(SessionChart):
    """Answers: is it the middle that differs, or the tail?"""

    def __init__(self, parent: QWidget | None = None) -> None:
        canvas = PlotCanvas(MARGINS, self._paint_below, self._paint_above)
        self._curves = {letter: pg.PlotCurveItem(antialias=True) for letter in STYLES}
        for item in self._curves.values():
            canvas.addItem(item, ignoreBounds=True)
        super().__init__(
            translate("DistributionChart", "Distribution of ITL"),
            translate("DistributionChart", "Is it the middle that differs, or the tail?"),
            translate(
                "DistributionChart", "The share of gaps at or below each time, with the tail stretched."
            ),
            lines_ghost,
            canvas,
            parent,
        )
        canvas.pointed.connect(self.hovered)
        self.stepped.connect(self._step)
        self.commanded.connect(self._commanded)
        self._plot: PlotCanvas = canvas
        self._series: list[DistributionSeries] = []
        self._x: tuple[float, float] | None = None
        self._beyond = 0
        self.apply_palette(self.palette_now)

    def refresh(self, series: Sequence[DistributionSeries], names: dict[str, str]) -> None:
        """Show the sessions' distributions (in their order)."""
        self._series = [entry for entry in series if len(entry.sorted_ms)]
        self._choose_range()
        shown = {entry.letter: entry for entry in self._series}
        for letter, curve in self._curves.items():
            entry = shown.get(letter)
            curve.setData(*(ecdf_points(entry.sorted_ms) if entry is not None else ([], [])))
        self.set_legend(legend_items(list(shown), names))
        self._renew()
        self.shown()

    def clear(self) -> None:
        """No session; the axes stay."""
        self.refresh([], {})

    def summary(self) -> str:
        """One sentence: p50, p95 and p99 of each session."""
        if not self._series:
            return self.tr("Distribution of ITL: nothing to show yet.")
        words = [
            f"{entry.letter} " + " / ".join(format_number(entry.quantile(q)) for q, _ in MARKS)
            for entry in self._series
        ]
        return self.tr("Distribution of ITL, p50 / p95 / p99 in ms: {0}.").format("; ".join(words))

    def marks(self, letter: str) -> list[float]:
        """p50, p95 and p99 of a session, ms."""
        entry = next(entry for entry in self._series if entry.letter == letter)
        return [entry.quantile(q) for q, _ in MARKS]

    @property
    def _visible(self) -> list[DistributionSeries]:
        return [entry for entry in self._series if self.layer_shown(entry.letter)]

    def _step(self, steps: int) -> None:
        low, high = self._plot.ranges[0]
        at = (low + high) / 2 if self.crosshair is None else self.crosshair + steps * (high - low) / 200
        self.hovered.emit(min(max(at, low), high))

    def _commanded(self, command: Command) -> None:
        if command is Command.RELEASE:
            self.hovered.emit(None)

    def apply_layers(self) -> None:
        for letter, curve in self._curves.items():
            curve.setVisible(self.layer_shown(letter))

    def table(self) -> TableData:
        """The quantiles of each session, in per cent."""
        shares = np.concatenate((np.arange(1, 100), (99.5, 99.9))) / 100
        kept = self._visible
        columns = [
            labelled([e.letter for e in kept], [len(shares)] * len(kept), self.tr("session")),
            Column(self.tr("tokens at or below (%)"), np.tile(100 * shares, len(kept))),
            Column(
                self.tr("ITL (ms)"), np.array([entry.quantile(float(q)) for entry in kept for q in shares])
            ),
        ]
        return TableData(tuple(columns))

    def _choose_range(self) -> None:
        self._beyond = 0
        if not self._series:
            self._x = None
            self._plot.set_ranges((0, 1), (0, float(stretched(TOP_SHARE))))
            return
        low = min(entry.quantile(0.001) for entry in self._series)
        middle = max(entry.quantile(0.99) for entry in self._series)
        high = max(entry.quantile(0.998) for entry in self._series)
        # One stall of a second must not press all the rest into a wall.
        high = max(min(high, low + MAX_SPREAD * max(middle - low, 0.01 * middle)), middle + 1e-6)
        step = round_step(high - low, 6)
        self._x = (np.floor(low / step) * step, np.ceil((high + 0.02 * (high - low)) / step) * step)
        self._beyond = sum(int((entry.sorted_ms > self._x[1]).sum()) for entry in self._series)
        self._plot.set_ranges(self._x, (0, float(stretched(TOP_SHARE))))

    # -- painting ------------------------------------------------------------------------

    def _renew(self) -> None:
        self._plot.renew_below((self.palette_now.name, self._x))

    def apply_palette(self, palette: Palette) -> None:
        self._renew()
        for letter, curve in self._curves.items():
            curve.setPen(session_pen(letter, palette))

    def _paint_below(self, painter: QPainter) -> None:
        frame, palette = self._plot.frame(), self.palette_now
        ticks = [float(stretched(share)) for share in SHARES]
        # 95 lies close above 90: on a low plot it would touch.
        room = frame.y_px(ticks[2]) - frame.y_px(ticks[3]) >= 13
        kept = [(t, s) for t, s in zip(ticks, SHARES, strict=True) if room or s != 0.90]
        draw_grid(painter, frame, [tick for tick, _ in kept], palette)
        words = [(tick, format_tick(100 * share, 0.1)) for tick, share in kept]
        draw_side_axis(painter, frame, words, palette, self.tr("Tokens at or below (%)"), width=AXIS_LEFT_PX)
        if self._x is None:
            draw_bottom_axis(painter, frame, [], palette, self.tr("ITL (ms)"))
            return
        count = max(min(int(frame.plot.width() // 60), 6), 2)
        step = round_step(frame.x_high - frame.x_low, count)
        x_words = [(tick, format_tick(tick, step)) for tick in round_ticks(frame.x_low, frame.x_high, count)]
        draw_bottom_axis(painter, frame, x_words, palette, self.tr("ITL (ms)"))

    def _paint_above(self, painter: QPainter) -> None:
        frame, palette = self._plot.frame(), self.palette_now
        if not self._series:
            draw_words(
                painter,
                frame.plot,
                self.tr("nothing to show yet"),
                palette.color("muted"),
                Qt.AlignmentFlag.AlignHCenter,
            )
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for entry in self._visible:
            painter.setPen(QPen(palette.color("surface"), 1))
            painter.setBrush(palette.color(STYLES[entry.letter].role))
            for number, (q, _) in enumerate(MARKS):
                value = entry.quantile(q)
                if frame.x_low <= value <= frame.x_high:
                    paint_mark(painter, number, frame.x_px(value), frame.y_px(float(stretched(q))))
        notes, plot = Notes(frame.plot.adjusted(0, -4, 0, 0)), frame.plot
        if self._beyond:
            words = (Run(self.tr("{0} beyond the axis").format(f"{self._beyond:,}"), "muted"),)
            notes.put([words], [Spot(plot.right() - 2, plot.top() + 9, right=True)])
        table = self._table_rect(plot)
        notes.take(table)
        x = self._paint_crosshair(painter, frame)
        lines = [] if x is None else fitted_lines(self._readout(), plot)
        box = None if x is None else place_readout(notes, plot, x, lines)
        notes.paint(painter, palette, box)
        if not table.isNull() and (box is None or not box.intersects(table)):
            self._paint_table(painter, table)
        if box is not None:
            draw_box(painter, box.left(), box.top(), lines, palette)

    def _cell_px(self) -> float:
        """Width of a column of the table of quantiles."""
        return max(
            [text_width(name) + 14 for _, name in MARKS]
            + [text_width(format_number(v)) + 14 for e in self._visible for v in self.marks(e.letter)]
        )

    def _table_rect(self, plot: QRectF) -> QRectF:
        """The lower right corner, where no curve goes; null where the table would be too large."""
        width, height = 26 + 3 * self._cell_px(), TABLE_LINE_PX * (len(self._visible) + 1) + 10
        if width > plot.width() * 0.62 or height > plot.height() * 0.5:
            return QRectF()  # the table of differences says the same
        return QRectF(
            round(plot.right() - width - 4), round(plot.bottom() - height - 6), round(width), height
        )

    def _paint_table(self, painter: QPainter, rect: QRectF) -> None:
        """The box of p50, p95, p99."""
        palette, line, cell = self.palette_now, TABLE_LINE_PX, self._cell_px()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.fillRect(rect, palette.color("control_border"))
        painter.fillRect(rect.adjusted(1, 1, -1, -1), palette.color("tooltip"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        right = Qt.AlignmentFlag.AlignRight
        for number, (_, name) in enumerate(MARKS):
            x = rect.left() + 26 + number * cell
            cell_rect = QRectF(x, rect.top() + 4, cell - 6, line)
            draw_words(painter, cell_rect, name, palette.color("secondary"), right)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.color("secondary"))
            paint_mark(
                painter, number, cell_rect.right() - text_width(name) - 8, cell_rect.center().y() + 0.5, 3
            )
        for row, entry in enumerate(self._visible, start=1):
            y = rect.top() + 4 + row * line
            role = palette.text_role(STYLES[entry.letter].role)
            draw_words(
                painter,
                QRectF(rect.left() + 8, y, 14, line),
                entry.letter,
                palette.color(role),
                Qt.AlignmentFlag.AlignLeft,
                weight=600,
            )
            for number, value in enumerate(self.marks(entry.letter)):
                x = rect.left() + 26 + number * cell
                draw_words(
                    painter, QRectF(x, y, cell - 6, line), format_number(value), palette.color("text"), right
                )
        painter.setFont(font())

    def _paint_crosshair(self, painter: QPainter, frame: Frame) -> float | None:
        """The line at the cursor; returns its pixel, None where there is none."""
        at = self.crosshair
        if at is None or not frame.x_low <= at <= frame.x_high:
            return None
        x = frame.x_px(at)
        draw_dashed_v(painter, x, frame.plot.top(), frame.plot.bottom(), self.palette_now.color("text"))
        return x

    def _readout(self) -> list[list[Run]]:
        """What the box beside the cursor says: the share of each session at or below it."""
        at, palette = self.crosshair or 0.0, self.palette_now
        lines = [[Run(self.tr("At or below {0} ms").format(format_number(at, 4)), "text", 600)]]
        for entry in self._visible:
            role = palette.text_role(STYLES[entry.letter].role)
            share = 100 * entry.share_below(at)
            lines.append([Run(f"{entry.letter}  ", role, 600), Run(f"{share:.1f} %", "text")])
        return lines
