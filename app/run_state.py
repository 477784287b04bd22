"""What the window shows of a run: states, problems, the document. Facts, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication

from profiler.config import RunConfig
from profiler.timeline import Timeline


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


@dataclass(frozen=True)
class Shown:
    """All that the window shows of a run, put aside while something else is measured."""

    timeline: Timeline
    run_no: int | None
    config: RunConfig | None
    values: dict[str, Any] | None
    values_final: bool
    document: Document
    problem: Problem | None
    started_ns: int
    ended_ns: int | None
    state: RunState


@dataclass
class OwnCostRun:
    """A measurement of our own cost that is going on. `since_ns`: its first block, None before."""

    budget_s: float
    before: Shown
    since_ns: int | None = None
    answered: bool = False


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
