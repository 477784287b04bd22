"""What the first-token chart paints over its bars: the compute limit and the target."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QLineF, QRectF
from PySide6.QtGui import QPainter, QPen

from app.charts.frame import Frame, Run, draw_dashed_v, draw_note, runs_width
from app.theme import Palette
from profiler.units import format_number


def tr(text: str) -> str:
    """Translate, in the context of the chart."""
    return QCoreApplication.translate("FirstTokenChart", text)


def paint_limit(
    painter: QPainter, frame: Frame, palette: Palette, limit_ms: float, taken: Sequence[QRectF], right: float
) -> QRectF:
    """The least time that the prompt takes, as a line with its words; returns where they lie.

    `taken`: words that are there already; `right`: how far words may reach, px. Off the axis it
    is words alone.
    """
    text = tr("compute limit {} ms").format(format_number(limit_ms))
    x = None
    if limit_ms <= frame.x_high:
        x = round(frame.x_px(limit_ms)) + 0.5
        line = QLineF(x, frame.plot.top(), x, frame.plot.bottom())
        # On the card's colour: over the blue and green of the bars it would hardly be seen.
        painter.setPen(QPen(palette.color("surface"), 5))
        painter.drawLine(line)
        pen = QPen(palette.color("data3"), 1.6)
        pen.setDashPattern([4, 1.7, 1, 1.7])
        painter.setPen(pen)
        painter.drawLine(line)
    return _words(painter, frame, palette, text, "data3", x, taken, right)


def paint_target(
    painter: QPainter, frame: Frame, palette: Palette, target_ms: float, taken: Sequence[QRectF], right: float
) -> QRectF:
    """The target, likewise."""
    text = tr("target {} ms").format(format_number(target_ms))
    x = None
    if target_ms <= frame.x_high:
        x = frame.x_px(target_ms)
        draw_dashed_v(painter, x, frame.plot.top(), frame.plot.bottom(), palette.color("text"))
    return _words(painter, frame, palette, text, "secondary", x, taken, right)


def _words(
    painter: QPainter,
    frame: Frame,
    palette: Palette,
    text: str,
    role: str,
    x: float | None,
    taken: Sequence[QRectF],
    right: float,
) -> QRectF:
    """Words beside the line at `x` (None: it is off the axis), where no others are; nothing
    where there is no room."""
    plot = frame.plot
    runs = [Run(text if x is not None else tr("{} is off this axis").format(text), role)]
    width = runs_width(runs)
    others = [rect for rect in taken if not rect.isNull()]
    places = [x - 5 - width, x + 5] if x is not None else [plot.right() - width]
    if x is None:
        places += [rect.left() - 8 - width for rect in others]
    for y in (plot.bottom() - 5, plot.bottom() - 21):
        for left in places:
            spot = QRectF(left - 4, y - 11, width + 8, 15)
            fits = plot.left() <= left and left + width <= right
            if fits and not any(spot.intersects(other) for other in others):
                return draw_note(painter, left, y, runs, palette)
    return QRectF()
