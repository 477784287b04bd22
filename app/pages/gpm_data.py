"""The hardware counter of DRAM traffic (GPM) of a request, on the scale of the bandwidth chart.

The counter tells a share of the *advertised* peak; 100 % of the chart is what was *measured*
here. Both are compared in GB/s. Pure functions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from profiler.analysis.bandwidth import Reference
from profiler.analysis.busy_windows import NEEDS_GPU, NOT_TOLD, ON_CPU, TOO_SHORT
from profiler.analysis.energy import described_gpu, model_device
from profiler.analysis.steps import StepView
from profiler.timeline import Request, Run, SampleColumns, Timeline

METRIC = "dram_bw_pct"
NO_PEAK = "the advertised peak bandwidth, of which the counter tells a share, is not known"

Floats = npt.NDArray[np.float64]
Lens = tuple[Floats, Floats]


def gpm_lens(
    timeline: Timeline, run: Run, request: Request | None, view: StepView | None, reference: Reference
) -> tuple[Lens | None, str | None]:
    """((tokens, per cent of the measured reference), None), or (None, why there is none).

    One point a reading whose whole interval, from the reading before it, is decoding of
    `request`: at the token of the interval's middle. Empty arrays: nothing to show yet.
    """
    source = next((name for name in sorted(timeline.samples) if name.startswith("gpu")), None)
    if source is None:
        return None, NEEDS_GPU
    if model_device(run).startswith("cpu"):
        return None, ON_CPU
    described = described_gpu(timeline, source)
    columns = timeline.samples[source]
    if not np.isfinite(columns.values(METRIC)).any():
        reasons = described.get("unavailable")
        told = reasons.get(METRIC) if isinstance(reasons, dict) else None
        return None, str(told or NOT_TOLD)
    if reference.gb_s is None:
        return None, reference.reason
    peak = reference.advertised_gb_s or _advertised_gb_s(described)
    if peak is None:
        return None, NO_PEAK
    empty = np.empty(0), np.empty(0)
    if request is None or view is None or len(view) < 2 or not view.in_order:
        return empty, None
    tokens, shares = _readings(columns, view)
    running = run.status == "running" and request.end_ns is None
    if not len(tokens) and not running:
        return None, TOO_SHORT
    return (tokens, shares * peak / reference.gb_s), None


def _advertised_gb_s(described: dict[str, object]) -> float | None:
    limits = described.get("limits")
    peak = limits.get("advertised_gb_s") if isinstance(limits, dict) else None
    return float(peak) if isinstance(peak, (int, float)) and peak > 0 else None


def _readings(columns: SampleColumns, view: StepView) -> Lens:
    """Tokens and shares of the readings that are about decoding and nothing else."""
    first, last = int(view.t_ns[0]), int(view.t_ns[-1])
    shares = columns.values(METRIC)
    begin, end = columns.t_ns[:-1], columns.t_ns[1:]
    good = np.isfinite(shares[1:]) & (begin >= first) & (end <= last)
    middle = ((begin - first) + (end - first))[good] / 2.0
    reached = np.cumsum(np.where(view.k > 0, view.k, 1)).astype(np.float64)
    return np.interp(middle, (view.t_ns - first).astype(np.float64), reached), shares[1:][good]
