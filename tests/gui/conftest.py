"""After all tests of the window: nothing of it may be left."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtWidgets import QApplication

OURS = ("engine-link", "background")
"""How the window's threads are called."""


@pytest.fixture(autouse=True)
def garbage_is_collected_here() -> Iterator[None]:
    """In the GUI thread alone, as in the program: another one would find widgets, and wait for Qt."""
    gc.disable()
    yield
    gc.collect(1)
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def no_garbage_for_others() -> Iterator[None]:
    """All of it, before tests that know nothing of Qt."""
    yield
    gc.collect()


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Windows, running timers and threads that the tests of this process left behind."""
    yield
    app = QApplication.instance()
    if app is None:
        return
    gc.collect()
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
    windows = [widget for widget in QApplication.topLevelWidgets() if widget.isVisible()]
    assert windows == [], f"left open: {windows}"
    running = [timer for timer in app.findChildren(QTimer) if timer.isActive()]
    assert running == [], f"timers still running: {running}"
    # One may be in the middle of an import.
    ours = [thread for thread in threading.enumerate() if thread.name.startswith(OURS)]
    for thread in ours:
        thread.join(10)
        assert not thread.is_alive(), f"still running: {thread.name}"
