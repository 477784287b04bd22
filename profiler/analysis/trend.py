"""The trend of the gaps over the context's length, and an interval that holds on real noise.

    gap = a + b * kv_len                 per request, Theil-Sen; the run's b is their median

Theil-Sen is the median of all pairwise slopes (Sen 1968), with the intercept a the median of
gap - b * kv_len: what `scipy.stats.theilslopes(method="joint")` gives, in numpy, since the
import of scipy.stats would stop the window for a second. A test holds the two together.

Neighbouring gaps are not independent. From six requests on the interval comes from a
bootstrap over requests; below that from moving blocks of gaps: residuals are whitened by a
first-order autoregression, the innovations drawn in blocks and coloured again ("post-
blackened", Davison and Hinkley, Bootstrap Methods, 8.2.3). Plain blocks are far too narrow
here: with gaps of autocorrelation 0.9 they would see a slope where none is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from profiler.analysis.stats import quantile_interval

FloatArray = npt.NDArray[np.float64]

MAX_POINTS = 512
"""More gaps than these are binned by median first: all pairs are O(n^2)."""
MIN_GAPS = 3
"""A line through fewer gaps says nothing."""
MIN_INTERVAL_GAPS = 8
"""Below this the noise of one request cannot be told from its slope."""
FEW_REQUESTS = 6
"""From here on requests are resampled, below it blocks of gaps."""
REPLICATES = 300
_BOOT_POINTS = 48
_PHI_MARGIN = 1.5
"""Standard errors added to the autocorrelation: short records understate it."""
_PHI_MAX = 0.99

UNKNOWN_LENGTH = "the length of the context is not known"
DRIFT = "may be drift: all requests start at one length, so that length and time run together"
HOLDS_ZERO = "the 95 % interval holds 0"


def theil_sen(x: FloatArray, y: FloatArray) -> tuple[float, float] | None:
    """Intercept and slope; None for fewer than 3 points or where all x are equal.

    Cost: 3 ms at 512 points, the most that are used (longer ones are binned by median).
    """
    if len(x) < MIN_GAPS or x.min() == x.max():
        return None
    bx, by = _binned(x, MAX_POINTS), _binned(y, MAX_POINTS)
    dx = bx[:, None] - bx
    up = dx > 0
    if not up.any():
        return None
    slope = float(np.median((by[:, None] - by)[up] / dx[up]))
    return float(np.median(y - slope * x)), slope


def _binned(values: FloatArray, points: int) -> FloatArray:
    """Medians of runs of neighbours along the last axis, at most `points` of them."""
    n = values.shape[-1]
    width = -(-n // points)
    if width <= 1:
        return values
    whole = n // width * width
    folded = values[..., :whole].reshape(*values.shape[:-1], whole // width, width)
    bins = np.median(folded, axis=-1)
    if whole < n:
        bins = np.concatenate((bins, np.median(values[..., whole:], axis=-1, keepdims=True)), axis=-1)
    return np.asarray(bins, np.float64)


def run_trend(
    requests: Sequence[tuple[FloatArray, FloatArray, tuple[float, float] | None]],
    *,
    with_ci: bool = True,
    seed: int = 0,
) -> dict[str, Any]:
    """The report's `trend` of (kv_len, gaps_ms, fit) a request; `fit` as from `theil_sen`.

    `slope_factor` is left None: it needs the bytes of a token. `identifiable` is False when
    the interval holds 0, None when there is no trend or (`with_ci` False, the live view) no
    interval yet. `reason` says what is missing or what to beware of. Same seed, same result.
    """
    empty: dict[str, Any] = dict.fromkeys(
        ("intercept_ms", "slope_us_per_token", "slope_ci95_us_per_token", "identifiable", "slope_factor")
    )
    fitted = [(x, y, fit) for x, y, fit in requests if fit is not None]
    longer = [item for item in fitted if len(item[0]) >= MIN_INTERVAL_GAPS]
    used = longer or fitted
    if not used:
        return empty | {"reason": _why_none(requests)}
    slopes = np.asarray([fit[1] for _, _, fit in used])
    slope = float(np.median(slopes))
    trend = empty | {
        "intercept_ms": float(np.median([fit[0] for _, _, fit in used])),
        "slope_us_per_token": slope * 1e3,
        "reason": None,
    }
    if not with_ci:
        return trend | {"reason": "the interval is worked out when the run has ended"}
    if len(used) < FEW_REQUESTS and not longer:
        return trend | {"identifiable": False, "reason": "too few gaps for an interval"}
    rng = np.random.default_rng(seed)
    if len(used) >= FEW_REQUESTS:
        low, high = _over_requests(slopes, rng)
    else:
        draws = [block_slopes(x, y, fit[1], rng) for x, y, fit in used]
        low, high = np.quantile(np.median(draws, axis=0), (0.025, 0.975))
    low, high = min(float(low), slope), max(float(high), slope)
    identifiable = not low <= 0.0 <= high
    same_start = len({float(x[0]) for x, _, _ in used}) == 1
    return trend | {
        "slope_ci95_us_per_token": [low * 1e3, high * 1e3],
        "identifiable": identifiable,
        "reason": HOLDS_ZERO if not identifiable else DRIFT if same_start else None,
    }


def _why_none(requests: Sequence[tuple[FloatArray, FloatArray, Any]]) -> str:
    if not requests or max(len(y) for _, y, _ in requests) < MIN_GAPS:
        return f"fewer than {MIN_GAPS} gaps in each request"
    if any((x < 0).any() for x, _, _ in requests):
        return UNKNOWN_LENGTH
    return "all lengths are equal"


def _over_requests(slopes: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
    """Bootstrap of the median over requests, never narrower than its order statistics.

    The percentile bootstrap of a median of seven is wrong 12 times in 100.
    """
    draws = np.median(slopes[rng.integers(0, len(slopes), (1000, len(slopes)))], axis=1)
    low, high = np.quantile(draws, (0.025, 0.975))
    exact_low, exact_high = quantile_interval(np.sort(slopes), 0.5)
    assert exact_low is not None and exact_high is not None  # six requests give both ends
    return min(float(low), exact_low), max(float(high), exact_high)


def block_slopes(
    x: FloatArray, y: FloatArray, slope: float, rng: np.random.Generator, replicates: int = REPLICATES
) -> FloatArray:
    """Slopes of `replicates` series with the line kept and the noise drawn anew, float64[replicates].

    Needs at least 8 points. Cost: 30 ms at 512 points.
    """
    n = len(x)
    residuals = y - slope * x
    residuals = residuals - np.median(residuals)
    phi = _autocorrelation(residuals)
    innovations = residuals[1:] - phi * residuals[:-1]
    innovations = (innovations - innovations.mean()) * math.sqrt(n / (n - 3))
    m = len(innovations)
    length = max(1, round(m ** (1 / 3)))
    starts = rng.integers(0, m - length + 1, (replicates, -(-n // length)))
    drawn = innovations[(starts[:, :, None] + np.arange(length)).reshape(replicates, -1)[:, :n]].T
    noise = np.empty_like(drawn)
    noise[0] = drawn[0] / math.sqrt(1 - phi * phi)
    for i in range(1, n):
        np.multiply(noise[i - 1], phi, out=noise[i])
        noise[i] += drawn[i]
    bx = _binned(x, _BOOT_POINTS)
    by = _binned(np.ascontiguousarray(noise.T), _BOOT_POINTS)
    first, second = np.triu_indices(len(bx), 1)
    dx = bx[second] - bx[first]
    keep = dx > 0
    pairs = (by[:, second[keep]] - by[:, first[keep]]) / dx[keep]
    return np.asarray(slope + np.median(pairs, axis=1), np.float64)


def _autocorrelation(residuals: FloatArray) -> float:
    """Lag-one autocorrelation, from above: stalls cut off, small-sample bias put back."""
    n = len(residuals)
    spread = 1.4826 * float(np.median(np.abs(residuals)))
    r = np.clip(residuals, -6 * spread, 6 * spread) if spread > 0 else residuals
    r = r - r.mean()
    power = float(r @ r)
    if power == 0:
        return 0.0
    phi = float(r[1:] @ r[:-1]) / power
    phi += (2 + 4 * phi) / n  # Kendall 1954, with a fitted line
    phi += _PHI_MARGIN * math.sqrt(max(1 - min(phi, 1.0) ** 2, 0.0) / n)
    return min(max(phi, 0.0), _PHI_MAX)
