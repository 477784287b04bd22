"""Distributions: the same summary for every list of values, in strict JSON types."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

PERCENTILES = (50, 90, 95, 99)
LOW_N = 100
"""Below this p99 is no more than the largest few values."""
TAIL = 0.025
"""Probability on each side that a 95 % interval leaves out."""
_INTERVALS = (50, 95, 99)


def distribution(values: npt.ArrayLike, *, per_request: bool = False) -> dict[str, Any]:
    """`n, mean, std, min, p50, p90, p95, p99, max, low_n` of finite values, strict JSON types.

    std is the sample's (n - 1), None for n < 2; percentiles interpolate linearly; without
    values all but `n` and `low_n` are None. `per_request` adds `p50_ci95, p95_ci95, p99_ci95`
    as [lower, upper], see `quantile_interval`: only for values that are independent of each
    other, one a request. Pooled gaps are autocorrelated and get none.
    """
    array = np.asarray(values, np.float64)
    n = len(array)
    result: dict[str, Any] = {"n": n, "mean": None, "std": None, "min": None}
    result |= {f"p{p}": None for p in PERCENTILES}
    result |= {"max": None, "low_n": n < LOW_N}
    if per_request:
        result |= {f"p{p}_ci95": None for p in _INTERVALS}
    if n == 0:
        return result
    result["mean"] = float(array.mean())
    result["std"] = float(array.std(ddof=1)) if n > 1 else None
    result["min"] = float(array.min())
    result |= {f"p{p}": float(v) for p, v in zip(PERCENTILES, np.percentile(array, PERCENTILES), strict=True)}
    result["max"] = float(array.max())
    if per_request:
        ordered = np.sort(array)
        result |= {f"p{p}_ci95": quantile_interval(ordered, p / 100) for p in _INTERVALS}
    return result


def brief(values: npt.ArrayLike) -> dict[str, Any]:
    """`n, mean, p50, max` of finite values, None without any."""
    array = np.asarray(values, np.float64)
    if len(array) == 0:
        return {"n": 0, "mean": None, "p50": None, "max": None}
    return {
        "n": len(array),
        "mean": float(array.mean()),
        "p50": float(np.median(array)),
        "max": float(array.max()),
    }


def quantile_interval(ordered: npt.NDArray[np.float64], q: float) -> list[float | None]:
    """A distribution-free 95 % interval of the q-quantile, from sorted independent values.

    Order statistics: the number of values below the quantile is binomial (n, q), which needs
    no assumption on their distribution (Hahn and Meeker, Statistical Intervals, ch. 5). An
    end that n values cannot give is None; the upper one needs n >= 6, 72, 368 for p50, p95, p99.
    """
    lower, upper = _ranks(len(ordered), q)
    return [
        None if lower is None else float(ordered[lower - 1]),
        None if upper is None else float(ordered[upper - 1]),
    ]


@lru_cache(maxsize=256)
def _ranks(n: int, q: float) -> tuple[int | None, int | None]:
    """1-based ranks l, u with P(Bin(n, q) < l) <= 2.5 % and P(Bin(n, q) < u) >= 97.5 %."""
    if n == 0:
        return None, None
    i = np.arange(n)
    log_pmf = np.concatenate(([0.0], np.cumsum(np.log((n - i) / (i + 1)) + math.log(q / (1 - q)))))
    below = np.cumsum(np.exp(log_pmf + n * math.log1p(-q)))  # below[j] = P(Bin <= j)
    lower = int(np.searchsorted(below, TAIL, side="right"))
    upper = int(np.searchsorted(below, 1 - TAIL, side="left")) + 1
    return (lower if lower >= 1 else None), (upper if upper <= n else None)
