"""Text as tokens, each in the colour of how late it came: drawn line by line, only what is seen.

No QTextDocument: it lays out paragraphs anew at each change, and 50,000 formatted runs take
seconds. Here appending costs the new tokens, scrolling the lines that come into view.
Thread: GUI.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from app.theme import DARK, Palette
from app.widgets.heat import STEPS, heat_levels
from app.widgets.token_keys import KEYS, token_by_key
from app.widgets.token_layout import Placed, TokenLayout
from app.widgets.token_look import Marks, TokenLook

MARGIN_PX = 2
FOCUS_PX = 2


class TokenText(QAbstractScrollArea):
    """Tokens are numbered from 1. Gap i of `gaps_ms` is the wait for token i + 2."""

    hovered = Signal(object)
    """Number of the token under the pointer; None when it left."""
    chosen = Signal(int)
    """A token was clicked, or reached by keyboard."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = DARK
        self._gaps_ms: npt.NDArray[np.float64] = np.empty(0)
        self._median_ms: float | None = None
        self._hover: int | None = None
        self._token: int | None = None
        self._range: tuple[int, int] | None = None
        self._live = False
        self._follow = True
        self._moving = False
        self._placeholder = ""
        self._look = TokenLook(DARK)
        self._layout = TokenLayout(self._measure)
        self.set_theme(DARK)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)

    def _measure(self, text: str) -> int:
        """Columns of text that is not ASCII."""
        return self._look.columns_of(text)

    # -- what is shown --------------------------------------------------------------------------

    @property
    def token_count(self) -> int:
        """Numbered tokens shown."""
        return self._layout.last_number

    @property
    def cell_count(self) -> int:
        """Pieces shown, with those that have no number."""
        return len(self._layout)

    @property
    def line_px(self) -> int:
        """Height of a line."""
        return self._look.line_px

    @property
    def token(self) -> int | None:
        """The marked token."""
        return self._token

    @property
    def range(self) -> tuple[int, int] | None:
        """The underlined tokens, both ends included."""
        return self._range

    @property
    def gaps_ms(self) -> npt.NDArray[np.float64]:
        """The gaps behind the colours."""
        return self._gaps_ms

    @property
    def median_ms(self) -> float | None:
        """What the gaps are held against."""
        return self._median_ms

    def piece(self, number: int) -> str:
        """A token's text as it came. IndexError when there is none such."""
        return self._layout.piece(number)

    def level(self, number: int) -> int:
        """Step 0..3 of a token's colour; the first token has no gap and thus 0."""
        if not 2 <= number <= len(self._gaps_ms) + 1:
            return 0
        return int(heat_levels(self._gaps_ms[number - 2 : number - 1], self._median_ms)[0])

    def set_placeholder(self, text: str) -> None:
        """What to say while there is nothing to show."""
        if text != self._placeholder:
            self._placeholder = text
            self.viewport().update()

    def clear(self) -> None:
        """Nothing is shown, nothing is marked; the end is followed."""
        self._layout.clear()
        self._gaps_ms, self._median_ms = np.empty(0), None
        self._hover = self._token = self._range = None
        self._follow = True
        self._update_bar()
        self.viewport().update()

    def append(self, pieces: Sequence[str], numbers: Sequence[int]) -> None:
        """Add pieces of text at the end; `numbers` go on from the last one, 0: no token of its own."""
        if not pieces:
            return
        first = self._layout.append(pieces, numbers)
        self._update_bar()
        self._update_lines(first, self._layout.line_count - 1)

    def set_gaps(self, gaps_ms: npt.NDArray[np.float64], median_ms: float | None) -> None:
        """Colour by these gaps, held against the median; None: no colours."""
        known = len(self._gaps_ms)
        repaint_all = median_ms != self._median_ms or len(gaps_ms) < known
        self._gaps_ms, self._median_ms = gaps_ms, median_ms
        if repaint_all:
            self.viewport().update()
        elif len(gaps_ms) > known:
            places = self._layout.lines_of(known + 2)
            if places is not None:
                self._update_lines(places[0], self._layout.line_count - 1)

    def set_live(self, live: bool) -> None:
        """More is to come: a bar marks the end."""
        if live != self._live:
            self._live = live
            self._update_lines(self._layout.line_count - 1, self._layout.line_count - 1)

    def set_token(self, number: int | None) -> None:
        """Mark a token and bring it into view; None: none, and the end again if it was followed."""
        if number == self._token:
            return
        for marked in (self._token, number):
            self._update_token(marked)
        self._token = number
        if number is not None:
            self._show(number)
        elif self._follow and self._live:
            self._to_end()

    def set_range(self, tokens: tuple[int, int] | None) -> None:
        """Underline the tokens first..last; None: none."""
        if tokens != self._range:
            self._range = tokens
            self.viewport().update()

    def set_theme(self, palette: Palette) -> None:
        """Draw in the colours of `palette`, in the font of the theme."""
        self._palette = palette
        # A frame of the widget, not painted into the text: scrolling moves what was painted.
        self.setStyleSheet(
            f"TokenText {{ border: {FOCUS_PX}px solid transparent; border-radius: 4px; }}"
            f"TokenText:focus {{ border-color: {palette.accent}; }}"
        )
        before, self._look = self._look, TokenLook(palette)
        if self._look.grid != before.grid:
            self._layout.set_measure(self._measure)
            self._fit()
        self.viewport().update()

    # -- places -------------------------------------------------------------------------------

    def token_rect(self, number: int) -> QRect:
        """Where the first line of a token lies, px of the viewport; empty when there is none such."""
        lines = self._layout.lines_of(number)
        if lines is None:
            return QRect()
        col = self._layout.col_of(number)
        cols = sum(part.unit.cols for part in self._layout.line(lines[0]) if part.number == number)
        x = MARGIN_PX + col * self._look.cell_px
        return QRectF(x, self._y(lines[0]), cols * self._look.cell_px, self._look.line_px).toAlignedRect()

    def token_at(self, point: QPoint) -> int | None:
        """The token under a point of the viewport."""
        line = (point.y() + self.verticalScrollBar().value() - MARGIN_PX) // self._look.line_px
        return self._layout.number_at(line, (point.x() - MARGIN_PX) / self._look.cell_px)

    def _y(self, line: int) -> int:
        return MARGIN_PX + line * self._look.line_px - self.verticalScrollBar().value()

    def _visible(self, top: int, bottom: int) -> range:
        """Lines that touch these rows of the viewport."""
        offset = self.verticalScrollBar().value() - MARGIN_PX
        first = max((top + offset) // self._look.line_px, 0)
        return range(first, min((bottom + offset) // self._look.line_px + 1, self._layout.line_count))

    def _update_lines(self, first: int, last: int) -> None:
        top, bottom = self._y(first), self._y(last + 1)
        if bottom > 0 and top < self.viewport().height():
            self.viewport().update(0, top, self.viewport().width(), bottom - top)

    def _update_token(self, number: int | None) -> None:
        lines = None if number is None else self._layout.lines_of(number)
        if lines is not None:
            self._update_lines(*lines)

    # -- scrolling ----------------------------------------------------------------------------

    def _fit(self) -> None:
        """Columns and scroll range for the present size; what was at the top stays in view."""
        top = self._layout.number_at(self.verticalScrollBar().value() // self._look.line_px, 0, near=True)
        columns = int((self.viewport().width() - 2 * MARGIN_PX) / self._look.cell_px)
        anew = self._layout.set_columns(columns)
        self._update_bar()
        if anew:
            lines = None if top is None else self._layout.lines_of(top)
            if not self._follow and lines is not None:
                self._move(lines[0] * self._look.line_px)
            self.viewport().update()

    def _update_bar(self) -> None:
        bar = self.verticalScrollBar()
        height = self._layout.line_count * self._look.line_px + 2 * MARGIN_PX
        bar.setSingleStep(self._look.line_px)
        bar.setPageStep(self.viewport().height())
        self._moving = True
        bar.setRange(0, max(height - self.viewport().height(), 0))
        self._moving = False
        if self._follow and self._token is None:
            self._to_end()

    def _to_end(self) -> None:
        self._move(self.verticalScrollBar().maximum())

    def _move(self, value: int) -> None:
        self._moving = True
        self.verticalScrollBar().setValue(value)
        self._moving = False

    def _scrolled(self, value: int) -> None:
        if not self._moving:
            self._follow = value >= self.verticalScrollBar().maximum() - 4
        self._set_hover(None)  # other text lies under the pointer now

    def _show(self, number: int) -> None:
        lines = self._layout.lines_of(number)
        if lines is None:
            return
        top, bottom = self._y(lines[0]), self._y(lines[0] + 1)
        if top >= 0 and bottom <= self.viewport().height():
            return
        middle = (self.viewport().height() - self._look.line_px) // 2
        self._move(self.verticalScrollBar().value() + top - max(middle, 0))

    def scrollContentsBy(self, _dx: int, dy: int) -> None:
        # Moves what is painted already; only the rows that come into view are painted.
        self.viewport().scroll(0, dy)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    # -- pointer and keyboard -------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._set_hover(self.token_at(event.position().toPoint()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        number = self.token_at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and number is not None:
            self._choose(number)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._set_hover(None)
        return super().viewportEvent(event)

    def _set_hover(self, number: int | None) -> None:
        if number != self._hover:
            for touched in (self._hover, number):
                self._update_token(touched)
            self._hover = number
            self.hovered.emit(number)

    def _choose(self, number: int) -> None:
        self.set_token(number)
        self.chosen.emit(number)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key not in KEYS or not self._layout.last_number:
            super().keyPressEvent(event)
            return
        top = self._visible(0, self.viewport().height() - 1).start
        token = self._token or self._layout.number_at(top, 0, near=True) or 1
        if self._token is not None:
            late = heat_levels(self._gaps_ms, self._median_ms) == STEPS - 1
            found = token_by_key(self._layout, token, key, event.modifiers(), np.flatnonzero(late) + 2)
            token = token if found is None else found
        if token != self._token:
            self._choose(token)

    # -- painting ---------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        rect = event.rect()
        painter.fillRect(rect, self._palette.color("surface"))
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        if not len(self._layout):
            painter.setFont(self._look.font)
            painter.setPen(self._palette.color("muted"))
            painter.drawText(
                self.viewport().rect().adjusted(MARGIN_PX, MARGIN_PX, -MARGIN_PX, 0),
                int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap),
                self._placeholder,
            )
        else:
            marks = Marks(self._token, self._hover, self._range)
            for line in self._visible(rect.top(), rect.bottom()):
                parts = self._layout.line(line)
                self._look.paint_line(painter, MARGIN_PX, self._y(line), parts, self._levels(parts), marks)
            if self._live:
                self._paint_end(painter)
        painter.end()

    def _levels(self, parts: Sequence[Placed]) -> list[int]:
        """Step of each unit's colour."""
        numbers = [part.number for part in parts]
        highest = max(numbers, default=0)
        first = max(min((number for number in numbers if number), default=2), 2)
        levels = heat_levels(self._gaps_ms[first - 2 : max(highest - 1, 0)], self._median_ms).tolist()
        return [levels[number - first] if first <= number < first + len(levels) else 0 for number in numbers]

    def _paint_end(self, painter: QPainter) -> None:
        last = self._layout.line_count - 1
        x = MARGIN_PX + self._layout.end_col(last) * self._look.cell_px + 1
        painter.fillRect(
            QRectF(x, self._y(last) + 2, 2, self._look.line_px - 4), self._palette.color("accent")
        )
