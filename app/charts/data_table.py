"""What a chart shows, as a table: columns of arrays, a view that makes text only of what is seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QHeaderView,
    QLabel,
    QTableView,
    QVBoxLayout,
    QWidget,
)

ROW_PX = 27


@dataclass(frozen=True, eq=False)
class Column:
    """One column: `heading` with its unit, values by row.

    With `words` the values are places in it (text without a string a row). NaN is an empty cell.
    `digits`: significant figures, None for whole numbers.
    """

    heading: str
    values: npt.NDArray[np.generic]
    words: tuple[str, ...] | None = None
    digits: int | None = 6

    def text(self, row: int) -> str:
        """The cell as people and spreadsheets read it: a point for decimals, no thousands mark."""
        value = self.values[row]
        if self.words is not None:
            return self.words[int(value)]
        number = float(value)
        if not math.isfinite(number):
            return ""
        return str(round(number)) if self.digits is None else f"{number:.{self.digits}g}"


@dataclass(frozen=True, eq=False)
class TableData:
    """Columns of equal length."""

    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def row_text(self, row: int) -> str:
        """The cells of a row, parted by tabs."""
        return "\t".join(_plain(column.text(row)) for column in self.columns)

    def tsv(self, rows: Sequence[int] | range | None = None) -> str:
        """Headings and rows (all by default) as tab-separated text, one line each."""
        lines = ["\t".join(_plain(column.heading) for column in self.columns)]
        lines += [self.row_text(row) for row in (range(len(self)) if rows is None else rows)]
        return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """A label from outside cannot break a line or a cell."""
    return text.replace("\t", " ").replace("\r", " ").replace("\n", " ")


def labelled(labels: Sequence[str], lengths: Sequence[int], heading: str) -> Column:
    """A column that says for each row to which of `labels` it belongs, `lengths` rows each."""
    return Column(heading, np.repeat(np.arange(len(labels)), lengths), tuple(labels))


class TableModel(QAbstractTableModel):
    """The data as Qt asks for it."""

    def __init__(self, data: TableData) -> None:
        super().__init__()
        self._data = data

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._data)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._data.columns)

    def data(
        self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        column = self._data.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(index.row())
        if role == Qt.ItemDataRole.TextAlignmentRole and column.words is None:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation == Qt.Orientation.Horizontal:
            return self._data.columns[section].heading
        return section + 1


class DataTable(QDialog):
    """A chart's data in a window of its own. Ctrl+C copies the rows that are selected, or all."""

    def __init__(self, title: str, data: TableData, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._data = data
        self.view = QTableView()
        self.view.setModel(TableModel(data))
        self.view.model().setParent(self.view)
        self.view.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.view.setWordWrap(False)
        self.view.setAccessibleName(title)
        # One height for all: otherwise Qt asks every row for its own.
        rows = self.view.verticalHeader()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(ROW_PX)
        self.view.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        note = QLabel(self.tr("{0} rows. Ctrl+C copies the selected ones.").format(f"{len(data):,}"))
        note.setTextFormat(Qt.TextFormat.PlainText)
        layout = QVBoxLayout(self)
        layout.addWidget(self.view, 1)
        layout.addWidget(note)
        self.resize(560, 420)

    def copy(self) -> None:
        """Put the selected rows (all where none is) on the clipboard, tab-separated."""
        chosen = sorted({index.row() for index in self.view.selectionModel().selectedRows()})
        QGuiApplication.clipboard().setText(self._data.tsv(chosen or None))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
            return
        super().keyPressEvent(event)
