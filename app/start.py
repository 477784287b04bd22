"""Makes the objects of a window, shows it, then starts the engine: in that order.

Kept apart from `__main__`, whose import must cost nothing.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from pathlib import Path

from pyqtgraph.util.garbage_collector import GarbageCollector
from PySide6.QtWidgets import QApplication

from app.background import Background
from app.crash import install_excepthook, route_qt_messages, set_up_log
from app.dialogs import NoDialogs, QtDialogs
from app.engine_link import EngineLink
from app.first_paint import FirstPaint
from app.main_window import MainWindow
from app.offers import find_recovered
from app.options import Options
from app.run_controller import RunController
from app.second_start import SecondStarts, hand_over, server_name
from app.session_library import SessionLibrary
from app.settings import Settings, settings_path
from app.signals import Signals
from app.theme import Theme
from app.unattended import Unattended
from profiler import events as ev
from profiler.config import RunConfig, make_config
from profiler.engine.client import EngineClient
from profiler.errors import UsageError

GARBAGE_EVERY_S = 5.0


def run_window(options: Options) -> int:
    """Shows the window until it is closed; returns the exit code."""
    set_up_log()
    route_qt_messages()
    path = settings_path()
    settings = Settings(path)
    _scale(options.text_scale or settings.text_scale())
    app = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(app, QApplication)
    app.setApplicationName("decodescope")
    app.setApplicationDisplayName("Decodescope")
    app.setDesktopFileName("decodescope")
    theme = Theme(options.theme or settings.theme())
    theme.install(app, sheet=False)
    listens = not options.unattended
    name = server_name(path.parent)
    if listens and not options.new_window and _handed_over(name, settings, options):
        return 0
    background = Background()
    link = EngineLink(EngineClient)
    controller = RunController(link, background)
    dialogs = NoDialogs() if options.unattended else QtDialogs()
    window = MainWindow(controller, SessionLibrary(background), settings, theme, dialogs)
    install_excepthook(window.show_crash)
    if options.size is not None:
        window.resize(*options.size)
    unattended = Unattended(window, controller, options, app.exit)
    garbage = _collect_in_this_thread()
    signals = Signals({signal.SIGINT: unattended.interrupt, signal.SIGTERM: lambda: _terminate(window)})
    window.set_config(options.config or _last_config(settings))
    theme.put_on_sheet(app)
    starts: list[SecondStarts] = []

    def painted() -> None:
        if listens:
            starts.append(SecondStarts(name, window.take_second_start))
        _begin(window, controller, options, options.session)

    FirstPaint(window, painted)
    window.show()
    code = app.exec()
    for listening in starts:
        listening.close()
    window.close()
    controller.close()
    signals.close()
    garbage.timer.stop()
    if unattended.message and sys.stderr is not None:
        sys.stderr.write(f"decodescope: {unattended.message}\n")
    return code


def _handed_over(name: str, settings: Settings, options: Options) -> bool:
    """Did a window that is open take what this start is for?"""
    results = (options.save, options.screenshot, options.kpi_json)
    only_a_file = options.config is None and options.page is None and not any(results)
    return only_a_file and settings.second_start() == "window" and hand_over(name, options.session)


def _collect_in_this_thread() -> GarbageCollector:
    """Look for garbage in the GUI thread alone. Where another thread finds a widget in it, Qt and
    Python wait for each other for ever: one holds Qt's lock, the other the interpreter's.

    What was imported until now is left out of every search.
    """
    gc.freeze()
    return GarbageCollector(GARBAGE_EVERY_S)


def _scale(text_scale: float) -> None:
    """Everything grows with its text, so that nothing is cut. Qt reads this once, at its start."""
    if text_scale != 1.0:
        os.environ.setdefault("QT_SCALE_FACTOR", f"{text_scale:g}")


def _begin(window: MainWindow, controller: RunController, options: Options, session: Path | None) -> None:
    """After the first paint: the engine, the file to open, the run to start."""
    controller.start_engine()
    if options.page is not None:
        window.show_page(options.page)
    window.offers.hints = not options.unattended
    if session is not None:
        window.open_session(session)
    elif not options.unattended:
        window.offers.look_for_recovered(find_recovered)
    if not options.unattended:
        # What went to our own trash in an earlier window can no longer be undone there.
        window.empty_own_trash()
    if options.autostart:
        window.start()
    if options.own_cost is not None:
        _measure_own_cost(controller, options, options.own_cost)


def _measure_own_cost(controller: RunController, options: Options, path: Path) -> None:
    """For `dscope overhead`: measure, write the figures, end."""

    def done(reply: ev.Reply) -> None:
        code = 0
        if reply.ok:
            path.write_text(json.dumps(reply.value, allow_nan=False), encoding="utf-8")
        else:
            code = reply.exit_code or 4
            if sys.stderr is not None:
                sys.stderr.write(f"decodescope: {reply.message}\n")
        QApplication.exit(code)

    controller.measure_own_cost(options.config or RunConfig(), options.own_cost_budget, done)


def _terminate(window: MainWindow) -> None:
    window.close_without_asking()
    QApplication.exit(0)  # also out of a dialog that is open


def _last_config(settings: Settings) -> RunConfig:
    values = settings.last_config()
    if values is not None:
        try:
            return make_config(values)
        except UsageError:
            pass  # written by another version
    return RunConfig()
