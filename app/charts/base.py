"""What every chart is: a card with a title, a legend, a menu, a plot and a ghost of itself.

Charts are told what to show (`refresh` of the subclass) and never fetch. Thread: GUI.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum

from PySide6.QtCore import QEvent, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QImage,
    QKeyEvent,
    QPainter,
    QResizeEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QMenu, QStackedWidget, QToolButton, QWidget

from app.charts.canvas import GhostCanvas, PaintedCanvas, PlotCanvas
from app.charts.data_table import DataTable, TableData
from app.charts.focus_ring import FocusRing
from app.charts.words import PaintedWords, WordsPainter
from app.theme import DARK, Palette
from app.widgets import Card, ElidedLabel, IconButton, Legend, LegendItem, make_label

AXIS_LEFT_PX = 46
AXIS_RIGHT_PX = 50
"""Axis widths of charts over tokens: equal, so that one crosshair lines up."""
COARSE_STEP = 16
"""Tokens that Shift and an arrow key move the cursor by."""


class Command(Enum):
    """What keys over a chart ask of the page."""

    RELEASE = "release"
    FREEZE = "freeze"
    SELECT = "select"
    ACCEPT = "accept"


_COMMANDS = {
    Qt.Key.Key_Escape: Command.RELEASE,
    Qt.Key.Key_Space: Command.FREEZE,
    Qt.Key.Key_S: Command.SELECT,
    Qt.Key.Key_Return: Command.ACCEPT,
    Qt.Key.Key_Enter: Command.ACCEPT,
}
_TAB_REASONS = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)


class ChartCard(Card):
    """A chart in its card. Subclasses add `refresh(...)` and implement the hooks below."""

    hovered = Signal(object)
    """Token or time (s) under the mouse, None when it left the plot."""
    chosen = Signal(object)
    """The same, clicked: the cursor stays there."""
    stepped = Signal(int)
    """An arrow key: move the cursor by so many tokens."""
    commanded = Signal(object)
    """A `Command`."""
    save_picture_asked = Signal(str)
    """Save it as a file: "png" or "svg"."""
    layers_changed = Signal()

    def __init__(
        self,
        title: str,
        question: str,
        description: str,
        ghost: Callable[[QPainter, QRectF, Palette], None],
        canvas: PlotCanvas | PaintedCanvas,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent=parent)
        self.palette_now = DARK
        self._title = title
        self.canvas = canvas
        self.crosshair: float | None = None
        self.escapable = False
        """Does Esc have something to release here? Else the key is the window's."""
        self.hidden: set[str] = set()
        """Keys of the layers that are switched off."""
        self.legend = Legend()
        self._title_label = make_label(title, "title")
        self._question = ElidedLabel(question, "secondary")
        self._description = ElidedLabel(description, "secondary")
        self._menu_button = IconButton("more", self.tr("Menu of the chart “{}”").format(title))
        self.menu = self._make_menu()
        self._menu_button.setMenu(self.menu)
        self._menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        header = QHBoxLayout()
        header.setContentsMargins(0, 0, 0, 0)
        header.setSpacing(8)
        header.addWidget(self._title_label)
        header.addWidget(self._question, 1)
        header.addWidget(self.legend, 1)
        header.addWidget(self._menu_button)
        self.body.setSpacing(4)
        self.body.addLayout(header)
        self.body.addWidget(self._description)
        self._ghost = GhostCanvas(ghost)
        self._stack = QStackedWidget()
        self._stack.addWidget(canvas)
        self._stack.addWidget(self._ghost)
        self.body.addWidget(self._stack, 1)
        self._ring = FocusRing(self)
        self.legend.toggled.connect(self.toggle_layer)
        self.legend.more_asked.connect(self.menu.popup)
        canvas.gestures.pressed.connect(self._take_focus)
        self.setAccessibleName(title)
        self.setMinimumSize(280, 170)
        self.show_ghost(True)

    # -- what the window calls -----------------------------------------------------------

    def set_theme(self, palette: Palette) -> None:
        """Draw in the colours of `palette`."""
        self.palette_now = palette
        self.apply_palette(palette)
        for part in (self.legend, self._ghost, self._menu_button, self._ring):
            part.set_theme(palette)
        self.redraw()

    def show_ghost(self, on: bool) -> None:
        """The empty state: which question this chart answers, and a faint picture of it."""
        self._stack.setCurrentIndex(1 if on else 0)
        self._question.setVisible(on)
        self._description.setVisible(on)
        self.legend.setVisible(not on)
        self._menu_button.setVisible(not on)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus if on else Qt.FocusPolicy.StrongFocus)
        if on:
            self.setAccessibleDescription(f"{self._question.text()} {self._description.text()}")

    @property
    def ghost_shown(self) -> bool:
        """True while the empty state is shown."""
        return self._stack.currentIndex() == 1

    def clear(self) -> None:
        """Axes without data (a run that has just begun)."""
        raise NotImplementedError

    def summary(self) -> str:
        """What the chart shows, in one sentence, for screen readers."""
        raise NotImplementedError

    def table(self) -> TableData | None:
        """What the chart shows, as columns; None where there is none."""
        return None

    def painted_words(self) -> list[PaintedWords]:
        """The words on the canvas as they are now, in the order in which they are painted; px of
        the canvas. None while the ghost is shown. Paints once: for checks, not for every redraw."""
        if self.ghost_shown:
            return []
        image = QImage(self.canvas.size(), QImage.Format.Format_ARGB32_Premultiplied)
        painter = WordsPainter(image)
        self.canvas.paint_words(painter)
        painter.end()
        return painter.words

    def set_crosshair(self, at: float | None) -> None:
        """Mark a token or a time (s) here; None for no mark. Does not send `hovered`."""
        if at != self.crosshair:
            self.crosshair = at
            self.redraw()

    def copy_picture(self) -> None:
        """Put a picture of the card on the clipboard."""
        QGuiApplication.clipboard().setPixmap(self.grab())

    def copy_data(self) -> None:
        """Put what is shown on the clipboard, tab-separated, with headings that have units."""
        data = self.table()
        if data is not None:
            QGuiApplication.clipboard().setText(data.tsv())

    def show_table(self) -> DataTable | None:
        """What is shown in a window of its own, as it is now."""
        data = self.table()
        if data is None:
            return None
        dialog = DataTable(self._title, data, self)
        dialog.show()
        return dialog

    def reset_view(self) -> None:
        """Show everything again (Home)."""

    # -- layers ----------------------------------------------------------------------------

    def layer_shown(self, key: str) -> bool:
        """Is a layer switched on?"""
        return key not in self.hidden

    def toggle_layer(self, key: str) -> None:
        """Hide or show a layer: the key of a legend entry."""
        self.hidden ^= {key}
        self.set_legend(self.legend.items)
        self.apply_layers()
        self.layers_changed.emit()
        self.redraw()

    # -- for subclasses ------------------------------------------------------------------

    def apply_palette(self, palette: Palette) -> None:
        """Recolour curves; axes and words are painted with `palette_now` anyway."""

    def apply_layers(self) -> None:
        """Hide and show what belongs to the layers."""

    def extend_menu(self, menu: QMenu) -> None:
        """Add what only this chart has; called each time the menu opens."""

    def set_legend(self, items: Sequence[LegendItem]) -> None:
        """Show these entries in the header; those of hidden layers as switched off."""
        if self.hidden or any(item.off for item in items):
            items = [replace(item, off=item.key in self.hidden) for item in items]
        self.legend.set_items(items)

    def shown(self) -> None:
        """To be called at the end of `refresh`: leave the ghost, tell screen readers, redraw."""
        if self.ghost_shown:
            self.show_ghost(False)
        self.setAccessibleDescription(self.summary())
        self.redraw()

    def redraw(self) -> None:
        """Ask for one repaint of the canvas."""
        viewport = self.canvas.viewport() if isinstance(self.canvas, PlotCanvas) else self.canvas
        viewport.update()

    # -- menu ------------------------------------------------------------------------------

    def _make_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        menu.addAction(self.tr("Copy picture")).triggered.connect(self.copy_picture)
        for words, kind in ((self.tr("Save as PNG…"), "png"), (self.tr("Save as SVG…"), "svg")):
            action = menu.addAction(words)
            action.triggered.connect(lambda _=False, kind=kind: self.save_picture_asked.emit(kind))
        self._data_actions = [menu.addAction(self.tr("Copy data")), menu.addAction(self.tr("Show as table"))]
        self._data_actions[0].triggered.connect(self.copy_data)
        self._data_actions[1].triggered.connect(self.show_table)
        self._fixed_actions = len(menu.actions())
        menu.aboutToShow.connect(self.fill_menu)
        return menu

    def fill_menu(self) -> None:
        """Bring the menu up to date: layers, and what the chart adds."""
        for action in self.menu.actions()[self._fixed_actions :]:
            self.menu.removeAction(action)
            action.deleteLater()
        has_table = type(self).table is not ChartCard.table
        for action in self._data_actions:
            action.setVisible(has_table)
        layers = [item for item in self.legend.items if item.key]
        if layers:
            self.menu.addSeparator()
        for item in layers:
            action = self.add_check(item.label, self.layer_shown(item.key))
            action.triggered.connect(lambda _=False, key=item.key: self.toggle_layer(key))
        self.extend_menu(self.menu)

    def add_check(self, words: str, on: bool, menu: QMenu | None = None) -> QAction:
        """An entry with a check mark in the menu (or in a submenu of it)."""
        action = (menu or self.menu).addAction(words.replace("&", "&&"))
        action.setCheckable(True)
        action.setChecked(on)
        return action

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.ghost_shown:
            event.ignore()
            return
        at = event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            at = self.mapToGlobal(QPoint(self.width() - 160, 30))
        self.menu.popup(at)

    # -- keys ------------------------------------------------------------------------------

    def _take_focus(self) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)

    def focusInEvent(self, event: QFocusEvent) -> None:
        # A ring for who goes by keyboard; the mouse knows where it clicked.
        self._ring.setVisible(event.reason() in _TAB_REASONS)
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._ring.hide()
        super().focusOutEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._ring.setGeometry(self.rect())
        super().resizeEvent(event)

    def event(self, event: QEvent) -> bool:
        # Esc is the window's "Stop" unless there is something to release here first.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_Escape and self.escapable:
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        coarse = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            step = COARSE_STEP if coarse else 1
            self.stepped.emit(step if key == Qt.Key.Key_Right else -step)
        elif key == Qt.Key.Key_Home:
            self.reset_view()
        elif key in _COMMANDS:
            self.commanded.emit(_COMMANDS[Qt.Key(key)])
        else:
            super().keyPressEvent(event)
