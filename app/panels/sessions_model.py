"""The library as a table: one row a session, and what sorts and filters it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from pathlib import Path
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)

from app.panels import sessions_words as words
from app.widgets.labels import plain_tooltip
from profiler.session.library import SessionEntry

Index = QModelIndex | QPersistentModelIndex
ENTRY_ROLE = Qt.ItemDataRole.UserRole + 1
CHECKED_ROLE = Qt.ItemDataRole.UserRole + 2


_ROLES = (
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.EditRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.AccessibleTextRole,
)


class Column(IntEnum):
    """Columns from left to right."""

    CHECK = 0
    STAR = 1
    NAME = 2
    MODEL = 3
    DATE = 4
    TTFT = 5
    ITL = 6
    ITL_P99 = 7
    TRACE = 8
    JITTER = 9
    MBU = 10
    TAGS = 11


NUMBERS = {
    Column.TTFT: "ttft_p50_ms",
    Column.ITL: "itl_p50_ms",
    Column.ITL_P99: "itl_p99_ms",
    Column.JITTER: "jitter_ms",
    Column.MBU: "mbu_pct",
}
"""Columns of figures and the field of `SessionEntry` they show."""


class SessionModel(QAbstractTableModel):
    """Rows are `SessionEntry`; checked ones are remembered by path, in the order of checking."""

    checked_changed = Signal()
    rename_asked = Signal(object, str)
    tags_asked = Signal(object, str)

    def __init__(self, now: Callable[[], datetime], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._now = now
        self._entries: list[SessionEntry] = []
        self._keys: list[dict[int, Any]] = []
        self._checked: dict[Path, None] = {}
        self._titles = self._make_titles()

    # -- rows ----------------------------------------------------------------------------

    @property
    def entries(self) -> list[SessionEntry]:
        """All sessions, as they were listed."""
        return list(self._entries)

    @property
    def checked(self) -> list[Path]:
        """Checked sessions, first checked first."""
        return list(self._checked)

    def set_entries(self, entries: Sequence[SessionEntry]) -> bool:
        """Show these; False when they are those already there."""
        if list(entries) == self._entries:
            return False
        self.beginResetModel()
        self._entries = list(entries)
        self._keys = [_sort_keys(entry) for entry in self._entries]
        known = {entry.path for entry in self._entries}
        self._checked = {path: None for path in self._checked if path in known}
        self.endResetModel()
        self.checked_changed.emit()
        return True

    def replace(self, entries: Iterable[SessionEntry]) -> None:
        """New states of sessions that are in the list."""
        rows = {entry.path: row for row, entry in enumerate(self._entries)}
        for entry in entries:
            row = rows.get(entry.path)
            if row is not None:
                self._entries[row] = entry
                self._keys[row] = _sort_keys(entry)
                self.dataChanged.emit(self.index(row, 0), self.index(row, len(Column) - 1))

    def entry(self, path: Path) -> SessionEntry | None:
        """The session of a file, None when it is not in the list."""
        return next((entry for entry in self._entries if entry.path == path), None)

    def row_of(self, path: Path) -> int:
        """Its row, -1 when it is not in the list."""
        return next((row for row, entry in enumerate(self._entries) if entry.path == path), -1)

    def sort_key(self, row: int, column: int) -> Any:
        """What a column sorts by; None where the value is missing."""
        if column == Column.CHECK:
            return self._entries[row].path not in self._checked
        return self._keys[row][column]

    def toggle(self, path: Path) -> None:
        """Check or uncheck a session."""
        self.set_checked([path], path not in self._checked)

    def set_checked(self, paths: Iterable[Path], on: bool) -> None:
        """Check or uncheck sessions."""
        for path in paths:
            if on:
                self._checked.setdefault(path)
            else:
                self._checked.pop(path, None)
        if self._entries:
            last = self.index(len(self._entries) - 1, Column.CHECK)
            self.dataChanged.emit(self.index(0, Column.CHECK), last, [CHECKED_ROLE])
        self.checked_changed.emit()

    # -- Qt ------------------------------------------------------------------------------

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's signature)
        return 0 if parent.isValid() else len(self._entries)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's signature)
        return 0 if parent.isValid() else len(Column)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled
        entry = self._entries[index.row()]
        if index.column() in (Column.NAME, Column.TAGS) and entry.error is None and not entry.live:
            flags |= Qt.ItemFlag.ItemIsEditable
        return flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        entry = self._entries[index.row()]
        if role == ENTRY_ROLE:
            return entry
        if role == CHECKED_ROLE:
            return entry.path in self._checked
        if role not in _ROLES:
            return None  # views ask for many more, for each cell they paint
        column = Column(index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            return self._display(entry, column)
        if role == Qt.ItemDataRole.EditRole:
            return ", ".join(entry.tags) if column == Column.TAGS else words.title(entry)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(self._tip(entry, column))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._spoken(entry, column)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole:
            return False
        entry, text = self._entries[index.row()], str(value)
        if text == self.data(index, Qt.ItemDataRole.EditRole):
            return False
        asked = self.rename_asked if index.column() == Column.NAME else self.tags_asked
        asked.emit(entry.path, text)
        return True

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        column = Column(section)
        if role == Qt.ItemDataRole.DisplayRole:
            return self._titles[column] if column not in (Column.CHECK, Column.STAR) else ""
        if role in (Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole):
            return self._titles[column].replace("\n", ", ")
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column in NUMBERS else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        return None

    def column_title(self, column: Column) -> str:
        """A column's name on one line."""
        return self._titles[column].split("\n")[0]

    def _make_titles(self) -> dict[Column, str]:
        return {
            Column.CHECK: self.tr("Selected"),
            Column.STAR: self.tr("Starred"),
            Column.NAME: self.tr("Name"),
            Column.MODEL: self.tr("Model and device"),
            Column.DATE: self.tr("Date"),
            Column.TTFT: self.tr("TTFT p50\nms"),
            Column.ITL: self.tr("ITL p50\nms"),
            Column.ITL_P99: self.tr("ITL p99\nms"),
            Column.TRACE: self.tr("ITL trace"),
            Column.JITTER: self.tr("Jitter\nms"),
            Column.MBU: self.tr("MBU\n%"),
            Column.TAGS: self.tr("Tags"),
        }

    def _display(self, entry: SessionEntry, column: Column) -> str:
        if column in NUMBERS:
            return words.figure(entry, NUMBERS[column])
        if column == Column.NAME:
            return words.title(entry)
        if column == Column.MODEL:
            return "\n".join(part for part in (words.model(entry), entry.device or "") if part)
        if column == Column.DATE:
            return words.date(entry, self._now())
        return ", ".join(entry.tags) if column == Column.TAGS else ""

    def _tip(self, entry: SessionEntry, column: Column) -> str:
        if column == Column.NAME:
            return "\n".join(
                part for part in (words.title(entry), words.state(entry)[1], str(entry.path)) if part
            )
        if column == Column.MODEL:
            return "\n".join(part for part in (entry.model, entry.device or "", entry.workload) if part)
        if column in NUMBERS and getattr(entry, NUMBERS[column]) is None:
            return self.tr("The program that recorded this session stored no such figure.")
        if column == Column.TAGS:
            return ", ".join(entry.tags)
        return ""

    def _spoken(self, entry: SessionEntry, column: Column) -> str:
        if column == Column.CHECK:
            return self.tr("selected") if entry.path in self._checked else self.tr("not selected")
        if column == Column.STAR:
            return self.tr("starred") if entry.starred else self.tr("not starred")
        if column == Column.NAME:
            state = words.state(entry)[1]
            return f"{words.title(entry)}, {state}" if state else words.title(entry)
        if column == Column.TRACE:
            if not entry.itl_trace:
                return self.tr("no trace")
            low, high = min(entry.itl_trace), max(entry.itl_trace)
            return self.tr("{0} to {1} ms").format(f"{low:.4g}", f"{high:.4g}")
        return f"{self._titles[column]} {self._display(entry, column)}".replace("\n", " ")


