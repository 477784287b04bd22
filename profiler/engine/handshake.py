"""Measures the offset between the worker's clock and ours at its start.

`perf_counter_ns` is system-wide on Linux, macOS and Windows; this checks it: 16 rounds, the
smallest round trip counts, as in NTP.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from profiler import events as ev

ROUNDS = 16
WARN_NS = 1_000_000


class Pinged(Protocol):
    """A process that answers pings."""

    def send(self, verb: str) -> int:
        """Sends a command; returns the id that its Reply will carry."""
        ...


class Handshake:
    """Sends the first ping at once; `take` every Reply until `done`.

    `offset_ns` is the worker's clock minus ours, uncertain by `half_rtt_ns`.
    """

    def __init__(self, worker: Pinged, clock: Callable[[], int]) -> None:
        self._worker = worker
        self._clock = clock
        self._round = 0
        self.offset_ns: int | None = None
        self.half_rtt_ns: int | None = None
        self._ping()

    @property
    def done(self) -> bool:
        """All rounds are over."""
        return self._round >= ROUNDS

    def _ping(self) -> None:
        self._sent_ns = self._clock()
        self._id = self._worker.send("ping")

    def take(self, reply: ev.Reply) -> bool:
        """True when the reply was one of ours."""
        if self.done or reply.id != self._id:
            return False
        now_ns = self._clock()
        half_rtt_ns = (now_ns - self._sent_ns) // 2
        if self.half_rtt_ns is None or half_rtt_ns < self.half_rtt_ns:
            self.half_rtt_ns = half_rtt_ns
            self.offset_ns = int(reply.value) - (self._sent_ns + now_ns) // 2
        self._round += 1
        if not self.done:
            self._ping()
        return True

    def events(self, run: int) -> list[ev.Event]:
        """The result as a fact, and a note when the clocks differ by more than 1 ms."""
        value = {"offset_ns": self.offset_ns, "half_rtt_ns": self.half_rtt_ns, "rounds": self._round}
        events: list[ev.Event] = [ev.Fact("clock", value, run)]
        if self.offset_ns is not None and self.half_rtt_ns is not None:
            if abs(self.offset_ns) > WARN_NS + self.half_rtt_ns:
                text = (
                    f"The clocks of the engine and the worker differ by {self.offset_ns / 1e6:.2f} ms; telemetry "
                    "and tokens may be shifted against each other."
                )
                events.append(ev.Note(run, text))
        return events
