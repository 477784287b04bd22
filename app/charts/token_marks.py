"""What the latency chart paints over its curves: limit, target, trend, live mark, outsiders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QCoreApplication, QLineF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from app.charts.frame import Frame, Run, box_size, draw_box, draw_note, hatch_brush, text_width, triangle
from app.charts.ticks import format_tick, log_ticks, round_step, round_ticks
from app.theme import Palette
from profiler.units import format_number

Floats = npt.NDArray[np.float64]


def tr(text: str) -> str:
    """Translate, in the context of the chart."""
    return QCoreApplication.translate("TokenLatencyChart", text)


@dataclass(frozen=True)
class TrendLine:
    """A straight line from token `x0` to `x1` (ms at both) and its words.

    `slope` e.g. "+0.26 µs per token", `interval` e.g. "95 % CI 0.19 to 0.33" (or "").
    """

    x0: float
    y0_ms: float
    x1: float
    y1_ms: float
    slope: str = ""
    interval: str = ""


def percent_ticks(frame: Frame, centre_ms: float) -> list[tuple[float, str]]:
    """Ticks of the right axis: (ms, "+5") round in per cent against the median."""
    if frame.log_y:
        return _factors(frame, centre_ms)
    low, high = ((bound / centre_ms - 1) * 100 for bound in (frame.y_low, frame.y_high))
    count = min(max(int(frame.plot.height() // 30), 2), 7)
    step = round_step(high - low, count)
    ticks = []
    for percent in round_ticks(low, high, count):
        words = format_tick(percent, step)
        if step >= 500:
            words = f"{format_tick(percent / 1000, step / 1000)}k" if percent else "0"
        ticks.append((centre_ms * (1 + percent / 100), f"+{words}" if percent > 1e-9 else words))
    return ticks


def _factors(frame: Frame, centre_ms: float) -> list[tuple[float, str]]:
    """On a logarithmic axis: times the median, at round factors."""
    count = min(max(int(frame.plot.height() // 30), 2), 7)
    ticks = log_ticks(frame.y_low / centre_ms, frame.y_high / centre_ms, count)
    return [(centre_ms * tick, f"×{format_number(tick, 2)}") for tick in ticks]


def paint_floor(
    painter: QPainter, frame: Frame, palette: Palette, limit_ms: float, centre_ms: float | None
) -> None:
    """Hatch below the physical limit, its words, and how far the median is from it."""
    plot = frame.plot
    y = frame.y_px(limit_ms)
    if not plot.top() < y < plot.bottom():
        return
    ratio = painter.device().devicePixelRatioF()
    area = QRectF(plot.left(), y, plot.width(), plot.bottom() - y)
    painter.fillRect(area, hatch_brush(palette.color("data3", 40), ratio))
    words = tr("physical limit here {} ms").format(format_number(limit_ms))
    draw_note(painter, plot.right() - 5, y - 6, [Run(words, "data3", 500)], palette, right=True)
    if centre_ms is None or centre_ms <= limit_ms:
        return
    top = frame.y_px(centre_ms)
    x = round(plot.left() + 0.58 * plot.width()) + 0.5
    words = tr("{} % of the limit's speed").format(round(100 * limit_ms / centre_ms))
    if y - top <= 72 or x + 8 + text_width(words, 11, 600) > plot.right():
        return
    painter.setPen(QPen(palette.color("secondary"), 1))
    painter.drawLine(QLineF(x, top + 4, x, y - 4))
    painter.setBrush(palette.color("secondary"))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.drawPolygon(triangle(x, top + 3, 3))
    painter.drawPolygon(triangle(x, y - 3, 3, down=True))
    draw_note(painter, x + 8, (top + y) / 2, [Run(words, "text", 600)], palette)


def paint_target(painter: QPainter, frame: Frame, palette: Palette, target_ms: float) -> None:
    """A dotted line at the target, where the axis reaches it."""
    if not frame.y_low < target_ms < frame.y_high:
        return
    plot = frame.plot
    y = round(frame.y_px(target_ms)) + 0.5
    pen = QPen(palette.color("bad"), 1)
    pen.setDashPattern([2, 3])
    painter.setPen(pen)
    painter.drawLine(QLineF(plot.left(), y, plot.right(), y))
    words = tr("target {} ms").format(format_number(target_ms))
    draw_note(painter, plot.left() + 5, y - 4, [Run(words, "bad")], palette)


def paint_outside(
    painter: QPainter, frame: Frame, palette: Palette, tokens: Floats, above: int, below: int
) -> QRectF:
    """Triangles at the upper edge, and how many points lie beyond; returns where the words lie."""
    plot = frame.plot
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(palette.color("muted"))
    last = -10.0
    for token in np.sort(tokens).tolist():
        px = frame.x_px(token)
        if px - last >= 3 and plot.left() <= px <= plot.right():
            painter.drawPolygon(triangle(px, plot.top() + 1))
            last = px
    parts = []
    if above:
        parts.append(tr("{} above the axis").format(f"{above:,}"))
    if below:
        parts.append(tr("{} below").format(f"{below:,}"))
    if not parts:
        return QRectF()
    runs = [Run("     " + ", ".join(parts), "secondary")]
    rect = draw_note(painter, plot.left() + 6, plot.bottom() - 8, runs, palette)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(palette.color("muted"))
    painter.drawPolygon(triangle(rect.left() + 7, rect.bottom() - 11, 4))
    return rect


def paint_trend_words(
    painter: QPainter, plot: QRectF, palette: Palette, line: TrendLine, at_top: bool
) -> QRectF:
    """The slope in a box at the right, below (or `at_top`); returns where it lies."""
    if not line.slope:
        return QRectF()
    runs = [Run(line.slope, palette.text_role("data2"), 600)]
    if line.interval:
        runs.append(Run(f"  {line.interval}", "secondary"))
    width, height = box_size([runs])
    if width > plot.width() * 0.62:
        runs = runs[:1]
        width, height = box_size([runs])
    top = plot.top() + 6 if at_top else plot.bottom() - height - 6
    return draw_box(painter, plot.right() - width - 2, top, [runs], palette)


def paint_live(
    painter: QPainter, frame: Frame, palette: Palette, token: float, taken: Sequence[QRectF]
) -> None:
    """The line at the last token of the running request; its word keeps clear of other words."""
    plot = frame.plot
    if not frame.x_low <= token <= frame.x_high:
        return
    x = round(frame.x_px(token)) + 0.5
    painter.setPen(QPen(palette.color("accent"), 1))
    painter.drawLine(QLineF(x, plot.top(), x, plot.bottom()))
    words = tr("live")
    width = text_width(words, 11, 600)
    others = [other for other in taken if not other.isNull()]
    # To the left of the line, else to its right, else above the words that are in the way.
    sides = [
        QRectF(left, plot.bottom() - 19, width, 15)
        for left in (x - width - 5, x + 5)
        if plot.left() + 2 < left and left + width <= plot.right()
    ]
    free = [
        rect for rect in sides if not any(rect.adjusted(-3, 0, 3, 0).intersects(other) for other in others)
    ]
    rect = (free or sides)[0]
    if not free:
        rect.moveBottom(min(other.top() for other in others) - 3)
    draw_note(painter, rect.left(), rect.bottom() - 4, [Run(words, "accent", 600)], palette)
