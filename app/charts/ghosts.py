"""Faint pictures for charts without data. Made up, the same every time, and clearly no data."""

from __future__ import annotations

import math

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF

from app.theme import Palette


def _noise(number: int) -> float:
    """A made-up number in -1..1, always the same for the same place."""
    return math.sin(number * 12.9898) * 43758.5453 % 2 - 1


def _point(area: QRectF, x: float, y: float) -> QPointF:
    return QPointF(area.left() + x * area.width(), area.bottom() - y * area.height())


def token_ghost(painter: QPainter, area: QRectF, palette: Palette) -> None:
    """A rising band of dots with three stalls."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(palette.color("axis", 45))
    corners = ((0, 0.33), (1, 0.39), (1, 0.53), (0, 0.47))
    painter.drawPolygon(QPolygonF([_point(area, x, y) for x, y in corners]))
    painter.setBrush(palette.color("axis", 200))
    for number in range(110):
        x = number / 109
        painter.drawEllipse(_point(area, x, 0.40 + 0.06 * x + 0.075 * _noise(number)), 1.5, 1.5)
    pen = QPen(palette.color("axis", 150), 1, Qt.PenStyle.DotLine)
    for x in (0.2, 0.55, 0.8):
        painter.setPen(pen)
        painter.drawLine(_point(area, x, 0.48), _point(area, x, 0.9))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawEllipse(_point(area, x, 0.94), 3, 3)


def bars_ghost(painter: QPainter, area: QRectF, palette: Palette) -> None:
    """One long bar and four shorter ones, in three parts."""
    painter.setPen(Qt.PenStyle.NoPen)
    height = min(area.height() / 8, 24)
    for row, length in enumerate((0.86, 0.51, 0.52, 0.53, 0.54)):
        top = area.top() + (row + 0.12) * area.height() / 5.2
        first, last = (0.105, 0.08) if row == 0 else (0.065, 0.04)
        x = area.left()
        for share, alpha in ((first, 40), (length - first - last, 70), (last, 50)):
            width = share * area.width()
            painter.setBrush(palette.color("axis", alpha))
            painter.drawRect(QRectF(x, top, width - 1, height))
            x += width


def bandwidth_ghost(painter: QPainter, area: QRectF, palette: Palette) -> None:
    """Steps over a smooth line."""
    painter.setPen(QPen(palette.color("axis", 170), 1))
    levels = (0.62, 0.61, 0.53, 0.55, 0.58, 0.48, 0.56, 0.51, 0.62, 0.48, 0.56, 0.61, 0.5)
    steps = []
    for number, level in enumerate(levels):
        steps += [
            _point(area, number / len(levels), level),
            _point(area, (number + 1) / len(levels), level),
        ]
    painter.drawPolyline(QPolygonF(steps))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(palette.color("axis", 200), 1.4))
    curve = [_point(area, number / 80, 0.37 + 0.01 * math.sin(number / 6)) for number in range(81)]
    painter.drawPolyline(QPolygonF(curve))


def telemetry_ghost(painter: QPainter, area: QRectF, palette: Palette) -> None:
    """Four rows of readings over three zones."""
    zones = ((0.05, 0.30), (0.34, 0.62), (0.66, 0.94))
    pitch = area.height() / 4
    for row in range(4):
        top = area.top() + row * pitch + 2
        height = pitch - 8
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(palette.color("axis", 40))
        for start, stop in zones:
            left = area.left() + start * area.width()
            painter.drawRect(QRectF(left, top, (stop - start) * area.width(), height))
        painter.setPen(QPen(palette.color("axis", 190), 1))
        if row == 2:
            painter.drawLine(QLineF(area.left(), top + 0.75 * height, area.right(), top + 0.25 * height))
            continue
        line = []
        for number in range(121):
            x = number / 120
            busy = any(start <= x <= stop for start, stop in zones)
            level = (0.2 if busy else 0.75) + 0.05 * _noise(number + 200 * row)
            line.append(QPointF(area.left() + x * area.width(), top + level * height))
        painter.drawPolyline(QPolygonF(line))
