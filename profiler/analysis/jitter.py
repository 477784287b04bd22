"""Jitter: what is left of the gaps after the trend, and the brief's trimmed mean.

Residuals are taken request by request, against that request's own line; where there is no
line (prompt length unknown, fewer than 3 gaps) against its median gap. Spikes are flagged
and counted, never deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from profiler.analysis.trend import theil_sen

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

MAD_TO_SIGMA = 1.4826
"""The MAD of a normal distribution times this is its standard deviation."""
SPIKE_SHARE = 0.10
"""A spike is more than this share of the median gap above the trend ..."""
SPIKE_SCORE = 3.5
"""... and has a modified z-score above this (Iglewicz and Hoaglin 1993)."""
_MAD_TO_SCORE = 0.6745


@dataclass(frozen=True, slots=True, eq=False)
class GapFit:
    """The gaps of one request, taken apart.

    `line`: intercept ms and slope ms a token, or None. `residuals_ms` and `spikes` have one
    entry a gap.
    """

    kv_len: FloatArray
    gaps_ms: FloatArray
    line: tuple[float, float] | None
    residuals_ms: FloatArray
    spikes: BoolArray


def fit_gaps(gaps_ms: FloatArray, kv_len: npt.NDArray[np.int64]) -> GapFit:
    """Line, residuals and spikes of one request's gaps (kv_len UNKNOWN: no line)."""
    x = kv_len.astype(np.float64)
    known = len(x) > 0 and not bool((kv_len < 0).any())
    line = theil_sen(x, gaps_ms) if known else None
    if line is not None:
        residuals = gaps_ms - (line[0] + line[1] * x)
    else:
        residuals = gaps_ms - np.median(gaps_ms) if len(gaps_ms) else gaps_ms
    return GapFit(x, gaps_ms, line, residuals, find_spikes(gaps_ms, residuals))


def find_spikes(gaps_ms: FloatArray, residuals_ms: FloatArray) -> BoolArray:
    """Which gaps are spikes, bool[n]: see SPIKE_SHARE and SPIKE_SCORE (the latter where MAD > 0)."""
    if len(gaps_ms) == 0:
        return np.zeros(0, bool)
    above = residuals_ms - np.median(residuals_ms)
    spikes = above > SPIKE_SHARE * float(np.median(gaps_ms))
    mad = float(np.median(np.abs(above)))
    if mad > 0:
        spikes &= _MAD_TO_SCORE * above / mad > SPIKE_SCORE
    return np.asarray(spikes, bool)


def run_jitter(fits: Sequence[GapFit]) -> dict[str, Any]:
    """The report's `jitter`, of the pooled residuals of all requests; None where no gap is.

    `jitter_ms` = 1.4826 MAD, `cv` = std of the residuals / median gap (None for one gap or a
    median of 0), `longest_stall_ms` = largest raw gap, `spikes` their number.
    """
    gaps = pooled([fit.gaps_ms for fit in fits])
    result: dict[str, Any] = {
        "jitter_ms": None,
        "p99_minus_p50_ms": None,
        "cv": None,
        "longest_stall_ms": None,
        "spikes": sum(int(fit.spikes.sum()) for fit in fits),
    }
    if len(gaps) == 0:
        return result
    residuals = pooled([fit.residuals_ms for fit in fits])
    p50, p99 = np.percentile(residuals, (50, 99))
    result["jitter_ms"] = MAD_TO_SIGMA * float(np.median(np.abs(residuals - p50)))
    result["p99_minus_p50_ms"] = float(p99 - p50)
    result["longest_stall_ms"] = float(gaps.max())
    median_gap = float(np.median(gaps))
    if len(gaps) > 1 and median_gap > 0:
        result["cv"] = float(residuals.std(ddof=1)) / median_gap
    return result


def trimmed_weighted_mean(gaps_ms: FloatArray) -> tuple[float | None, int]:
    """The brief's dynamic-threshold mean (ms) and how many gaps it dropped.

    Gaps above P90 + 3 * (P75 - P25) are dropped, the rest averaged with the number of their
    step (2, 3, ...) as weight: later tokens weigh more. None without gaps.
    """
    if len(gaps_ms) == 0:
        return None, 0
    p25, p75, p90 = np.percentile(gaps_ms, (25, 75, 90))
    kept = gaps_ms <= p90 + 3 * (p75 - p25)
    weights = np.arange(2, len(gaps_ms) + 2)[kept]
    return float(np.average(gaps_ms[kept], weights=weights)), int(len(gaps_ms) - kept.sum())


def pooled(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """All values one after the other; an empty array of none."""
    return np.concatenate(arrays) if arrays else np.empty(0)
