"""The machine itself as a source of telemetry: processor, memory, pressure, the worker's process.

psutil everywhere, Linux' own files where psutil has no word for it. What a system does not
tell is None, with the reason in `describe()["unavailable"]`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from profiler.telemetry.cgroup import ControlGroup
from profiler.telemetry.plain import plain_text, read_text
from profiler.telemetry.rapl import POWERCAP, PackageEnergy
from profiler.telemetry.sampler import Pace, Values

MAX_CORES = 64
"""Cores that get a metric of their own: more would be a wall of lines and of bytes."""

_PSUTIL_ERRORS = (psutil.Error, OSError, NotImplementedError, RuntimeError, ValueError)


class HostReader:
    """A `Reader` named "host". Thread: one at a time, but `watch` from any.

    At every reading: `cpu_busy_pct` (all processors together, since the reading before),
    `memory_available_bytes`, `package_energy_j`, and of the watched process `rss_bytes` (now),
    `major_page_faults` and `involuntary_switches` (counters since its start; the switches are
    those of its main thread). About once a second: `cpuN_pct`, `cpu_freq_mhz`,
    `cpu_pressure_pct`, `memory_pressure_pct` (share of the last 10 s in which something waited),
    `throttled_ms` (counter). Cost: about 1 ms. Does not raise.
    """

    source = "host"

    def __init__(
        self,
        pid: int | None = None,
        *,
        clock: Callable[[], int] = time.perf_counter_ns,
        cpu_times: Callable[[], list[Any]] = lambda: list(psutil.cpu_times(percpu=True)),
        proc: Path = Path("/proc"),
        powercap: Path = POWERCAP,
    ) -> None:
        self._clock = clock
        self._cpu_times = cpu_times
        self._proc = proc
        self._reasons: dict[str, str] = {}
        self._pace = Pace()
        self._energy = PackageEnergy(powercap)
        self._group = ControlGroup()
        self._process: psutil.Process | None = None
        # Primed: shares are of the time between two readings, the first needs a start.
        self._all_before = self._per_core_before = self._times()
        self.watch(pid)

    def watch(self, pid: int | None) -> None:
        """Read the process `pid` from now on (the worker); None for no process."""
        self._process = None
        self._group = ControlGroup("self" if pid is None else pid, self._proc)
        if pid is None:
            return
        try:
            self._process = psutil.Process(pid)
        except _PSUTIL_ERRORS as error:
            self._process_gone(error)

    def describe(self) -> dict[str, Any]:
        """What is read, and what is missing and why. No system calls."""
        return {
            "source": self.source,
            "cores": len(self._per_core_before),
            "cores_shown": min(len(self._per_core_before), MAX_CORES),
            "unavailable": dict(self._reasons),
        }

    def read(self) -> Values:
        """One reading."""
        slow = self._pace.due(self._clock())
        values: Values = {}
        self._read_cpu(values, slow)
        self._set(values, "memory_available_bytes", lambda: int(psutil.virtual_memory().available))
        self._read_energy(values)
        if self._process is not None:
            self._read_process(self._process, values)
        if slow:
            self._set(values, "cpu_freq_mhz", _frequency_mhz)
            for kind in ("cpu", "memory"):
                self._set(values, f"{kind}_pressure_pct", partial(self._pressure_pct, kind))
            self._set(values, "throttled_ms", self._group.throttled_ms)
        return values

    def close(self) -> None:
        """Nothing is held."""

    # -- parts --------------------------------------------------------------------------

    def _set(self, values: Values, name: str, read: Callable[[], float | int | None]) -> None:
        try:
            value = read()
        except _PSUTIL_ERRORS as error:
            value = None
            self._reasons[name] = f"It cannot be read ({plain_text(str(error))})."
        else:
            if value is None:
                self._reasons[name] = "This system does not tell it."
            else:
                self._reasons.pop(name, None)
        values[name] = value

    def _times(self) -> list[tuple[float, float]]:
        """(busy, total) seconds of each processor since the start; empty where it is not told."""
        try:
            return [_busy_and_total(times) for times in self._cpu_times()]
        except _PSUTIL_ERRORS as error:
            self._reasons["cpu_busy_pct"] = f"It cannot be read ({plain_text(str(error))})."
            return []

    def _read_cpu(self, values: Values, slow: bool) -> None:
        now = self._times()
        if not now:
            values["cpu_busy_pct"] = None
            return
        busy = busy_pct(_summed(self._all_before), _summed(now))
        if busy is not None:  # else no tick has passed: the next reading covers this time too
            values["cpu_busy_pct"] = busy
            self._all_before = now
        if not slow:
            return
        if len(now) == len(self._per_core_before):  # else a processor came or went
            pairs = list(zip(self._per_core_before, now, strict=True))[:MAX_CORES]
            shares = [busy_pct(before, after) for before, after in pairs]
            values.update({f"cpu{core}_pct": share for core, share in enumerate(shares) if share is not None})
            if None in shares:
                return
        self._per_core_before = now

    def _read_energy(self, values: Values) -> None:
        values["package_energy_j"] = self._energy.read_j()
        if self._energy.reason is not None:
            self._reasons["package_energy_j"] = self._energy.reason

    def _read_process(self, process: psutil.Process, values: Values) -> None:
        names = ("rss_bytes", "major_page_faults", "involuntary_switches")
        values.update(dict.fromkeys(names))
        try:
            values["rss_bytes"] = int(process.memory_info().rss)
        except _PSUTIL_ERRORS as error:
            self._process_gone(error)
            return
        self._set(values, "major_page_faults", lambda: self._major_faults(process.pid))
        self._set(values, "involuntary_switches", lambda: int(process.num_ctx_switches().involuntary))

    def _process_gone(self, error: Exception) -> None:
        self._process = None
        for name in ("rss_bytes", "major_page_faults", "involuntary_switches"):
            self._reasons[name] = f"The process cannot be read ({plain_text(str(error))})."

    def _major_faults(self, pid: int) -> int | None:
        text = read_text(self._proc / str(pid) / "stat")
        # The name in parentheses may hold spaces and parentheses: count from the last ")".
        words = (text or "").rpartition(")")[2].split()
        return int(words[9]) if len(words) > 9 else None  # field 12, majflt

    def _pressure_pct(self, kind: str) -> float | None:
        for line in (read_text(self._proc / "pressure" / kind) or "").splitlines():
            if line.startswith("some "):
                for word in line.split():
                    if word.startswith("avg10="):
                        return float(word[6:])
        return None


def busy_pct(before: tuple[float, float] | None, after: tuple[float, float] | None) -> float | None:
    """Share of busy time between two readings of (busy, total) seconds, 0..100.

    None when no time passed (the system counts in ticks of 10 ms) or a side is not known.
    """
    if before is None or after is None or after[1] <= before[1]:
        return None
    share = 100 * (after[0] - before[0]) / (after[1] - before[1])
    return round(min(100.0, max(0.0, share)), 2)


def _summed(times: list[tuple[float, float]]) -> tuple[float, float] | None:
    return (sum(busy for busy, _ in times), sum(total for _, total in times)) if times else None


def _busy_and_total(times: Any) -> tuple[float, float]:
    # Guest time is counted in user and nice already; waiting for a disk is idle.
    total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    return total - times.idle - getattr(times, "iowait", 0.0), total


def _frequency_mhz() -> float | None:
    frequency = psutil.cpu_freq()
    return round(float(frequency.current), 1) if frequency is not None and frequency.current > 0 else None
