"""The legend of the coloured text: four swatches with their words."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import DARK, Palette, ui_font
from app.widgets.heat import heat_steps, heat_words
from app.widgets.labels import plain_tooltip

SWATCH_PX = 12
TEXT_GAP_PX = 5
SPACING_PX = 12
HEIGHT_PX = 24


class HeatLegend(QWidget):
    """Right-aligned in one row; the title goes first where the room is short."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = DARK
        self._title = self.tr("Gap against the median:")
        self._words = heat_words()
        self.setFixedHeight(HEIGHT_PX)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(" ".join((self._title, ", ".join(self._words))))
        self.setToolTip(
            plain_tooltip(
                self.tr(
                    "Each token is coloured by the time since the one before it, held against the "
                    "median of its answer. The slowest step is set in bold."
                )
            )
        )

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def _width(self, with_title: bool) -> float:
        metrics = QFontMetricsF(ui_font(11))
        total = sum(SWATCH_PX + TEXT_GAP_PX + metrics.horizontalAdvance(text) for text in self._words)
        total += SPACING_PX * (len(self._words) - 1)
        return total + (metrics.horizontalAdvance(self._title) + SPACING_PX if with_title else 0)

    def sizeHint(self) -> QSize:
        return QSize(round(self._width(True)) + 2, HEIGHT_PX)

    def minimumSizeHint(self) -> QSize:
        return QSize(round(self._width(False)) + 2, HEIGHT_PX)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(ui_font(11))
        metrics = QFontMetricsF(ui_font(11))
        with_title = self._width(True) <= self.width()
        x = self.width() - self._width(with_title)
        if with_title:
            self._word(painter, x, self._title, "muted")
            x += metrics.horizontalAdvance(self._title) + SPACING_PX
        top = (self.height() - SWATCH_PX) / 2
        for step, text in zip(heat_steps(self._palette), self._words, strict=True):
            box = QRectF(round(x) + 0.5, round(top) + 0.5, SWATCH_PX - 1, SWATCH_PX - 1)
            painter.fillRect(box, self._palette.surface if step.fill is None else step.fill)
            painter.setPen(QPen(self._palette.color("axis"), 1))
            painter.drawRect(box)
            x += SWATCH_PX + TEXT_GAP_PX
            self._word(painter, x, text, "secondary")
            x += metrics.horizontalAdvance(text) + SPACING_PX
        painter.end()

    def _word(self, painter: QPainter, x: float, text: str, role: str) -> None:
        painter.setPen(self._palette.color(role))
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(QRectF(x, 0, self.width() - x + 2, self.height()), int(flags), text)
