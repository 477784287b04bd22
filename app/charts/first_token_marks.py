"""What the first-token chart paints over its bars: the compute limit and the target."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QLineF
from PySide6.QtGui import QPainter, QPen

from app.charts.frame import Frame, Run, draw_dashed_v
from app.charts.notes import Notes, Spot
from app.theme import Palette
from profiler.units import format_number


def tr(text: str) -> str:
    """Translate, in the context of the chart."""
    return QCoreApplication.translate("FirstTokenChart", text)


def paint_limit(painter: QPainter, frame: Frame, palette: Palette, notes: Notes, limit_ms: float) -> None:
    """The least time that the prompt takes: a line, and its words as a note.

    Off the axis it is words alone.
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
    _put(frame, notes, text, "data3", x)


def paint_target(painter: QPainter, frame: Frame, palette: Palette, notes: Notes, target_ms: float) -> None:
    """The target, likewise."""
    text = tr("target {} ms").format(format_number(target_ms))
    x = None
    if target_ms <= frame.x_high:
        x = frame.x_px(target_ms)
        draw_dashed_v(painter, x, frame.plot.top(), frame.plot.bottom(), palette.color("text"))
    _put(frame, notes, text, "secondary", x)


def _put(frame: Frame, notes: Notes, text: str, role: str, x: float | None) -> None:
    """Words beside the line at `x` (None: it is off the axis), in the strip below the bars."""
    plot = frame.plot
    rows = (plot.bottom() - 5, plot.bottom() - 21)
    if x is None:
        variants = [(Run(tr("{} is off this axis").format(text), role),), (Run(f"{text} →", role),)]
        spots = [Spot(plot.right(), y, right=True) for y in rows] + [Spot(plot.left() + 4, rows[0])]
        notes.put(variants, spots)
        return
    notes.put([(Run(text, role),)], [Spot(x + shift, y, shift < 0) for y in rows for shift in (-7, 7)])
