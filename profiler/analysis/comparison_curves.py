"""What a comparison draws: gaps along the answer, their distribution, differences by quantile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from profiler.analysis.comparison_bootstrap import block_bootstrap

FloatArray = npt.NDArray[np.float64]

WINDOW = 5
"""Tokens that `itl_by_token` pools around each (odd)."""
MAX_TOKENS = 4000
"""Longer answers are drawn in blocks, so that a curve has no more points."""


class ByToken(NamedTuple):
    """Quantiles of the gaps around each output token, over all requests; ms."""

    tokens: FloatArray
    p10: FloatArray
    p50: FloatArray
    p90: FloatArray


class QuantileDifferences(NamedTuple):
    """B - A at each quantile, ms, with a 95 % interval (requests resampled)."""

    q: FloatArray
    difference: FloatArray
    ci_low: FloatArray
    ci_high: FloatArray


def itl_by_token(gaps: Sequence[FloatArray]) -> ByToken:
    """p10, p50, p90 of the gaps of all requests in a window around each output token.

    Gap i is the wait for token i + 2 (one token a step). Answers above MAX_TOKENS are pooled in
    blocks. Empty arrays when there is no gap.
    """
    kept = [np.asarray(values, np.float64) for values in gaps if len(values)]
    longest = max((len(values) for values in kept), default=0)
    if not longest:
        empty = np.empty(0)
        return ByToken(empty, empty, empty, empty)
    width = max(-(-longest // MAX_TOKENS), 1)
    half = max(WINDOW // 2, width // 2)
    centres = np.arange(0, longest, width)
    bands = np.full((3, len(centres)), np.nan)
    table = np.full((len(kept), longest + 2 * half), np.nan)
    for number, values in enumerate(kept):
        table[number, half : half + len(values)] = values
    windows = np.lib.stride_tricks.sliding_window_view(table, 2 * half + 1, axis=1)[:, ::width]
    for index in range(len(centres)):
        pool = windows[:, index].ravel()
        bands[:, index] = np.quantile(pool[np.isfinite(pool)], (0.1, 0.5, 0.9))
    p10, p50, p90 = bands
    return ByToken(np.asarray(centres + 2.0, np.float64), p10, p50, p90)


def ecdf(values: npt.ArrayLike, max_points: int = 2000) -> tuple[FloatArray, FloatArray]:
    """Sorted values and the share at or below each, thinned to `max_points` with the tail kept whole.

    The last tenth of the points is the last tenth of `max_points` largest values.
    """
    ordered = np.sort(np.asarray(values, np.float64))
    n = len(ordered)
    share = np.arange(1, n + 1) / n if n else np.empty(0)
    if n <= max_points:
        return ordered, np.asarray(share, np.float64)
    tail = max_points // 10
    body = np.unique(np.linspace(0, n - tail - 1, max_points - tail).round().astype(np.int64))
    at = np.concatenate([body, np.arange(n - tail, n)])
    return ordered[at], np.asarray(share[at], np.float64)


def quantile_differences(
    a: Sequence[FloatArray],
    b: Sequence[FloatArray],
    probs: Sequence[float] = tuple(np.round(np.linspace(0.01, 0.99, 50), 4)),
    *,
    seed: int = 0,
    resamples: int = 300,
) -> QuantileDifferences | None:
    """Quantiles of B's gaps less those of A's; None where a side has no gap.

    The interval resamples requests and moving blocks of gaps, see `comparison_bootstrap.block_bootstrap`.
    """
    kept = [[np.asarray(values, np.float64) for values in side if len(values)] for side in (a, b)]
    if not kept[0] or not kept[1]:
        return None
    q = np.asarray(probs, np.float64)
    points = [np.quantile(np.concatenate(side), q) for side in kept]
    draws = [
        block_bootstrap(side, list(q), np.random.default_rng([seed, number]), resamples)
        for number, side in enumerate(kept)
    ]
    low, high = np.percentile(draws[1] - draws[0], (2.5, 97.5), axis=1)
    return QuantileDifferences(q, points[1] - points[0], low, high)
