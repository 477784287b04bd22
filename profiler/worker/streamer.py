"""What `generate` hands each step to: the stamp comes first, everything else after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from profiler.worker.backends.base import Stopped
from profiler.worker.outbox import now_ns

LATE_NOTE = "On this device generate() hands tokens over one step late; each stamp is one step late."
"""For runs on MPS."""


class StampStreamer:
    """Stamps each step of one `generate` call. Not a subclass of `BaseStreamer`: only the two
    methods are needed, and torch must not be imported for the class to exist.

    `step(t_ns, ids)` takes each step. `generate` hands over the prompt first: that is no token;
    `on_prompt` gets it. `on_first(t_ns)` comes after the first step was handed on, `stop()` is
    asked after each. On some devices generate() runs one step late (transformers'
    DeferredStopCheck, today on MPS); the run carries a note then.
    """

    __slots__ = ("_on_prompt", "_step", "_stop", "first_ns", "last_ns", "on_first", "produced", "seen_prompt")

    def __init__(
        self,
        step: Callable[[int, list[int]], None],
        stop: Callable[[], bool],
        on_first: Callable[[int], None],
        on_prompt: Callable[[Any], None] | None = None,
    ) -> None:
        self._step = step
        self._stop = stop
        self._on_prompt = on_prompt
        self.on_first = on_first
        self.first_ns = 0
        self.last_ns = 0
        self.produced = 0
        self.seen_prompt = False

    def put(self, value: Any) -> None:
        """A step: one id, or several with assisted decoding. Raises Stopped."""
        t_ns = now_ns()
        if not self.seen_prompt:
            self.seen_prompt = True
            if self._on_prompt is not None:
                self._on_prompt(value)
            return
        ids: list[int] = value.reshape(-1).tolist()
        self._step(t_ns, ids)
        if not self.produced:
            self.first_ns = t_ns
            self.on_first(t_ns)
        self.last_ns = t_ns
        self.produced += len(ids)
        if self._stop():
            raise Stopped

    def end(self) -> None:
        """Nothing is held back, so nothing is to be flushed."""
