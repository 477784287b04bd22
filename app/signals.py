"""The system's signals, delivered by Qt's event loop instead of in the middle of anything.

Python runs a signal handler between any two of the main thread's instructions: also while that
thread holds the lock of the engine's pipe, which closing the window needs too. So the handler
itself does nothing; the interpreter writes the signal's number into a socket at once, and the
event loop, which is then between two pieces of work, calls whoever listens.

Thread: GUI.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Mapping

from PySide6.QtCore import QObject, QSocketNotifier


class Signals(QObject):
    """Calls `handlers[number]()` for each signal that arrives, until `close`."""

    def __init__(self, handlers: Mapping[int, Callable[[], None]], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._handlers = dict(handlers)
        self._read, self._write = socket.socketpair()
        self._read.setblocking(False)
        self._write.setblocking(False)
        self._notifier = QSocketNotifier(self._read.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_bytes)
        self._wakeup_before = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        for number in self._handlers:
            signal.signal(number, _nothing)

    def close(self) -> None:
        """Listen no more. From now on these signals end the process, should its end hang. Idempotent."""
        if self._read.fileno() < 0:
            return
        self._notifier.setEnabled(False)
        for number in self._handlers:
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(self._wakeup_before)
        self._read.close()
        self._write.close()

    def _on_bytes(self) -> None:
        try:
            numbers = self._read.recv(64)
        except OSError:
            return
        for number in numbers:
            handler = self._handlers.get(number)
            if handler is not None:
                handler()


def _nothing(number: int, frame: object) -> None:
    """Python's own handler; it exists so that the interpreter catches the signal."""
