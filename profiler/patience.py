"""Threads of ours that let a model on the same processor go first."""

from __future__ import annotations

import os
from pathlib import Path


def be_patient() -> None:
    """The calling thread no longer preempts others on waking up; it waits for its turn.

    Linux: SCHED_BATCH (not SCHED_IDLE: with every processor busy such a thread may not run for
    seconds, and a sampler reads nothing just then). Elsewhere, and where it is refused: no effect.
    Processes and threads that are started inherit it: call `be_prompt` before.
    """
    if hasattr(os, "sched_setscheduler"):
        _ask(os.SCHED_BATCH)


def be_prompt() -> None:
    """Undo `be_patient`."""
    if hasattr(os, "sched_setscheduler"):
        _ask(os.SCHED_OTHER)


def all_prompt() -> None:
    """Undo `be_patient` for every thread of this process: some that libraries started inherited it."""
    if hasattr(os, "sched_setscheduler"):
        for thread in Path("/proc/self/task").iterdir():
            _ask(os.SCHED_OTHER, int(thread.name))


def _ask(policy: int, thread: int = 0) -> None:
    try:
        os.sched_setscheduler(thread, policy, os.sched_param(0))  # 0: the calling thread
    except OSError:
        pass
