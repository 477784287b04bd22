"""A real model, clicked through: real window, real engine, real worker, real file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from window_parts import FakeDialogs

from app.background import Background
from app.engine_link import EngineLink
from app.main_window import MainWindow
from app.run_controller import RunController
from app.run_state import RunState
from app.session_library import SessionLibrary
from app.settings import Settings
from app.theme import Theme
from profiler.config import make_config
from profiler.engine.client import EngineClient
from profiler.reporting.report import report
from profiler.session.reader import SessionReader

WAIT_MS = 90_000


@contextmanager
def real_window(qtbot: QtBot, folder: Path) -> Iterator[tuple[MainWindow, RunController]]:
    background = Background()
    controller = RunController(EngineLink(lambda: EngineClient(library=folder)), background)
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    theme = Theme("dark")
    theme.install(app)
    window = MainWindow(
        controller, SessionLibrary(background), Settings(folder / "window.ini"), theme, FakeDialogs()
    )
    qtbot.addWidget(window)
    window.show()
    controller.start_engine()
    try:
        yield window, controller
    finally:
        window.close()
        controller.close()


def test_start_watch_stop_and_read_back(qtbot: QtBot, tmp_path: Path) -> None:
    settings = {"model": "preset:nano", "prompt_tokens": 16, "output_tokens": 24, "repeats": 3, "warmup": 1}
    with real_window(qtbot, tmp_path) as (window, controller):
        button = window.page.run_box.button

        window.set_config(make_config(settings))
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: controller.state is RunState.FINISHED, timeout=WAIT_MS)
        qtbot.waitUntil(lambda: controller.values_final, timeout=WAIT_MS)
        path = controller.document.path
        assert path is not None
        with SessionReader.open(path) as reader:
            (run,) = report(reader.timeline())["runs"]
        assert run["requests"]["ok"] == 3
        assert [request["output_tokens"] for request in run["per_request"]] == [24] * 4
        shown = window.page.kpis.to_json()
        assert shown["ttft"]["value"] == run["metrics"]["ttft_ms"]["p50"]
        assert shown["itl_p50"]["value"] == run["metrics"]["itl_ms"]["p50"]
        assert shown["itl_p99"]["value"] == run["metrics"]["itl_ms"]["p99"]
        assert shown["tpot"]["value"] == run["metrics"]["tpot_ms"]["p50"]
        assert shown["mbu"]["value"] == run["metrics"]["mbu"]["run"]
        assert shown["jitter"]["value"] == run["metrics"]["jitter"]["jitter_ms"]

        # The model is still loaded: a second, endless run is at its tokens at once. Stop it.
        window.set_config(make_config({**settings, "output_tokens": 7000, "warmup": 0}))
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(
            lambda: any(len(request) > 5 for request in controller.timeline.requests.values()),
            timeout=WAIT_MS,
        )
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: controller.state is RunState.FINISHED, timeout=WAIT_MS)
        second = controller.document.path
        assert second is not None and second != path
        with SessionReader.open(second) as reader:
            timeline = reader.timeline()
        assert timeline.runs[1].status == "stopped"
        assert timeline.requests[1].end_status == "cancelled"
