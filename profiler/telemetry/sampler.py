"""Reads every telemetry source at one pace and turns the readings into events.

`SamplerCore` is the whole logic without a thread or a sleep (one call is one round);
`Sampler` is the thread around it. It lives in the engine's process, never in the worker:
nothing but the model shares the decoder's interpreter.
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from profiler import events
from profiler.units import NS_PER_MS, NS_PER_S

Values = dict[str, float | int | None]
"""One reading. A metric that is missing is None (the reason is in `Reader.describe`), a metric
that was not read this time (a slow one) is not in the dict."""

MAX_HZ = 10.0
"""Driver calls serialise on a lock inside the driver: faster polling makes the very stalls
that one looks for."""

FIRST_RETRY_NS = NS_PER_S
LAST_RETRY_NS = 30 * NS_PER_S


class ReadingFailed(RuntimeError):
    """A whole reading failed, maybe not for good. The message is one sentence."""


class ReaderGone(RuntimeError):
    """The source will not answer again (a lost GPU). The message is one sentence."""


class Reader(Protocol):
    """One source of telemetry. All methods are called from one thread at a time."""

    source: str
    """"gpu0", "host"."""

    def describe(self) -> dict[str, Any]:
        """Facts that do not change with time, as strict JSON, and what is missing:
        `"unavailable": {metric: reason}`, as of the last reading. Makes no slow calls."""
        ...

    def read(self) -> Values:
        """One reading. Raises ReadingFailed (tried again later) or ReaderGone (never again)."""
        ...

    def close(self) -> None:
        """Give back what the reader holds. May be called twice. Does not raise."""
        ...


class Pace:
    """A slower pace within a faster one: `due` is true about once in `period_ns`.

    Absolute deadlines, with a tolerance of 5 % of the period so that a round that comes a
    moment early does not push a 1 Hz metric to every fifth round of 4 Hz.
    """

    def __init__(self, period_ns: int = NS_PER_S) -> None:
        self._period_ns = period_ns
        self._next_ns: int | None = None

    def due(self, now_ns: int) -> bool:
        """Is it time? If so, the next time is one period later. The first call is always due."""
        if self._next_ns is not None and now_ns < self._next_ns - self._period_ns // 20:
            return False
        following = (now_ns if self._next_ns is None else self._next_ns) + self._period_ns
        # After a pause (a suspended laptop) start over rather than catch up.
        self._next_ns = following if following > now_ns else now_ns + self._period_ns
        return True


@dataclass(slots=True)
class _Polled:
    """A reader and how it is doing. `state`: ok, stale (tried again at `retry_ns`), gone."""

    reader: Reader
    state: str = "ok"
    reason: str | None = None
    retry_ns: int = 0
    pause_ns: int = FIRST_RETRY_NS
    failures: int = 0
    warned: bool = False
    metrics: tuple[str, ...] = ()


class SamplerCore:
    """Rounds of readings on an exact schedule; no thread, no sleep.

    `emit` is called within `round`, on the caller's thread. Failures of a reader become one
    warning (`events.Log`) and a hole in its readings; they never leave `round`.
    """

    def __init__(
        self,
        readers: Sequence[Reader],
        hz: float,
        emit: Callable[[events.Event], None],
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        if not 0 < hz <= MAX_HZ:
            raise ValueError(f"a sampler runs at more than 0 and at most {MAX_HZ:g} readings a second")
        self.hz = hz
        self.rounds = 0
        self.skipped = 0
        """Rounds that were left out because the one before them took too long."""
        self.round_ns = 0
        """Time spent in readings so far: what the sampler itself costs."""
        self._polled = [_Polled(reader) for reader in readers]
        self._emit = emit
        self._clock = clock
        self._origin_ns: int | None = None
        self._n = 0

    def round(self, now_ns: int) -> int:
        """One reading of every source that is due at `now_ns`; returns the next deadline, ns.

        Emits a `Sample` per source read and one `Interval("sampler", ...)` over all of them.
        """
        if self._origin_ns is None:
            self._origin_ns = now_ns
        samples: list[events.Event] = []
        logs: list[events.Event] = []
        start_ns = self._clock()
        polled_any = False
        for polled in self._polled:
            if polled.state == "gone" or (polled.state == "stale" and now_ns < polled.retry_ns):
                continue
            polled_any = True
            self._read(polled, samples, logs)
        end_ns = self._clock()
        self.rounds += 1
        for event in samples:
            self._emit(event)
        if polled_any:
            self.round_ns += end_ns - start_ns
            self._emit(events.Interval("sampler", start_ns, end_ns))
        for event in logs:
            self._emit(event)
        return self._next_deadline(end_ns)

    def status(self) -> dict[str, Any]:
        """How the sampler is doing, as JSON: pace, counts, mean cost, and the state of each source."""
        return {
            "hz": self.hz,
            "rounds": self.rounds,
            "skipped_rounds": self.skipped,
            "round_ms": self.round_ns / self.rounds / NS_PER_MS if self.rounds else None,
            "sources": {
                polled.reader.source: {
                    "state": polled.state,
                    "reason": polled.reason,
                    "failed_readings": polled.failures,
                }
                for polled in self._polled
            },
        }

    def _next_deadline(self, end_ns: int) -> int:
        assert self._origin_ns is not None
        expected = self._n + 1
        self._n = max(expected, math.ceil((end_ns - self._origin_ns) * self.hz / NS_PER_S))
        self.skipped += self._n - expected
        return self._origin_ns + round(self._n * NS_PER_S / self.hz)

    def _read(self, polled: _Polled, samples: list[events.Event], logs: list[events.Event]) -> None:
        before_ns = self._clock()
        try:
            values = polled.reader.read()
        except ReaderGone as error:
            polled.state = "gone"
            self._failed(polled, before_ns, error, samples)
            sentence = f"{polled.reason} What was read so far is kept and the run goes on."
            logs.append(events.Log("warning", before_ns, polled.reader.source, sentence))
            return
        except Exception as error:  # noqa: BLE001 - whatever a source raises, the run goes on
            polled.state = "stale"
            polled.retry_ns = before_ns + polled.pause_ns
            polled.pause_ns = min(2 * polled.pause_ns, LAST_RETRY_NS)
            self._failed(polled, before_ns, error, samples)
            if not polled.warned:
                polled.warned = True
                sentence = f"{polled.reason} The run goes on; it is tried again after growing pauses."
                detail = None if isinstance(error, ReadingFailed) else traceback.format_exc()
                logs.append(events.Log("warning", before_ns, polled.reader.source, sentence, detail))
            return
        after_ns = self._clock()
        if polled.state == "stale":
            text = f"{polled.reader.source} answers again."
            logs.append(events.Log("info", after_ns, polled.reader.source, text))
        polled.state, polled.reason, polled.pause_ns = "ok", None, FIRST_RETRY_NS
        if len(values) > len(polled.metrics):
            polled.metrics = tuple(values)
        middle_ns = before_ns + (after_ns - before_ns) // 2
        samples.append(events.Sample(middle_ns, polled.reader.source, values, after_ns - before_ns))

    @staticmethod
    def _failed(polled: _Polled, t_ns: int, error: Exception, samples: list[events.Event]) -> None:
        first = polled.reason is None
        polled.failures += 1
        if isinstance(error, (ReadingFailed, ReaderGone)):
            polled.reason = str(error)
        else:
            polled.reason = f"{polled.reader.source} could not be read ({type(error).__name__}: {error})."
        if first and polled.metrics:
            # A hole with an edge: charts must not draw a line across an outage.
            nothing: Values = dict.fromkeys(polled.metrics)
            samples.append(events.Sample(t_ns, polled.reader.source, nothing, None))


class Sampler:
    """The thread that calls `SamplerCore.round` on time.

    `hz` 0 means off: `start` starts nothing and `wait_first` is true at once. `emit` is called
    on the sampler's thread, as is `begin` once before the first reading. A sampler is used
    once. ValueError for a pace outside 0..10.
    """

    def __init__(
        self,
        readers: Sequence[Reader],
        hz: float,
        emit: Callable[[events.Event], None],
        clock: Callable[[], int] = time.perf_counter_ns,
        begin: Callable[[], None] | None = None,
    ) -> None:
        self._begin = begin
        self._readers = list(readers)
        self._core = SamplerCore(self._readers, hz, emit, clock) if hz != 0 else None
        self._clock = clock
        self._stop = threading.Event()
        self._first = threading.Event()
        self._going = threading.Event()
        self._going.set()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read. Returns at once; see `wait_first`."""
        if self._core is None:
            self._first.set()
            return
        # A daemon: a driver call that hangs must not keep the engine from ending.
        self._thread = threading.Thread(target=self._run, args=(self._core,), name="sampler", daemon=True)
        self._thread.start()

    def wait_first(self, timeout_s: float) -> bool:
        """Wait until every source was read (or has failed) once; False after `timeout_s`."""
        return self._first.wait(timeout_s)

    def pause(self, paused: bool) -> None:
        """Read nothing for a while (to measure what reading costs). Any thread."""
        if paused:
            self._going.clear()
        else:
            self._going.set()

    def stop(self, timeout_s: float = 5.0) -> bool:
        """End the thread, then close the readers. May be called twice.

        False when a reading still hangs after `timeout_s`: the thread is left behind (it ends
        with the process) and the readers stay open, since closing one in use may crash.
        """
        self._stop.set()
        self._going.set()
        if self._thread is not None:
            self._thread.join(timeout_s)
            if self._thread.is_alive():
                return False
            self._thread = None
        for reader in self._readers:
            reader.close()
        return True

    def status(self) -> dict[str, Any]:
        """`SamplerCore.status`; with the sampler off only `{"hz": 0}`. Any thread."""
        return {"hz": 0} if self._core is None else self._core.status()

    def _run(self, core: SamplerCore) -> None:
        try:
            if self._begin is not None:
                self._begin()
            while not self._stop.is_set():
                self._going.wait()
                next_ns = core.round(self._clock())
                self._first.set()
                self._stop.wait(max(0, next_ns - self._clock()) / NS_PER_S)
        finally:
            self._first.set()
