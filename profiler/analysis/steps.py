"""The steps of a request, as every metric sees them: events of no token taken out.

Differences of stamps are exact over the whole range of 64-bit nanoseconds: they are taken
as unsigned integers after the order was checked, since a difference of two signed stamps
may not fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from profiler.events import UNKNOWN
from profiler.timeline import Request
from profiler.units import NS_PER_MS

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class StepView:
    """Columns over the m steps (k != 0) of one request.

    `at` is each step's place among all arrivals of the request, `k` its tokens (UNKNOWN
    where not told), `kv_len` prompt tokens plus tokens produced including the step, UNKNOWN
    where that cannot be said. `empty_events` counts the arrivals of no token. `gaps_ms` has
    m - 1 entries and is empty when the clock went backwards (`in_order` False).
    """

    at: IntArray
    t_ns: IntArray
    k: IntArray
    kv_len: IntArray
    gaps_ms: FloatArray
    in_order: bool
    empty_events: int

    def __len__(self) -> int:
        return len(self.t_ns)

    @property
    def k_known(self) -> bool:
        """Every step told how many tokens it brought."""
        return not bool((self.k < 0).any())

    @property
    def gap_kv_len(self) -> IntArray:
        """Length of the context at the end of each gap, int64[m-1] (UNKNOWN: not known)."""
        return self.kv_len[1:]


def step_view(request: Request) -> StepView:
    """The steps of a request. Cost: some 20 us for 512 steps."""
    k = request.k.astype(np.int64)
    at = np.flatnonzero(k)
    t_ns = request.t_ns[at]
    k = k[at]
    in_order = len(t_ns) == 0 or bool(t_ns[0] >= request.t0_ns and (t_ns[1:] >= t_ns[:-1]).all())
    return StepView(
        at=at,
        t_ns=t_ns,
        k=k,
        kv_len=_lengths(request, at, k),
        gaps_ms=elapsed_ms(t_ns) if in_order else np.empty(0),
        in_order=in_order,
        empty_events=len(request.k) - len(at),
    )


def elapsed_ms(t_ns: IntArray) -> FloatArray:
    """Differences of neighbouring stamps that do not decrease, ms, float64[n-1]."""
    unsigned = t_ns.astype(np.int64, copy=False).view(np.uint64)
    return np.subtract(unsigned[1:], unsigned[:-1]).astype(np.float64) / NS_PER_MS


def _lengths(request: Request, at: IntArray, k: IntArray) -> IntArray:
    """Recorded context lengths; where one is missing, prompt + tokens so far if both are known."""
    recorded = request.kv_len[at].astype(np.int64)
    missing = recorded < 0
    if not missing.any():
        return recorded
    if request.prompt_tokens is None or (k < 0).any():
        return np.where(missing, UNKNOWN, recorded)
    return np.where(missing, request.prompt_tokens + np.cumsum(k), recorded)


def any_between(flags: npt.NDArray[Any], at: IntArray) -> BoolArray:
    """Per step: is any of the arrivals since the step before it flagged? bool[m].

    An arrival of no token is a part of the gap that it falls into.
    """
    if len(at) == 0:
        return np.zeros(0, bool)
    starts = np.concatenate(([0], at[:-1] + 1))
    upto = int(at[-1]) + 1
    return np.logical_or.reduceat(flags[:upto].astype(bool), starts)
