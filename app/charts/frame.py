"""Drawing in pixels round a plot: axes, grid, boxes of words. Used by every chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen, QPixmap, QPolygonF

from app.theme import Palette, ui_font

AXIS_FONT_PX = 11
TICK_PX = 4
SIDE_PITCH_PX = 12
"""Least distance of words on a vertical axis."""
TITLE_PX = 13
"""Room of the title that runs along a vertical axis."""


@dataclass(frozen=True)
class Frame:
    """A plot's place in its widget (px) and the ranges it shows; `log_y`: y goes by its logarithm."""

    plot: QRectF
    x_low: float
    x_high: float
    y_low: float
    y_high: float
    log_y: bool = False

    def x_px(self, x: float) -> float:
        """Pixel of a value of the x axis."""
        span = (self.x_high - self.x_low) or 1.0
        return self.plot.left() + (x - self.x_low) / span * self.plot.width()

    def y_px(self, y: float) -> float:
        """Pixel of a value of the y axis."""
        if self.log_y:
            decades = math.log10(self.y_high / self.y_low) or 1.0
            share = math.log10(max(y, 1e-9) / self.y_low) / decades
            return self.plot.bottom() - share * self.plot.height()
        span = (self.y_high - self.y_low) or 1.0
        return self.plot.bottom() - (y - self.y_low) / span * self.plot.height()

    def y_value(self, px: float) -> float:
        """Value of the y axis at a pixel."""
        share = (self.plot.bottom() - px) / max(self.plot.height(), 1.0)
        if self.log_y:
            return self.y_low * (self.y_high / self.y_low) ** share
        return self.y_low + share * (self.y_high - self.y_low)

    def x_value(self, px: float) -> float:
        """Value of the x axis at a pixel."""
        return self.x_low + (px - self.plot.left()) / max(self.plot.width(), 1.0) * (self.x_high - self.x_low)


@dataclass(frozen=True)
class Run:
    """Words of one style within a line: palette role and weight."""

    text: str
    role: str = "text"
    weight: int = 400


@lru_cache(maxsize=32)
def font(px: int = AXIS_FONT_PX, weight: int = 400) -> QFont:
    """The interface font, shared: not to be changed."""
    return ui_font(px, weight)


@lru_cache(maxsize=1024)
def text_width(text: str, px: int = AXIS_FONT_PX, weight: int = 400) -> float:
    """Width of words in the interface font, px."""
    return QFontMetricsF(font(px, weight)).horizontalAdvance(text)


def draw_words(
    painter: QPainter,
    rect: QRectF,
    text: str,
    color: QColor,
    align: Qt.AlignmentFlag,
    px: int = AXIS_FONT_PX,
    weight: int = 400,
) -> None:
    """Words in a rectangle, on one line, not cut at its border."""
    painter.setFont(font(px, weight))
    painter.setPen(color)
    painter.drawText(rect, int(align | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip), text)


def draw_runs(painter: QPainter, x: float, y: float, runs: Sequence[Run], palette: Palette) -> float:
    """Words of mixed styles from `x` (px) on the base line `y`; returns the right end."""
    for run in runs:
        painter.setFont(font(AXIS_FONT_PX, run.weight))
        painter.setPen(palette.color(run.role))
        painter.drawText(QPointF(x, y), run.text)
        x += text_width(run.text, AXIS_FONT_PX, run.weight)
    return x


def runs_width(runs: Sequence[Run]) -> float:
    """Width of `draw_runs`, px."""
    return sum(text_width(run.text, AXIS_FONT_PX, run.weight) for run in runs)


LINE_PX = 15
BOX_PAD_PX = 6


def box_size(lines: Sequence[Sequence[Run]]) -> tuple[float, float]:
    """Width and height of `draw_box`, px."""
    width = max((runs_width(line) for line in lines), default=0.0)
    return width + 2 * BOX_PAD_PX, len(lines) * LINE_PX + 2 * BOX_PAD_PX - 3


def draw_box(
    painter: QPainter, x: float, y: float, lines: Sequence[Sequence[Run]], palette: Palette
) -> QRectF:
    """A readout box with its top left corner at (x, y); returns where it lies."""
    width, height = box_size(lines)
    rect = QRectF(round(x), round(y), round(width), round(height))
    # Two fills: a stroked rectangle with smooth edges costs ten times as much.
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.fillRect(rect, palette.color("control_border"))
    painter.fillRect(rect.adjusted(1, 1, -1, -1), palette.color("tooltip"))
    for number, line in enumerate(lines):
        draw_runs(painter, rect.left() + BOX_PAD_PX, rect.top() + 16 + number * LINE_PX, line, palette)
    return rect


def draw_note(
    painter: QPainter,
    x: float,
    y: float,
    runs: Sequence[Run],
    palette: Palette,
    right: bool = False,
) -> QRectF:
    """Words on a patch of the card's colour, so that data does not run through them.

    They begin at `x` (end there with `right`) on the base line `y`. Returns where they lie.
    """
    width = runs_width(runs)
    left = x - width if right else x
    rect = QRectF(left - 2, y - 11, width + 4, 15)
    painter.fillRect(rect, palette.color("surface", 210))
    draw_runs(painter, left, y, runs, palette)
    return rect


def draw_grid(painter: QPainter, frame: Frame, y_ticks: Sequence[float], palette: Palette) -> None:
    """Horizontal lines at the ticks."""
    painter.setPen(QPen(palette.color("grid"), 1))
    left, right = frame.plot.left(), frame.plot.right()
    lines = []
    for tick in y_ticks:
        y = round(frame.y_px(tick)) + 0.5
        lines.append(QLineF(left, y, right, y))
    painter.drawLines(lines)


