"""Leaving the processor to a model that shares it: fewer wake-ups, and no preemption.

While a run measures on the CPU, every wake-up of the engine costs the model more than the work
done in it: a thread of the model is put aside in the middle of a matrix product, and its sister
waits at the barrier. What the worker sends is therefore taken in five times a second, and our
threads ask the scheduler not to preempt others when they wake up.
"""

from __future__ import annotations

import os

from profiler.units import NS_PER_S

REST_NS = NS_PER_S // 5
"""From one look at the worker's pipe to the next, while a slow model decodes on the CPU."""
BUSY_EVENTS = 400
"""A look that brings more events than this is followed at once by the next: the pipe is finite."""


class Rest:
    """When to look at the worker's pipe again. Thread: the engine's."""

    def __init__(self) -> None:
        self._until_ns = 0

    def looked(self, now_ns: int, events: int, *, sharing: bool) -> None:
        """A look brought `events`; `sharing`: a run is measuring on the processor that we run on."""
        resting = sharing and events < BUSY_EVENTS
        self._until_ns = now_ns + REST_NS if resting else 0

    def left_s(self, now_ns: int) -> float:
        """How long not to look, s; 0: look whenever something comes."""
        return max(self._until_ns - now_ns, 0) / NS_PER_S


def be_patient(idle: bool = False) -> None:
    """The calling thread no longer preempts others on waking up; it waits for its turn.

    Linux: SCHED_BATCH, or with `idle` SCHED_IDLE (a thread that may be some hundred ms late, and
    whose stamps are its own). Elsewhere, and where it is refused: no effect. Processes and threads
    that are started inherit it: call `be_prompt` before.
    """
    if hasattr(os, "sched_setscheduler"):
        _ask(os.SCHED_IDLE if idle else os.SCHED_BATCH)


def be_prompt() -> None:
    """Undo `be_patient`."""
    if hasattr(os, "sched_setscheduler"):
        _ask(os.SCHED_OTHER)


def _ask(policy: int) -> None:
    try:
        os.sched_setscheduler(0, policy, os.sched_param(0))  # 0: the calling thread
    except OSError:
        pass
