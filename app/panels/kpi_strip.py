"""The strip of eight key figures above the charts: one card, not eight.

One line of eight tiles; two lines of four where eight side by side would cut their words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from app.panels.kpi_values import Kpi, kpi_names, kpi_values, kpi_values_of_range, short_names
from app.panels.kpi_values import shown as shown_text
from app.panels.parts import row, tip
from app.panels.selection_cell import SelectionCell
from app.widgets import Card, Divider, KpiTile
from profiler.units import DASH

HEIGHT = 86
"""Height of a strip of one line, px."""
TWO_LINES_PX = 157
"""Height of a strip of two: lines of 78 px and the divider between them."""
TWO_LINES_BELOW_PX = 850
"""A narrower strip has two lines. It looks at the strip's width alone, never at what the tiles say:
a selection or a longer number must not move the charts below."""


class Selection(Protocol):
    """What the strip needs of a selected range (`profiler.analysis.selection.SelectionValues`)."""

    @property
    def first(self) -> int:
        """Number of the first token in it, from 1."""
        ...

    @property
    def last(self) -> int:
        """Number of the last token in it."""
        ...

    @property
    def requests(self) -> int:
        """How many requests have tokens in it."""
        ...

    @property
    def metrics(self) -> dict[str, Any]:
        """The range's figures under the names of a run's metrics."""
        ...


class KpiStrip(Card):
    """Shows metrics objects; keeps what it shows for tests and for the unattended run."""

    definition_asked = Signal(str)
    """The tile whose number is to be explained (a key of `kpi_names`)."""
    selection_cleared = Signal()
    """The selection's x was clicked."""

    def __init__(self) -> None:
        super().__init__((0, 0, 0, 0))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Key figures"))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.tiles: dict[str, KpiTile] = {}
        self.shown: dict[str, Kpi] = {}
        self.selection_cell = SelectionCell()
        self.selection_cell.cleared.connect(self.selection_cleared)
        self.selection_cell.hide()
        self._selection: Selection | None = None
        self._metrics: dict[str, Any] | None = None
        self._sparks: dict[str, Sequence[float]] = {}
        self._judged: dict[str, Any] | None = None
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(0)
        self.body.addLayout(self._grid)
        self._dividers = [self._margined(Divider(vertical=True), (0, 10, 0, 10)) for _ in range(7)]
        self._line = self._margined(Divider(), (12, 0, 8, 0))
        for key, name in kpi_names().items():
            self.tiles[key] = KpiTile(name, short_name=short_names().get(key, ""))
            self.tiles[key].clicked.connect(lambda key=key: self.definition_asked.emit(key))
        self._lines = 0
        self._lay_out(1)
        self.refresh(None)

    def refresh(
        self,
        metrics: dict[str, Any] | None,
        sparks: dict[str, Sequence[float]] | None = None,
        judged: dict[str, Any] | None = None,
    ) -> None:
        """Show a metrics object; None clears the strip. `sparks`: values for the small lines, by tile.

        `judged`: `profiler.analysis.targets.targets_report` of the same run; None shows no targets.
        """
        self._metrics, self._sparks, self._judged = metrics, sparks or {}, judged
        self._show()

    def refresh_selection(self, selection: Selection | None) -> None:
        """Show the figures of a range of tokens, the run's own below them; None: the run's alone."""
        if selection is None and self._selection is None:
            return
        self._selection = selection
        self.selection_cell.setVisible(selection is not None)
        if selection is not None:
            self.selection_cell.refresh(selection.first, selection.last, selection.requests)
        self._show()

    def _show(self) -> None:
        self.shown = kpi_values(self._metrics, self._judged)
        ranged = self._selection is not None and self._metrics is not None
        if self._selection is not None and ranged:
            self.shown = kpi_values_of_range(self.shown, self._selection.metrics, self._judged)
        for key, kpi in self.shown.items():
            tile = self.tiles[key]
            if kpi.text == DASH:
                if self._metrics is None:
                    tile.set_missing("", "")
                else:
                    tile.set_missing(kpi.tip, kpi.foot)
                continue
            tile.set_value(kpi.text, kpi.unit)
            tile.set_mark(kpi.mark, kpi.verdict)
            tile.set_foot(kpi.foot, "bad" if kpi.mark == "bad" else "", kpi.short_foot)
            tip(tile, kpi.tip)
            values = () if ranged else self._sparks.get(key)
            if values is not None:
                tile.set_spark(values, dots=key in ("ttft", "tpot"))
        self.body.activate()  # a selection's cell has moved the tiles
        self._size_values()

    @property
    def lines(self) -> int:
        """How many lines of tiles there are: 1 or 2."""
        return self._lines

    def cut_words(self) -> list[str]:
        """What the tiles and the selection's cell would have to cut at the present width."""
        cut = [words for tile in self.tiles.values() for words in tile.cut_words()]
        return cut + (self.selection_cell.cut_words() if self._selection is not None else [])

    def _margined(self, line: Divider, margins: tuple[int, int, int, int]) -> QWidget:
        """A divider that ends some pixels before its neighbours do."""
        holder = QWidget(self)
        row(holder, margins).addWidget(line)
        return holder

    def _lay_out(self, lines: int) -> None:
        """Tiles and the dividers between them, in one or two lines."""
        if lines == self._lines:
            return
        self._lines, grid, tiles = lines, self._grid, list(self.tiles.values())
        while grid.count():
            grid.takeAt(0)
        columns = len(tiles) // lines
        for column in range(grid.columnCount()):
            grid.setColumnStretch(column, 0)
        # Column 0 is the selection's; from there on tile, divider, tile. Row 1 parts two lines.
        grid.addWidget(self.selection_cell, 0, 0, 2 * lines - 1, 1)
        for number, tile in enumerate(tiles):
            line, place = divmod(number, columns)
            grid.addWidget(tile, 2 * line, 2 * place + 1)
            grid.setColumnStretch(2 * place + 1, 1)
            if number:
                divider = self._dividers[number - 1]
                divider.setVisible(place > 0)
                if place:
                    grid.addWidget(divider, 2 * line, 2 * place)
        self._line.setVisible(lines > 1)
        if lines > 1:
            grid.addWidget(self._line, 1, 1, 1, 2 * columns - 1)
        self.setFixedHeight(TWO_LINES_PX if lines > 1 else HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out(2 if self.width() < TWO_LINES_BELOW_PX else 1)
        self.body.activate()
        self._size_values()

    def _size_values(self) -> None:
        """One size for all values, so that the strip reads as one."""
        px = min(tile.fitting_px() for tile in self.tiles.values())
        for tile in self.tiles.values():
            tile.set_value_px(px)

    def as_text(self) -> str:
        """The figures as they are shown, one a line, for the clipboard."""
        names = kpi_names()
        return "".join(f"{names[key]}\t{shown_text(kpi)}\n" for key, kpi in self.shown.items())

    def to_json(self) -> dict[str, Any]:
        """What is shown: by tile its value (as the report has it), its text and its unit."""
        return {
            key: {"value": kpi.value, "text": kpi.text, "unit": kpi.unit, "foot": kpi.foot}
            for key, kpi in self.shown.items()
        }