def draw_bottom_axis(
    painter: QPainter,
    frame: Frame,
    ticks: Sequence[tuple[float, str]],
    palette: Palette,
    title: str = "",
) -> None:
    """Axis line, ticks with their words, and the title below; ticks whose words would touch are left out."""
    plot = frame.plot
    ticks = apart(ticks, [(frame.x_px(value), text_width(words)) for value, words in ticks])
    bottom = round(plot.bottom()) + 0.5
    painter.setPen(QPen(palette.color("axis"), 1))
    painter.drawLine(QLineF(plot.left(), bottom, plot.right(), bottom))
    marks = [round(frame.x_px(value)) + 0.5 for value, _ in ticks]
    painter.drawLines([QLineF(x, bottom - TICK_PX, x, bottom) for x in marks])
    for x, (_, words) in zip(marks, ticks, strict=True):
        draw_words(
            painter,
            QRectF(x - 40, bottom + 3, 80, 14),
            words,
            palette.color("secondary"),
            Qt.AlignmentFlag.AlignHCenter,
        )
    if title:
        draw_words(
            painter,
            QRectF(plot.left(), bottom + 21, plot.width(), 14),
            title,
            palette.color("muted"),
            Qt.AlignmentFlag.AlignHCenter,
        )


def draw_side_axis(
    painter: QPainter,
    frame: Frame,
    ticks: Sequence[tuple[float, str]],
    palette: Palette,
    title: str = "",
    right: bool = False,
    width: float = 46,
    marks: bool = True,
) -> None:
    """Words of a vertical axis, with a short mark each and the title turned by 90 degrees.

    `marks` off: beside words with a sign a mark reads like a second minus.
    """
    plot = frame.plot
    ticks = apart(ticks, [(frame.y_px(value), SIDE_PITCH_PX) for value, _ in ticks], gap=0)
    edge = plot.right() if right else plot.left()
    painter.setPen(QPen(palette.color("axis"), 1))
    if marks:
        near, far = (edge + 1, edge + 3) if right else (edge - 3, edge - 1)
        heights = [round(frame.y_px(value)) + 0.5 for value, _ in ticks]
        painter.drawLines([QLineF(near, y, far, y) for y in heights])
    for value, words in ticks:
        y = frame.y_px(value)
        rect = QRectF(edge + 6, y - 7, 60, 14) if right else QRectF(edge - 66, y - 7, 60, 14)
        align = Qt.AlignmentFlag.AlignLeft if right else Qt.AlignmentFlag.AlignRight
        draw_words(painter, rect, words, palette.color("secondary"), align)
    widest = max((text_width(words) for _, words in ticks), default=0.0)
    beside = 6 + widest + 1 <= width - TITLE_PX
    if title and beside and text_width(title) <= plot.height() + 10:
        painter.save()
        middle = TITLE_PX / 2
        painter.translate(edge + width - middle if right else edge - width + middle, plot.center().y())
        painter.rotate(-90)
        half = plot.height() / 2
        draw_words(
            painter,
            QRectF(-half, -7, 2 * half, 14),
            title,
            palette.color("muted"),
            Qt.AlignmentFlag.AlignHCenter,
        )
        painter.restore()


def apart(
    ticks: Sequence[tuple[float, str]], places: Sequence[tuple[float, float]], gap: float = 6
) -> list[tuple[float, str]]:
    """The ticks whose words do not touch: the last, the first, and between them as many as fit.

    `places`: middle and length of each one's words along the axis, px.
    """
    if not ticks:
        return []

    def meet(one: int, other: int) -> bool:
        (a, length), (b, more) = places[one], places[other]
        return abs(a - b) < (length + more) / 2 + gap

    last = len(ticks) - 1
    kept = [last]
    if last > 0 and not meet(0, last):
        kept.append(0)
    for number in range(1, last):
        if not any(meet(number, other) for other in kept):
            kept.append(number)
    return [ticks[number] for number in sorted(kept)]


def draw_dashed_v(painter: QPainter, x: float, top: float, bottom: float, color: QColor) -> None:
    """A vertical dashed line of 1 px."""
    pen = QPen(color, 1)
    pen.setDashPattern([3, 3])
    painter.setPen(pen)
    px = round(x) + 0.5
    painter.drawLine(QLineF(px, top, px, bottom))


def triangle(x: float, y: float, half: float = 3.5, down: bool = False) -> QPolygonF:
    """A triangle whose tip is at (x, y), pointing up (or down)."""
    base = y - 1.8 * half if down else y + 1.8 * half
    return QPolygonF([QPointF(x, y), QPointF(x + half, base), QPointF(x - half, base)])


def hatch_brush(color: QColor, ratio: float = 1.0, pitch: int = 6) -> QBrush:
    """Diagonal lines `pitch` px apart that stay straight at any scale: a tile in device pixels."""
    return _hatch(color.rgba(), ratio, pitch)


@lru_cache(maxsize=64)
def _hatch(rgba: int, ratio: float, pitch: int) -> QBrush:
    side = round(pitch * ratio)
    tile = QPixmap(side, side)
    tile.setDevicePixelRatio(ratio)
    tile.fill(Qt.GlobalColor.transparent)
    painter = QPainter(tile)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor.fromRgba(rgba), 1))
    size = side / ratio
    for shift in (-size, 0.0, size):
        painter.drawLine(QPointF(shift - 1, size + 1), QPointF(shift + size + 1, -1))
    painter.end()
    return QBrush(tile)
