"""Time to first token: one bar a request, stacked by span; the cold one is kept apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QCoreApplication, QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget

from app.charts.base import ChartCard
from app.charts.canvas import PaintedCanvas
from app.charts.data_table import Column, TableData
from app.charts.first_token_bars import SPAN_ROLES, FirstTokenBar, counts, length_ms
from app.charts.first_token_bars import tip as _tip
from app.charts.first_token_marks import paint_limit, paint_target
from app.charts.frame import (
    Frame,
    Run,
    draw_bottom_axis,
    draw_words,
    font,
    hatch_brush,
    runs_width,
    text_width,
)
from app.charts.ghosts import bars_ghost
from app.charts.notes import Notes, Spot
from app.charts.ticks import format_tick, round_step, round_ticks, stepped_ceiling
from app.widgets import LegendItem
from profiler.units import format_number

translate = QCoreApplication.translate

TOP_PX, RIGHT_PX, BOTTOM_PX = 4, 18, 38
STRIP_PX = 18
"""Kept free below the bars, for the words of median and target."""
LABEL_PX = (46.0, 92.0)
"""Least and greatest width of the column of labels."""
ROOMY_PITCH_PX = 15.0
"""Rows closer than this have thin bars and no words of their own."""
LEAST_PITCH_PX = 4.0
BREAK_AT = 0.86
"""A bar longer than the axis is cut at this share of it."""


class FirstTokenChart(ChartCard):
    """Answers: how long until the first token?"""

    def __init__(self, parent: QWidget | None = None) -> None:
        canvas = PaintedCanvas(self._paint)
        super().__init__(
            translate("FirstTokenChart", "Time to first token"),
            translate("FirstTokenChart", "How long until the first token?"),
            translate(
                "FirstTokenChart",
                "Tokenise, prefill and sample, one bar per repeat. The cold run is kept apart.",
            ),
            bars_ghost,
            canvas,
            parent,
        )
        canvas.pointed.connect(self._pointed)
        canvas.gestures.active, canvas.gestures.zooms = True, False
        canvas.gestures.clicked.connect(self._clicked)
        self._bars: list[FirstTokenBar] = []
        self._target: float | None = None
        self._limit: float | None = None
        self._median: float | None = None
        self._axis: float | None = None

    def refresh(
        self,
        bars: Sequence[FirstTokenBar],
        target_ms: float | None = None,
        *,
        limit_ms: float | None = None,
    ) -> None:
        """Show the bars, top to bottom.

        `target_ms` and `limit_ms` (the least time that the prompt's arithmetic takes here) are
        lines, or words where they are off the axis.
        """
        self._bars = list(bars)
        self._target, self._limit = target_ms, limit_ms
        measured = [bar.total_ms for bar in bars if counts(bar) and bar.total_ms is not None]
        self._median = float(np.median(measured)) if measured else None
        lengths = [bar.total_ms for bar in bars if bar.total_ms is not None and not bar.cold]
        if not lengths:
            lengths = [length_ms(bar) for bar in bars if length_ms(bar) > 0]
        if lengths:
            # Room for the value behind the longest bar.
            longest = 1.2 * max(lengths)
            for mark in (target_ms, limit_ms):
                if mark is not None and max(lengths) <= mark <= 2.5 * max(lengths):
                    longest = max(longest, 1.08 * mark)
            self._axis = stepped_ceiling(longest, self._axis)
        names = {name for bar in bars for name, _ in bar.spans}
        items = [
            LegendItem(words, role, "square")
            for words, role, keys in (
                (self.tr("tokenise"), "data4", {"tokenize", "tokenise"}),
                (self.tr("prefill"), "data1", {"prefill"}),
                (self.tr("sample"), "data3", {"sample"}),
                (self.tr("other"), "data7", names - SPAN_ROLES.keys()),
            )
            if (keys & names) or (not names and role != "data7")
        ]
        if any(bar.cold for bar in bars):
            tip = self.tr("The first call after loading: shown, and left out of every statistic.")
            items.append(
                LegendItem(self.tr("cold run"), "secondary", "hatch", short=self.tr("cold"), tip=tip)
            )
        if limit_ms is not None:
            tip = self.tr("The time that the prompt's arithmetic must take at the rate measured here.")
            items.append(LegendItem(self.tr("limit"), "data3", "dashdot", tip=tip))
        self.set_legend(items)
        self.shown()

    def clear(self) -> None:
        """No bars; the axis stays."""
        self._bars, self._median, self._target, self._limit = [], None, None, None
        self.shown()

    def summary(self) -> str:
        """One sentence: median and how many."""
        count = sum(1 for bar in self._bars if counts(bar) and bar.total_ms is not None)
        if self._median is None:
            return self.tr("Time to first token: no measured request yet.")
        words = self.tr("Time to first token: median {} ms over {} requests").format(
            format_number(self._median), count
        )
        if self._target is not None:
            met = self._median <= self._target
            more = self.tr("within the target of {} ms") if met else self.tr("over the target of {} ms")
            words += ", " + more.format(format_number(self._target))
        if self._limit is not None:
            words += ", " + self.tr("compute limit {} ms").format(format_number(self._limit))
        return words + "."

    # -- painting ----------------------------------------------------------------------------

    def _rows(self) -> tuple[list[tuple[int, FirstTokenBar]], float, int]:
        """(position, bar) of the bars shown, the pitch (px), and how many do not fit."""
        height = max(self.canvas.height() - TOP_PX - BOTTOM_PX - STRIP_PX, 1)
        fit = max(int(height / LEAST_PITCH_PX), 1)
        hidden = max(len(self._bars) - fit, 0)
        shown = self._bars[hidden:]
        return list(enumerate(shown)), min(height / max(len(shown), 1), 40.0), hidden

    def _label_px(self) -> float:
        longest = max((text_width(bar.label) for bar in self._bars), default=0.0)
        return min(max(longest + 10, LABEL_PX[0]), LABEL_PX[1])

    def _right_px(self) -> float:
        """Room at the right: half of the last label, whatever its length."""
        words = format_tick(self._axis or 0.0, self._axis or 1.0)
        return max(RIGHT_PX, text_width(words) / 2 + 4)

    def _frame(self) -> Frame:
        width, height = self.canvas.width(), self.canvas.height()
        left, right = self._label_px(), self._right_px()
        plot = QRectF(left, TOP_PX, max(width - left - right, 1), max(height - TOP_PX - BOTTOM_PX, 1))
        return Frame(plot, 0.0, self._axis or 1.0, 0.0, 1.0)

    def _paint(self, painter: QPainter) -> None:
        frame, palette = self._frame(), self.palette_now
        plot = frame.plot
        ticks: list[tuple[float, str]] = []
        if self._axis:
            count = max(int(plot.width() // 62), 2)
            step = round_step(self._axis, count)
            values = round_ticks(0, self._axis, count)
            if values[-1] < self._axis * (1 - 1e-9):
                values = [value for value in values if self._axis - value > 0.6 * step] + [self._axis]
            ticks = [(value, format_tick(value, step)) for value in values]
        painter.setPen(QPen(palette.color("grid"), 1))
        painter.drawLines(
            [
                QLineF(x, plot.top(), x, plot.bottom())
                for x in (round(frame.x_px(value)) + 0.5 for value, _ in ticks[1:])
            ]
        )
        rows, pitch, hidden = self._rows()
        notes = Notes(QRectF(plot.left(), 0, plot.width() + self._right_px(), plot.bottom()))
        self._paint_marked(painter, frame, pitch, hidden, len(rows))
        for position, bar in rows:
            self._paint_row(painter, frame, notes, position, bar, pitch, len(rows))
        draw_bottom_axis(painter, frame, ticks, palette, self.tr("Time to first token (ms)"))
        self._paint_median(painter, frame, notes, rows, pitch)
        if self._limit is not None and self._axis:
            paint_limit(painter, frame, palette, notes, self._limit)
        if self._target is not None and self._axis:
            paint_target(painter, frame, palette, notes, self._target)
        if hidden:
            words = (Run(self.tr("latest {} of {}").format(len(rows), len(self._bars)), "muted"),)
            ends = [Spot(plot.left() + 4, y) for y in (plot.bottom() - 5, plot.bottom() - 21)]
            notes.put([words], [*ends, Spot(plot.right(), plot.bottom() - 5, right=True)])
        # After all lines, which would run through a shorter bar's value.
        notes.paint(painter, palette)

    def _paint_row(
        self,
        painter: QPainter,
        frame: Frame,
        notes: Notes,
        position: int,
        bar: FirstTokenBar,
        pitch: float,
        count: int,
    ) -> None:
        """Label and bar; its value as a note behind it."""
        palette, plot = self.palette_now, frame.plot
        roomy = pitch >= ROOMY_PITCH_PX
        middle = plot.top() + (position + 0.5) * pitch
        last = position == count - 1
        if roomy or _labelled(position, pitch, count):
            room = plot.left() - 6
            painter.setFont(font(11))
            label = painter.fontMetrics().elidedText(bar.label, Qt.TextElideMode.ElideMiddle, int(room))
            rect = QRectF(0, middle - 8, room, 16)
            draw_words(painter, rect, label, palette.color("secondary"), Qt.AlignmentFlag.AlignRight)
        height = min(16.0, pitch * 0.64) if roomy else max(pitch - 1.0, 2.0)
        if pitch > 30:
            height = min(pitch * 0.55, 24.0)
        rect = QRectF(plot.left(), round(middle - height / 2), 0, round(height))
        length = bar.total_ms if bar.total_ms is not None else length_ms(bar)
        words: list[Run] = []
        end = plot.left()
        if length > 0:
            end = self._paint_bar(painter, frame, rect, bar, length)
        if bar.status == "waiting":
            words = [Run(self.tr("waiting"), "muted")]
        elif bar.status == "failed":
            words = [Run(self.tr("✕ failed"), "bad", 600)]
        elif bar.total_ms is None:
            words = [Run(self.tr("running"), "accent", 500)]
        else:
            weight = 400 if bar.warmup and not bar.cold else 600
            role = "secondary" if bar.warmup and not bar.cold else "text"
            words = [Run(f"{format_number(bar.total_ms)} ms", role, weight)]
        if not roomy and not (last and bar.total_ms is not None and pitch > 6):
            return
        x = min(end + 5, plot.right() + self._right_px() - 4 - runs_width(words))
        notes.put([tuple(words)], [Spot(x, middle + 4)])

    def _paint_bar(
        self, painter: QPainter, frame: Frame, rect: QRectF, bar: FirstTokenBar, length: float
    ) -> float:
        """The stacked spans; returns the right end, px."""
        palette, plot = self.palette_now, frame.plot
        cut = length > frame.x_high
        right = plot.left() + BREAK_AT * plot.width() if cut else frame.x_px(length)
        right = max(right, plot.left() + 1)
        spans = list(bar.spans) or [("", length)]
        rest = length - sum(ms for _, ms in spans)
        if rest > 0.005 * length:
            spans.append(("", rest))
        ratio = painter.device().devicePixelRatioF()
        half = bar.warmup and not bar.cold
        left = plot.left()
        done = 0.0
        for number, (name, ms) in enumerate(spans):
            done += ms
            # A bar that is cut is not to scale: its spans then keep their shares.
            share = plot.left() + done / length * (right - plot.left())
            edge = right if number == len(spans) - 1 else share
            part = QRectF(left, rect.top(), max(edge - left, 0), rect.height())
            role = SPAN_ROLES.get(name, "data7")
            if bar.cold:
                painter.fillRect(part, palette.color(role, 50))
                painter.fillRect(part, hatch_brush(palette.color(role, 230), ratio))
                painter.setPen(QPen(palette.color(role), 1))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(part.adjusted(0.5, 0.5, -0.5, -0.5))
            else:
                painter.fillRect(part, palette.mix(role, 118 if half else 235))
            left = edge
        whole = QRectF(plot.left(), rect.top(), right - plot.left(), rect.height())
        if cut:
            self._paint_break(painter, right - 0.19 * whole.width(), rect)
        if bar.cold and rect.height() >= 10 and whole.width() > 90:
            word = self.tr("cold")
            width = text_width(word, 11, 600) + 8
            patch = QRectF(
                plot.left() + 0.36 * whole.width() - width / 2, rect.top() + 1, width, rect.height() - 2
            )
            painter.fillRect(patch, palette.color("surface"))
            draw_words(painter, patch, word, palette.color("text"), Qt.AlignmentFlag.AlignHCenter, weight=600)
        if bar.status in ("running", "failed") and rect.height() >= 6:
            painter.setPen(QPen(palette.color("text" if bar.status == "running" else "bad"), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(whole.adjusted(0.5, 0.5, -0.5, -0.5))
        return right

    def _paint_break(self, painter: QPainter, x: float, rect: QRectF) -> None:
        """Two slanted strokes: the bar is longer than the axis."""
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        top, bottom = rect.top() - 2, rect.bottom() + 2
        painter.setPen(QPen(self.palette_now.color("surface"), 5))
        painter.drawLine(QPointF(x - 2, bottom), QPointF(x + 3, top))
        painter.setPen(QPen(self.palette_now.color("text"), 1.2))
        for shift in (-3.0, 3.0):
            painter.drawLine(QPointF(x - 2 + shift, bottom), QPointF(x + 3 + shift, top))
        painter.restore()

    def _paint_median(
        self,
        painter: QPainter,
        frame: Frame,
        notes: Notes,
        rows: list[tuple[int, FirstTokenBar]],
        pitch: float,
    ) -> None:
        """The dotted line, and its words in the strip below the bars."""
        if self._median is None or self._median > frame.x_high:
            return
        first = next((position for position, bar in rows if counts(bar)), 0)
        plot = frame.plot
        x = round(frame.x_px(self._median)) + 0.5
        bottom = min(plot.top() + len(rows) * pitch + STRIP_PX - 4, plot.bottom() - 4)
        painter.setPen(QPen(self.palette_now.color("text"), 1, Qt.PenStyle.DotLine))
        painter.drawLine(QLineF(x, plot.top() + first * pitch, x, bottom))
        words = (Run(self.tr("median {} ms").format(format_number(self._median)), "secondary"),)
        notes.put([words], [Spot(x + 6, bottom - 1), Spot(x - 6, bottom - 1, right=True)])

    def _paint_marked(self, painter: QPainter, frame: Frame, pitch: float, hidden: int, count: int) -> None:
        """A tint and an outline round the row of the request under the cursor."""
        if self.crosshair is None or not hidden <= self.crosshair < hidden + count:
            return
        palette, plot = self.palette_now, frame.plot
        top = plot.top() + (self.crosshair - hidden) * pitch
        row = QRectF(0.5, round(top) + 0.5, self.canvas.width() - 1, max(round(pitch) - 1, 2))
        painter.fillRect(row, palette.color("text", 18))
        painter.setPen(QPen(palette.color("text"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(row)

    def row_at(self, at: QPointF) -> int | None:
        """Which bar (its place among all bars) is at a pixel."""
        rows, pitch, hidden = self._rows()
        position = int((at.y() - TOP_PX) // pitch) if pitch else -1
        return hidden + position if 0 <= position < len(rows) else None

    def _clicked(self, at: QPointF) -> None:
        row = self.row_at(at)
        if row is not None:
            self.chosen.emit(row)

    def _pointed(self, at: QPointF | None) -> None:
        """Hovering tells the row to the page, and what the bar is made of in the tool tip."""
        row = None if at is None or not self._bars else self.row_at(at)
        self.hovered.emit(row)
        if at is not None and self._bars:
            self.canvas.setToolTip("" if row is None else _tip(self._bars[row], self._limit))

    def table(self) -> TableData:
        """One row a request: time to first token, and its spans."""
        labels = tuple(bar.label for bar in self._bars)
        names = list(dict.fromkeys(name for bar in self._bars for name, _ in bar.spans))
        nan = float("nan")
        totals = [nan if bar.total_ms is None else bar.total_ms for bar in self._bars]
        columns = [
            Column(self.tr("Request"), np.arange(len(labels)), labels),
            Column(self.tr("Time to first token (ms)"), np.array(totals, float)),
        ]
        for name in names:
            values = [sum(ms for other, ms in bar.spans if other == name) for bar in self._bars]
            columns.append(Column(f"{name} (ms)", np.array(values, float)))
        return TableData(tuple(columns))


def _labelled(position: int, pitch: float, count: int) -> bool:
    """With thin rows only some have a label: the last, and every so many before it."""
    every = max(int(np.ceil(16 / pitch)), 1)
    if position == count - 1:
        return True
    return position % every == 0 and count - 1 - position >= every
