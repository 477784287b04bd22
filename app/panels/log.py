"""The log: what the engine, the worker and the window had to say."""

from __future__ import annotations

from collections import deque

from PySide6.QtWidgets import QPlainTextEdit

from profiler import events as ev
from profiler.units import NS_PER_S


class LogView(QPlainTextEdit):
    """Appends the newest lines of a timeline's log. Plain text; a traceback is indented."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("kind", "output")
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setUndoRedoEnabled(False)
        self.setMaximumBlockCount(5000)
        self.setAccessibleName(self.tr("Log"))
        self.setPlaceholderText(self.tr("Nothing to report."))
        self._last: ev.Log | None = None

    def refresh(self, logs: deque[ev.Log], origin_ns: int) -> None:
        """Show what is new. `origin_ns` is zero of the time column."""
        if not logs or logs[-1] is self._last:
            return
        new: list[ev.Log] = []
        for entry in reversed(logs):
            if entry is self._last:
                break
            new.append(entry)
        self._last = logs[-1]
        for entry in reversed(new):
            self.append_line(entry, origin_ns)

    def append_line(self, entry: ev.Log, origin_ns: int) -> None:
        """One entry as `12.3 s  warning  worker  message`."""
        seconds = (entry.t_ns - origin_ns) / NS_PER_S
        self.appendPlainText(f"{seconds:9.2f} s  {entry.level:<8}{entry.source:<10}{entry.message}")
        if entry.detail:
            self.appendPlainText("\n".join(f"             {line}" for line in entry.detail.splitlines()))
