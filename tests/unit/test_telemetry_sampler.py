"""The sampler's rounds with a scripted clock and scripted readers; its thread with handshakes."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from profiler import events as ev
from profiler.telemetry.sampler import (
    Pace,
    ReaderGone,
    ReadingFailed,
    Sampler,
    SamplerCore,
    Values,
)

S = 1_000_000_000
MS = 1_000_000


class Clock:
    """Stands still until it is told to move."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


class Scripted:
    """A reader that plays a script: values, or exceptions to raise; the last one repeats."""

    def __init__(self, source: str, script: list[Values | Exception], clock: Clock, cost_ns: int = 0) -> None:
        self.source = source
        self.script = list(script)
        self.reads = 0
        self.closed = 0
        self._clock = clock
        self._cost_ns = cost_ns

    def describe(self) -> dict[str, Any]:
        return {"unavailable": {}}

    def read(self) -> Values:
        self._clock.now_ns += self._cost_ns
        item = self.script[min(self.reads, len(self.script) - 1)]
        self.reads += 1
        if isinstance(item, Exception):
            raise item
        return dict(item)

    def close(self) -> None:
        self.closed += 1


def make(*readers: Scripted, hz: float, clock: Clock) -> tuple[SamplerCore, list[ev.Event]]:
    got: list[ev.Event] = []
    return SamplerCore(readers, hz, got.append, clock), got


def test_one_round() -> None:
    clock = Clock()
    gpu = Scripted("gpu0", [{"power_w": 250.0}], clock, cost_ns=4 * MS)
    host = Scripted("host", [{"cpu_busy_pct": 7.0}], clock, cost_ns=2 * MS)
    core, got = make(gpu, host, hz=4, clock=clock)
    assert core.status()["round_ms"] is None
    clock.now_ns = 10 * S
    assert core.round(10 * S) == 10 * S + 250 * MS
    assert core.status()["round_ms"] == 6.0
    assert got == [
        ev.Sample(10 * S + 2 * MS, "gpu0", {"power_w": 250.0}, 4 * MS),
        ev.Sample(10 * S + 5 * MS, "host", {"cpu_busy_pct": 7.0}, 2 * MS),
        ev.Interval("sampler", 10 * S, 10 * S + 6 * MS),
    ]


def test_deadlines_are_absolute() -> None:
    clock = Clock()
    core, _ = make(Scripted("host", [{"a": 1}], clock, cost_ns=20 * MS), hz=3, clock=clock)
    deadlines = []
    for _ in range(4):
        deadlines.append(core.round(clock.now_ns))
        clock.now_ns = deadlines[-1] + 7 * MS  # the thread wakes up late; that must not add up
    assert deadlines == [333_333_333, 666_666_667, 1 * S, 1_333_333_333]
    assert core.skipped == 0


def test_a_slow_round_skips_what_it_missed() -> None:
    clock = Clock()
    core, got = make(Scripted("host", [{"a": 1}], clock, cost_ns=900 * MS), hz=4, clock=clock)
    assert core.round(0) == 1 * S  # 250, 500 and 750 ms were missed
    assert core.skipped == 3
    assert core.status()["skipped_rounds"] == 3
    assert len(got) == 2


def test_pace_of_the_slow_metrics() -> None:
    pace = Pace(S)
    # Rounds of 4 Hz that come up to 3 ms early or late: every fourth is a slow one.
    times_ms = [0, 251, 499, 752, 997, 1250, 1502, 1748, 2003, 2250]
    assert [ms for ms in times_ms if pace.due(ms * MS)] == [0, 997, 2003]
    assert pace.due(60 * S)  # after a suspended minute: one, and no catching up
    assert not pace.due(60 * S + 250 * MS)
    assert pace.due(61 * S)


