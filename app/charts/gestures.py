"""What a mouse says over a plot: hover, click, drag with the left button, pan with the middle one,
zoom with the wheel. Positions in pixels of the canvas; the chart knows what they mean."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPointF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QWheelEvent

DRAG_PX = 4
"""A press that moves less than this is a click."""
ZOOM_PER_NOTCH = 0.8
NOTCH = 120


class Gestures(QObject):
    """Fed by the canvas. `active` off: presses and the wheel are left to whoever is below."""

    pressed = Signal()
    clicked = Signal(QPointF)
    dragged = Signal(QPointF, QPointF, bool)
    """From, to, and whether the button was let go."""
    panned = Signal(QPointF)
    """By how much since the last time."""
    zoomed = Signal(QPointF, float, bool)
    """Where, by which factor of the span (below 1: closer), and whether along y."""
    reset_asked = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.active = False
        self.zooms = True
        """Is the wheel for zooming? Else the page scrolls."""
        self._from: QPointF | None = None
        self._dragging = False
        self._pan: QPointF | None = None

    @property
    def busy(self) -> bool:
        """Is a range being drawn or the view being moved?"""
        return self._dragging or self._pan is not None

    def press(self, event: QMouseEvent) -> None:
        """A button went down."""
        self.pressed.emit()
        if not self.active:
            event.ignore()
        elif event.button() == Qt.MouseButton.LeftButton:
            self._from, self._dragging = event.position(), False
        elif event.button() == Qt.MouseButton.MiddleButton:
            self._pan = event.position()
        else:
            event.ignore()

    def move(self, event: QMouseEvent) -> None:
        """The mouse moved, with or without a button."""
        at = event.position()
        if self._pan is not None:
            step, self._pan = at - self._pan, at
            self.panned.emit(step)
        elif self._from is not None:
            self._dragging = self._dragging or abs(at.x() - self._from.x()) >= DRAG_PX
            if self._dragging:
                self.dragged.emit(self._from, at, False)

    def release(self, event: QMouseEvent) -> None:
        """A button went up."""
        if event.button() == Qt.MouseButton.MiddleButton and self._pan is not None:
            self._pan = None
        elif event.button() == Qt.MouseButton.LeftButton and self._from is not None:
            start, dragging = self._from, self._dragging
            self._from, self._dragging = None, False
            if dragging:
                self.dragged.emit(start, event.position(), True)
            else:
                self.clicked.emit(event.position())
        else:
            event.ignore()

    def double_click(self, event: QMouseEvent) -> None:
        """The second press of a double click."""
        if self.active and event.button() == Qt.MouseButton.LeftButton:
            self._from, self._dragging = None, False
            self.reset_asked.emit()
        else:
            event.ignore()

    def wheel(self, event: QWheelEvent) -> None:
        """The wheel turned; with Shift or Ctrl it is about the y axis."""
        # Some systems turn the wheel sideways while Shift or Alt is held.
        turn = event.angleDelta().y() or event.angleDelta().x()
        if not self.active or not self.zooms or turn == 0:
            event.ignore()
            return
        both = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier
        vertical = bool(event.modifiers() & both)
        self.zoomed.emit(event.position(), ZOOM_PER_NOTCH ** (turn / NOTCH), vertical)
        event.accept()
