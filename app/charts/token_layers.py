"""The curves of the latency chart: dots, median, band, trend and limit, for the tokens in view."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg

from app.charts.canvas import PlotCanvas
from app.charts.columns import FIRST_GAP_TOKEN, BlockStats
from app.charts.items import BandItem, DotsItem
from app.charts.token_marks import TrendLine
from app.theme import Palette

Floats = npt.NDArray[np.float64]

MAX_TRIANGLES = 200
FINE_GAPS = 30_000
"""With at most so many gaps in view the median and the band are worked out for the view alone."""
LEAST_MS = 1e-6
"""A gap of 0 on a logarithmic axis: below it, and counted as such."""


@dataclass(frozen=True)
class TokenSeries:
    """Gaps of one request in ms: gap i is the wait for output token i + 2.

    `forward_ms`: of each gap the time of the forward pass (NaN: not known), None where nobody
    took it.
    """

    label: str
    gaps_ms: Floats
    warmup: bool = False
    forward_ms: Floats | None = None


class TokenLayers:
    """Holds the items of the plot and fills them."""

    def __init__(self) -> None:
        self.earlier = DotsItem(2.0)
        self.current = DotsItem(3.0)
        self.band = BandItem()
        self.median = pg.PlotCurveItem(antialias=False, skipFiniteCheck=False)
        self.trend = pg.PlotCurveItem(antialias=True)
        self.floor = pg.PlotCurveItem(antialias=True)
        self.stats = BlockStats()
        self.log = False
        self.above_points: Floats = np.empty(0)
        self.above = self.below = 0
        self._fine: tuple[tuple[object, ...], BlockStats] | None = None
        self._drawn: dict[DotsItem, tuple[object, list[Floats]]] = {}

    def add_to(self, canvas: PlotCanvas) -> None:
        """Put the items on a plot, lowest first."""
        for item in (self.band, self.earlier, self.current, self.median, self.floor, self.trend):
            canvas.addItem(item, ignoreBounds=True)

    def clear(self) -> None:
        """Forget the statistics: another run begins."""
        self.stats = BlockStats()
        self._fine = None
        self._drawn.clear()

    def show(self, hidden: set[str]) -> None:
        """Hide and show by the keys of layers."""
        layers = {
            "token": (self.earlier, self.current),
            "median": (self.median,),
            "band": (self.band,),
            "trend": (self.trend,),
            "limit": (self.floor,),
        }
        for key, items in layers.items():
            for item in items:
                item.setVisible(key not in hidden)

    def recolour(self, palette: Palette) -> None:
        """Take the colours of `palette`."""
        self.earlier.set_color(palette.color("data1", 88 if palette.dark else 80))
        self.current.set_color(palette.color("data1", 225))
        self.band.set_color(palette.color("data1", 46 if palette.dark else 36))
        self.median.setPen(pg.mkPen(palette.text, width=1))
        self.trend.setPen(pg.mkPen(palette.data2, width=1.5, dash=[5, 3]))
        self.floor.setPen(pg.mkPen(palette.data3, width=1.6, dash=[6, 2.5, 1.5, 2.5]))

    # -- filling -----------------------------------------------------------------------------

    def shown_stats(
        self, counted: Sequence[TokenSeries], view: tuple[float, float] | None, x_max: int
    ) -> BlockStats:
        """The statistics for a window of tokens: its own where that is not too much work."""
        if view is None or view[1] - view[0] > 0.7 * x_max:
            self._fine = None
            return self.stats
        # Blocks reach to either side of the window, so that its edges look like its middle.
        margin = (view[1] - view[0]) * (BlockStats.HALF_WINDOW + 1) / 96
        first = max(math.floor(view[0] - margin), FIRST_GAP_TOKEN)
        last = max(math.ceil(view[1] + margin), first)
        part = slice(first - FIRST_GAP_TOKEN, last - FIRST_GAP_TOKEN + 1)
        parts = [entry.gaps_ms[part] for entry in counted]
        if sum(map(len, parts)) > FINE_GAPS:
            self._fine = None
            return self.stats
        key = (first, last)
        if self._fine is None or self._fine[0] != key:
            self._fine = (key, BlockStats(first_token=first))
        fine = self._fine[1]
        fine.update([entry.label for entry in counted], parts, last - first + 1)
        return fine

    def fill_lines(
        self,
        stats: BlockStats,
        with_band: bool,
        trend: TrendLine | None,
        floor_ms: Floats | None,
    ) -> None:
        """Median, band, trend and limit."""
        self.median.setData(stats.tokens, self._y(stats.p50), connect="finite")
        if with_band:
            self.band.setData(stats.tokens, self._y(stats.p5), self._y(stats.p95))
        else:
            self.band.setData(np.empty(0), np.empty(0), np.empty(0))
        if trend is None:
            self.trend.setData([], [])
        else:
            x = np.linspace(trend.x0, trend.x1, 64) if self.log else np.array([trend.x0, trend.x1])
            self.trend.setData(x, self._y(np.interp(x, (trend.x0, trend.x1), (trend.y0_ms, trend.y1_ms))))
        if floor_ms is None:
            self.floor.setData([], [])
        else:
            step = max(len(floor_ms) // 256, 1)
            tokens = np.arange(1, len(floor_ms) + 1, dtype=float)
            self.floor.setData(tokens[::step], self._y(floor_ms[::step]))

    def fill_dots(
        self,
        series: Sequence[TokenSeries],
        selected: int,
        view: tuple[float, float] | None,
        y: tuple[float, float] | None,
    ) -> None:
        """Dots of the window of tokens; count what lies beyond the y range."""
        others = [entry for number, entry in enumerate(series) if number != selected]
        current = [series[selected]] if 0 <= selected < len(series) else []
        self._set_dots(self.earlier, others, view)
        self._set_dots(self.current, current, view)
        self._find_outside(y)

    def _set_dots(
        self, item: DotsItem, series: Sequence[TokenSeries], view: tuple[float, float] | None
    ) -> None:
        """Fill an item unless it holds just that: earlier repeats do not change while a run goes on."""
        key, arrays = (self.log, view), [entry.gaps_ms for entry in series]
        drawn = self._drawn.get(item)
        if drawn is not None and drawn[0] == key and len(drawn[1]) == len(arrays):
            if all(one is other for one, other in zip(drawn[1], arrays, strict=True)):
                return
        self._drawn[item] = (key, arrays)
        x, values = points(series, view)
        item.setData(x, self._y(values))

    def _y(self, values: Floats) -> Floats:
        return np.log10(np.maximum(values, LEAST_MS)) if self.log else values

    def _find_outside(self, y: tuple[float, float] | None) -> None:
        self.above = self.below = 0
        found = []
        if y is not None:
            low, high = (math.log10(y[0]), math.log10(y[1])) if self.log else y
            for item in (self.earlier, self.current):
                tokens, values = item.getData()
                over = np.flatnonzero(values > high)
                self.above += len(over)
                self.below += int((values < low).sum())
                found.append(tokens[over[:: max(len(over) // MAX_TRIANGLES, 1)]])
        self.above_points = np.concatenate(found) if found else np.empty(0)


def points(series: Sequence[TokenSeries], view: tuple[float, float] | None = None) -> tuple[Floats, Floats]:
    """(token, gap) of all series one after the other, of the tokens in `view` only."""
    if not series:
        return np.empty(0), np.empty(0)
    part = slice(None)
    start = 0
    if view is not None:
        start = max(math.floor(view[0]) - FIRST_GAP_TOKEN, 0)
        part = slice(start, max(math.ceil(view[1]) - FIRST_GAP_TOKEN + 1, start))
    y = [entry.gaps_ms[part] for entry in series]
    x = [np.arange(len(values), dtype=float) + (FIRST_GAP_TOKEN + start) for values in y]
    if len(series) == 1:
        return x[0], y[0]
    return np.concatenate(x), np.concatenate(y)
