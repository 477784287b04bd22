"""One value over the output, a line a session: rolling median, band, and a readout of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QCoreApplication, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget

from app.charts.base import AXIS_LEFT_PX, Command
from app.charts.canvas import PlotCanvas
from app.charts.compare_base import SessionChart, draw_end_letters, legend_items, lines_ghost, session_pen
from app.charts.compare_style import STYLES, LineSeries
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
)
from app.charts.items import BandItem
from app.charts.notes import Notes, fitted_lines, place_readout
from app.charts.ticks import end_ticks, format_tick, round_step, round_ticks
from app.theme import Palette
from profiler.units import MINUS, format_number

translate = QCoreApplication.translate

MARGINS = (AXIS_LEFT_PX, 8, 25, 38)
BAND_ALPHA = {True: 40, False: 34}


@dataclass(frozen=True)
class LineSubject:
    """What a chart of lines is about. `zero_based`: the axis begins at 0."""

    title: str
    axis: str
    unit: str
    zero_based: bool = False


def latency_subject() -> LineSubject:
    """Gaps between tokens."""
    return LineSubject(
        translate("CompareLinesChart", "Inter-token latency"),
        translate("CompareLinesChart", "ITL (ms)"),
        "ms",
    )


def bandwidth_subject() -> LineSubject:
    """Share of the memory's bandwidth that each step used."""
    return LineSubject(
        translate("CompareLinesChart", "Memory bandwidth"),
        translate("CompareLinesChart", "MBU (%)"),
        "%",
        zero_based=True,
    )


