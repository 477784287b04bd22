"""One run in the worker: warm-ups, then repeats, each answered by the backend.

The garbage collector is collected and frozen after the last warm-up (recorded); collections
during the run are events, so that a slow token can be told from a collection.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from profiler import events as ev
from profiler.config import RunConfig
from profiler.worker.backends.base import Backend, Outcome, Planned, Stopped
from profiler.worker.outbox import Outbox, now_ns


class GcWatch:
    """Sends an Interval "gc" for each collection while it is on."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._start_ns = 0

    def __enter__(self) -> None:
        gc.callbacks.append(self._called)

    def __exit__(self, *_: object) -> None:
        gc.callbacks.remove(self._called)

    def _called(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._start_ns = now_ns()
        else:
            detail = {"generation": info.get("generation"), "collected": info.get("collected")}
            self._outbox.emit(ev.Interval("gc", self._start_ns, now_ns(), detail))


def plan(run: int, first_no: int, config: RunConfig) -> list[Planned]:
    """The requests of a run, warm-ups first."""
    planned = []
    for index in range(config.total_requests):
        warmup = index < config.warmup
        number = index + 1 if warmup else index - config.warmup + 1
        label = f"Warm-up {number}" if warmup else f"Repeat {number}"
        name = f"w{number}" if warmup else f"r{number}"
        planned.append(Planned(first_no + index, run, name, index, warmup, label))
    return planned


def execute(
    backend: Backend, run: int, first_no: int, config: RunConfig, outbox: Outbox, stop: Callable[[], bool]
) -> Outcome:
    """Runs every request; returns how the run ended (ok, cancelled, or the first error).

    `backend.prepare(config)` comes before.
    """
    result = Outcome("ok")
    gc.collect()
    with GcWatch(outbox):
        frozen = False
        for planned in plan(run, first_no, config):
            if stop():
                result = Outcome("cancelled")
                break
            if not planned.warmup and not frozen:
                # What the warm-up left is garbage or stays for good: neither is to be searched again.
                gc.collect()
                gc.freeze()
                frozen = True
            outcome = _answer(backend, planned, config, outbox)
            end_ns = outcome.end_ns if outcome.end_ns is not None else now_ns()
            outbox.emit(
                ev.RequestEnd(planned.no, end_ns, outcome.status, outcome.stop_reason, outcome.error),
                now=True,
            )
            for event in backend.between():
                outbox.emit(event)
            if outcome.status == "error":
                outbox.emit(
                    ev.Failure("run", now_ns(), f"{planned.label}: {outcome.error}", outcome.detail), now=True
                )
            if outcome.status != "ok":
                result = outcome
                break
    gc.unfreeze()
    for event in backend.finish(run):
        outbox.emit(event)
    return result


def _answer(backend: Backend, planned: Planned, config: RunConfig, outbox: Outbox) -> Outcome:
    try:
        return backend.answer(planned, config, outbox)
    except Stopped:
        return Outcome("cancelled", "stopped")
