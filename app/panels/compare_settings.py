"""What differs between the manifests of the sessions, what changes speed first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
)

from app.charts.compare_style import STYLES
from app.panels.compare_words import setting_name, setting_value
from app.panels.parts import row, set_text
from app.theme import DARK, Palette, ui_font
from app.widgets import Banner, Button, Card, ElidedLabel, make_label
from app.widgets.labels import plain_tooltip

ROW_PX = 27
NAME_PX = 132
OTHER_ROLE = Qt.ItemDataRole.UserRole + 1
"""Item data: the letter whose value is another one than the baseline's, or None."""


@dataclass(frozen=True)
class SettingRow:
    """One setting: its path in the manifest and the value of each session, by letter."""

    path: str
    values: dict[str, Any]
    differs: tuple[str, ...]
    """Letters whose value is another one than the baseline's."""
    important: bool = False


class _ValueDelegate(QStyledItemDelegate):
    """A value; another one than the baseline's is bold, in the session's colour, with a disc."""

    def __init__(self) -> None:
        super().__init__()
        self.palette_now: Palette = DARK

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        palette = self.palette_now
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, palette.color("accent_tint"))
        place = QRectF(option.rect).adjusted(6, 0, -4, 0)
        letter = index.data(OTHER_ROLE)
        painter.setFont(ui_font(12, 600 if letter else 400))
        painter.setPen(palette.color("secondary"))
        if letter:
            role = STYLES[letter].role
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.color(role))
            painter.drawEllipse(QPointF(place.left() + 4, place.center().y() + 0.5), 3.5, 3.5)
            place.adjust(13, 0, 0, 0)
            painter.setPen(palette.color(palette.text_role(role)))
        text = painter.fontMetrics().elidedText(
            str(index.data()), Qt.TextElideMode.ElideRight, int(place.width())
        )
        painter.drawText(place, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), text)
        painter.restore()


class SettingsPanel(Card):
    """The differing settings, or all of them; below, a warning when several changed at once."""

    def __init__(self) -> None:
        super().__init__((12, 8, 12, 10))
        self._rows: list[SettingRow] = []
        self._letters: list[str] = []
        self._all = False
        self.count = ElidedLabel("", "muted")
        self.show_all = Button(self.tr("Show all"), kind="link")
        self.show_all.clicked.connect(self._toggle)
        head = row(spacing=8)
        head.addWidget(make_label(self.tr("What differs"), "title"))
        head.addWidget(self.count, 1)
        head.addWidget(self.show_all)
        self.table = QTableWidget(0, 1)
        self._delegate = _ValueDelegate()
        self._set_up_table()
        self.warning = Banner("", "warning", "warning")
        self.warning.hide()
        self.body.addLayout(head)
        self.body.addWidget(self.table, 1)
        self.body.addWidget(self.warning)

    def _set_up_table(self) -> None:
        table = self.table
        table.setAccessibleName(self.tr("Settings of the sessions"))
        table.setShowGrid(False)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setTabKeyNavigation(False)
        table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(ROW_PX)
        table.verticalHeader().setMinimumSectionSize(ROW_PX)
        table.horizontalHeader().setHighlightSections(False)
        table.horizontalHeader().setSectionsClickable(False)
        table.horizontalHeader().setMinimumSectionSize(36)
        table.horizontalHeader().setDefaultAlignment(
            Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        )
        table.setItemDelegate(self._delegate)

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._delegate.palette_now = palette
        self.table.viewport().update()

    def show_settings(self, rows: Sequence[SettingRow], letters: Sequence[str], warning: str) -> None:
        """All settings (those that differ first), and the sentence about several changes ("" none)."""
        self._rows, self._letters = list(rows), list(letters)
        self.warning.set_text(warning)
        self.warning.setVisible(bool(warning))
        self._draw()

    @property
    def shown(self) -> list[SettingRow]:
        """The rows that are in the table."""
        return self._rows if self._all else [entry for entry in self._rows if entry.differs]

    def _toggle(self) -> None:
        self._all = not self._all
        self._draw()

    def _draw(self) -> None:
        table, shown = self.table, self.shown
        differing = sum(bool(entry.differs) for entry in self._rows)
        set_text(
            self.count,
            self.tr("{0} of {1} settings").format(differing, len(self._rows)) if self._letters else "",
        )
        self.show_all.setText(self.tr("Show differences") if self._all else self.tr("Show all"))
        self.show_all.setVisible(bool(self._rows))
        table.setColumnCount(1 + len(self._letters))
        table.setHorizontalHeaderLabels([self.tr("Setting"), *self._letters])
        table.setRowCount(len(shown))
        header = table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)
        table.setColumnWidth(0, NAME_PX)
        for column in range(1, table.columnCount()):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        for number, entry in enumerate(shown):
            name = QTableWidgetItem(setting_name(entry.path))
            name.setToolTip(plain_tooltip(entry.path))
            table.setItem(number, 0, name)
            for column, letter in enumerate(self._letters, start=1):
                text = setting_value(entry.values.get(letter))
                item = QTableWidgetItem(text)
                item.setData(OTHER_ROLE, letter if letter in entry.differs else None)
                item.setToolTip(plain_tooltip(f"{letter}: {text}"))
                table.setItem(number, column, item)
