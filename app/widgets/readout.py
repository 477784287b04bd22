"""A readout beside a place: a few lines of plain text that never take the pointer."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.theme import DARK, Palette, ui_font

PADDING_PX = 8
LINE_PX = 17
GAP_PX = 6
MAX_WIDTH_PX = 440


class Readout(QWidget):
    """The first line is strong. Lies over the window of `owner`, so that it may leave its panel."""

    def __init__(self, owner: QWidget) -> None:
        super().__init__(owner)
        self._owner = owner
        self._palette = DARK
        self._lines: tuple[str, ...] = ()
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    @property
    def lines(self) -> tuple[str, ...]:
        """What it says."""
        return self._lines

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def show_beside(self, lines: Sequence[str], place: QRect, clip: QWidget) -> None:
        """Show the lines above `place` (px of `clip`), below it where there is no room."""
        self._lines = tuple(lines)
        host = self._owner.window()
        if self.parentWidget() is not host:
            self.setParent(host)
        fonts = [ui_font(12, 600)] + [ui_font(12)] * (len(self._lines) - 1)
        widths = [
            QFontMetricsF(font).horizontalAdvance(line) for font, line in zip(fonts, self._lines, strict=True)
        ]
        width = round(min(max(widths, default=0), MAX_WIDTH_PX)) + 2 * PADDING_PX + 2
        height = LINE_PX * len(self._lines) + 2 * PADDING_PX - 2
        corner = clip.mapTo(host, place.topLeft())
        x = min(max(corner.x(), 4), max(host.width() - width - 4, 4))
        y = corner.y() - height - GAP_PX
        if y < 4:
            y = corner.y() + place.height() + GAP_PX
        self.setGeometry(QRect(QPoint(x, y), QPoint(x + width - 1, y + height - 1)))
        self.setAccessibleName(". ".join(self._lines))
        self.show()
        self.raise_()
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._palette.color("axis"), 1))
        painter.setBrush(self._palette.color("tooltip"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        for index, line in enumerate(self._lines):
            painter.setFont(ui_font(12, 400 if index else 600))
            painter.setPen(self._palette.color("secondary" if index else "text"))
            width = self.width() - 2 * PADDING_PX
            rect = QRectF(PADDING_PX, PADDING_PX - 1 + index * LINE_PX, width, LINE_PX)
            text = painter.fontMetrics().elidedText(line, Qt.TextElideMode.ElideRight, width)
            painter.drawText(rect, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), text)
        painter.end()
