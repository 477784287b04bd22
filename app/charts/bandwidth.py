"""Memory bandwidth: what the model must read each step, beside what the GPU reports."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QCoreApplication, QLineF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.charts.bandwidth_marks import (
    BandwidthSeries,
    BusyWindow,
    explanation,
    legend_items,
    paint_busy,
    paint_peak,
    speed_ticks,
)
from app.charts.base import AXIS_LEFT_PX, AXIS_RIGHT_PX
from app.charts.canvas import PlotCanvas
from app.charts.columns import BlockStats, keep_peaks
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
from app.charts.ghosts import bandwidth_ghost
from app.charts.notes import Notes, Spot
from app.charts.ticks import format_tick, round_step, round_ticks, stepped_ceiling
from app.charts.token_chart import MARGINS, ChartTexts, TokenChart, grip_middle
from app.theme import Palette
from app.widgets import ElidedLabel
from profiler.units import format_number

translate = QCoreApplication.translate

Floats = npt.NDArray[np.float64]

COLUMNS = 480
"""Most pixel columns a curve is worth: two points each."""
FINE_TOKENS = 30_000
"""With at most so many tokens in view their smooth line is worked out for the view alone."""


class BandwidthChart(TokenChart):
    """Answers: how hard does the memory work?"""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._raw = pg.PlotCurveItem(antialias=False)
        self._earlier = pg.PlotCurveItem(antialias=False)
        self._current = pg.PlotCurveItem(antialias=True)
        self._gpm_curve = pg.PlotCurveItem(antialias=False)
        canvas = PlotCanvas(MARGINS, self._paint_below, self._paint_above)
        for item in (self._raw, self._earlier, self._gpm_curve, self._current):
            canvas.addItem(item, ignoreBounds=True)
        texts = ChartTexts(
            translate("BandwidthChart", "Memory bandwidth"),
            translate("BandwidthChart", "How hard does the memory work?"),
            translate("BandwidthChart", "Bytes the model must read, next to what the GPU reports."),
        )
        super().__init__(texts, bandwidth_ghost, canvas, parent)
        self.explanation = ElidedLabel(role="muted")
        self.explanation.hide()
        self.body.addWidget(self.explanation)
        self._explanations = ("", "")
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
        self._told: tuple[Floats, float] | None = None
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
        selected: int | None = None,
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
        selected: whose line is strong; by default the live one's, else the last.
        """
        self._series = [entry for entry in series if len(entry.tokens)]
        known = [entry.label for entry in self._series]
        live = series[running_index].label if running_index is not None else None
        self._running = known.index(live) if live in known else None
        self._current_index = self._running if self._running is not None else len(self._series) - 1
        if selected is not None and series[selected].label in known:
            self._current_index = known.index(series[selected].label)
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
        self.set_legend(legend_items(reason, busy, busy_reason, gpm is not None, gpm_reason))
        self._explain(explanation(busy, busy_reason, busy_window_s))
        self._plot.renew_below((self.palette_now.name, self._x_max, self._reference))
        self.shown()

    def _explain(self, texts: tuple[str, str]) -> None:
        """Under the axis: the sentence, or the short one where it has no room."""
        self._explanations = texts
        margins = self.body.contentsMargins()
        room = self.width() - margins.left() - margins.right() - 2
        fits = self.explanation.fontMetrics().horizontalAdvance(texts[0]) <= room
        text = texts[0] if fits else texts[1]
        if self.explanation.text() != text:
            self.explanation.setText(text)
            self.explanation.set_tip(texts[0])
        self.explanation.setVisible(bool(text))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._explain(self._explanations)

    def clear(self) -> None:
        """No data; the axes stay."""
        self._smooth.clear()
        self._top = None
        self._view = self._y_view = None
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
        if self._told is None or self._told[0] is not entry.mbu_pct:
            self._told = (entry.mbu_pct, float(np.median(entry.mbu_pct)))
        median = format_number(self._told[1])
        words = self.tr("Memory bandwidth: median {} % of {}").format(median, what)
        if self._gpm is not None:
            counted = format_number(float(np.nanmedian(self._gpm[1])))
            words += ", " + self.tr("the GPU's own counter {} %").format(counted)
        return words + "."

    # -- what is computed once a refresh ------------------------------------------------------

    def live_token(self) -> int | None:
        return None if self._running is None else int(self._series[self._running].tokens[-1])

    def view_moved(self) -> None:
        self._fill()
        self._plot.renew_below((self.palette_now.name, self._x_max, self._reference))
        self.redraw()

    def apply_layers(self) -> None:
        for item in (self._raw, self._earlier, self._current):
            item.setVisible(self.layer_shown("model"))
        self._gpm_curve.setVisible(self.layer_shown("gpm"))

    def _fill(self) -> None:
        lines = []
        tops = [window.pct for window in self._busy]
        span = self.x_span
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
            part = _part(entry.tokens, span)
            self._raw.setData(*keep_peaks(entry.tokens[part], entry.mbu_pct[part], COLUMNS))
            fine = self._fine_line(entry, span)
            self._current.setData(*(fine or lines[self._current_index]), connect="finite")
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
            part = _part(self._gpm[0], span)
            self._gpm_curve.setData(
                *keep_peaks(self._gpm[0][part], self._gpm[1][part], COLUMNS), connect="finite"
            )
            tops.append(float(np.nanmax(self._gpm[1])))
        else:
            self._gpm_curve.setData([], [])
        if self._peak and self._reference:
            tops.append(100 * self._peak / self._reference)
        if tops:
            self._top = stepped_ceiling(1.12 * max(tops), self._top, fill=0.45)
        self._plot.set_ranges(span, self._y_view or (0, self._top or 100.0))

    def _fine_line(self, entry: BandwidthSeries, span: tuple[float, float]) -> tuple[Floats, Floats] | None:
        """The smooth line of a zoomed view; None where the one of the whole run will do."""
        width = span[1] - span[0]
        if not 0 < width <= min(0.7 * self._x_max, FINE_TOKENS):
            return None
        margin = width * (BlockStats.HALF_WINDOW + 1) / 96
        part = _part(entry.tokens, (span[0] - margin, span[1] + margin))
        tokens = entry.tokens[part]
        if not len(tokens):
            return None
        fine = BlockStats(first_token=int(tokens[0]))
        fine.update([entry.label], [entry.mbu_pct[part]], len(tokens))
        return fine.tokens, fine.p50

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
        if self._y_view is not None:
            step = round_step(top - frame.y_low, count)
            ticks = round_ticks(frame.y_low, top, count)
        else:
            ticks = [tick for tick in round_ticks(0, top, count) if top - tick > 0.4 * step]
            ticks.append(top)
        draw_grid(painter, frame, [tick for tick in ticks if tick > frame.y_low], palette)
        words = [(tick, format_tick(tick, step)) for tick in ticks]
        draw_side_axis(painter, frame, words, palette, self.tr("Bandwidth use (%)"), width=AXIS_LEFT_PX)
        if self._reference:
            right = speed_ticks(ticks, self._reference, top, count)
            right = [entry for entry in right if frame.y_low <= entry[0] <= frame.y_high * (1 + 1e-9)]
            draw_side_axis(painter, frame, right, palette, "GB/s", right=True, width=AXIS_RIGHT_PX)
        x_ticks = self.x_ticks(frame.plot.width())
        draw_bottom_axis(painter, frame, x_ticks, palette, self.tr("Output token"))

    def _paint_above(self, painter: QPainter) -> None:
        frame, palette = self._plot.frame(), self.palette_now
        plot = frame.plot
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        self.paint_range(painter, frame)
        if self.layer_shown("busy"):
            paint_busy(painter, frame, palette, self._busy)
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
        live = self.live_token()
        if live is not None and frame.x_low <= live <= frame.x_high:
            x = round(frame.x_px(float(live))) + 0.5
            painter.setPen(QPen(palette.color("accent"), 1))
            painter.drawLine(QLineF(x, plot.top(), x, plot.bottom()))
        notes = Notes(plot)
        self.put_chip(notes, frame)
        if self._peak and self._reference:
            paint_peak(painter, frame, palette, notes, self._peak, 100 * self._peak / self._reference)
        if self._reference:
            source = f", {self._source}" if self._source else ""
            text = f"100 % = {format_number(self._reference)} GB/s"
            heights = self._heights_px(frame)
            # At the foot, else at the head, else wherever no line runs.
            rows = [plot.bottom() - 8, plot.top() + 14, *np.arange(plot.bottom() - 25, plot.top() + 14, -4)]
            rows.sort(key=lambda y: sum(y - 13 < height < y + 5 for height in heights))
            spots = [Spot(plot.right() - 4, y, right=True) for y in rows]
            notes.put([(Run(text + source, "secondary"),), (Run(text, "secondary"),)], spots)
        at_px, lines = self._paint_crosshair(painter, frame)
        self.paint_notes(painter, notes, frame, at_px, lines)

    def _heights_px(self, frame: Frame) -> list[float]:
        """How high the lines run in the right half of the plot, px: where words would lie on them."""
        low, high = self.x_span
        middle = (low + high) / 2
        heights = [entry.pct for entry in self._busy if entry.inside and entry.token_to > middle]
        for curve in (self._current, self._earlier, self._gpm_curve):
            x, y = curve.getData()
            if x is not None and len(x):
                tail = y[(x > middle) & (x <= high) & np.isfinite(y)]
                heights += np.quantile(tail, (0.02, 0.5, 0.98)).tolist() if len(tail) else []
        places = [frame.y_px(height) for height in heights]
        grips = [] if self._range is None else [grip_middle(frame) + shift for shift in (-9, 0, 9)]
        return places + grips

    def _paint_crosshair(self, painter: QPainter, frame: Frame) -> tuple[float | None, list[list[Run]]]:
        """The line at the cursor; returns its pixel (None: there is none) and what the readout says."""
        at = self.crosshair
        if at is None or not frame.x_low <= at <= frame.x_high:
            return None, []
        palette, plot = self.palette_now, frame.plot
        spoken = self._spoken_of()
        label = "" if spoken is None else spoken.label
        lines = [self.token_words(round(at), label)]
        window = None
        if self.layer_shown("busy"):
            window = next((entry for entry in self._busy if entry.token_from <= at < entry.token_to), None)
        if window is not None:
            left = max(frame.x_px(window.token_from), plot.left())
            right = min(frame.x_px(window.token_to), plot.right())
            shade = QRectF(left, plot.top(), right - left, plot.height())
            painter.fillRect(shade, palette.color("data2", 40))
        if spoken is not None:
            entry = spoken
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
        return x, lines

    def _spoken_of(self) -> BandwidthSeries | None:
        """Whose values the readout tells."""
        for entry in self._series:
            if entry.label == self.cursor_label:
                return entry
        return self._series[self._current_index] if self._series else None

    def _gpm_line(self, at: float) -> list[list[Run]]:
        """The counter's reading nearest to a token; no line before the first and after the last."""
        if self._gpm is None or not self._gpm[0][0] <= at <= self._gpm[0][-1]:
            return []
        value = float(self._gpm[1][int(np.argmin(np.abs(self._gpm[0] - at)))])
        line = [Run(self.tr("GPM {} %").format(format_number(value)), "text")]
        if self._reference:
            line.append(Run(f"  {format_number(value * self._reference / 100)} GB/s", "secondary"))
        return [line]

    def table(self) -> TableData:
        """Every model-based value: request, token, per cent, GB/s where the reference is known."""
        lengths = [len(entry.tokens) for entry in self._series]
        empty = np.empty(0)
        tokens = np.concatenate([entry.tokens for entry in self._series]) if self._series else empty
        share = np.concatenate([entry.mbu_pct for entry in self._series]) if self._series else empty
        columns = [
            labelled([entry.label for entry in self._series], lengths, self.tr("Request")),
            Column(self.tr("Token"), tokens, digits=None),
            Column(self.tr("Bandwidth use, model-based (%)"), share),
        ]
        if self._reference:
            columns.append(Column(self.tr("Bandwidth (GB/s)"), share * self._reference / 100))
        return TableData(tuple(columns))


def _part(tokens: Floats, span: tuple[float, float]) -> slice:
    """Where the tokens of a span lie; one more on either side, so that lines reach the edge."""
    first = int(np.searchsorted(tokens, math.floor(span[0])))
    last = int(np.searchsorted(tokens, math.ceil(span[1]), side="right"))
    return slice(max(first - 1, 0), last + 1)
