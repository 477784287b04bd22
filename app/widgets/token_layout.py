"""Lines of tokens on a grid of columns: appended to in constant time a token, no Qt.

A cell is one piece of text (one step of a decoder); its number is what people call it (from 1),
0 for text that belongs to no step. Lines break before a word where that leaves no big hole, else
before a cell, else within it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from app.widgets.token_glyphs import Glyphs, Unit, glyphs_of

CACHE_SIZE = 50_000
"""Looks of pieces that are kept: more than most vocabularies use in an answer."""


class Placed(NamedTuple):
    """A unit in its place. `cell` from 0, `number` from 1 (0: none), `col` from 0."""

    unit: Unit
    cell: int
    number: int
    col: int


class TokenLayout:
    """`measure(text)` is the width of text that is not ASCII, in columns."""

    def __init__(self, measure: Callable[[str], int], columns: int = 80) -> None:
        self._measure = measure
        self._columns = max(columns, 1)
        self._cache: dict[str, Glyphs] = {}
        self._pieces: list[str] = []
        self._numbers = array("q")
        self._cell_of = array("q")
        self._forget_places()

    def _forget_places(self) -> None:
        self._line_start = array("q", [0])
        self._units: list[Unit] = []
        self._unit_cell = array("q")
        self._unit_col = array("q")
        self._cell_unit = array("q")
        self._col = 0
        self._break_at = -1
        self._may_break = False

    def __len__(self) -> int:
        """Cells."""
        return len(self._pieces)

    @property
    def columns(self) -> int:
        """Width of a line."""
        return self._columns

    @property
    def line_count(self) -> int:
        """Lines, at least 1; the last one may be empty."""
        return len(self._line_start)

    @property
    def last_number(self) -> int:
        """The highest number given; 0 without any."""
        return len(self._cell_of)

    def clear(self) -> None:
        """No cells."""
        self._pieces = []
        self._numbers = array("q")
        self._cell_of = array("q")
        self._forget_places()

    def set_columns(self, columns: int) -> bool:
        """Another width; True when everything was laid out anew (some 1 us a cell)."""
        columns = max(columns, 1)
        if columns == self._columns:
            return False
        self._columns = columns
        self._again()
        return True

    def set_measure(self, measure: Callable[[str], int]) -> None:
        """Another font: lay everything out anew."""
        self._measure = measure
        self._cache.clear()
        self._again()

    def _again(self) -> None:
        self._forget_places()
        for cell, piece in enumerate(self._pieces):
            self._place(cell, piece)

    def append(self, pieces: Sequence[str], numbers: Sequence[int]) -> int:
        """Add cells; `numbers` are 0 or go on from the last one. Returns the first line touched."""
        first = self.line_count - 1
        for piece, number in zip(pieces, numbers, strict=True):
            cell = len(self._pieces)
            self._pieces.append(piece)
            self._numbers.append(number)
            if number:
                self._cell_of.append(cell)
            self._place(cell, piece)
        return first

    def _place(self, cell: int, piece: str) -> None:
        glyphs = self._cache.get(piece)
        if glyphs is None:
            if len(self._cache) >= CACHE_SIZE:
                self._cache.clear()
            glyphs = self._cache[piece] = glyphs_of(piece, self._measure)
        if self._col and (self._may_break or glyphs.break_before):
            self._break_at = len(self._units)
        self._cell_unit.append(len(self._units))
        columns = self._columns
        for unit in glyphs.units:
            if self._col + unit.cols > columns and self._col:
                self._wrap(unit.cols)
            if unit.cols > columns and unit.simple:
                for at in range(0, unit.cols, columns):
                    if self._col:
                        self._new_line()
                    part = unit.text[at : at + columns]
                    self._put(Unit(part, len(part)), cell)
            else:
                self._put(unit, cell)
            if unit.ends_line:
                self._new_line()
        self._may_break = glyphs.break_after

    def _put(self, unit: Unit, cell: int) -> None:
        self._units.append(unit)
        self._unit_cell.append(cell)
        self._unit_col.append(self._col)
        self._col += unit.cols

    def _new_line(self) -> None:
        self._line_start.append(len(self._units))
        self._col = 0
        self._break_at = -1

    def _wrap(self, cols: int) -> None:
        """Begin a new line, with the word that is being written if it is short."""
        at = self._break_at
        moved = self._col - self._unit_col[at] if 0 <= at < len(self._units) else 0
        if not moved or moved > self._columns // 3 or moved + cols > self._columns:
            self._new_line()
            return
        shift = self._unit_col[at]
        for index in range(at, len(self._units)):
            self._unit_col[index] -= shift
        self._line_start.append(at)
        self._col = moved
        self._break_at = -1

    # -- asking -------------------------------------------------------------------------------

    def line(self, index: int) -> list[Placed]:
        """The units of a line, left to right."""
        start, stop = self._bounds(index)
        cells, numbers = self._unit_cell[start:stop], self._numbers
        columns = self._unit_col[start:stop]
        return [
            Placed(unit, cell, numbers[cell], col)
            for unit, cell, col in zip(self._units[start:stop], cells, columns, strict=True)
        ]

    def _bounds(self, index: int) -> tuple[int, int]:
        starts = self._line_start
        return starts[index], starts[index + 1] if index + 1 < len(starts) else len(self._units)

    def end_col(self, index: int) -> int:
        """First free column of a line."""
        start, stop = self._bounds(index)
        return self._unit_col[stop - 1] + self._units[stop - 1].cols if stop > start else 0

    def number_at(self, line: int, col: float, near: bool = False) -> int | None:
        """Number of the cell at a column; None beside the text and for text without a number.

        `near`: the closest one of the line instead of None, where it has any.
        """
        if not 0 <= line < self.line_count:
            return None
        start, stop = self._bounds(line)
        at = bisect_right(self._unit_col, col, start, stop) - 1
        if at < start:
            return None
        beside = col >= self._unit_col[at] + self._units[at].cols
        if beside and not near:
            return None
        return self._numbers[self._unit_cell[at]] or None

    def lines_of(self, number: int) -> tuple[int, int] | None:
        """First and last line of a token (from 1); None when there is none such."""
        if not 1 <= number <= len(self._cell_of):
            return None
        first = self._cell_unit[self._cell_of[number - 1]]
        following = self._cell_of[number - 1] + 1
        end = self._cell_unit[following] if following < len(self._cell_unit) else len(self._units)
        starts = self._line_start
        return (
            bisect_right(starts, first, 0, len(starts)) - 1,
            bisect_right(starts, max(end - 1, first), 0, len(starts)) - 1,
        )

    def col_of(self, number: int) -> int:
        """Column of a token's beginning. IndexError when there is none such."""
        return self._unit_col[self._cell_unit[self._cell_of[number - 1]]]

    def piece(self, number: int) -> str:
        """A token's text as it came. IndexError when there is none such."""
        return self._pieces[self._cell_of[number - 1]]
