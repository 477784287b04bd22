"""What the bandwidth chart is given and what it paints over its curves: windows, peak, words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QCoreApplication, QLineF, QRectF
from PySide6.QtGui import QPainter, QPen

from app.charts.frame import Frame, Run, hatch_brush
from app.charts.notes import Notes, Spot
from app.charts.ticks import format_tick, round_step, round_ticks
from app.theme import Palette
from app.widgets import LegendItem
from profiler.analysis.busy_windows import TOO_SHORT
from profiler.units import THIN, format_number

Floats = npt.NDArray[np.float64]


def tr(text: str) -> str:
    """Translate, in the context of the chart."""
    return QCoreApplication.translate("BandwidthChart", text)


@dataclass(frozen=True)
class BandwidthSeries:
    """Model-based utilisation of one request: per cent of the reference at each token."""

    label: str
    tokens: Floats
    mbu_pct: Floats
    warmup: bool = False


@dataclass(frozen=True)
class BusyWindow:
    """One reading of a window, placed on the tokens it covers; `inside`: wholly within decode."""

    token_from: float
    token_to: float
    pct: float
    inside: bool = True


def paint_busy(painter: QPainter, frame: Frame, palette: Palette, busy: Sequence[BusyWindow]) -> None:
    """Busy time as steps with a square at each start; grey where not all of it is decode."""
    plot = frame.plot
    ratio = painter.device().devicePixelRatioF()
    line, squares = [], []
    before: BusyWindow | None = None
    for window in busy:
        if window.token_to < frame.x_low or window.token_from > frame.x_high:
            before = None
            continue
        left = max(frame.x_px(window.token_from), plot.left())
        right = min(frame.x_px(window.token_to), plot.right())
        y = round(frame.y_px(min(window.pct, frame.y_high))) + 0.5
        if not window.inside:
            area = QRectF(left, plot.top(), max(right - left, 1), plot.height())
            painter.fillRect(area, palette.color("muted", 24))
            painter.fillRect(area, hatch_brush(palette.color("muted", 90), ratio))
            painter.setPen(QPen(palette.color("muted"), 2))
            painter.drawLine(QLineF(left, y, right, y))
            before = None
            continue
        if before is not None:
            last = round(frame.y_px(min(before.pct, frame.y_high))) + 0.5
            line.append(QLineF(left, last, left, y))
        line.append(QLineF(left, y, right, y))
        squares.append(QRectF(left - 2, y - 2, 4, 4))
        before = window
    painter.setPen(QPen(palette.color("data2"), 1.2))
    painter.drawLines(line)
    # Squares only while they stand apart.
    if len(squares) * 7 < plot.width():
        for square in squares:
            painter.fillRect(square, palette.color("data2"))


def paint_peak(
    painter: QPainter, frame: Frame, palette: Palette, notes: Notes, peak_gb_s: float, pct: float
) -> None:
    """The measured peak beside a data sheet, in the pen of the limit; its words as a note."""
    plot = frame.plot
    if not frame.y_low < pct <= frame.y_high:
        return
    y = round(frame.y_px(pct)) + 0.5
    pen = QPen(palette.color("data3"), 1.6)
    pen.setDashPattern([4, 1.7, 1, 1.7])
    painter.setPen(pen)
    painter.drawLine(QLineF(plot.left(), y, plot.right(), y))
    number = format_number(peak_gb_s)
    variants = [
        (Run(text.format(number), "data3", 500),)
        for text in (tr("measured peak {} GB/s"), tr("peak {} GB/s"))
    ]
    below, above = y + 14, y - 5
    spots = [Spot(plot.right() - 4, below, right=True), Spot(plot.left() + 5, below)]
    spots += [Spot(plot.right() - 4, above, right=True), Spot(plot.left() + 5, above)]
    notes.put(variants, spots)


def explanation(
    busy: Sequence[BusyWindow] | None, reason: str | None, window_s: float | None
) -> tuple[str, str]:
    """What busy time is, or that it is withheld: one sentence, and a short one; "" without a window."""
    if window_s is None:
        return "", ""
    window = f"{format_number(window_s, 2)}{THIN}s"
    texts = ("", "")
    if busy:
        texts = (
            tr("Busy time is the share of time memory was touched in the last {}, not bandwidth."),
            tr("Busy time (last {}) is not bandwidth."),
        )
    elif reason == TOO_SHORT:
        texts = (
            tr("Busy time is withheld: too short for this counter, which looks back {}."),
            tr("Busy time: too short for its window, {}."),
        )
    return texts[0].format(window), texts[1].format(window)


def speed_ticks(
    ticks: Sequence[float], reference_gb_s: float, top_pct: float, count: int
) -> list[tuple[float, str]]:
    """(per cent, words in GB/s) for the right axis: at the grid if that is round, else on its own."""
    speeds = [tick * reference_gb_s / 100 for tick in ticks]
    if all(speed == 0 or abs(float(f"{speed:.1e}") / speed - 1) < 1e-9 for speed in speeds):
        return [(tick, format_number(speed, 2)) for tick, speed in zip(ticks, speeds, strict=True)]
    top = top_pct * reference_gb_s / 100
    # On its own the axis may have one tick more: none of them needs a grid line.
    count += 1
    step = round_step(top, count)
    return [(speed * 100 / reference_gb_s, format_tick(speed, step)) for speed in round_ticks(0, top, count)]


def legend_items(
    reason: str | None,
    busy: Sequence[BusyWindow] | None,
    busy_reason: str | None,
    with_gpm: bool,
    gpm_reason: str | None,
) -> list[LegendItem]:
    """The entries; a source that is missing stays, with why. Entries with a key are layers."""
    tip = tr("Weights and KV cache a step must read, divided by its time and by the reference.")
    items = [LegendItem(tr("model-based"), "data3", short=tr("model"), tip=tip, key="model")]
    if reason:
        label = tr("model-based n/a")
        items = [LegendItem(label, "data3", short=tr("n/a"), tip=reason, muted=True)]
    if busy is None:
        tip = busy_reason or tr("The GPU does not report it.")
        label = tr("DRAM busy time n/a")
        items.append(LegendItem(label, "data2", "step", short=tr("busy n/a"), tip=tip, muted=True))
    else:
        tip = tr("Share of time in which memory was touched, not bandwidth.")
        label = tr("DRAM busy time")
        items.append(LegendItem(label, "data2", "step", short=tr("busy"), tip=tip, key="busy"))
        if any(not window.inside for window in busy):
            tip = tr("The window also covers prefill or the end; it is left out of statistics.")
            items.append(LegendItem(tr("not all decode"), "muted", "hatch", short=tr("part"), tip=tip))
    if with_gpm:
        tip = tr("The GPU's own counter of DRAM traffic, compared in GB/s.")
        items.append(LegendItem(tr("GPM DRAM"), "data4", "dashed", short=tr("GPM"), tip=tip, key="gpm"))
    elif gpm_reason:
        items.append(LegendItem(tr("GPM n/a"), "data4", "dashed", tip=gpm_reason, muted=True))
    return items
