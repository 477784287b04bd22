"""What the window shows of a run: states, problems, the document. Facts, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QCoreApplication


class RunState(StrEnum):
    """What the window shows of a run."""

    IDLE = "idle"
    LOADING = "loading"
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"


ACTIVE = (RunState.LOADING, RunState.RUNNING, RunState.STOPPING)


@dataclass(frozen=True)
class Problem:
    """Something failed: one sentence for the user, the whole story for the log."""

    message: str
    detail: str | None = None
    field: str | None = None
    where: str = "run"
    exit_code: int = 4


@dataclass(frozen=True)
class Document:
    """The session that is shown. `saved`: opened from a file rather than recorded here."""

    path: Path | None = None
    name: str = ""
    recording: bool = False
    saved: bool = False
    note: str = ""


def no_engine() -> str:
    """A verb was asked for and there is no engine to do it."""
    return QCoreApplication.translate("RunController", "The engine is not running; restart it and try again.")


def unknown_failure() -> str:
    """A run failed without a word."""
    return QCoreApplication.translate("RunController", "The run failed; the log says more.")


def gone_message(path: Path | None) -> str:
    """The engine has ended; `path` is the recording that was open, if one was."""
    text = QCoreApplication.translate("RunController", "The engine ended unexpectedly.")
    if path is None:
        return text
    kept = QCoreApplication.translate("RunController", "What was recorded is kept in {0}.")
    return f"{text} {kept.format(path)}"
