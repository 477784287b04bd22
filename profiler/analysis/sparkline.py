"""A run's gaps in a few numbers, for the small picture beside a name in a list."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from profiler.analysis.jitter import pooled
from profiler.analysis.steps import step_view
from profiler.timeline import Run

BUCKETS = 64
_DIGITS = 4


def itl_trace_ms(run: Run, buckets: int = BUCKETS) -> list[float]:
    """The gaps of the measured requests, one request after another, as at most `buckets` numbers (ms).

    Each is the largest gap of its bucket, so that a spike stays however long the run was; four
    digits. [] without a gap. Warm-ups are left out.
    """
    gaps = pooled([step_view(request).gaps_ms for request in run.requests if not request.warmup])
    return [float(f"{value:.{_DIGITS}g}") for value in max_per_bucket(gaps, buckets)]


def max_per_bucket(values: npt.NDArray[np.float64], buckets: int) -> list[float]:
    """At most `buckets` (>= 1) numbers: the largest of each of as many runs of equal length (+-1)."""
    n = len(values)
    if n <= buckets:
        return [float(value) for value in values]
    starts = np.arange(buckets) * n // buckets
    return [float(value) for value in np.maximum.reduceat(values, starts)]
