"""The ring round a chart that has the keyboard: drawn over it, so that nothing below moves."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.theme import DARK, Palette


class FocusRing(QWidget):
    """As large as its parent makes it, blind to the mouse, hidden until it is shown."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._palette = DARK
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def setVisible(self, visible: bool) -> None:
        if visible:
            self.raise_()
        super().setVisible(visible)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._palette.color("accent"), 2))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 7, 7)
        painter.end()
