"""Tells when a window has been drawn for the first time: what can wait until then, waits.

A timer of 0 ms is too early: a window system asks for the first drawing some events after `show`.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget

PATIENCE_MS = 1000
"""A window that nobody sees (minimised at its start) is never drawn: go on after this."""


class FirstPaint(QObject):
    """Calls `painted` once, from the event loop, after `window` was drawn first. Thread: GUI."""

    def __init__(self, window: QWidget, painted: Callable[[], None]) -> None:
        super().__init__(window)
        self._painted: Callable[[], None] | None = painted
        self._window = window
        window.installEventFilter(self)
        # The whole window is drawn in one go: the event loop comes after its last widget.
        self._after = QTimer(self)
        self._after.setSingleShot(True)
        self._after.timeout.connect(self._tell)
        self._after.start(PATIENCE_MS)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._window and event.type() == QEvent.Type.Paint:
            self._window.removeEventFilter(self)
            self._after.start(0)
        return False

    def _tell(self) -> None:
        painted, self._painted = self._painted, None
        if painted is not None:
            painted()
        self.deleteLater()
