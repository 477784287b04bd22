"""How a line of tokens is painted: font, grid and colours of a theme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from app.theme import Palette, mono_font
from app.widgets.heat import STEPS, heat_steps
from app.widgets.token_layout import Placed

FONT_PX = 12
LINE_PX = 19
"""Height of a line at `FONT_PX`; another size of the theme's font keeps the proportion."""
_WORDS = int(
    Qt.AlignmentFlag.AlignLeft
    | Qt.AlignmentFlag.AlignTop
    | Qt.TextFlag.TextSingleLine
    | Qt.TextFlag.TextDontClip
)


@dataclass(frozen=True, slots=True)
class Marks:
    """What stands out: the marked token, the one under the pointer, the tokens underlined (both
    ends included)."""

    token: int | None = None
    hover: int | None = None
    range: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Run:
    """Text of one colour. `part`: the unit itself where it is no plain ASCII."""

    col: int
    text: str
    color: QColor
    heavy: bool
    part: Placed | None


class TokenLook:
    """Needs a QGuiApplication. Made anew for another theme."""

    def __init__(self, palette: Palette) -> None:
        self.font = mono_font(FONT_PX)
        self._heavy = mono_font(FONT_PX, 600)
        metrics = QFontMetricsF(self.font)
        self._metrics = metrics
        self.cell_px = metrics.horizontalAdvance("0" * 100) / 100
        """Width of a column (a fraction)."""
        self.line_px = max(round(self.font.pixelSize() * LINE_PX / FONT_PX), 1)
        """Height of a line."""
        self._ascent_px = metrics.ascent()
        space = self.line_px - metrics.ascent() - metrics.descent()
        self._baseline_px = round(space / 2 + metrics.ascent())
        steps = heat_steps(palette)
        self._fills = [None if step.fill is None else QColor(step.fill) for step in steps]
        self._texts = [(QColor(step.text), QColor(step.symbol)) for step in steps]
        # The first step with the same words, so that neighbours of both can be one string.
        self._alike = [[other.text for other in steps[:-1]].index(step.text) for step in steps[:-1]]
        self._alike.append(STEPS - 1)
        self._accent = palette.color("accent")
        self._marked = (palette.color("text"), palette.color("surface"))

    @property
    def grid(self) -> tuple[float, int]:
        """Two looks with the same grid have all tokens in the same places."""
        return self.cell_px, self.line_px

    def columns_of(self, text: str) -> int:
        """Columns that text needs; up to 15 % of one may be missing."""
        return ceil(self._metrics.horizontalAdvance(text) / self.cell_px - 0.15)

    def paint_line(
        self,
        painter: QPainter,
        x: float,
        y: float,
        parts: Sequence[Placed],
        levels: Sequence[int],
        marks: Marks,
    ) -> None:
        """Paint the units of a line with its upper left corner at x, y; `levels`: step of each unit."""
        for number, level, col, cols in _boxes(parts, levels):
            self._paint_box(painter, number, level, x + col * self.cell_px, y, cols, marks)
        for run in self._runs(parts, levels, marks):
            self._paint_run(painter, x, y, run)

    def _paint_box(
        self, painter: QPainter, number: int, level: int, x: float, y: float, cols: int, marks: Marks
    ) -> None:
        box = QRectF(x, y + 1, cols * self.cell_px, self.line_px - 2)
        fill = self._fills[level]
        if number and number == marks.token:
            painter.fillRect(box, self._marked[0])
        elif fill is not None:
            # One pixel short: two tokens of the same colour stay two.
            painter.fillRect(box.adjusted(0, 0, -1, 0), fill)
        if marks.range is not None and marks.range[0] <= number <= marks.range[1]:
            painter.fillRect(QRectF(x, y + self.line_px - 2, cols * self.cell_px, 2), self._accent)
        if number and number == marks.hover:
            painter.setPen(self._accent)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(box.adjusted(0, -0.5, -1, 0.5))

    def _runs(self, parts: Sequence[Placed], levels: Sequence[int], marks: Marks) -> Iterator[_Run]:
        """Neighbours of plain ASCII in the same colour are one string: painting costs by the string."""
        texts: list[str] = []
        col, before = 0, (-1, False)
        for part, level in zip(parts, levels, strict=True):
            marked = part.number != 0 and part.number == marks.token
            look = (self._alike[level], marked)
            if texts and (look != before or not part.unit.simple):
                yield _Run(col, "".join(texts), self._color(*before), before[0] == STEPS - 1, None)
                texts = []
            if part.unit.simple:
                if not texts:
                    col, before = part.col, look
                texts.append(part.unit.text)
            else:
                color = self._color(level, marked, part.unit.symbol)
                yield _Run(part.col, part.unit.text, color, level == STEPS - 1, part)
        if texts:
            yield _Run(col, "".join(texts), self._color(*before), before[0] == STEPS - 1, None)

    def _color(self, level: int, marked: bool, symbol: bool = False) -> QColor:
        return self._marked[1] if marked else self._texts[level][symbol]

    def _paint_run(self, painter: QPainter, left: float, y: float, run: _Run) -> None:
        x = left + run.col * self.cell_px
        painter.setFont(self._heavy if run.heavy else self.font)
        painter.setPen(run.color)
        if run.part is None:
            painter.drawText(QPointF(x, y + self._baseline_px), run.text)
            return
        width = run.part.unit.cols * self.cell_px
        if run.part.unit.tall:
            painter.save()
            painter.setClipRect(QRectF(x, y, width, self.line_px))
        # Words in a rectangle, not at a point: there the painter's direction holds, not the text's.
        rect = QRectF(x, y + self._baseline_px - self._ascent_px, width + 2, 2.0 * self.line_px)
        painter.drawText(rect, _WORDS, run.text)
        if run.part.unit.tall:
            painter.restore()


def _boxes(parts: Sequence[Placed], levels: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """Number, step, column and columns of each cell of a line."""
    at = 0
    while at < len(parts):
        end = at
        cols = 0
        while end < len(parts) and parts[end].cell == parts[at].cell:
            cols += parts[end].unit.cols
            end += 1
        yield parts[at].number, levels[at], parts[at].col, cols
        at = end
