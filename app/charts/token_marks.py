"""What the latency chart paints over its curves: limit, target, trend, live mark, outsiders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QCoreApplication, QLineF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from app.charts.frame import Frame, Run, box_size, hatch_brush, triangle
from app.charts.notes import Notes, Spot
from app.charts.ticks import format_tick, log_ticks, round_step, round_ticks
from app.theme import Palette
from profiler.units import format_number

Floats = npt.NDArray[np.float64]

NARROW_PX = 260
"""A narrower plot says "limit" alone: other words need the room."""


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
    painter: QPainter,
    frame: Frame,
    palette: Palette,
    notes: Notes,
    limit_ms: float,
    centre_ms: float | None,
) -> None:
    """Hatch below the physical limit; its words, and how far the median is from it, as notes."""
    plot = frame.plot
    y = frame.y_px(limit_ms)
    if not plot.top() < y < plot.bottom():
        return
    ratio = painter.device().devicePixelRatioF()
    area = QRectF(plot.left(), y, plot.width(), plot.bottom() - y)
    painter.fillRect(area, hatch_brush(palette.color("data3", 40), ratio))
    number = format_number(limit_ms)
    variants = [
        (Run(text.format(number), "data3", 500),)
        for text in (tr("physical limit here {} ms"), tr("limit {} ms"))
    ]
    notes.put(variants[plot.width() < NARROW_PX :], along(plot, y, right=True))
    if centre_ms is None or centre_ms <= limit_ms:
        return
    top = frame.y_px(centre_ms)
    x = round(plot.left() + 0.58 * plot.width()) + 0.5
    if y - top <= 72:
        return
    words = (Run(tr("{} % of the limit's speed").format(round(100 * limit_ms / centre_ms)), "text", 600),)
    if notes.put([words], [Spot(x + 8, (top + y) / 2)]).isNull():
        return
    painter.setPen(QPen(palette.color("secondary"), 1))
    painter.drawLine(QLineF(x, top + 4, x, y - 4))
    painter.setBrush(palette.color("secondary"))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.drawPolygon(triangle(x, top + 3, 3))
    painter.drawPolygon(triangle(x, y - 3, 3, down=True))


def along(plot: QRectF, y: float, right: bool) -> list[Spot]:
    """Places for the words of a line at `y`: above and below it, at the right or the left end first."""
    ends = [Spot(plot.right() - 5, y - 6, right=True), Spot(plot.left() + 5, y - 6)]
    ends += [Spot(plot.right() - 5, y + 15, right=True), Spot(plot.left() + 5, y + 15)]
    return ends if right else [ends[1], ends[0], ends[3], ends[2]]


def paint_target(painter: QPainter, frame: Frame, palette: Palette, notes: Notes, target_ms: float) -> None:
    """A dotted line at the target, where the axis reaches it; its words as a note."""
    if not frame.y_low < target_ms < frame.y_high:
        return
    plot = frame.plot
    y = round(frame.y_px(target_ms)) + 0.5
    pen = QPen(palette.color("bad"), 1)
    pen.setDashPattern([2, 3])
    painter.setPen(pen)
    painter.drawLine(QLineF(plot.left(), y, plot.right(), y))
    words = (Run(tr("target {} ms").format(format_number(target_ms)), "bad"),)
    notes.put([words], along(plot, y, right=False))


def paint_outside(
    painter: QPainter,
    frame: Frame,
    palette: Palette,
    notes: Notes,
    tokens: Floats,
    above: int,
    below: int,
) -> None:
    """Triangles at the upper edge; how many points lie beyond, as a note."""
    plot = frame.plot
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(palette.color("muted"))
    last = -10.0
    for token in np.sort(tokens).tolist():
        px = frame.x_px(token)
        if px - last >= 3 and plot.left() <= px <= plot.right():
            painter.drawPolygon(triangle(px, plot.top() + 1))
            last = px
    parts, short = [], []
    if above:
        parts.append(tr("{} above the axis").format(f"{above:,}"))
        short.append(tr("{} above").format(f"{above:,}"))
    if below:
        parts.append(tr("{} below").format(f"{below:,}"))
        short.append(parts[-1])
    if not parts:
        return
    sign = Run("▲ " if above else "▼ ", "muted")
    variants = [(sign, Run(", ".join(words), "secondary")) for words in (parts, short)]
    spots = [
        Spot(x, y, right)
        for y in (plot.bottom() - 8, plot.bottom() - 25, plot.top() + 16)
        for x, right in ((plot.left() + 6, False), (plot.right() - 6, True))
    ]
    notes.put(variants, spots)


def put_trend_words(
    notes: Notes, plot: QRectF, palette: Palette, line: TrendLine, curves_px: Sequence[float]
) -> None:
    """The slope in a box, best at the right and where no curve runs: `curves_px` are their heights."""
    if not line.slope:
        return
    slope = Run(line.slope, palette.text_role("data2"), 600)
    variants: list[tuple[Run, ...]] = [(slope,)]
    if line.interval:
        full = (slope, Run(f"  {line.interval}", "secondary"))
        if box_size([full])[0] <= plot.width() * 0.62:
            variants.insert(0, full)
    height = box_size([variants[0]])[1]
    rows = [plot.bottom() - height - 6, plot.bottom() - height - 20, plot.top() + 6]
    if len(curves_px) > 1:
        rows.append((curves_px[0] + curves_px[1] - height) / 2)
    rows.sort(key=lambda top: sum(top - 4 < y < top + height + 4 for y in curves_px))
    spots = [Spot(x, y, x > plot.center().x()) for y in rows for x in (plot.right() - 2, plot.left() + 6)]
    notes.put(variants, spots, "box")


def paint_live(painter: QPainter, frame: Frame, palette: Palette, notes: Notes, token: float) -> None:
    """The line at the last token of the running request; its word as a note beside it."""
    plot = frame.plot
    if not frame.x_low <= token <= frame.x_high:
        return
    x = round(frame.x_px(token)) + 0.5
    painter.setPen(QPen(palette.color("accent"), 1))
    painter.drawLine(QLineF(x, plot.top(), x, plot.bottom()))
    # To the left of the line, else to its right, else higher up.
    rows = (plot.bottom() - 8, plot.bottom() - 26, plot.bottom() - 44, plot.top() + 16)
    spots = [Spot(x + shift, y, shift < 0) for y in rows for shift in (-5, 5)]
    notes.put([(Run(tr("live"), "accent", 600),)], spots)
