"""Leaving the processor to a model that shares it: fewer wake-ups.

While a run measures on the CPU, every wake-up of the engine costs the model more than the work
done in it: a thread of the model is put aside in the middle of a matrix product, and its sister
waits at the barrier. What the worker sends is therefore taken in five times a second.
"""

from __future__ import annotations

from collections.abc import Iterable

from profiler import events as ev
from profiler.units import NS_PER_S

REST_NS = NS_PER_S // 5
"""From one look at the worker's pipe to the next, while a slow model decodes on the CPU."""
BUSY_EVENTS = 400
"""A look that brings at least as many steps and other events as this is followed at once by the next:
the pipe is finite, and what does not fit waits in the worker."""


def amount(events: Iterable[ev.Event]) -> int:
    """How much came: each step of a batch counts."""
    return sum(len(event) if isinstance(event, ev.Steps) else 1 for event in events)


class Rest:
    """When to look at the worker's pipe again. Thread: the engine's."""

    def __init__(self) -> None:
        self._until_ns = 0

    def looked(self, now_ns: int, events: int, *, sharing: bool) -> None:
        """A look brought this `amount` of events; `sharing`: a run is measuring on the processor that we run on."""
        resting = sharing and events < BUSY_EVENTS
        self._until_ns = now_ns + REST_NS if resting else 0

    def left_s(self, now_ns: int) -> float:
        """How long not to look, s; 0: look whenever something comes."""
        return max(self._until_ns - now_ns, 0) / NS_PER_S
