"""Tells when a window has been drawn for the first time: what can wait until then, waits.

A timer of 0 ms is too early: a window system asks for the first drawing some events after `show`.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget

LOOK_MS = 2
PATIENCE_LOOKS = 500
"""A window that nobody sees (minimised at its start) is never drawn: go on after a second or so."""


class FirstPaint(QObject):
    """Calls `painted` once, from the event loop, after `window` was drawn first.

    Looks every 2 ms: an event filter would be asked of thousands of events meanwhile. Thread: GUI.
    """

    def __init__(self, window: QWidget, painted: Callable[[], None]) -> None:
        super().__init__(window)
        self._window = window
        self._painted = painted
        self._looks = 0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._look)
        self._timer.start(LOOK_MS)

    def _look(self) -> None:
        self._looks += 1
        handle = self._window.windowHandle()
        # Qt draws a window in the very event that exposes it.
        if (handle is not None and handle.isExposed()) or self._looks >= PATIENCE_LOOKS:
            self._timer.stop()
            self._painted()
