"""The library's table: sorting, choosing, checking, editing in place, all by mouse or keyboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView

from app.panels.sessions_delegate import ROW_PX, SessionDelegate
from app.panels.sessions_model import ENTRY_ROLE, Column, SessionModel, SessionProxy
from app.theme import Palette
from profiler.paths import resource_dir
from profiler.session.library import SessionEntry

WIDTHS = {
    Column.CHECK: 34,
    Column.STAR: 30,
    Column.NAME: 150,
    Column.MODEL: 132,
    Column.DATE: 94,
    Column.TTFT: 64,
    Column.ITL: 60,
    Column.ITL_P99: 60,
    Column.TRACE: 70,
    Column.JITTER: 58,
    Column.MBU: 50,
    Column.TAGS: 96,
}
NAME_MIN_PX = 150
HEADER_PX = 38
FIXED = (Column.CHECK, Column.STAR, Column.NAME)
"""Columns that cannot be hidden."""
GROW_PX = {Column.MODEL: 100, Column.TAGS: 160, Column.TRACE: 40}
"""How much wider columns may become where there is room; names get two thirds of it first."""
GROW_SHARE = 9
FIRST_TO_GO = (Column.JITTER, Column.TAGS, Column.TRACE, Column.TTFT, Column.MBU)
"""Left out, in this order, while the window is too narrow for a readable name."""


class SessionTable(QTableView):
    """Rows of the library. Enter opens, Space checks, F2 renames, Del moves to the trash."""

    open_asked = Signal(object)
    star_asked = Signal(object)
    trash_asked = Signal()
    menu_asked = Signal(QPoint)
    current_changed = Signal(object)
    """The session (`SessionEntry` or None) that the preview should show."""
    chosen_changed = Signal()
    layout_changed = Signal()

    def __init__(self, model: SessionModel, now: Callable[[], datetime]) -> None:
        super().__init__()
        self.model_ = model
        self.proxy = SessionProxy(model, now)
        self.delegate = SessionDelegate(self)
        self._hidden: set[Column] = {Column.JITTER}
        self.setModel(self.proxy)
        self.setItemDelegate(self.delegate)
        self.setAccessibleName(self.tr("Saved sessions"))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSortingEnabled(True)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW_PX)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = self.horizontalHeader()
        header.setFixedHeight(HEADER_PX)
        header.setHighlightSections(False)
        header.setMinimumSectionSize(28)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(Column.NAME, QHeaderView.ResizeMode.Stretch)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._header_menu)
        for column, width in WIDTHS.items():
            if column != Column.NAME:
                self.setColumnWidth(column, width)
        self.sortByColumn(Column.DATE, Qt.SortOrder.DescendingOrder)
        header.sortIndicatorChanged.connect(lambda *_: self.layout_changed.emit())
        self.clicked.connect(self._clicked)
        self.doubleClicked.connect(self._double_clicked)
        self.selectionModel().currentRowChanged.connect(self._current_changed)
        self.selectionModel().selectionChanged.connect(lambda *_: self.chosen_changed.emit())
        model.checked_changed.connect(self.chosen_changed)
        self._fit()

    # -- what is chosen --------------------------------------------------------------------

    @property
    def current(self) -> SessionEntry | None:
        """The session with the cursor."""
        index = self.currentIndex()
        return index.data(ENTRY_ROLE) if index.isValid() else None

    def chosen(self) -> list[SessionEntry]:
        """What the buttons act on: checked sessions that are shown, else the selected rows."""
        shown = {entry.path: entry for entry in self.proxy.shown()}
        checked = [shown[path] for path in self.model_.checked if path in shown]
        if checked:
            return checked
        rows = sorted(index.row() for index in self.selectionModel().selectedRows())
        return [self.proxy.index(row, 0).data(ENTRY_ROLE) for row in rows]

    @property
    def editing(self) -> bool:
        """Is a name or a tag being typed?"""
        return self.state() == QAbstractItemView.State.EditingState

    def selected_paths(self) -> list[Path]:
        """The selected rows, whatever is checked."""
        return [index.data(ENTRY_ROLE).path for index in self.selectionModel().selectedRows()]

    def select_path(self, path: Path | None, with_rows: Sequence[Path] = ()) -> bool:
        """Put the cursor on a session and select the rows of others; False when it is not shown."""
        index = self._index_of(path)
        if not index.isValid():
            return False
        self._select(index)
        more = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
        for other in with_rows:
            row = self._index_of(other)
            if row.isValid():
                self.selectionModel().select(row, more)
        return True

    def _index_of(self, path: Path | None) -> QModelIndex:
        row = -1 if path is None else self.model_.row_of(path)
        return self.proxy.mapFromSource(self.model_.index(row, Column.NAME)) if row >= 0 else QModelIndex()

    def _select(self, index: QModelIndex) -> None:
        # The view's own setCurrentIndex looks at the keys that are held: at Ctrl+Z it selects nothing.
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)

    def select_row(self, row: int) -> None:
        """Put the cursor on a row, as far as there are rows."""
        if self.proxy.rowCount():
            self._select(self.proxy.index(min(max(row, 0), self.proxy.rowCount() - 1), Column.NAME))

    def edit_cell(self, column: Column) -> None:
        """Type a name or tags in the row of the cursor."""
        index = self.currentIndex()
        if index.isValid() and not self.isColumnHidden(column):
            cell = index.siblingAtColumn(column)
            self.selectionModel().setCurrentIndex(cell, QItemSelectionModel.SelectionFlag.NoUpdate)
            if cell.flags() & Qt.ItemFlag.ItemIsEditable:
                self.edit(cell)

    # -- columns ---------------------------------------------------------------------------

    def layout(self) -> dict[str, Any]:
        """Sorting and hidden columns, as plain JSON."""
        header = self.horizontalHeader()
        return {
            "hidden": sorted(column.name for column in self._hidden),
            "sort": Column(header.sortIndicatorSection()).name,
            "descending": header.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder,
        }

    def restore_layout(self, told: Any) -> None:
        """What `layout` said once; anything odd in it is left out."""
        if not isinstance(told, dict):
            return
        hidden = told.get("hidden")
        if isinstance(hidden, list):
            names = {column.name: column for column in Column if column not in FIXED}
            self._hidden = {names[name] for name in hidden if isinstance(name, str) and name in names}
        sort = told.get("sort")
        if isinstance(sort, str) and sort in Column.__members__:
            order = Qt.SortOrder.DescendingOrder if told.get("descending") else Qt.SortOrder.AscendingOrder
            self.sortByColumn(Column[sort], order)
        self._fit()

    def show_column(self, column: Column, on: bool) -> None:
        """Show or hide a column. Name, check box and star always stay."""
        if column in FIXED:
            return
        (self._hidden.discard if on else self._hidden.add)(column)
        self._fit()
        self.layout_changed.emit()

    def columns_menu(self, menu: QMenu) -> None:
        """Fill a menu with one tick a column."""
        for column in Column:
            if column in FIXED:
                continue
            action = menu.addAction(self.model_.column_title(column))
            action.setCheckable(True)
            action.setChecked(column not in self._hidden)
            action.toggled.connect(lambda on, column=column: self.show_column(column, on))

    def _header_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.columns_menu(menu)
        menu.popup(self.horizontalHeader().mapToGlobal(at))

    def _fit(self) -> None:
        shown = [column for column in Column if column not in self._hidden]
        room = self.viewport().width()
        needs = _needs(shown)
        for column in FIRST_TO_GO:
            if needs <= room:
                break
            if column in shown:
                shown.remove(column)
                needs = _needs(shown)
        for column, most in GROW_PX.items():
            self.setColumnWidth(column, WIDTHS[column] + max(min((room - needs) // GROW_SHARE, most), 0))
        for column in Column:
            if self.isColumnHidden(column) == (column in shown):
                self.setColumnHidden(column, column not in shown)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()
        super().resizeEvent(event)

    # -- events ----------------------------------------------------------------------------

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        controls = (resource_dir() / "icons" / "controls").as_posix()
        # The style's own sign points up for a falling order; here it points down, to what is less.
        self.horizontalHeader().setStyleSheet(
            "".join(
                f'QHeaderView::{way}-arrow {{ image: url("{controls}/chevron-{way}-{palette.name}.svg");'
                " width: 10px; height: 10px; }"
                for way in ("up", "down")
            )
        )
        self.delegate.set_palette(palette)
        self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        current, key = self.current, Qt.Key(event.key())
        if current is None or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.open_asked.emit(current.path)
        elif key == Qt.Key.Key_Space:
            self.model_.toggle(current.path)
        elif key == Qt.Key.Key_F2:
            self.edit_cell(Column.NAME)
        elif key == Qt.Key.Key_Delete:
            self.trash_asked.emit()
        elif key == Qt.Key.Key_Escape and self.model_.checked:
            self.model_.set_checked(self.model_.checked, False)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        at = event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard and self.currentIndex().isValid():
            at = self.viewport().mapToGlobal(self.visualRect(self.currentIndex()).center())
        self.menu_asked.emit(at)

    def _clicked(self, index: QModelIndex) -> None:
        entry = index.data(ENTRY_ROLE)
        if index.column() == Column.CHECK:
            self.model_.toggle(entry.path)
        elif index.column() == Column.STAR:
            self.star_asked.emit(entry.path)

    def _double_clicked(self, index: QModelIndex) -> None:
        if index.column() not in (Column.CHECK, Column.STAR):
            self.open_asked.emit(index.data(ENTRY_ROLE).path)

    def _current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        self.current_changed.emit(current.data(ENTRY_ROLE) if current.isValid() else None)


def _needs(columns: Sequence[Column]) -> int:
    """Width of these columns with the narrowest name that can be read, px."""
    return sum(WIDTHS[column] for column in columns if column != Column.NAME) + NAME_MIN_PX
