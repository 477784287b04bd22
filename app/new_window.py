"""Another window of the program, in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QProcess


def start_another_window(session: Path | None = None) -> bool:
    """Start the program once more, with a session; it lives on when this window is closed."""
    arguments = [] if getattr(sys, "frozen", False) else ["-m", "app"]
    arguments.append("--new-window")
    if session is not None:
        arguments.append(str(session))
    started, _ = QProcess.startDetached(sys.executable, arguments)
    return started
