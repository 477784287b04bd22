"""A legend of one row, right-aligned: full words, then short ones, then "+2" for what is left.

Entries with a key can be switched off and on by a click; the keyboard's way is the menu that
"+2" opens, which is the chart's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.theme import DARK, Palette, ui_font
from app.widgets.labels import plain_tooltip

GLYPH_PX = {
    "dots": 16,
    "line": 18,
    "dashed": 18,
    "dashdot": 20,
    "band": 17,
    "step": 20,
    "square": 10,
    "hatch": 12,
    "ring": 10,
}
TEXT_GAP_PX = 6


@dataclass(frozen=True)
class LegendItem:
    """One entry. `kind` is a key of `GLYPH_PX`; `role` a palette role; `tip` plain text.

    `key` not "": a click switches what it stands for (`Legend.toggled`); `off`: it is not shown.
    """

    label: str
    role: str
    kind: str = "line"
    short: str = ""
    tip: str = ""
    muted: bool = False
    key: str = ""
    off: bool = False


def _paint_glyph(painter: QPainter, item: LegendItem, x: float, y: float, palette: Palette) -> None:
    width = GLYPH_PX[item.kind]
    role = "muted" if item.muted or item.off else item.role
    color = palette.color(role, 120) if item.off else palette.color(role)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, item.kind in ("dots", "ring"))
    if item.kind == "dots":
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        for dx, dy in ((1.5, 2.5), (6, -3), (9, 3), (14, -0.5)):
            painter.drawEllipse(QPointF(x + dx, y + dy), 1.2, 1.2)
    elif item.kind in ("line", "dashed", "dashdot"):
        pen = QPen(color, 1.6)
        if item.kind != "line":
            pen.setDashPattern([3, 1.6] if item.kind == "dashed" else [4, 1.5, 1, 1.5])
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        painter.setPen(pen)
        painter.drawLine(QPointF(x, y), QPointF(x + width, y))
    elif item.kind == "step":
        painter.setPen(QPen(color, 1.5))
        points = ((0, 3), (6, 3), (6, -3), (13, -3), (13, 3), (19, 3))
        painter.drawPolyline(QPolygonF([QPointF(x + dx, y + dy) for dx, dy in points]))
    elif item.kind == "band":
        painter.fillRect(QRectF(x, y - 5, width, 10), palette.color(role, 66 if palette.dark else 50))
    elif item.kind == "square":
        painter.fillRect(QRectF(x, y - 5, width, 10), color)
    elif item.kind == "ring":
        painter.setPen(QPen(color, 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(QPointF(x + 5, y), 4, 4)
    else:
        painter.setPen(QPen(color, 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(x + 0.5, y - 5.5, 11, 10))
        painter.drawLine(QPointF(x + 1, y + 1), QPointF(x + 7, y - 5))
        painter.drawLine(QPointF(x + 3, y + 4), QPointF(x + 11, y - 4))


class Legend(QWidget):
    """Chips of a chart; entries are read out as one sentence."""

    SPACING_PX = 13
    MORE_PX = 22
    """Room of "+2"."""

    toggled = Signal(str)
    """The key of the entry that was clicked."""
    more_asked = Signal(QPoint)
    """"+2" was clicked; where a menu would open (global)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = DARK
        self._items: tuple[LegendItem, ...] = ()
        self.setFixedHeight(24)
        self.setMinimumWidth(0)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)

    @property
    def items(self) -> tuple[LegendItem, ...]:
        """The entries shown."""
        return self._items

    def set_items(self, items: Sequence[LegendItem]) -> None:
        """Show these entries; the same ones again cost nothing."""
        if tuple(items) != self._items:
            self._items = tuple(items)
            names = ", ".join(item.label for item in self._items)
            self.setAccessibleName(self.tr("Legend: {0}").format(names))
            self.update()

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(round(self._needed([item.label for item in self._items])), 24)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 24)

    def words(self) -> list[str]:
        """What each entry says at the present width; fewer than there are entries where "+2" has
        to stand for the rest.

        All full words where they fit; else short ones, from the right; else the first ones with
        words and the rest behind "+2"; glyphs alone where not even one has room (the words are
        in the tool tips then).
        """
        words = [item.label for item in self._items]
        for index in range(len(words) - 1, -1, -1):
            if self._needed(words) <= self.width():
                return words
            words[index] = self._items[index].short or words[index]
        if self._needed(words) <= self.width():
            return words
        for count in range(len(words) - 1, 0, -1):
            if self._needed(words[:count]) + self.SPACING_PX + self.MORE_PX <= self.width():
                return words[:count]
        return [""] * len(words)

    def _needed(self, words: Sequence[str]) -> float:
        total = sum(self._item_px(item, text) for item, text in zip(self._items, words, strict=False))
        return total + self.SPACING_PX * max(len(words) - 1, 0)

    @staticmethod
    def _item_px(item: LegendItem, text: str) -> float:
        glyph = GLYPH_PX[item.kind]
        return glyph + TEXT_GAP_PX + QFontMetricsF(ui_font(11)).horizontalAdvance(text) if text else glyph

    @property
    def hidden(self) -> tuple[LegendItem, ...]:
        """The entries behind "+2"."""
        return self._items[len(self.words()) :]

    def places(self) -> list[tuple[LegendItem, float, float, str]]:
        """Entries with left edge, right edge (px) and words, as drawn at the present width."""
        words = self.words()
        x = self.width() - self._needed(words)
        if len(words) < len(self._items):
            x -= self.SPACING_PX + self.MORE_PX
        result = []
        for item, text in zip(self._items, words, strict=False):
            width = self._item_px(item, text)
            result.append((item, x, x + width, text))
            x += width + self.SPACING_PX
        return result

    def item_at(self, x: float) -> LegendItem | None:
        """The entry at a pixel of the row."""
        return next((item for item, left, right, _ in self.places() if left - 4 <= x <= right + 4), None)

    def _at_more(self, x: float) -> bool:
        return bool(self.hidden) and x >= self.width() - self.MORE_PX - 4

    def _tip(self, x: float) -> str:
        if self._at_more(x):
            return ", ".join(item.label for item in self.hidden)
        for item, left, right, words in self.places():
            if left - 4 <= x <= right + 4 and (item.tip or item.key or not words):
                tip = item.tip or item.label
                if not item.key:
                    return tip
                action = self.tr("Click to show it.") if item.off else self.tr("Click to hide it.")
                return f"{tip} {action}" if tip.endswith(".") else f"{tip}. {action}"
        return ""

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            tip = self._tip(event.pos().x())
            if tip:
                QToolTip.showText(event.globalPos(), plain_tooltip(tip), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        x = event.position().x()
        item = self.item_at(x)
        if event.button() != Qt.MouseButton.LeftButton:
            event.ignore()
        elif self._at_more(x):
            self.more_asked.emit(self.mapToGlobal(QPoint(self.width() - self.MORE_PX, self.height())))
        elif item is not None and item.key:
            self.toggled.emit(item.key)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        x = event.position().x()
        item = self.item_at(x)
        active = self._at_more(x) or (item is not None and bool(item.key))
        self.setCursor(Qt.CursorShape.PointingHandCursor if active else Qt.CursorShape.ArrowCursor)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        middle = self.height() / 2
        plain, struck = ui_font(11), QFont(ui_font(11))
        struck.setStrikeOut(True)
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        for item, left, _right, words in self.places():
            _paint_glyph(painter, item, round(left), round(middle), self._palette)
            if words:
                painter.setFont(struck if item.off else plain)
                painter.setPen(self._palette.color("muted" if item.muted or item.off else "secondary"))
                x = left + GLYPH_PX[item.kind] + TEXT_GAP_PX
                painter.drawText(QRectF(x, 0, self.width() - x, self.height()), align, words)
        hidden = self.hidden
        if hidden:
            painter.setFont(plain)
            painter.setPen(self._palette.color("accent"))
            x = self.width() - self.MORE_PX
            painter.drawText(QRectF(x, 0, self.MORE_PX, self.height()), align, f"+{len(hidden)}")
        painter.end()
