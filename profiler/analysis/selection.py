"""The figures of a range of tokens: what a run's metrics are, over the tokens first..last alone.

Token n of a request is its n-th arrival (from 1); the gap before it belongs to it, so a range
that begins at token 1 has one gap fewer than tokens. Definitions are those of a run
(MEASUREMENT sections 3 to 6), applied to the slice: nothing outside it has a say, the trend
that jitter is taken against included. The time to the first token and the energy are of the
whole run and are not here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from profiler.analysis.bandwidth import BandwidthSteps, run_mbu
from profiler.analysis.jitter import fit_gaps, pooled, run_jitter
from profiler.analysis.stats import distribution
from profiler.analysis.steps import FloatArray, StepView, step_view
from profiler.timeline import Request, Run

FIRST_GAP_TOKEN = 2
"""The first gap of a request is the wait for its second token."""


@dataclass(frozen=True, slots=True)
class TokenRange:
    """Tokens `first` to `last` of an answer, numbers from 1, both in it."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last:
            raise ValueError(f"a range of tokens goes upwards from 1, not from {self.first} to {self.last}")

    @classmethod
    def between(cls, one: float, other: float, longest: int) -> TokenRange:
        """The range between two places, in either order, cut to tokens 1..`longest`."""
        low, high = sorted((round(one), round(other)))
        top = max(longest, 1)
        return cls(min(max(low, 1), top), min(max(high, 1), top))

    @property
    def gaps(self) -> slice:
        """Where the gaps of its tokens lie in a request's gaps."""
        return slice(max(self.first - FIRST_GAP_TOKEN, 0), max(self.last - FIRST_GAP_TOKEN + 1, 0))

    def __len__(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class SelectionValues:
    """What a range says. `requests` have at least one gap in it; `gaps` is how many there are.

    `metrics` has the names of a run's metrics: `itl_ms`, `tpot_ms`, `decode_tok_s`,
    `fluctuation` (distributions), `jitter` and `mbu`; strict JSON types.
    """

    first: int
    last: int
    requests: int
    gaps: int
    metrics: dict[str, Any]


def selection_values(
    run: Run,
    tokens: TokenRange,
    *,
    only: int | None = None,
    view_of: Callable[[Request], StepView] = step_view,
) -> SelectionValues:
    """The figures of a range over all measured requests that count (ok, or still running).

    `only`: the number of one request to take alone, a warm-up too. `view_of`: where the steps
    come from, if they are kept. Cost: some ms for 10,000 gaps.
    """
    chosen = [r for r in run.requests if (r.no == only if only is not None else _counts(run, r))]
    sizes = Counter((r.warmup, r.batch_id) for r in run.requests)
    gaps: list[FloatArray] = []
    fits, steps, tpot, rate, fluctuation = [], [], [], [], []
    for request in chosen:
        view = view_of(request)
        part = view.gaps_ms[tokens.gaps]
        if not len(part):
            continue
        lengths = view.gap_kv_len[tokens.gaps]
        gaps.append(part)
        fits.append(fit_gaps(part, lengths))
        batch = 1 if request.batch_id is None else sizes[request.warmup, request.batch_id]
        steps.append(BandwidthSteps(part, lengths, batch))
        k = view.k[1:][tokens.gaps]
        total_ms = float(part.sum())
        if not (k < 0).any():
            tpot.append(total_ms / int(k.sum()))
            if total_ms > 0:
                rate.append(int(k.sum()) / (total_ms / 1e3))
        middle, high = np.percentile(part, (50, 95))
        if len(part) > 1 and middle > 0:
            fluctuation.append(float((high - middle) / middle))
    metrics = {
        "itl_ms": distribution(pooled(gaps)),
        "tpot_ms": distribution(tpot, per_request=True),
        "decode_tok_s": distribution(rate, per_request=True),
        "fluctuation": distribution(fluctuation, per_request=True),
        "jitter": run_jitter(fits),
        "mbu": run_mbu(steps, run.facts.get("footprint"), run.facts.get("reference")),
    }
    return SelectionValues(tokens.first, tokens.last, len(gaps), sum(map(len, gaps)), metrics)


def _counts(run: Run, request: Request) -> bool:
    """As in the run's own figures: no warm-up, and neither failed nor given up."""
    going = request.end_status is None and run.status == "running"
    return not request.warmup and request.streamed and (going or request.end_status == "ok")
