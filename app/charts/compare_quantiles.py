"""By how much a session is later or earlier than the baseline, at every quantile of the gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QCoreApplication, QLineF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget

from app.charts.base import AXIS_LEFT_PX, Command
from app.charts.canvas import PlotCanvas
from app.charts.compare_base import SessionChart, draw_end_letters, legend_items, lines_ghost, session_pen
from app.charts.compare_lines import signed
from app.charts.compare_style import STYLES, QuantileSeries
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
from app.charts.ticks import format_tick, round_step, round_ticks
from app.theme import Palette

translate = QCoreApplication.translate

MARGINS = (AXIS_LEFT_PX, 8, 20, 38)
QUANTILE_TICKS = (0, 25, 50, 75, 90, 99)


class QuantileChart(SessionChart):
    """Answers: which tokens gained, which lost?"""

    def __init__(self, parent: QWidget | None = None) -> None:
        canvas = PlotCanvas(MARGINS, self._paint_below, self._paint_above)
        self._bands = {letter: BandItem() for letter in STYLES}
        self._curves = {letter: pg.PlotCurveItem(antialias=True) for letter in STYLES}
        for item in (*self._bands.values(), *self._curves.values()):
            canvas.addItem(item, ignoreBounds=True)
        super().__init__(
            translate("QuantileChart", "Difference by quantile"),
            translate("QuantileChart", "Which tokens gained, which lost?"),
            translate(
                "QuantileChart",
                "The difference to the baseline at every quantile of the gaps, with its 95 % band.",
            ),
            lines_ghost,
            canvas,
            parent,
        )
        canvas.pointed.connect(self.hovered)
        self.stepped.connect(self._step)
        self.commanded.connect(self._commanded)
        self._plot: PlotCanvas = canvas
        self._series: list[QuantileSeries] = []
        self._baseline = ""
        self._y: tuple[float, float] | None = None
        self._nothing = ""
        self.apply_palette(self.palette_now)

    def refresh(
        self, series: Sequence[QuantileSeries], baseline: str, names: dict[str, str], nothing: str = ""
    ) -> None:
        """Show the differences to `baseline` (a letter); `nothing`: why there is none."""
        self._series, self._baseline = list(series), baseline
        self._nothing = nothing or self.tr("add a second session to see the difference")
        self._choose_range()
        shown = {entry.letter: entry for entry in series}
        empty = np.empty(0)
        for letter in STYLES:
            entry = shown.get(letter)
            if entry is None:
                self._curves[letter].setData([], [])
                self._bands[letter].setData(empty, empty, empty)
            else:
                self._curves[letter].setData(100 * entry.q, entry.difference_ms)
                self._bands[letter].setData(100 * entry.q, entry.low_ms, entry.high_ms)
        self.set_legend(
            [
                replace(item, label=f"{item.label} − {baseline}", short=item.label)
                for item in legend_items(list(shown), names)
            ]
        )
        self._renew()
        self.shown()

    def clear(self) -> None:
        """No session; the axes stay."""
        self.refresh([], "", {})

    def summary(self) -> str:
        """One sentence: the difference at the median of each session."""
        if not self._series:
            return self.tr("Difference by quantile: {0}.").format(self._nothing)
        words = [
            f"{entry.letter} − {self._baseline} {signed(float(np.interp(0.5, entry.q, entry.difference_ms)), 3)} ms"
            for entry in self._series
        ]
        return self.tr("Difference at the median: {0}.").format(", ".join(words))

    def _step(self, steps: int) -> None:
        at = 50.0 if self.crosshair is None else self.crosshair + steps
        self.hovered.emit(min(max(at, 1.0), 99.0))

    def _commanded(self, command: Command) -> None:
        if command is Command.RELEASE:
            self.hovered.emit(None)

    def apply_layers(self) -> None:
        for letter in STYLES:
            self._curves[letter].setVisible(self.layer_shown(letter))
            self._bands[letter].setVisible(self.layer_shown(letter))

    def table(self) -> TableData:
        """Difference and band at each quantile, one session below the other."""
        kept = self._visible
        pairs = [f"{e.letter} − {self._baseline}" for e in kept]
        columns = [labelled(pairs, [len(e.q) for e in kept], self.tr("pair"))]
        for heading, name in (
            (self.tr("quantile"), "q"),
            (self.tr("difference (ms)"), "difference_ms"),
            (self.tr("95 % from (ms)"), "low_ms"),
            (self.tr("95 % to (ms)"), "high_ms"),
        ):
            parts = [getattr(entry, name) for entry in kept]
            columns.append(Column(heading, np.concatenate(parts) if parts else np.empty(0)))
        return TableData(tuple(columns))

    @property
    def _visible(self) -> list[QuantileSeries]:
        return [entry for entry in self._series if self.layer_shown(entry.letter)]

    def _choose_range(self) -> None:
        if not self._series:
            self._y = None
            self._plot.set_ranges((0, 100), (-1, 1))
            return
        bounds = [b[np.isfinite(b)] for e in self._series for b in (e.low_ms, e.high_ms, e.difference_ms)]
        pool = np.concatenate(bounds)
        low, high = (min(float(pool.min()), 0.0), max(float(pool.max()), 0.0)) if len(pool) else (-1.0, 1.0)
        span = max(high - low, 1e-6)
        step = round_step(1.2 * span, 6)
        self._y = (np.floor((low - 0.08 * span) / step) * step, np.ceil((high + 0.08 * span) / step) * step)
        self._plot.set_ranges((0, 100), self._y)

    # -- painting ------------------------------------------------------------------------

    def _renew(self) -> None:
        self._plot.renew_below((self.palette_now.name, self._y, self._baseline))

    def apply_palette(self, palette: Palette) -> None:
        self._renew()
        for letter, style in STYLES.items():
            self._curves[letter].setPen(session_pen(letter, palette))
            self._bands[letter].set_color(palette.color(style.role, 46 if palette.dark else 36))

    def _paint_below(self, painter: QPainter) -> None:
        frame, palette = self._plot.frame(), self.palette_now
        if self._y is not None:
            count = min(max(int(frame.plot.height() // 28), 2), 6)
            step = round_step(frame.y_high - frame.y_low, count)
            ticks = round_ticks(frame.y_low, frame.y_high, count)
            draw_grid(painter, frame, ticks, palette)
            words = [(tick, format_tick(tick, step)) for tick in ticks]
            title = self.tr("Later than {0} by (ms)").format(self._baseline)
            draw_side_axis(painter, frame, words, palette, title, width=AXIS_LEFT_PX)
            painter.setPen(QPen(palette.color("secondary"), 1))
            y = round(frame.y_px(0)) + 0.5
            painter.drawLine(QLineF(frame.plot.left(), y, frame.plot.right(), y))
        ticks_x = [(float(tick), str(tick)) for tick in QUANTILE_TICKS]
        draw_bottom_axis(painter, frame, ticks_x, palette, self.tr("Quantile of ITL (%)"))

    def _paint_above(self, painter: QPainter) -> None:
        frame, palette = self._plot.frame(), self.palette_now
        if self._y is None:
            draw_words(
                painter, frame.plot, self._nothing, palette.color("muted"), Qt.AlignmentFlag.AlignHCenter
            )
            return
        ends = [
            (e.letter, 100 * float(e.q[-1]), float(e.difference_ms[-1])) for e in self._visible if len(e.q)
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
        lines = [[Run(f"p{round(at)}", "text", 600)]]
        for entry in self._visible:
            role = palette.text_role(STYLES[entry.letter].role)
            value, low, high = (
                float(np.interp(at / 100, entry.q, values))
                for values in (entry.difference_ms, entry.low_ms, entry.high_ms)
            )
            lines.append(
                [
                    Run(f"{entry.letter} − {self._baseline}  ", role, 600),
                    Run(f"{signed(value, 2)} ms", "text"),
                    Run(f"  {signed(low, 2)} to {signed(high, 2)}", "secondary"),
                ]
            )
        lines = fitted_lines(lines, plot)
        box = place_readout(Notes(plot), plot, x, lines)
        draw_box(painter, box.left(), box.top(), lines, palette)
