"""What a backend is: it loads something that answers prompts and stamps every token.

A backend runs in the worker process, on its main thread. One that needs no torch must not
import it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from profiler import events as ev
from profiler.config import RunConfig
from profiler.worker.outbox import Outbox

ProgressCall = Callable[[str, float, float | None, str], None]
"""(stage, done, total or None, unit)."""


class Stopped(Exception):
    """Raised inside a backend when the stop flag was seen: the request is cancelled."""


@dataclass(frozen=True, slots=True)
class LoadInfo:
    """What loading told: JSON facts by key, spans of the load, and notes for the run.

    `facts`: "model" (label, kind, parameters, dtype, device, attn, random_weights, ...),
    "footprint", "reference", "software", as MEASUREMENT's bandwidth section names them.
    """

    facts: dict[str, Any]
    spans: list[tuple[str, int, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    device_uuids: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Planned:
    """One request to come: its number in the session, its name, whether it is a warm-up."""

    no: int
    run: int
    id: str
    index: int
    warmup: bool
    label: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended. `status`: ok, error, cancelled; `error` one sentence."""

    status: str
    stop_reason: str | None = None
    error: str | None = None
    detail: str | None = None
    end_ns: int | None = None


class Backend(Protocol):
    """A thing that answers prompts."""

    def load(self, config: RunConfig, progress: ProgressCall, cancelled: Callable[[], bool]) -> LoadInfo:
        """Make ready. Raises ModelError, UsageError or Stopped."""
        ...

    def prepare(self, config: RunConfig) -> None:
        """Before each run, when nothing is recorded yet: read prompts, check lengths. Raises UsageError."""
        ...

    def answer(self, planned: Planned, config: RunConfig, outbox: Outbox) -> Outcome:
        """Run one request: begin it in the outbox, stamp each step, return how it ended.

        Errors of the model are an Outcome with status error, not an exception.
        """
        ...

    def between(self) -> list[ev.Event]:
        """After each request: what can be read only while nothing computes (the allocator)."""
        ...

    def finish(self, run: int) -> list[ev.Event]:
        """After the last request: facts and notes of the run (memory, remarks)."""
        ...

    def free(self) -> None:
        """Let the model go."""
        ...
