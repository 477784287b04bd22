"""What every chart is: a card with a title, a legend, a menu, a plot and a ghost of itself.

Charts are told what to show (`refresh` of the subclass) and never fetch. Thread: GUI.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QGuiApplication, QPainter
from PySide6.QtWidgets import QHBoxLayout, QMenu, QStackedWidget, QToolButton, QWidget

from app.charts.canvas import GhostCanvas, PaintedCanvas, PlotCanvas
from app.theme import DARK, Palette
from app.widgets import Card, ElidedLabel, IconButton, Legend, LegendItem, make_label

AXIS_LEFT_PX = 46
AXIS_RIGHT_PX = 50
"""Axis widths of charts over tokens: equal, so that one crosshair lines up."""


class ChartCard(Card):
    """A chart in its card. Subclasses add `refresh(...)` and implement the hooks below."""

    hovered = Signal(object)
    """Token or time (s) under the mouse, None when it left the plot."""

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
        self.legend = Legend()
        self._title_label = make_label(title, "title")
        self._question = ElidedLabel(question, "secondary")
        self._description = ElidedLabel(description, "secondary")
        self.menu = QMenu(self)
        self.menu.addAction(self.tr("Copy picture")).triggered.connect(self.copy_picture)
        self._menu_button = IconButton("more", self.tr("Menu of the chart “{}”").format(title))
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
        self.setAccessibleName(title)
        self.setMinimumSize(280, 170)
        self.show_ghost(True)

    # -- what the window calls -----------------------------------------------------------

    def set_theme(self, palette: Palette) -> None:
        """Draw in the colours of `palette`."""
        self.palette_now = palette
        self.apply_palette(palette)
        for part in (self.legend, self._ghost, self._menu_button):
            part.set_theme(palette)
        self.redraw()

    def show_ghost(self, on: bool) -> None:
        """The empty state: which question this chart answers, and a faint picture of it."""
        self._stack.setCurrentIndex(1 if on else 0)
        self._question.setVisible(on)
        self._description.setVisible(on)
        self.legend.setVisible(not on)
        self._menu_button.setVisible(not on)
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

    def set_crosshair(self, at: float | None) -> None:
        """Mark a token or a time (s) here; None for no mark. Does not send `hovered`."""
        if at != self.crosshair:
            self.crosshair = at
            self.redraw()

    def copy_picture(self) -> None:
        """Put a picture of the card on the clipboard."""
        QGuiApplication.clipboard().setPixmap(self.grab())

    # -- for subclasses ------------------------------------------------------------------

    def apply_palette(self, palette: Palette) -> None:
        """Recolour curves; axes and words are painted with `palette_now` anyway."""

    def set_legend(self, items: Sequence[LegendItem]) -> None:
        """Show these entries in the header."""
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
