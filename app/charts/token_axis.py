"""The y axis of the latency chart: which range, chosen so that it seldom moves. No Qt."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.charts.columns import BlockStats
from app.charts.ticks import log_range, stepped_range

Floats = npt.NDArray[np.float64]
Range = tuple[float, float]


class LatencyAxis:
    """The range that is shown unless the user zooms, straight and logarithmic."""

    def __init__(self) -> None:
        self.centre_ms: float | None = None
        """Median of the rolling median: what per cent are told against."""
        self.y: Range | None = None
        self.log_y: Range | None = None
        self._core: Range = (0.0, 1.0)

    def choose(self, stats: BlockStats, floor_ms: Floats | None) -> None:
        """Range round the middle 90 % of the gaps, down to the limit where there is one."""
        p5, p50, p95 = stats.p5, stats.p50, stats.p95
        good = np.isfinite(p50)
        if not good.any():
            self.centre_ms = self.y = self.log_y = None
            return
        self.centre_ms = float(np.median(p50[good]))
        low, high = float(np.quantile(p5[good], 0.08)), float(np.quantile(p95[good], 0.92))
        least = max(0.04 * self.centre_ms, 1e-6)
        if high - low < least:
            middle = (high + low) / 2
            low, high = middle - least / 2, middle + least / 2
        if floor_ms is not None:
            # The axis starts some 10 % below the limit; the limit then is part of the core.
            low = min(low, 0.95 * float(np.nanmin(floor_ms)))
            self.y = stepped_range(low, high, self.y, below=0.05, above=0.35)
        else:
            self.y = stepped_range(low, high, self.y)
        self._core = (max(low, 1e-3 * self.centre_ms), high)

    def choose_log(self, longest_ms: float) -> None:
        """After `choose`: this axis is there for the tail, so that all of it is on it."""
        self.log_y = log_range(self._core[0], max(self._core[1], longest_ms), self.log_y)


def steady(value: float | None) -> float | None:
    """A value as far as the axis shows it: four figures."""
    return None if value is None else float(f"{value:.4g}")


def token_ceiling(x_max: int, longest: int) -> int:
    """`x_max`, doubled as often as the data asks."""
    while x_max < longest:
        x_max *= 2
    return x_max


def floor_array(floor_ms: Floats | float | None, x_max: int) -> Floats | None:
    """The limit at each token from token 1; None where it is not known throughout."""
    if floor_ms is None:
        return None
    values = np.atleast_1d(np.asarray(floor_ms, float))
    if not np.isfinite(values).all() or len(values) == 0:
        return None
    return np.full(x_max, float(values[0])) if len(values) == 1 else values
