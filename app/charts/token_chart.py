"""What the charts over output tokens share: the window of tokens shown, the cursor, the range.

Charts (a) and (c) have the same axis: the page hands the view and the range of one to the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QLineF, QPointF, QRectF, Signal
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QMenu, QWidget

from app.charts.base import AXIS_LEFT_PX, AXIS_RIGHT_PX, ChartCard
from app.charts.canvas import PlotCanvas
from app.charts.frame import Frame, Run, draw_box, runs_width, text_width
from app.charts.notes import CHIP_PAD_PX, CHIP_PX, Notes, Spot, fitted_lines, place_readout
from app.charts.ticks import end_ticks, format_tick, window_ticks
from app.theme import Palette
from profiler.analysis.selection import TokenRange

MARGINS = (AXIS_LEFT_PX, 8, AXIS_RIGHT_PX, 38)
LEAST_TOKENS = 8.0
"""The closest view."""
FOLLOW_TOKENS = (128, 512, 2048)
GRIP_PX = (7.0, 18.0)

Span = tuple[float, float]


@dataclass(frozen=True)
class ChartTexts:
    """Title, question and description of a chart."""

    title: str
    question: str
    description: str


def zoomed(span: Span, at: float, factor: float, least: float) -> Span:
    """`span` shrunk (factor below 1) or widened about `at`, which stays where it is."""
    factor = max(factor, least / max(span[1] - span[0], 1e-12))
    return at - (at - span[0]) * factor, at + (span[1] - at) * factor


def kept_within(span: Span, low: float, high: float) -> Span | None:
    """`span` moved to lie within [low, high]; None where it is all of it."""
    width = span[1] - span[0]
    if width >= high - low:
        return None
    start = min(max(span[0], low), high - width)
    return start, start + width


def followed(live: int, tokens: int, x_max: int) -> Span:
    """The last `tokens` up to the live one, moved on in steps of an eighth, so that axes stay put."""
    step = max(tokens // 8, 1)
    high = min(max(math.ceil(live / step) * step, tokens), max(x_max, tokens))
    return float(high - tokens), float(high)


class TokenChart(ChartCard):
    """A chart whose x axis is the output token. Subclasses draw; this decides which tokens."""

    view_changed = Signal(object)
    """(low, high) tokens after a zoom, None for all of them."""
    range_dragged = Signal(object, bool)
    """A `TokenRange`, and whether the mouse let go of it."""
    follow_changed = Signal(object)
    """How many of the last tokens to show while live; None: all."""
    request_picked = Signal(object)
    """Label of the one request to show, None for all."""

    def __init__(
        self,
        texts: ChartTexts,
        ghost: Callable[[QPainter, QRectF, Palette], None],
        canvas: PlotCanvas,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(texts.title, texts.question, texts.description, ghost, canvas, parent)
        self._plot: PlotCanvas = canvas
        self._x_max = 1
        self._view: Span | None = None
        self._y_view: Span | None = None
        self._follow: int | None = None
        self._range: TokenRange | None = None
        self.cursor_label: str | None = None
        self._dragged_from: float | None = None
        self._frozen = False
        self.request_labels: tuple[str, ...] = ()
        """Requests that the menu offers to show alone."""
        self.request_shown: str | None = None
        gestures = canvas.gestures
        gestures.active = True
        gestures.clicked.connect(self._clicked)
        gestures.dragged.connect(self._dragged)
        gestures.panned.connect(self._panned)
        gestures.zoomed.connect(self._zoomed)
        gestures.reset_asked.connect(self.reset_view)
        canvas.pointed.connect(self._pointed)

    # -- the window of tokens ------------------------------------------------------------------

    @property
    def view(self) -> Span | None:
        """The tokens zoomed to; None: all."""
        return self._view

    def set_view(self, view: Span | None) -> None:
        """Show these tokens (None: all). Does not send `view_changed`."""
        if view != self._view:
            self._view = view
            self.view_moved()

    def set_follow(self, tokens: int | None) -> None:
        """While a request is live show its last `tokens`; None: everything."""
        if tokens != self._follow:
            self._follow = tokens
            self.view_moved()

    @property
    def x_span(self) -> Span:
        """The tokens on the axis now."""
        if self._view is not None:
            return self._view
        live = self.live_token()
        if self._follow is not None and live is not None and self._x_max > self._follow:
            return followed(live, self._follow, self._x_max)
        return 0.0, float(self._x_max)

    def reset_view(self) -> None:
        """Everything again, both axes."""
        had_view, had_y = self._view is not None, self._y_view is not None
        self._view = self._y_view = None
        if had_view:
            self.view_changed.emit(None)
        if had_view or had_y:
            self.view_moved()

    def _zoomed(self, at: QPointF, factor: float, vertical: bool) -> None:
        frame = self._plot.frame()
        if vertical:
            self._zoom_y(frame, frame.y_value(at.y()), factor)
            return
        span = zoomed(self.x_span, frame.x_value(at.x()), factor, min(LEAST_TOKENS, self._x_max))
        self._show(kept_within(span, 0.0, float(self._x_max)))

    def _zoom_y(self, frame: Frame, at: float, factor: float) -> None:
        low, high = frame.y_low, frame.y_high
        if frame.log_y:
            logs = zoomed((math.log(low), math.log(high)), math.log(max(at, 1e-9)), factor, 0.01)
            self._y_view = math.exp(logs[0]), math.exp(logs[1])
        else:
            low, high = zoomed((low, high), at, factor, 1e-4 * max(abs(high), 1e-6))
            self._y_view = max(low, 0.0), high
        self.view_moved()

    def _panned(self, step: QPointF) -> None:
        frame = self._plot.frame()
        low, high = self.x_span
        shift = -step.x() * (high - low) / max(frame.plot.width(), 1.0)
        self._show(kept_within((low + shift, high + shift), 0.0, float(self._x_max)))
        if self._y_view is not None and not frame.log_y:
            lift = step.y() * (frame.y_high - frame.y_low) / max(frame.plot.height(), 1.0)
            lift = max(lift, -self._y_view[0])
            self._y_view = self._y_view[0] + lift, self._y_view[1] + lift
            self.view_moved()

    def _show(self, view: Span | None) -> None:
        if view != self._view:
            self.set_view(view)
            self.view_changed.emit(view)

    # -- cursor and range ----------------------------------------------------------------------

    def set_cursor(self, token: int | None, label: str | None = None) -> None:
        """Mark a token; the readout speaks of the request with that label (None: the one in front)."""
        if (token, label) != (self.crosshair, self.cursor_label):
            self.crosshair, self.cursor_label = token, label
            self.redraw()

    def set_range(self, tokens: TokenRange | None) -> None:
        """Mark a range of tokens; None: none. Does not send `range_dragged`."""
        if tokens != self._range:
            self._range = tokens
            self.redraw()

    def set_frozen(self, frozen: bool) -> None:
        """Say that the view stands still while the run goes on."""
        if frozen != self._frozen:
            self._frozen = frozen
            self.redraw()

    def _pointed(self, x: float | None) -> None:
        self.hovered.emit(None if x is None else round(x))

    def _clicked(self, at: QPointF) -> None:
        frame = self._plot.frame()
        if frame.plot.contains(at):
            self.chosen.emit(round(frame.x_value(at.x())))

    def _dragged(self, start: QPointF, end: QPointF, done: bool) -> None:
        frame = self._plot.frame()
        one, other = frame.x_value(start.x()), frame.x_value(end.x())
        grip = self._grip_at(frame, start.x())
        if grip is not None and self._dragged_from is None:
            # A grip was taken: the other end stays.
            self._dragged_from = grip
        elif self._dragged_from is None:
            self._dragged_from = one
        low, high = self.x_span
        other = min(max(other, low), high)
        self.set_range(TokenRange.between(self._dragged_from, other, self._x_max))
        self.range_dragged.emit(self._range, done)
        if done:
            self._dragged_from = None

    def _grip_at(self, frame: Frame, x: float) -> float | None:
        """The end of the range that stays when a drag begins at pixel `x`; None off the grips."""
        if self._range is None:
            return None
        for near, other in (
            (self._range.first, self._range.last),
            (self._range.last, self._range.first),
        ):
            if abs(frame.x_px(near) - x) <= GRIP_PX[0]:
                return float(other)
        return None

    # -- for subclasses ------------------------------------------------------------------------

    def view_moved(self) -> None:
        """Draw for another window of tokens or another y range, with the data there is."""
        raise NotImplementedError

    def live_token(self) -> int | None:
        """The newest token of the request that is running; None when none is."""
        raise NotImplementedError

    def extend_menu(self, menu: QMenu) -> None:
        menu.addSeparator()
        self._extend_requests(menu)
        follow = menu.addMenu(self.tr("While running show"))
        choices = [(self.tr("everything"), None)]
        choices += [(self.tr("the last {} tokens").format(f"{n:,}"), n) for n in FOLLOW_TOKENS]
        for words, tokens in choices:
            action = self.add_check(words, tokens == self._follow, follow)
            action.triggered.connect(lambda _=False, n=tokens: self._choose_follow(n))
        reset = menu.addAction(self.tr("Reset zoom") + "\tHome")
        reset.setEnabled(self._view is not None or self._y_view is not None)
        reset.triggered.connect(self.reset_view)

    def _extend_requests(self, menu: QMenu) -> None:
        if len(self.request_labels) < 2:
            return
        requests = menu.addMenu(self.tr("Requests"))
        for label in (None, *self.request_labels):
            words = self.tr("All requests") if label is None else label
            action = self.add_check(words, label == self.request_shown, requests)
            action.triggered.connect(lambda _=False, label=label: self.request_picked.emit(label))

    def _choose_follow(self, tokens: int | None) -> None:
        self.set_follow(tokens)
        self.follow_changed.emit(tokens)

    def x_ticks(self, width: float) -> list[tuple[float, str]]:
        """Ticks of the token axis with their words."""
        low, high = self.x_span
        pitch = max(text_width(format_tick(high, 1)) + 16, 42)
        count = max(min(int(width // pitch), 8), 2)
        if (low, high) == (0.0, float(self._x_max)):
            ticks = end_ticks(self._x_max, count, binary=True)
        else:
            ticks = window_ticks(low, high, count)
        return [(tick, format_tick(tick, 1)) for tick in ticks]

    def paint_range(self, painter: QPainter, frame: Frame) -> None:
        """The selected range below the marks: a band, two edges, its numbers at the foot."""
        if self._range is None:
            return
        palette, plot = self.palette_now, frame.plot
        ends = frame.x_px(self._range.first), frame.x_px(self._range.last)
        left, right = max(ends[0], plot.left()), min(ends[1], plot.right())
        if right < plot.left() or left > plot.right():
            return
        painter.fillRect(
            QRectF(left, plot.top(), max(right - left, 1), plot.height()), palette.color("accent", 30)
        )
        painter.setPen(QPen(palette.color("accent"), 1))
        inside = [round(x) + 0.5 for x in ends if plot.left() <= x <= plot.right()]
        painter.drawLines([QLineF(x, plot.top(), x, plot.bottom()) for x in inside])
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(palette.color("accent_tint"))
        middle = grip_middle(frame)
        for x in inside:
            grip = QRectF(x - GRIP_PX[0] / 2, middle - GRIP_PX[1] / 2, *GRIP_PX)
            painter.drawRoundedRect(grip, 3, 3)
            for shift in (-1.0, 1.0):
                painter.drawLine(QLineF(x + shift, middle - 4, x + shift, middle + 4))
        painter.restore()

    def put_chip(self, notes: Notes, frame: Frame) -> None:
        """The numbers of the range at the foot of the plot: the first to choose their place."""
        if self._range is None:
            return
        plot = frame.plot
        left, right = frame.x_px(self._range.first), frame.x_px(self._range.last)
        if right < plot.left() or left > plot.right():
            return
        words = (Run(range_words(self._range), "accent", 600),)
        half = runs_width(words) / 2 + CHIP_PAD_PX + 1
        middle = (max(left, plot.left()) + min(right, plot.right())) / 2
        x = min(max(middle, plot.left() + half), plot.right() - half)
        notes.put([words], [Spot(x, plot.bottom() - 17, middle=True)], "chip")

    def put_frozen(self, notes: Notes, frame: Frame) -> None:
        """That the view stands still, at the head of the plot."""
        if not self._frozen:
            return
        full = (Run(self.tr("❚❚ frozen, Space goes on"), "accent", 600),)
        short = (Run(self.tr("❚❚ frozen"), "accent", 600),)
        notes.put([full, short], [Spot(frame.plot.center().x(), frame.plot.top() + 2, middle=True)], "chip")

    def paint_notes(
        self, painter: QPainter, notes: Notes, frame: Frame, x: float | None, lines: Sequence[Sequence[Run]]
    ) -> None:
        """All words over the plot, and the readout of the line at `x` (None: there is none)."""
        if x is None:
            notes.paint(painter, self.palette_now)
            return
        lines = fitted_lines(lines, frame.plot)
        readout = place_readout(notes, frame.plot, x, lines)
        notes.paint(painter, self.palette_now, readout)
        draw_box(painter, readout.left(), readout.top(), lines, self.palette_now)

    def token_words(self, token: int, label: str) -> list[Run]:
        """`Token 148 · Repeat 3`: of whom the readout speaks."""
        words = [Run(self.tr("Token {}").format(f"{token:,}"), "text", 600)]
        if label and len(self.request_labels) != 1:
            words.append(Run(f" · {label}", "secondary"))
        return words


def grip_middle(frame: Frame) -> float:
    """How high the middle of a range's grips lies, px."""
    # In a low plot higher up: the numbers of the range are at the foot.
    low = frame.plot.bottom() - 1 - CHIP_PX - GRIP_PX[1] / 2 - 2
    return min(frame.plot.center().y() + 0.2 * frame.plot.height(), low)


def range_words(tokens: TokenRange) -> str:
    """`tokens 120–260`."""
    words = QCoreApplication.translate("TokenChart", "tokens {0}–{1}")
    return words.format(f"{tokens.first:,}", f"{tokens.last:,}")
