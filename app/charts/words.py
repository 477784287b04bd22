"""Which words a chart paints and where: what a check of its looks asks (tests/gui/clipping.py)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPaintDevice, QPainter

OPAQUE_ALPHA = 128
"""A patch as strong as this hides what is below it."""


@dataclass(frozen=True)
class PaintedWords:
    """Words on a canvas. `rect`: where their ink lies, px; `hidden`: a patch was painted over them."""

    text: str
    rect: QRectF
    hidden: bool = False


class WordsPainter(QPainter):
    """A painter that notes the words it paints, and which of them a later patch covers.

    Charts paint on it as on any other. Thread: GUI.
    """

    def __init__(self, device: QPaintDevice) -> None:
        super().__init__(device)
        self.words: list[PaintedWords] = []

    def drawText(self, *args: Any) -> Any:
        """Paint the words (the forms that the charts use) and note where their ink lies."""
        where, text = args[0], args[-1]
        metrics = QFontMetricsF(self.font())
        ink = metrics.tightBoundingRect(text.strip())
        ink.translate(metrics.horizontalAdvance(text[: len(text) - len(text.lstrip())]), 0)
        if isinstance(where, QRectF):
            ink.translate(_base_line(where, args[1], metrics, text))
        else:
            ink.translate(QPointF(where))
        if text.strip():
            self.words.append(PaintedWords(text.strip(), self.worldTransform().mapRect(ink)))
        return super().drawText(*args)

    def fillRect(self, *args: Any) -> None:
        """Paint the patch and note which words it covers."""
        if isinstance(args[0], QRectF) and _strong(args[1]):
            patch = self.worldTransform().mapRect(args[0])
            self.words = [
                replace(words, hidden=True) if patch.intersects(words.rect) else words for words in self.words
            ]
        super().fillRect(*args)


def _base_line(rect: QRectF, flags: int, metrics: QFontMetricsF, text: str) -> QPointF:
    """Where words that are aligned in a rectangle begin: their left end, on the base line."""
    width = metrics.horizontalAdvance(text)
    x = rect.left()
    if flags & Qt.AlignmentFlag.AlignRight.value:
        x = rect.right() - width
    elif flags & Qt.AlignmentFlag.AlignHCenter.value:
        x = rect.center().x() - width / 2
    top = rect.center().y() - metrics.height() / 2
    return QPointF(x, top + metrics.ascent())


def _strong(fill: object) -> bool:
    if isinstance(fill, QColor):
        return fill.alpha() >= OPAQUE_ALPHA
    return not isinstance(fill, QBrush) or (
        fill.style() == Qt.BrushStyle.SolidPattern and fill.color().alpha() >= OPAQUE_ALPHA
    )
