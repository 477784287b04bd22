"""What the window has imported when it is first drawn, and when the engine is asked for."""

from __future__ import annotations

from pathlib import Path

from bench.bench_first_paint import WINDOW, first_paint
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.first_paint import FirstPaint

HEAVY = {"torch", "transformers", "accelerate", "gguf", "scipy", "plotly", "pynvml", "pyarrow"}
ENGINE = {
    "profiler.engine.core",
    "profiler.worker.main",
    "profiler.session.store",
    "profiler.telemetry.sampler",
    "profiler.reporting.report",
    "app.pages.compare",
    "app.pages.sessions",
}
"""Parts of the program that the first page does not need."""


def test_the_first_paint_waits_for_nothing_heavy(tmp_path: Path) -> None:
    modules = set(first_paint(WINDOW, tmp_path)["modules"])
    assert "app.pages.profile" in modules
    assert modules & HEAVY == set()
    assert modules & ENGINE == set()


def test_it_tells_once_and_after_the_drawing(qtbot: QtBot) -> None:
    told: list[str] = []

    class Window(QWidget):
        def paintEvent(self, event: QPaintEvent) -> None:
            told.append("painted")

    window = Window()
    qtbot.addWidget(window)
    FirstPaint(window, lambda: told.append("told"))
    assert told == []
    window.show()
    qtbot.waitUntil(lambda: "told" in told)
    window.repaint()
    qtbot.wait(1)
    assert told[0] == "painted" and told.count("told") == 1


def test_a_window_that_is_never_drawn_does_not_wait_for_ever(qtbot: QtBot) -> None:
    told: list[str] = []
    window = QWidget()
    qtbot.addWidget(window)
    FirstPaint(window, lambda: told.append("told"))
    qtbot.waitUntil(lambda: told == ["told"])