def _sort_keys(entry: SessionEntry) -> dict[int, Any]:
    keys: dict[int, Any] = {column: getattr(entry, field) for column, field in NUMBERS.items()}
    keys[Column.STAR] = not entry.starred
    keys[Column.NAME] = words.title(entry).casefold()
    keys[Column.MODEL] = (
        (words.model(entry).casefold(), (entry.device or "").casefold()) if entry.model else None
    )
    when = words.moment(entry)
    keys[Column.DATE] = None if when is None else when.timestamp()
    # How far the worst bucket lies above a usual one: the runs with the most trouble on top.
    trace = sorted(entry.itl_trace)
    keys[Column.TRACE] = trace[-1] / trace[len(trace) // 2] if trace and trace[len(trace) // 2] else None
    keys[Column.TAGS] = ", ".join(entry.tags).casefold() or None
    return keys


@dataclass(frozen=True)
class Filters:
    """What is shown. Empty: everything. `days`: recorded within so many days."""

    text: str = ""
    model: str = ""
    device: str = ""
    tag: str = ""
    days: int | None = None


class SessionProxy(QSortFilterProxyModel):
    """Sorts with missing values last, whichever way; filters."""

    def __init__(self, model: SessionModel, now: Callable[[], datetime]) -> None:
        super().__init__(model)
        self._now = now
        self._model = model
        self._filters = Filters()
        self._words: list[str] = []
        self._since: datetime | None = None
        self.setSourceModel(model)
        self.setDynamicSortFilter(True)

    @property
    def filters(self) -> Filters:
        """What is filtered by."""
        return self._filters

    def set_filters(self, filters: Filters) -> None:
        """Show only sessions that meet all of these (all words of the text, anywhere)."""
        self._filters = filters
        self._words = filters.text.casefold().split()
        self._since = None if filters.days is None else self._now() - timedelta(days=filters.days)
        self.invalidate()

    def filterAcceptsRow(self, row: int, _parent: Index) -> bool:
        entry, wanted = self._model._entries[row], self._filters
        if wanted.model and words.model(entry) != wanted.model:
            return False
        if wanted.device and entry.device != wanted.device:
            return False
        if wanted.tag and wanted.tag not in entry.tags:
            return False
        if self._since is not None:
            when = words.moment(entry)
            if when is None or when < self._since:
                return False
        if not self._words:
            return True
        text = words.haystack(entry)
        return all(word in text for word in self._words)

    def lessThan(self, left: Index, right: Index) -> bool:
        a = self._model.sort_key(left.row(), left.column())
        b = self._model.sort_key(right.row(), right.column())
        if a is None or b is None:
            if a is None and b is None:
                return False
            up = self.sortOrder() == Qt.SortOrder.AscendingOrder
            return up if b is None else not up
        return bool(a < b)

    def shown(self) -> list[SessionEntry]:
        """The sessions shown, from top to bottom."""
        return [self.index(row, 0).data(ENTRY_ROLE) for row in range(self.rowCount())]
