"""The spikes of finished requests for the lane of the latency chart, each with what overlapped it."""

from __future__ import annotations

import numpy as np

from app.charts.spike_lane import Cause, Spike
from profiler.analysis.jitter import fit_gaps
from profiler.analysis.steps import StepView
from profiler.timeline import Timeline, overlaps

CAUSES: tuple[tuple[str, Cause], ...] = (("gc", "gc"), ("redraw", "window"), ("sampler", "sampler"))
"""Kinds of interval in order of weight: what comes first wins."""
FIRST_GAP_TOKEN = 2


def find_spikes(timeline: Timeline, view: StepView, label: str) -> tuple[Spike, ...]:
    """The spikes of a request's gaps (MEASUREMENT section 5). Cost: some 10 ms for 1,000 gaps or more."""
    if not len(view.gaps_ms):
        return ()
    at = np.flatnonzero(fit_gaps(view.gaps_ms, view.gap_kv_len).spikes)
    if not len(at):
        return ()
    starts, ends = view.t_ns[at], view.t_ns[at + 1]
    causes: list[Cause] = ["unknown"] * len(at)
    for kind, cause in reversed(CAUSES):
        columns = timeline.intervals.get(kind)
        if columns is None:
            continue
        for index in np.flatnonzero(overlaps(starts, ends, columns.t_ns, columns.end_ns)):
            causes[int(index)] = cause
    return tuple(
        Spike(int(index) + FIRST_GAP_TOKEN, float(view.gaps_ms[index]), cause, label)
        for index, cause in zip(at, causes, strict=True)
    )
