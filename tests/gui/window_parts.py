"""A window on a scripted engine: what the window tests share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fake_client import MS, FakeClient
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.background import Background
from app.engine_link import EngineLink
from app.main_window import MainWindow
from app.run_controller import RunController
from app.session_library import SessionLibrary
from app.settings import Settings
from app.theme import Theme, build_stylesheet
from profiler.config import RunConfig


class FakeDialogs:
    """Answers what the test put in."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self.yes = True
        self.text: str | None = None
        self.asked: list[str] = []

    def open_path(self, parent: QWidget, folder: str) -> Path | None:
        self.asked.append("open")
        return self.path

    def save_path(self, parent: QWidget, suggested: Path) -> Path | None:
        self.asked.append("save")
        return self.path

    def confirm_overwrite(self, parent: QWidget, path: Path) -> bool:
        self.asked.append("overwrite")
        return self.yes

    def confirm_close(self, parent: QWidget) -> bool:
        self.asked.append("close")
        return self.yes

    def open_paths(self, parent: QWidget, folder: str) -> list[Path]:
        self.asked.append("open several")
        return [] if self.path is None else [self.path]

    def report_path(self, parent: QWidget, suggested: Path, kind: str) -> Path | None:
        self.asked.append(f"report {kind}")
        return self.path

    def any_path(self, parent: QWidget, suggested: Path) -> Path | None:
        self.asked.append("any")
        return self.path

    def trace_path(self, parent: QWidget, folder: str) -> Path | None:
        self.asked.append("trace")
        return self.path

    def library_folder(self, parent: QWidget, folder: str) -> Path | None:
        self.asked.append("folder")
        return self.path

    def ask_text(self, parent: QWidget, title: str, label: str, value: str) -> str | None:
        self.asked.append(f"text {value}")
        return self.text


class Bench:
    """A window, the script it hangs on, and the means to move it on."""

    def __init__(self, qtbot: QtBot, tmp_path: Path, mode: str = "dark") -> None:
        self.qtbot = qtbot
        self.clients: list[FakeClient] = []
        self.library_dir = tmp_path
        self.now_ns: int | None = None
        self.dialogs = FakeDialogs()
        self.background = Background()
        self.link = EngineLink(self._make_client)
        self.controller = RunController(self.link, self.background, clock_ns=self.clock_ns, cpus=2)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        self.theme = Theme(mode)  # type: ignore[arg-type]
        if app.styleSheet() != build_stylesheet(self.theme.palette):
            # Once a session: a style sheet goes through every widget that is still alive.
            self.theme.install(app)
        self.settings = Settings(tmp_path / "window.ini")
        self.window = MainWindow(
            self.controller, SessionLibrary(self.background), self.settings, self.theme, self.dialogs
        )
        self.window.set_config(RunConfig())
        self.page = self.window.page

    def _make_client(self) -> FakeClient:
        self.clients.append(FakeClient(self.library_dir))
        return self.clients[-1]

    @property
    def client(self) -> FakeClient:
        """The script of the newest engine."""
        return self.clients[-1]

    def clock_ns(self) -> int:
        """The script's clock, unless the test set `now_ns`."""
        if self.now_ns is not None:
            return self.now_ns
        return self.clients[-1].clock_ns if self.clients else 0

    def start_engine(self) -> None:
        """Show the window, start the engine, stop the timer: the test ticks."""
        self.qtbot.addWidget(self.window)
        self.window.show()
        self.controller.start_engine()
        self.controller._timer.stop()
        self.settle(lambda: bool(self.controller.machine))

    def settle(self, done) -> None:  # type: ignore[no-untyped-def]
        """Tick until something is so; the script's clock moves on by 20 ms a tick."""

        def look() -> bool:
            self.clients[-1].clock_ns += 20 * MS
            self.controller.tick()
            return bool(done())

        self.qtbot.waitUntil(look, timeout=20_000)

    def run_to_end(self) -> None:
        """Start the run that the setup shows, and wait until its final figures are there."""
        self.window.start()
        self.settle(lambda: self.client.verbs.count("run"))
        self.client.whole_run()
        self.settle(lambda: not self.controller.active and self.controller.values_final)

    def close(self) -> None:
        """End everything, whatever state the test left."""
        self.dialogs.yes = True
        self.window.close()


@contextmanager
def bench(qtbot: QtBot, tmp_path: Path, mode: str = "dark") -> Iterator[Bench]:
    """A shown window with a started (scripted) engine."""
    result = Bench(qtbot, tmp_path, mode)
    result.start_engine()
    try:
        yield result
    finally:
        result.close()
