"""A worker that is made ready while the user is still choosing: everything imported, no model.

Importing torch and transformers takes seconds; a run that finds them imported begins that much
earlier. There is at most one such worker, never during a run, and it is an ordinary one: the run
that takes it over has a process that no model was in before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from profiler import events as ev
from profiler.config import RunConfig
from profiler.engine.handshake import Handshake
from profiler.engine.job import process_key
from profiler.engine.worker_handle import WorkerHandle
from profiler.paths import log_dir

NewWorker = tuple[WorkerHandle, Handshake]


def new_worker(clock: Callable[[], int]) -> NewWorker:
    """Spawn a worker and begin to compare clocks. OSError when no process can be made."""
    try:
        log_path = log_dir() / f"worker-{clock()}.log"
    except OSError:
        log_path = None
    worker = WorkerHandle(log_path)
    return worker, Handshake(worker, clock)


class SpareWorker:
    """Keeps, hands over or drops the one spare worker. Thread: the engine's main thread only."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._worker: WorkerHandle | None = None
        self._handshake: Handshake | None = None
        self._key: str | None = None
        self._allow_download = False
        self._asked = False
        self.ready = False
        """Has it imported everything?"""

    @property
    def exists(self) -> bool:
        """Is there one, ready or not?"""
        return self._worker is not None

    def want(self, config: RunConfig) -> None:
        """From now on be ready for runs like `config`; what does not fit them is dropped.

        No effect while the one that is there fits. OSError when no process can be made.
        """
        key = process_key(config)
        if key != self._key:
            self.drop()
        if key is None or self._worker is not None:
            return
        self._worker, self._handshake = new_worker(self._clock)
        self._key, self._allow_download = key, config.allow_download

    def handles(self) -> list[Any]:
        """What to wait for: pass what was ready to `read`."""
        worker = self._worker
        if worker is None:
            return []
        return [worker.sentinel] if worker.eof else [worker.sentinel, worker.connection]

    def read(self, ready: Iterable[Any]) -> list[ev.Event]:
        """Take in what it says; returns what is for the log."""
        worker = self._worker
        if worker is None:
            return []
        died = worker.sentinel in ready
        events: list[ev.Event] = []
        for event in worker.read():
            if not isinstance(event, ev.Reply):
                events.append(event)
            elif self._handshake is not None and self._handshake.take(event):
                self._ask_to_import(worker)
            else:
                self.ready = True
        if died:
            # Nobody waits for it; the next run makes a worker of its own, and says what is wrong.
            text = f"The worker that was being made ready was {worker.exit_text}."
            events.append(ev.Log("warning", self._clock(), "engine", text, worker.last_words()))
            self.drop()
        return events

    def _ask_to_import(self, worker: WorkerHandle) -> None:
        # After the last ping: one that waits for an import would tell nothing about clocks.
        if self._handshake is not None and self._handshake.done and not self._asked:
            self._asked = True
            worker.send("warm", allow_download=self._allow_download)

    def take(self, config: RunConfig) -> NewWorker | None:
        """Hand it over to a run, ready or not. None, and it is gone, when it does not fit."""
        worker, handshake = self._worker, self._handshake
        if worker is None or handshake is None or self._key != process_key(config) or not worker.alive:
            self.drop()
            return None
        self._forget()
        return worker, handshake

    def drop(self) -> None:
        """End it at once; it holds nothing that anybody needs. Idempotent."""
        worker = self._worker
        self._forget()
        if worker is not None:
            worker.close(0.0)

    def _forget(self) -> None:
        self._worker = self._handshake = self._key = None
        self._asked = self.ready = False