def test_a_failing_reader_is_stale_with_growing_pauses() -> None:
    clock = Clock()
    error = ReadingFailed("GPU 0 does not answer.")
    gpu = Scripted("gpu0", [{"power_w": 250.0}, error, error, error, {"power_w": 240.0}], clock)
    host = Scripted("host", [{"a": 1}], clock)
    core, got = make(gpu, host, hz=1, clock=clock)
    reads = []
    for second in range(10):
        before = gpu.reads
        clock.now_ns = second * S
        core.round(clock.now_ns)
        if gpu.reads > before:
            reads.append(second)
    # Good at 0; fails at 1, again after 1 s, 2 s, 4 s: there it answers; then every round.
    assert reads == [0, 1, 2, 4, 8, 9]
    assert host.reads == 10
    samples = [event for event in got if isinstance(event, ev.Sample) and event.source == "gpu0"]
    assert [(s.t_ns // S, s.values, s.read_ns) for s in samples] == [
        (0, {"power_w": 250.0}, 0),
        (1, {"power_w": None}, None),  # the hole has an edge, once
        (8, {"power_w": 240.0}, 0),
        (9, {"power_w": 240.0}, 0),
    ]
    logs = [event for event in got if isinstance(event, ev.Log)]
    assert [(log.level, log.t_ns // S) for log in logs] == [("warning", 1), ("info", 8)]
    assert logs[0].message.startswith("GPU 0 does not answer. The run goes on")
    assert logs[0].detail is None
    assert core.status()["sources"]["gpu0"] == {"state": "ok", "reason": None, "failed_readings": 3}


def test_pauses_end_at_30_seconds() -> None:
    clock = Clock()
    gpu = Scripted("gpu0", [ReadingFailed("No.")], clock)
    core, got = make(gpu, hz=1, clock=clock)
    reads = []
    for second in range(130):
        before = gpu.reads
        clock.now_ns = second * S
        core.round(clock.now_ns)
        if gpu.reads > before:
            reads.append(second)
    assert reads == [0, 1, 3, 7, 15, 31, 61, 91, 121]
    assert sum(isinstance(event, ev.Log) for event in got) == 1
    # Nothing was read in between: those rounds disturbed nobody.
    assert sum(isinstance(event, ev.Interval) for event in got) == 9


def test_a_lost_reader_is_never_read_again() -> None:
    clock = Clock()
    gpu = Scripted("gpu0", [{"power_w": 1.0}, ReaderGone("GPU 0 was lost.")], clock)
    core, got = make(gpu, hz=1, clock=clock)
    for second in range(100):
        clock.now_ns = second * S
        core.round(clock.now_ns)
    assert gpu.reads == 2
    (log,) = [event for event in got if isinstance(event, ev.Log)]
    assert log.message == "GPU 0 was lost. What was read so far is kept and the run goes on."
    assert core.status()["sources"]["gpu0"]["state"] == "gone"


def test_a_bug_in_a_reader_does_not_end_the_others() -> None:
    clock = Clock()
    bad = Scripted("gpu0", [KeyError("oops")], clock)
    host = Scripted("host", [{"a": 1}], clock)
    core, got = make(bad, host, hz=1, clock=clock)
    core.round(0)
    assert host.reads == 1
    (log,) = [event for event in got if isinstance(event, ev.Log)]
    assert "KeyError" in log.message and log.detail is not None and "Traceback" in log.detail


@pytest.mark.parametrize("hz", [-1.0, 10.5, float("nan")])
def test_a_pace_that_cannot_work(hz: float) -> None:
    with pytest.raises(ValueError, match="at most 10"):
        Sampler([], hz, lambda event: None)


def test_the_thread_reads_and_ends() -> None:
    enough = threading.Event()
    got: list[ev.Event] = []

    def emit(event: ev.Event) -> None:
        got.append(event)
        if sum(isinstance(e, ev.Sample) for e in got) >= 3:
            enough.set()

    reader = Scripted("host", [{"a": 1}], Clock())
    sampler = Sampler([reader], 10, emit)
    sampler.start()
    assert sampler.wait_first(10)
    assert enough.wait(10)
    assert sampler.stop() and sampler.stop()
    assert reader.closed >= 1
    stamps = [event.t_ns for event in got if isinstance(event, ev.Sample)]
    assert stamps == sorted(set(stamps))


def test_off_starts_nothing() -> None:
    reader = Scripted("host", [{"a": 1}], Clock())
    sampler = Sampler([reader], 0, pytest.fail)
    assert not sampler.wait_first(0)
    sampler.start()
    assert sampler.wait_first(0)
    assert sampler.stop()
    assert reader.reads == 0 and reader.closed == 1
    assert sampler.status() == {"hz": 0}


def test_a_hanging_reading_does_not_hang_the_end() -> None:
    inside, let_go = threading.Event(), threading.Event()

    class Hanging(Scripted):
        def read(self) -> Values:
            inside.set()
            let_go.wait(60)
            return {}

    reader = Hanging("gpu0", [{}], Clock())
    sampler = Sampler([reader], 10, lambda event: None)
    sampler.start()
    assert inside.wait(10)
    assert not sampler.wait_first(0)
    assert not sampler.stop(timeout_s=0.01)
    assert reader.closed == 0
    let_go.set()
    assert sampler.stop()
    assert reader.closed == 1
