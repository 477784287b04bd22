"""The driver's memory-busy share against decoding: each reading with the window that it averages.

NVML's "memory utilisation" is the share of *time* in the last 1/6 to 1 s in which memory was
touched. A reading says something about decoding only where its whole window lies inside of it,
and a decode shorter than a few windows has no such reading worth the name: then it is withheld
(MEASUREMENT, "Why the driver's memory utilisation is not bandwidth").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from profiler.analysis.energy import described_gpu, model_device
from profiler.analysis.steps import StepView, step_view
from profiler.timeline import Request, Run, SampleColumns, Timeline
from profiler.units import NS_PER_MS, NS_PER_S

METRIC = "memory_busy_pct"
TOO_SHORT = "too short for this counter"
NEEDS_GPU = "needs an NVIDIA GPU"
ON_CPU = "the model runs on the CPU"
NOT_TOLD = "the driver does not tell it"
LEAST_WINDOWS = 3
"""Decoding that lasts fewer windows than this is withheld."""
WIDEST_WINDOW_NS = NS_PER_S
"""Taken where the driver does not tell the width: the widest that its headers speak of."""
Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class BusyWindow:
    """One value of the counter: `pct` of the time from `t_from_ns` to `t_to_ns`. `inside`: that
    time lies wholly inside one stretch of decoding."""

    t_from_ns: int
    t_to_ns: int
    pct: float
    inside: bool


def decode_intervals(requests: Iterable[Request]) -> list[Interval]:
    """First to last token of each request, ns, in order of time; those that overlap are one.

    Requests of fewer than two steps, or whose clock went backwards, have none.
    """
    return _merged([found for found in map(_decode_interval, map(step_view, requests)) if found])


def window_ns(columns: SampleColumns, described: Any = None) -> int:
    """How wide the counter's window is: as read with each value, else as `described` (the entry of
    the session fact "telemetry") tells, else the widest there is."""
    told = columns.values("busy_window_ms")
    told = told[np.isfinite(told) & (told > 0)]
    if len(told):
        return round(float(np.median(told)) * NS_PER_MS)
    stated = described.get("busy_window_ms") if isinstance(described, dict) else None
    if isinstance(stated, (int, float)) and stated > 0:
        return round(stated * NS_PER_MS)
    return WIDEST_WINDOW_NS


def decode_windows(
    columns: SampleColumns, decodes: Sequence[Interval], described: Any = None
) -> tuple[list[BusyWindow], str | None]:
    """The windows that touch `decodes` (sorted, disjoint), by their end; and why there is none.

    A stretch of decoding shorter than LEAST_WINDOWS windows is left out; when all are, the
    answer is ([], TOO_SHORT). A value that was read several times is one window. ([], None):
    long enough, but nothing was read.
    """
    width_ns = window_ns(columns, described)
    if not np.isfinite(columns.values(METRIC)).any():
        return [], NOT_TOLD
    long_enough = [(a, b) for a, b in decodes if b - a >= LEAST_WINDOWS * width_ns]
    if decodes and not long_enough:
        return [], TOO_SHORT
    result = []
    for begin, end, pct in _readings(columns, width_ns):
        touched = [(a, b) for a, b in long_enough if begin < b and end > a]
        if touched:
            inside = any(a <= begin and end <= b for a, b in touched)
            result.append(BusyWindow(begin, end, pct, inside))
    return result, None


def busy_windows(
    timeline: Timeline, run: Run, request: Request
) -> tuple[list[tuple[float, float, float, bool]], str | None]:
    """For the chart of one request: (token from, token to, per cent, inside), and the reason why
    there is none ("too short for this counter", no GPU, ...).

    Tokens count from 1 and are cut off at the request's first and last one; between two tokens
    the place is in proportion to time. ([], None): nothing to show yet.
    """
    source = next((name for name in sorted(timeline.samples) if name.startswith("gpu")), None)
    if source is None:
        return [], NEEDS_GPU
    if model_device(run).startswith("cpu"):
        return [], ON_CPU
    view = step_view(request)
    decode = _decode_interval(view)
    columns = timeline.samples[source]
    if decode is None:
        known = bool(np.isfinite(columns.values(METRIC)).any())
        return [], None if known else NOT_TOLD
    running = run.status == "running" and request.end_ns is None
    windows, reason = decode_windows(columns, [decode], described_gpu(timeline, source))
    if running and reason == TOO_SHORT:
        return [], None  # it is not over: it may become long enough
    tokens = np.cumsum(np.where(view.k > 0, view.k, 1)).astype(np.float64)
    offsets = (view.t_ns - decode[0]).astype(np.float64)
    return [
        (
            float(np.interp(window.t_from_ns - decode[0], offsets, tokens)),
            float(np.interp(window.t_to_ns - decode[0], offsets, tokens)),
            window.pct,
            window.inside,
        )
        for window in windows
    ], reason


def _decode_interval(view: StepView) -> Interval | None:
    if len(view) < 2 or not view.in_order or view.t_ns[-1] <= view.t_ns[0]:
        return None
    return int(view.t_ns[0]), int(view.t_ns[-1])


def _merged(intervals: list[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def _readings(columns: SampleColumns, width_ns: int) -> list[tuple[int, int, float]]:
    """(from, to, per cent) of each value of the counter, by its end.

    The sampler is often faster than the counter, and reads a value again with a greater age: two
    readings whose windows end less than half a window apart are the same value. Where the driver
    tells no age (the snapshot call) nobody knows, and every reading stands.
    """
    shares, ages = columns.values(METRIC), columns.values("busy_age_ms")
    widths = columns.values("busy_window_ms")
    result: list[tuple[int, int, float]] = []
    last_aged_ns: int | None = None
    for at in np.flatnonzero(np.isfinite(shares)):
        aged = len(ages) > 0 and bool(np.isfinite(ages[at]))
        age_ns = round(float(ages[at]) * NS_PER_MS) if aged else 0
        own = len(widths) > 0 and bool(np.isfinite(widths[at])) and widths[at] > 0
        wide_ns = round(float(widths[at]) * NS_PER_MS) if own else width_ns
        end = int(columns.t_ns[at]) - age_ns
        if aged:
            if last_aged_ns is not None and end - last_aged_ns < wide_ns // 2:
                continue
            last_aged_ns = end
        result.append((end - wide_ns, end, float(shares[at])))
    return result
