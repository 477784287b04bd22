"""Exceptions that nobody caught: the whole story to the log file, one sentence to the window."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from types import TracebackType

from PySide6.QtCore import QtMsgType, qInstallMessageHandler

from profiler.paths import log_dir

LOG = logging.getLogger("app")


def set_up_log() -> None:
    """Log to `window.log` in the log folder; without one, to standard error alone."""
    handlers: list[logging.Handler] = []
    try:
        handlers.append(
            RotatingFileHandler(log_dir() / "window.log", maxBytes=1_000_000, backupCount=2, encoding="utf-8")
        )
    except OSError:
        if sys.stderr is not None:
            handlers.append(logging.StreamHandler())
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", handlers=handlers
    )


def route_qt_messages() -> None:
    """What Qt has to say goes to the log, not to the terminal of somebody who started a profiler."""
    levels = {
        QtMsgType.QtDebugMsg: logging.DEBUG,
        QtMsgType.QtInfoMsg: logging.INFO,
        QtMsgType.QtWarningMsg: logging.WARNING,
    }

    def handler(kind: QtMsgType, _context: object, message: str) -> None:
        LOG.log(levels.get(kind, logging.ERROR), "Qt: %s", message)

    qInstallMessageHandler(handler)


def install_excepthook(tell: Callable[[str, str], None]) -> None:
    """Send what nobody caught to the log, and to `tell` as (sentence, traceback).

    Exceptions of other threads are only logged: a widget must not be touched from there.
    """

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        story = "".join(traceback.format_exception(kind, error, trace))
        LOG.error("uncaught: %s", story)
        tell(f"{kind.__name__}: {error}", story)

    def thread_hook(args: threading.ExceptHookArgs) -> None:
        story = "".join(traceback.format_exception(args.exc_type, args.exc_value, args.exc_traceback))
        LOG.error("uncaught in thread %s: %s", args.thread.name if args.thread else "?", story)

    sys.excepthook = hook
    threading.excepthook = thread_hook
