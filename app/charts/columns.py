"""Arithmetic behind the charts: peaks per pixel column, and statistics per block of tokens. No Qt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FIRST_GAP_TOKEN = 2
"""Gap 0 is the wait for token 2 (token 1 has the time to first token)."""


def keep_peaks(x: Floats, y: Floats, columns: int) -> tuple[Floats, Floats]:
    """At most 2 points a column: the lowest and the highest of each, in their order.

    Nothing that sticks out is lost, the unfinished last column included. Short input comes
    back as it is. O(n). `x` ascending; NaN in `y` counts as missing within a column.
    """
    n = len(y)
    if n <= 2 * columns or columns < 1:
        return x, y
    size = -(-n // columns)
    full = n // size
    # The rest after the last full column is padded with its own last value.
    pad = full * size + (size if n % size else 0) - n
    values = np.concatenate((y, np.full(pad, y[-1]))) if pad else y
    blocks = values.reshape(-1, size)
    if np.isnan(np.sum(values)):
        missing = np.isnan(blocks)
        high = np.argmax(np.where(missing, -np.inf, blocks), axis=1)
        low = np.argmin(np.where(missing, np.inf, blocks), axis=1)
    else:
        high, low = np.argmax(blocks, axis=1), np.argmin(blocks, axis=1)
    base = np.arange(len(blocks)) * size
    index = np.sort(np.stack((base + low, base + high), axis=1), axis=1).ravel()
    index = np.minimum(index, n - 1)
    return x[index], y[index]


def quantiles_of(values: Floats) -> tuple[float, float, float]:
    """p5, p50, p95 by linear interpolation, as numpy's `quantile` has them, in a tenth of its time."""
    ordered = np.sort(values)
    last = len(ordered) - 1
    result = []
    for share in (0.05, 0.5, 0.95):
        place = share * last
        index = min(int(place), max(last - 1, 0))
        low = float(ordered[index])
        high = float(ordered[min(index + 1, last)])
        result.append(low + (place - index) * (high - low))
    return result[0], result[1], result[2]


class BlockStats:
    """p5, p50 and p95 of all series over a window that moves by blocks of tokens.

    Only blocks that new gaps touch are computed again, so that a live redraw costs the same
    at token 50 and at token 50,000. Blocks are as long as `x_max` asks: at most `blocks`.
    """

    HALF_WINDOW = 5
    """The window is the block and this many on either side: wide enough that one stall does not
    lift the 95 % quantile of a few repeats."""

    def __init__(self, blocks: int = 96, first_token: int = FIRST_GAP_TOKEN) -> None:
        """`first_token`: the token that the first value of each series belongs to."""
        self._blocks = blocks
        self._first = first_token
        self._reset(1, ())

    def _reset(self, size: int, keys: tuple[str, ...]) -> None:
        self._size = size
        self._keys = keys
        self._seen: list[int] = [0] * len(keys)
        self._quantiles = np.empty((0, 3))

    def update(self, keys: Sequence[str], series: Sequence[Floats], x_max: int) -> None:
        """Take in the series as they are now. `keys` name them: a changed name starts afresh."""
        size = max(-(-x_max // self._blocks), 1)
        names = tuple(keys)
        shrunk = any(len(values) < seen for values, seen in zip(series, self._seen, strict=False))
        if size != self._size or names[: len(self._keys)] != self._keys or shrunk:
            self._reset(size, names)
        else:
            self._keys = names
            self._seen.extend([0] * (len(names) - len(self._seen)))
        grown = [
            (seen, len(values)) for seen, values in zip(self._seen, series, strict=True) if len(values) > seen
        ]
        if not grown:
            return
        self._seen = [len(values) for values in series]
        count = -(-max(self._seen) // size)
        if count > len(self._quantiles):
            more = np.full((count - len(self._quantiles), 3), np.nan)
            self._quantiles = np.concatenate((self._quantiles, more))
        dirty: set[int] = set()
        for start, stop in grown:
            first = max(start // size - self.HALF_WINDOW, 0)
            last = min((stop - 1) // size + self.HALF_WINDOW, count - 1)
            dirty.update(range(first, last + 1))
        for block in dirty:
            start = max(block - self.HALF_WINDOW, 0) * size
            stop = (block + self.HALF_WINDOW + 1) * size
            pooled = np.concatenate([values[start:stop] for values in series])
            if len(pooled):
                self._quantiles[block] = quantiles_of(pooled)

    @property
    def tokens(self) -> Floats:
        """The middle of each block, as a token number."""
        count = len(self._quantiles)
        middle = np.arange(count) * self._size + (self._size - 1) / 2 + self._first
        if count and self._seen:
            # The last block ends where the data ends.
            middle[-1] = min(middle[-1], max(self._seen) + self._first - 1)
        return np.asarray(middle, float)

    @property
    def p5(self) -> Floats:
        """5 % quantile of each block's window."""
        return self._quantiles[:, 0]

    @property
    def p50(self) -> Floats:
        """Median of each block's window."""
        return self._quantiles[:, 1]

    @property
    def p95(self) -> Floats:
        """95 % quantile of each block's window."""
        return self._quantiles[:, 2]

    def at(self, token: float) -> float | None:
        """The rolling median at a token; None where there is no data."""
        block = int(token - self._first) // self._size
        if 0 <= block < len(self._quantiles) and np.isfinite(self._quantiles[block, 1]):
            return float(self._quantiles[block, 1])
        return None
