"""How often the window may draw, and at what priority.

A redraw on the machine's own CPU slows the model that is being measured (on 2 cores a 21 ms
redraw at 10 Hz raised the median gap by a third). So while a CPU run measures, the redraw
rate follows the measured cost: cost / interval <= 0.5 % of the machine. On a GPU, and when
nothing runs, 30 Hz.
"""

from __future__ import annotations

import os
import sys
from collections import deque

FASTEST_HZ = 30.0
SLOWEST_HZ = 0.4
BUDGET = 0.005
"""Share of the whole machine (all usable CPUs) that drawing may take during a CPU run: a quarter of
the 2 % that window, engine and sampler may take together. On two CPUs that is a redraw of 25 ms
every 2.5 s; on eight, one every 0.6 s."""


def usable_cpus() -> int:
    """CPUs this process may run on, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return max(os.cpu_count() or 1, 1)


class Pace:
    """Interval between redraws from their measured cost.

    The cost is the mean of the last eight redraws: the budget is a mean as well, and one slow
    frame should not freeze the window for a second.
    """

    def __init__(self, cpus: int) -> None:
        self._cpus = cpus
        self._costs_s: deque[float] = deque(maxlen=8)
        self.budgeted = False
        """Is a run measuring on the CPU right now?"""

    def forget(self) -> None:
        """What is drawn from now on is something else, and costs something else."""
        self._costs_s.clear()

    def add_cost(self, cost_s: float) -> None:
        """One redraw took this much processor time, painting included, s."""
        self._costs_s.append(cost_s)

    @property
    def cost_s(self) -> float:
        """Mean cost of a redraw, s; 0 before the first."""
        return sum(self._costs_s) / len(self._costs_s) if self._costs_s else 0.0

    @property
    def interval_s(self) -> float:
        """Time from one redraw to the next, s."""
        shortest = 1.0 / FASTEST_HZ
        if not self.budgeted:
            # Never busy for more than half of the time, however slow the machine.
            return min(max(shortest, 2.0 * self.cost_s), 1.0 / SLOWEST_HZ)
        if not self._costs_s:
            return 0.5
        return min(max(shortest, self.cost_s / (BUDGET * self._cpus)), 1.0 / SLOWEST_HZ)

    @property
    def hz(self) -> float:
        """Redraws a second."""
        return 1.0 / self.interval_s

    @property
    def share(self) -> float:
        """Share of the machine that drawing takes at this pace (0.02 is 2 %)."""
        return self.cost_s / self.interval_s / self._cpus


class Priority:
    """Lower the calling thread's priority for a while, where that can be undone.

    Linux: SCHED_BATCH, which takes away the right to preempt on waking up. A higher nice value
    would bind harder, yet an ordinary user cannot lower it again. Windows: the priority class.
    Elsewhere: nothing.
    """

    def __init__(self) -> None:
        self._lowered = False

    @property
    def lowered(self) -> bool:
        return self._lowered

    def lower(self) -> None:
        if not self._lowered:
            self._lowered = self._set(low=True)

    def restore(self) -> None:
        if self._lowered:
            self._set(low=False)
            self._lowered = False

    def _set(self, low: bool) -> bool:
        if hasattr(os, "sched_setscheduler"):
            policy = os.SCHED_BATCH if low else os.SCHED_OTHER
            try:
                # 0 is the calling thread.
                os.sched_setscheduler(0, policy, os.sched_param(0))
            except OSError:
                return False
            return True
        if sys.platform == "win32":
            import psutil

            level = psutil.BELOW_NORMAL_PRIORITY_CLASS if low else psutil.NORMAL_PRIORITY_CLASS
            try:
                psutil.Process().nice(level)
            except psutil.Error:
                return False
            return True
        return False
