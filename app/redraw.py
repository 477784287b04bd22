"""Drawing as a measured activity: when, what it cost, and that the engine is told."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QCoreApplication

from app.engine_link import EngineLink
from app.pace import Pace, Priority
from profiler.units import NS_PER_S

BATCH = 8
"""Intervals that are reported together, at most a second late."""


class Redraw:
    """Draws with `draw`, keeps the pace, reports the intervals of a run."""

    def __init__(
        self,
        link: EngineLink,
        clock_ns: Callable[[], int],
        cpus: int,
        cpu_clock_ns: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        self._link = link
        self._clock_ns = clock_ns
        # What drawing takes from the model is processor time; on a busy machine the time that
        # passes is several times as long, since the model has the processor meanwhile.
        self._cpu_clock_ns = cpu_clock_ns
        self._intervals: list[tuple[int, int]] = []
        self._last_ns = 0
        self._quiet_since_ns: int | None = None
        self.pace = Pace(cpus)
        self.priority = Priority()

    def budget(self, measuring_on_cpu: bool) -> None:
        """Keep to the budget, at lower priority, while a run measures on the CPU."""
        self.pace.budgeted = measuring_on_cpu
        if measuring_on_cpu:
            self.priority.lower()
        else:
            self.priority.restore()

    @property
    def quiet(self) -> bool:
        """Is the window asked to leave the machine alone (a block without it is being measured)?"""
        return self._quiet_since_ns is not None

    def set_quiet(self, quiet: bool) -> None:
        """Stop drawing, or go on as if no time had passed."""
        now_ns = self._clock_ns()
        if quiet and self._quiet_since_ns is None:
            self._quiet_since_ns = now_ns
        elif not quiet and self._quiet_since_ns is not None:
            self._last_ns += now_ns - self._quiet_since_ns
            self._quiet_since_ns = None

    @property
    def due(self) -> bool:
        """Has the interval passed? A timer may be a little early: a tenth of it does not matter."""
        return not self.quiet and self._clock_ns() - self._last_ns >= 0.9 * self.pace.interval_s * NS_PER_S

    def draw(self, paint: Callable[[], None], report: bool) -> None:
        """Call `paint`, let Qt paint what it changed, and take down when that was."""
        begin_ns, cpu_ns = self._clock_ns(), self._cpu_clock_ns()
        paint()
        # Painting is an event that Qt posts; deliver it here, so that its time is known.
        QCoreApplication.sendPostedEvents()
        end_ns = self._last_ns = self._clock_ns()
        self.pace.add_cost((self._cpu_clock_ns() - cpu_ns) / NS_PER_S)
        if report:
            self._intervals.append((begin_ns, end_ns))
            if len(self._intervals) >= BATCH or self.pace.hz < BATCH:
                self.flush()

    def flush(self) -> None:
        """Report what was not reported yet."""
        if self._intervals:
            self._link.report_redraws(self._intervals)
            self._intervals = []
