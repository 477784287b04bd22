"""Measuring what the engine, the sampler and the window cost: the engine's half.

The worker announces each block's variant; here sampler and subscriber are switched to match,
and the processor time of our own processes is taken down by variant.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import psutil

from profiler import events as ev
from profiler.analysis.overhead import BARE, overhead_ratios
from profiler.paths import own_cost_file
from profiler.telemetry.hardware import cpu_model, usable_cpus
from profiler.timeline import Timeline, overlaps
from profiler.units import NS_PER_S
from profiler.worker.blocks import VARIANT_STAGE

VARIANTS = ("bare", "full", "no_sampler", "window")
MIN_CYCLES = 18
TARGET_HALF_WIDTH = 0.012
"""Blocks are added until the intervals are this narrow, or the budget is spent."""


def save_own_cost(value: dict[str, Any]) -> None:
    """Keep the figures with the machine they were measured on; silently not where that is impossible."""
    kept = {**value, "machine": {"cpu": cpu_model(), "usable_cpus": usable_cpus()}}
    try:
        own_cost_file().write_text(ev.dump_json(kept), encoding="utf-8")
    except OSError:
        pass


def read_own_cost() -> dict[str, Any] | None:
    """The figures of the last measurement on this machine, None when there are none."""
    try:
        value = json.loads(own_cost_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    machine = {"cpu": cpu_model(), "usable_cpus": usable_cpus()}
    return value if isinstance(value, dict) and value.get("machine") == machine else None


class OwnCost:
    """State of one measurement. `window_pid`: the window's process, None without one.

    `take` every event of the worker; what it returns goes on to file and subscriber.
    """

    def __init__(
        self,
        variants: Sequence[str],
        budget_s: float,
        clock: Callable[[], int],
        window_pid: int | None,
        pause_sampler: Callable[[bool], None],
        tell: Callable[[ev.Event], None],
    ) -> None:
        self.variants = [name for name in VARIANTS if name in variants or name == BARE]
        self._budget_ns = round(budget_s * NS_PER_S)
        self._deadline_ns: int | None = None
        self._clock = clock
        self._window = psutil.Process(window_pid) if window_pid is not None else None
        self._pause_sampler = pause_sampler
        self._tell = tell
        self._variant = ""
        self._mark: tuple[int, int] | None = None
        self._wall_ns: dict[str, int] = {}
        self._cpu_ns: dict[str, int] = {}
        self._blocks: list[tuple[int, str, list[int]]] = []
        self._stamps: list[list[int]] = []
        self._intervals: list[tuple[int, int]] = []
        self.done = False

    @property
    def quiet(self) -> bool:
        """Is the subscriber to be left alone in this block?"""
        return self._variant != "window"

    def take(self, events: Sequence[ev.Event]) -> list[ev.Event]:
        """Handle what is for us; returns the rest."""
        rest = []
        for event in events:
            if isinstance(event, ev.Progress) and event.stage == VARIANT_STAGE:
                self._switch(event.text)
            elif isinstance(event, ev.Fact) and event.key == "overhead_blocks":
                for cycle, name, stamps in event.value:
                    self._blocks.append((cycle, name, np.diff(stamps).tolist()))
                    self._stamps.append(stamps)
                self._judge()
            else:
                rest.append(event)
        return rest

    def disturbed(self, events: Sequence[ev.Event]) -> None:
        """Take down when the sampler read and the window drew (both on this process's clock)."""
        self._intervals += [
            (event.t_ns, event.end_ns)
            for event in events
            if isinstance(event, ev.Interval) and event.kind in Timeline.DISTURBING
        ]

    def _alone(self) -> list[list[bool]]:
        """Of every gap of every block: was it left alone by sampler and window?"""
        intervals = np.array(sorted(self._intervals), np.int64).reshape(-1, 2)
        result = []
        for stamps in self._stamps:
            t_ns = np.array(stamps, np.int64)
            result.append((~overlaps(t_ns[:-1], t_ns[1:], intervals[:, 0], intervals[:, 1])).tolist())
        return result

    def _switch(self, variant: str) -> None:
        self._account()
        if self._deadline_ns is None:
            self._deadline_ns = self._clock() + self._budget_ns
        self._variant = variant
        self._pause_sampler(variant in (BARE, "no_sampler"))
        if self._window is not None:
            self._tell(ev.Progress(ev.QUIET_STAGE, float(self.quiet)))

    def _account(self) -> None:
        """Processor time of our processes since the last switch goes to the variant that was on."""
        now = (self._clock(), self._spent_ns())
        if self._mark is not None and self._variant:
            name = self._variant
            self._wall_ns[name] = self._wall_ns.get(name, 0) + now[0] - self._mark[0]
            self._cpu_ns[name] = self._cpu_ns.get(name, 0) + now[1] - self._mark[1]
        self._mark = now

    def _spent_ns(self) -> int:
        spent = time.process_time_ns()
        if self._window is not None:
            try:
                times = self._window.cpu_times()
            except psutil.Error:
                return spent
            spent += round((times.user + times.system) * NS_PER_S)
        return spent

    def _judge(self) -> None:
        if self._deadline_ns is not None and self._clock() > self._deadline_ns:
            self.done = True
            return
        results = [overhead_ratios(self._blocks, name) for name in self.variants if name != BARE]
        if any(result["blocks"] < MIN_CYCLES for result in results):
            return
        widths = [(r["itl_mean_ratio_ci95"][1] - r["itl_mean_ratio_ci95"][0]) / 2 for r in results]
        self.done = max(widths) <= TARGET_HALF_WIDTH

    def result(self) -> list[dict[str, Any]]:
        """One row a variant, `bare` left out: the ratios and the share of our other processes."""
        self._account()
        cpus, alone = usable_cpus(), self._alone()
        rows = []
        for name in self.variants:
            if name == BARE:
                continue
            wall_ns = self._wall_ns.get(name, 0)
            share = 100 * self._cpu_ns.get(name, 0) / wall_ns / cpus if wall_ns else None
            rows.append(
                {"variant": name, **overhead_ratios(self._blocks, name, alone), "others_cpu_pct": share}
            )
        return rows
