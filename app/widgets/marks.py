"""State marks that differ in shape, never in colour alone."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import DARK, Palette

KINDS = ("ok", "warning", "bad", "ring", "live", "info", "none")


def paint_mark(painter: QPainter, kind: str, rect: QRectF, palette: Palette) -> None:
    """Draw a mark into a square.

    ok: disc with a tick; warning: triangle with "!"; bad: diamond with "!"; ring: not yet;
    live: disc in a halo; info: ring with "i"; none: nothing.
    """
    if kind == "none":
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    side = min(rect.width(), rect.height())
    painter.translate(rect.center())
    painter.scale(side / 14, side / 14)
    painter.setPen(Qt.PenStyle.NoPen)
    sign = QPen(palette.color("surface"), 1.6, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap)
    if kind == "ok":
        painter.setBrush(palette.color("ok"))
        painter.drawEllipse(QPointF(0, 0), 6, 6)
        painter.setPen(sign)
        painter.drawPolyline(QPolygonF([QPointF(-2.7, 0.2), QPointF(-0.8, 2.1), QPointF(2.8, -1.9)]))
    elif kind in ("bad", "warning"):
        painter.setBrush(palette.color(kind))
        if kind == "bad":
            shape = [QPointF(0, -6.8), QPointF(6.8, 0), QPointF(0, 6.8), QPointF(-6.8, 0)]
            top, bottom, dot = -3.0, 0.6, 3.1
        else:
            shape = [QPointF(0, -6), QPointF(6.6, 5.6), QPointF(-6.6, 5.6)]
            top, bottom, dot = -1.9, 1.5, 3.9
        painter.drawPolygon(QPolygonF(shape))
        painter.setPen(sign)
        painter.drawLine(QPointF(0, top), QPointF(0, bottom))
        painter.drawPoint(QPointF(0, dot))
    elif kind == "live":
        painter.setBrush(palette.color("accent", 70))
        painter.drawEllipse(QPointF(0, 0), 6, 6)
        painter.setBrush(palette.color("accent"))
        painter.drawEllipse(QPointF(0, 0), 3, 3)
    else:
        color = QColor(palette.muted if kind == "ring" else palette.accent)
        painter.setPen(QPen(color, 1.4, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(QPointF(0, 0), 4.2 if kind == "ring" else 6, 4.2 if kind == "ring" else 6)
        if kind == "info":
            painter.drawLine(QPointF(0, -0.4), QPointF(0, 2.8))
            painter.drawPoint(QPointF(0, -2.8))
    painter.restore()


class StatusMark(QWidget):
    """A mark of 14 px (or `size`), with the state's name for screen readers."""

    def __init__(self, kind: str = "none", size: int = 14, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = DARK
        self._kind = kind
        self._size = size
        self.setFixedSize(size, size)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    @property
    def kind(self) -> str:
        """What is shown: one of `KINDS`."""
        return self._kind

    def set_kind(self, kind: str, meaning: str = "") -> None:
        """Show another mark; `meaning` is its word for screen readers. ValueError: unknown kind."""
        if kind not in KINDS:
            raise ValueError(f"A mark is one of {', '.join(KINDS)}, not {kind!r}.")
        self.setAccessibleName(meaning or kind)
        if kind != self._kind:
            self._kind = kind
            self.update()

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self._size, self._size)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_mark(painter, self._kind, QRectF(self.rect()), self._palette)
        painter.end()