class CompareLinesChart(SessionChart):
    """Answers: where in the output do they differ?"""

    def __init__(self, subject: LineSubject, parent: QWidget | None = None) -> None:
        canvas = PlotCanvas(MARGINS, self._paint_below, self._paint_above)
        self._bands = {letter: BandItem() for letter in STYLES}
        self._curves = {letter: pg.PlotCurveItem(antialias=True) for letter in STYLES}
        for item in (*self._bands.values(), *self._curves.values()):
            canvas.addItem(item, ignoreBounds=True)
        self._subject = subject
        super().__init__(
            subject.title,
            translate("CompareLinesChart", "Where in the output do they differ?"),
            translate(
                "CompareLinesChart", "The rolling median of each session over its repeats, with its spread."
            ),
            lines_ghost,
            canvas,
            parent,
        )
        canvas.pointed.connect(self._pointed)
        self.stepped.connect(self.move_crosshair)
        self.commanded.connect(self._commanded)
        self._plot: PlotCanvas = canvas
        self._series: list[LineSeries] = []
        self._names: dict[str, str] = {}
        self._baseline = ""
        self._time = False
        self._x_high = 1.0
        self._y: tuple[float, float] | None = None
        self._nothing = ""
        self.apply_palette(self.palette_now)

    # -- data ----------------------------------------------------------------------------

    def refresh(
        self,
        series: Sequence[LineSeries],
        baseline: str,
        names: dict[str, str],
        *,
        time: bool = False,
        nothing: str = "",
    ) -> None:
        """Show the sessions' lines; readouts are against `baseline` (a letter).

        `time`: x is seconds since the first token, not the output token. `nothing`: why there
        is no line at all.
        """
        self._series = list(series)
        self._names, self._baseline, self._time = dict(names), baseline, time
        self._nothing = nothing or self.tr("nothing to show yet")
        longest = max((float(entry.x[-1]) + entry.half_step for entry in series if len(entry.x)), default=1.0)
        self._x_high = longest if time else float(round(longest))
        self._choose_range()
        shown = {entry.letter: entry for entry in series}
        empty = np.empty(0)
        for letter in STYLES:
            entry = shown.get(letter)
            if entry is None:
                self._curves[letter].setData([], [])
                self._bands[letter].setData(empty, empty, empty)
            else:
                self._curves[letter].setData(entry.x, entry.p50)
                self._bands[letter].setData(entry.x, entry.p10, entry.p90)
        self.set_legend(legend_items([entry.letter for entry in series], names))
        self._renew()
        self.shown()

    def clear(self) -> None:
        """No session; the axes stay."""
        self.refresh([], "", {})

    def summary(self) -> str:
        """One sentence: the median of each session's line."""
        if not self._series:
            return f"{self._subject.title}: {self._nothing}"
        words = [
            f"{entry.letter} {format_number(float(np.median(entry.p50)), 4)} {self._subject.unit}"
            for entry in self._series
        ]
        return self.tr("{0}, middle of each line: {1}.").format(self._subject.title, ", ".join(words))

    def readout(self, x: float) -> list[tuple[str, float, float | None]]:
        """At `x`: letter, median, and per cent against the baseline (None for itself or without)."""
        values = [(e.letter, e.at(x)) for e in self._series if self.layer_shown(e.letter)]
        base = next((e.at(x) for e in self._series if e.letter == self._baseline), None)
        return [
            (
                letter,
                value,
                None if letter == self._baseline or not base else 100 * (value / base - 1),
            )
            for letter, value in values
            if value is not None
        ]

    def _choose_range(self) -> None:
        if not self._series:
            self._y = None
            self._plot.set_ranges((0, 1), (0, 1))
            return
        # A stall in one repeat must not flatten the lines: bands may leave the plot, medians not.
        low = min(min(float(np.quantile(e.p10, 0.05)), float(e.p50.min())) for e in self._series)
        high = max(max(float(np.quantile(e.p90, 0.95)), float(e.p50.max())) for e in self._series)
        if self._subject.zero_based:
            low = 0.0
        least = max(0.04 * abs(high), 1e-6)
        if high - low < least:
            middle = (high + low) / 2
            low, high = middle - least / 2, middle + least / 2
        span = high - low
        bottom = low if self._subject.zero_based else max(low - 0.12 * span, 0.0)
        step = round_step(span * 1.3, 8)
        self._y = (np.floor(bottom / step) * step, np.ceil((high + 0.15 * span) / step) * step)
        self._plot.set_ranges((0, self._x_high), self._y)

    # -- painting ------------------------------------------------------------------------

    def _renew(self) -> None:
        self._plot.renew_below((self.palette_now.name, self._time, self._y, self._x_high))

    def apply_palette(self, palette: Palette) -> None:
        self._renew()
        for letter, style in STYLES.items():
            self._curves[letter].setPen(session_pen(letter, palette))
            self._bands[letter].set_color(palette.color(style.role, BAND_ALPHA[palette.dark]))

    def _paint_below(self, painter: QPainter) -> None:
        frame, palette = self._plot.frame(), self.palette_now
        if self._y is not None:
            count = min(max(int(frame.plot.height() // 26), 2), 8)
            step = round_step(frame.y_high - frame.y_low, count)
            ticks = round_ticks(frame.y_low, frame.y_high, count)
            draw_grid(painter, frame, ticks, palette)
            words = [(tick, format_tick(tick, step)) for tick in ticks]
            draw_side_axis(painter, frame, words, palette, self._subject.axis, width=AXIS_LEFT_PX)
        x_count = max(min(int(frame.plot.width() // 52), 8), 2)
        ends = end_ticks(self._x_high, x_count, binary=not self._time)
        x_step = ends[1] - ends[0] if len(ends) > 1 else 1.0
        words = [(tick, self._x_words(tick, x_step)) for tick in ends]
        title = self.tr("Time since the first token (s)") if self._time else self.tr("Output token")
        draw_bottom_axis(painter, frame, words, palette, title)

    def _x_words(self, tick: float, step: float) -> str:
        return format_tick(tick, 1) if not self._time else format_tick(round(tick, 2), min(step, 0.1))

    def _paint_above(self, painter: QPainter) -> None:
        frame, palette = self._plot.frame(), self.palette_now
        if self._y is None:
            draw_words(
                painter, frame.plot, self._nothing, palette.color("muted"), Qt.AlignmentFlag.AlignHCenter
            )
            return
        ends = [
            (e.letter, float(e.x[-1]), float(e.p50[-1]))
            for e in self._series
            if len(e.x) and self.layer_shown(e.letter)
        ]
        draw_end_letters(painter, frame, ends, palette)
        self._paint_crosshair(painter, frame)

    def _paint_crosshair(self, painter: QPainter, frame: Frame) -> None:
        at = self.crosshair
        if at is None or not frame.x_low <= at <= frame.x_high:
            return
        palette, plot = self.palette_now, frame.plot
        x = frame.x_px(at)
        draw_dashed_v(painter, x, plot.top(), plot.bottom(), palette.color("text"))
        head = (
            self.tr("{0} s").format(format_number(at))
            if self._time
            else self.tr("Token {0}").format(f"{round(at):,}")
        )
        lines = [[Run(head, "text", 600)]]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for letter, value, percent in self.readout(at):
            role = STYLES[letter].role
            if frame.y_low <= value <= frame.y_high:
                painter.setPen(QPen(palette.color("surface"), 1))
                painter.setBrush(palette.color(role))
                painter.drawEllipse(QPointF(x, frame.y_px(value)), 3.5, 3.5)
            line = [
                Run(f"{letter}  ", palette.text_role(role), 600),
                Run(f"{format_number(value, 4)} {self._subject.unit}", "text"),
            ]
            if percent is not None:
                line.append(Run(f"  {signed(percent, 1)} %", "secondary"))
            lines.append(line)
        lines = fitted_lines(lines, plot)
        notes = Notes(plot)
        for _, value, _ in self.readout(at):
            # The readout lies where it hides fewer lines.
            notes.take(QRectF(plot.left(), frame.y_px(value), plot.width(), 1))
        box = place_readout(notes, plot, x, lines)
        draw_box(painter, box.left(), box.top(), lines, palette)

    # -- keyboard, layers, table ---------------------------------------------------------

    def move_crosshair(self, steps: int) -> None:
        """Move the mark by some output tokens (by hundredths of the axis over time)."""
        unit = self._x_high / 100 if self._time else 1.0
        middle = self._x_high / 2 if self._time else float(round(self._x_high / 2))
        at = middle if self.crosshair is None else self.crosshair + steps * unit
        self.hovered.emit(min(max(at, 0.0), self._x_high))

    def _commanded(self, command: Command) -> None:
        if command is Command.RELEASE:
            self.hovered.emit(None)

    def apply_layers(self) -> None:
        for letter in STYLES:
            self._curves[letter].setVisible(self.layer_shown(letter))
            self._bands[letter].setVisible(self.layer_shown(letter))

    def table(self) -> TableData:
        """Each session's lines, one below the other."""
        kept = [entry for entry in self._series if self.layer_shown(entry.letter)]
        x = self.tr("time (s)") if self._time else self.tr("output token")
        unit = self._subject.unit
        columns = [labelled([e.letter for e in kept], [len(e.x) for e in kept], self.tr("session"))]
        for heading, name in (
            (x, "x"),
            (f"p10 ({unit})", "p10"),
            (f"p50 ({unit})", "p50"),
            (f"p90 ({unit})", "p90"),
        ):
            parts = [getattr(entry, name) for entry in kept]
            columns.append(Column(heading, np.concatenate(parts) if parts else np.empty(0)))
        return TableData(tuple(columns))

    def _pointed(self, x: float | None) -> None:
        self.hovered.emit(None if x is None else (x if self._time else float(round(x))))


def signed(value: float, decimals: int) -> str:
    """`+2.4`, U+2212 for less, `0.0` for none."""
    text = f"{abs(value):,.{decimals}f}"
    if float(text.replace(",", "")) == 0:
        return text
    return f"{'+' if value > 0 else MINUS}{text}"
