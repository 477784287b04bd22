"""Words over a plot that keep clear of each other.

A chart says in the order of their importance which words it has and where they would like to be.
Each takes the first of its places that is free, and stays away where none is: what it says is in
the readout, the legend's tips and the chart's summary, too. All are painted at the end, but for
those that the readout lies on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from app.charts.frame import LINE_PX, Run, box_size, draw_box, draw_note, draw_runs, runs_width
from app.theme import Palette

Style = Literal["note", "box", "chip"]
"""`note`: on a patch of the card's colour; `box`: like a readout; `chip`: tinted, for states."""
Words = tuple[Run, ...]

CHIP_PAD_PX, CHIP_PX = 6.0, 16.0


@dataclass(frozen=True)
class Spot:
    """A place for words, px: of a note the end of its base line, of others the upper corner.

    The left one, or the right one with `right`; both in the middle with `middle`.
    """

    x: float
    y: float
    right: bool = False
    middle: bool = False


class Notes:
    """The words over one plot, of one redraw."""

    def __init__(self, bounds: QRectF) -> None:
        """`bounds`: what no word leaves, px."""
        self._bounds = bounds
        self._taken: list[QRectF] = []
        self._placed: list[tuple[Style, QRectF, Words]] = []

    def take(self, rect: QRectF) -> None:
        """Something else lies there."""
        if not rect.isNull():
            self._taken.append(rect)

    def hits(self, rect: QRectF) -> int:
        """How many words a rectangle would lie on."""
        return sum(rect.intersects(other) for other in self._taken)

    def put(self, variants: Sequence[Words], spots: Sequence[Spot], style: Style = "note") -> QRectF:
        """Place the longest of `variants` (longest first) that finds a free spot.

        Returns where it will lie; a null rectangle where there is no room for any.
        """
        for words in variants:
            for spot in spots:
                rect = _rect(style, words, spot)
                if self._bounds.contains(rect) and not self.hits(rect):
                    self._taken.append(rect)
                    self._placed.append((style, rect, words))
                    return rect
        return QRectF()

    def paint(self, painter: QPainter, palette: Palette, below: QRectF | None = None) -> None:
        """Paint all words but those that `below` (a readout) will lie on: half of a word is none."""
        for style, rect, words in self._placed:
            if below is not None and rect.intersects(below):
                continue
            if style == "note":
                draw_note(painter, rect.left() + 2, rect.top() + 11, words, palette)
            elif style == "box":
                draw_box(painter, rect.left(), rect.top(), [words], palette)
            else:
                painter.fillRect(rect, palette.color("accent_tint"))
                draw_runs(painter, rect.left() + CHIP_PAD_PX, rect.top() + 12, words, palette)


def _rect(style: Style, words: Words, spot: Spot) -> QRectF:
    if style == "note":
        width, height, top, pad = runs_width(words) + 4, 15.0, spot.y - 11, 2.0
    elif style == "box":
        (width, height), top, pad = box_size([words]), spot.y, 0.0
    else:
        width, height, top, pad = runs_width(words) + 2 * CHIP_PAD_PX, CHIP_PX, spot.y, 0.0
    left = spot.x - pad
    if spot.middle:
        left = spot.x - width / 2
    elif spot.right:
        left = spot.x + pad - width
    return QRectF(left, top, width, height)


READOUT_GAP_PX, READOUT_EDGE_PX = 6.0, 4.0


def fitted_lines(lines: Sequence[Sequence[Run]], plot: QRectF) -> list[list[Run]]:
    """The lines of a readout as a plot has room for them: wide ones parted, the last ones left out."""
    room = plot.width() - 2
    fitted: list[list[Run]] = []
    for line in lines:
        if box_size([line])[0] <= room:
            fitted.append(list(line))
            continue
        # What stands apart (by two spaces) may stand on a line of its own.
        part: list[Run] = []
        for run in line:
            if part and run.text.startswith("  "):
                fitted.append(part)
                part = []
                run = Run(run.text.lstrip(), run.role, run.weight)
            part.append(run)
        fitted.append(part)
    count = int((plot.height() - (box_size([[]])[1] - LINE_PX)) // LINE_PX)
    return fitted[: max(count, 1)]


def place_readout(notes: Notes, plot: QRectF, x: float, lines: Sequence[Sequence[Run]]) -> QRectF:
    """Where a readout lies: beside the line at `x`, on as few words as can be, inside the plot."""
    width, height = box_size(lines)
    sides = [
        left
        for left in (x + READOUT_GAP_PX, x - READOUT_GAP_PX - width)
        if plot.left() <= left and left + width <= plot.right()
    ]
    # Without room on either side it lies over the line.
    sides = sides or [max(min(x + READOUT_GAP_PX, plot.right() - width), plot.left())]
    tops = [plot.top() + READOUT_EDGE_PX, plot.bottom() - height - READOUT_EDGE_PX]
    if height + READOUT_EDGE_PX > plot.height():
        tops = [plot.center().y() - height / 2]
    rects = [QRectF(round(left), round(top), round(width), round(height)) for top in tops for left in sides]
    return min(rects, key=notes.hits)
