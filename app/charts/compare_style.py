"""How the sessions of a comparison look, and what its charts take. No pyqtgraph.

A session is told by its letter first; colour and dash follow from the letter, so that a
picture printed in grey still says which line is whose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LETTERS = "ABCDEF"
"""At most so many sessions are compared."""


@dataclass(frozen=True)
class SessionStyle:
    """Look of one session. `role` is a palette role, `dash` a pen's pattern (None: solid),
    `legend` the kind of its entry in a legend."""

    letter: str
    role: str
    dash: tuple[float, ...] | None
    legend: str


STYLES = {
    style.letter: style
    for style in (
        SessionStyle("A", "data1", None, "line"),
        SessionStyle("B", "data2", None, "line"),
        SessionStyle("C", "data3", (5, 2.5), "dashed"),
        SessionStyle("D", "data4", (6, 2.5, 1.5, 2.5), "dashdot"),
        SessionStyle("E", "data5", (2, 2), "dashed"),
        SessionStyle("F", "data7", (9, 3, 1.5, 3, 1.5, 3), "dashdot"),
    )
}


@dataclass(frozen=True, eq=False)
class LineSeries:
    """One session's curve: p10, p50 and p90 of a value at each x, ascending; NaN: nothing there."""

    letter: str
    x: Floats
    p50: Floats
    p10: Floats
    p90: Floats

    def at(self, x: float) -> float | None:
        """The median at `x`; None outside the curve."""
        if not len(self.x) or not self.x[0] - self.half_step <= x <= self.x[-1] + self.half_step:
            return None
        value = float(np.interp(x, self.x, self.p50))
        return value if np.isfinite(value) else None

    @property
    def half_step(self) -> float:
        """How far beyond its ends a curve still speaks: half the distance of its points."""
        return float(self.x[1] - self.x[0]) / 2 if len(self.x) > 1 else 0.5


@dataclass(frozen=True, eq=False)
class DistributionSeries:
    """One session's pooled gaps, sorted, ms."""

    letter: str
    sorted_ms: Floats

    def quantile(self, q: float) -> float:
        """By linear interpolation, as numpy's, without looking at every gap; NaN for an empty one."""
        last = len(self.sorted_ms) - 1
        if last < 0:
            return float("nan")
        place = q * last
        low = min(int(place), max(last - 1, 0))
        below, above = float(self.sorted_ms[low]), float(self.sorted_ms[min(low + 1, last)])
        return below + (place - low) * (above - below)

    def share_below(self, value_ms: float) -> float:
        """The share of gaps at or below a value, 0..1."""
        count = int(np.searchsorted(self.sorted_ms, value_ms, side="right"))
        return count / len(self.sorted_ms) if len(self.sorted_ms) else float("nan")


@dataclass(frozen=True, eq=False)
class QuantileSeries:
    """By quantile `q` (0..1) how much later session `letter` is than the baseline, ms, with the
    95 % band."""

    letter: str
    q: Floats
    difference_ms: Floats
    low_ms: Floats
    high_ms: Floats


def rolling_quantiles(
    x: Floats, y: Floats, x_high: float, blocks: int = 96, half_window: int = 2
) -> tuple[Floats, Floats, Floats, Floats]:
    """Middles of `blocks` parts of [0, x_high], and p10, p50, p90 of `y` round each of them.

    Each window is the block and `half_window` on either side; quantiles as numpy's. A window
    without a value has no point. `x` and `y` pool all repeats, in any order; NaN in `y` is
    left out. O(n log n).
    """
    good = np.isfinite(y)
    x, y = x[good], y[good]
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    edges = np.linspace(0.0, x_high, blocks + 1)
    starts = np.searchsorted(x, edges[:-1], side="left")
    stops = np.append(starts[1:], np.searchsorted(x, edges[-1], side="right"))
    rows = []
    for block in range(blocks):
        if starts[block] == stops[block]:
            continue  # no token of its own: a neighbour's would be shown where there is none
        low = starts[max(block - half_window, 0)]
        high = stops[min(block + half_window, blocks - 1)]
        p10, p50, p90 = np.quantile(y[low:high], (0.1, 0.5, 0.9))
        rows.append(((edges[block] + edges[block + 1]) / 2, p10, p50, p90))
    if not rows:
        return np.empty(0), np.empty(0), np.empty(0), np.empty(0)
    columns = np.asarray(rows, float).T
    return columns[0], columns[1], columns[2], columns[3]
