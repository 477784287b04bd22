"""Is one run faster than another? Ratios of medians and percentiles, with intervals and verdicts.

The unit of replication is the request: the bootstrap resamples requests and, inside each that
is drawn, moving blocks of its gaps (neighbouring gaps are alike; single ones would promise too
much). Rules of the verdicts: MEASUREMENT, section 7.

The interval: `comparison_bootstrap.ratio_interval`. Eight metrics of one pair are judged together,
of five families; each interval is therefore made for 99 %, so that the table holds with 95 %.

Simulated (40 requests of 32 gaps a side, 300 pairs each; the three medians itl, tpot, e2e): normal
gaps of 5 and 20 %, log-normal of 50 %, shifted exponential, spikes of 10x, AR(0.95), whole requests
off by 3, 6, 10, 25 %, two levels, and ticks. Of one distribution at most 2 % of the pairs had any of
the three called slower or faster; with 5 requests a side at most 0.4 % (600 pairs). A true 5 % is
found in all of 75 pairs for normal gaps of 5 % and in 73 of 75 with requests off by 3 %; with requests
off by 6 % in every second, by 10 % in every third. Heavy noise (AR, exponential, log-normal, two
levels) hides 5 % mostly: more requests are needed then, and the verdict is "no difference shown".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from profiler.analysis.comparison_bootstrap import block_bootstrap, ratio_interval
from profiler.analysis.jitter import MAD_TO_SIGMA

FloatArray = npt.NDArray[np.float64]
Verdict = Literal["slower", "faster", "equivalent", "no_difference", "not_comparable"]

BAND = 0.02
"""A smaller difference is never called one; an interval inside it is called equivalence."""
MIN_REQUESTS = 5
RESAMPLES = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The ok, measured requests of one run, as a comparison needs them.

    `scalars`: by metric one value a request (NaN: that request has none). `gaps_ms`: the gaps of
    each request. `residuals_ms`: what is left of them after the trend. `moved_bytes`,
    `moved_s`: bytes that a request's steps moved and the time they took; `reference_gb_s`:
    the memory's speed (None: MBU is not known, for `mbu_reason`).
    """

    scalars: dict[str, FloatArray]
    gaps_ms: Sequence[FloatArray]
    residuals_ms: Sequence[FloatArray] = ()
    moved_bytes: FloatArray = field(default_factory=lambda: np.empty(0))
    moved_s: FloatArray = field(default_factory=lambda: np.empty(0))
    reference_gb_s: float | None = None
    mbu_reason: str | None = None
    workload: dict[str, Any] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        """Number of ok requests."""
        return max((len(values) for values in self.scalars.values()), default=len(self.gaps_ms))


@dataclass(frozen=True, slots=True)
class Metric:
    """A row of the table. `source`: key of `Side.scalars`, or `gaps`, `residuals`, `mbu`."""

    name: str
    source: str
    q: float
    higher_is_better: bool = False


METRICS = (
    Metric("ttft_ms.p50", "ttft_ms", 0.5),
    Metric("itl_ms.p50", "gaps", 0.5),
    Metric("itl_ms.p95", "gaps", 0.95),
    Metric("itl_ms.p99", "gaps", 0.99),
    Metric("tpot_ms.p50", "tpot_ms", 0.5),
    Metric("e2e_ms.p50", "e2e_ms", 0.5),
    Metric("output_tok_s.p50", "output_tok_s", 0.5, higher_is_better=True),
    Metric("mbu.run", "mbu", 0.5, higher_is_better=True),
    Metric("ttft_ms.p95", "ttft_ms", 0.95),
    Metric("jitter.jitter_ms", "residuals", 0.5),
)
"""The first eight are the contract's; what follows is ours."""


def compare(
    a: Side, b: Side, *, noise_floor: dict[str, float] | None = None, seed: int = 0
) -> list[dict[str, Any]]:
    """One row a metric: `metric, a, b, difference, ratio, ci95, p_value, verdict, reason, n_a, n_b`.

    `ratio` is b / a with its interval `ci95`; `p_value` Mann-Whitney's on per-request values;
    `noise_floor`: by metric the largest |ratio - 1| that an A/A pair showed. Strict JSON types.
    Cost: about 0.5 s for 40 requests of 512 tokens a side.
    """
    other = different_workload(a.workload, b.workload)
    gaps_a = _GapDraws(a, np.random.default_rng([seed, 1]))
    gaps_b = _GapDraws(b, np.random.default_rng([seed, 2]))
    return [
        _row(metric, a, b, gaps_a, gaps_b, other, (noise_floor or {}).get(metric.name), seed)
        for metric in METRICS
    ]


def noise_floor(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """By metric |ratio - 1| of an A/A pair's rows: what this machine shows without any change.

    Rows that cannot be compared (other workloads, too few requests), and those on which no verdict
    is given, say nothing about noise.
    """
    return {
        row["metric"]: abs(row["ratio"] - 1)
        for row in rows
        if row["ratio"] is not None and row["verdict"] not in (None, "not_comparable")
    }


def holm(p_values: Sequence[float | None], alpha: float = 0.05) -> list[bool]:
    """Which of many comparisons hold together at level `alpha` (Holm 1979); None never holds."""
    order = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    held = [False] * len(p_values)
    for rank, (p, index) in enumerate(order):
        if p > alpha / (len(order) - rank):
            break
        held[index] = True
    return held


def judge(
    ratio: float, low: float, high: float, higher_is_better: bool, floor: float | None = None
) -> tuple[Verdict, str | None]:
    """The verdict on b / a with its interval, and why a difference is not claimed."""
    beyond = abs(ratio - 1) > BAND
    if (low > 1 or high < 1) and beyond:
        if floor is not None and abs(ratio - 1) <= floor:
            return (
                "no_difference",
                f"within the noise floor: an A/A pair differed by {100 * floor:.1f} %",
            )
        more = ratio > 1
        return ("faster" if more == higher_is_better else "slower"), None
    if low >= 1 - BAND and high <= 1 + BAND:
        return "equivalent", None
    if low > 1 or high < 1:
        return "no_difference", f"the difference is no larger than {100 * BAND:.0f} %"
    return "no_difference", "the interval contains 1"


def different_workload(a: dict[str, Any], b: dict[str, Any]) -> str | None:
    """Why two workloads cannot be compared, None when they can. A key that one lacks is no matter."""
    for key in sorted(a.keys() & b.keys()):
        one, two = a[key], b[key]
        if one is None or two is None or one == two:
            continue
        if key in ROUGH and math.isclose(one, two, rel_tol=ROUGH[key]):
            continue
        words = key.replace("_", " ")
        shown = " and ".join(str(value) if len(str(value)) <= 40 else "another text" for value in (one, two))
        return f"different workloads: {words} {shown}"
    return None


ROUGH = {"median_prompt_tokens": 0.1, "median_output_tokens": 0.1}
"""Measured parts of a workload, which need not be the same to the token."""


class _GapDraws:
    """The resampled gaps of one side: each quantile of each resample, worked out once."""

    def __init__(self, side: Side, rng: np.random.Generator) -> None:
        self._side = side
        self._rng = rng
        self._drawn: dict[str, dict[float, FloatArray]] = {}

    def quantiles(self, source: str, q: float) -> FloatArray:
        """Quantile `q` of each resample, float64[GAP_RESAMPLES]."""
        if source not in self._drawn:
            wanted = sorted({metric.q for metric in METRICS if metric.source == source})
            values = block_bootstrap(_lists(source, self._side), wanted, self._rng)
            self._drawn[source] = dict(zip(wanted, values, strict=True))
        return self._drawn[source][q]


def _lists(source: str, side: Side) -> list[FloatArray]:
    """Gaps of each request; or of its residuals how far each lies from the run's median, times 1.4826."""
    if source == "gaps":
        return [values for values in side.gaps_ms if len(values)]
    kept = [values for values in side.residuals_ms if len(values)]
    middle = float(np.median(np.concatenate(kept))) if kept else 0.0
    return [MAD_TO_SIGMA * np.abs(values - middle) for values in kept]


def _row(
    metric: Metric,
    a: Side,
    b: Side,
    gaps_a: _GapDraws,
    gaps_b: _GapDraws,
    other_workload: str | None,
    floor: float | None,
    seed: int,
) -> dict[str, Any]:
    values = [_per_request(metric, side) for side in (a, b)]
    points = [_point(metric, side) for side in (a, b)]
    one, two = points
    ratio = two / one if one is not None and two is not None and one > 0 else None
    row: dict[str, Any] = {
        "metric": metric.name,
        "a": one,
        "b": two,
        "difference": None if one is None or two is None else two - one,
        "ratio": ratio,
        "ci95": None,
        "p_value": None,
        "verdict": "not_comparable",
        "reason": None,
        "higher_is_better": metric.higher_is_better,
        "n_a": len(values[0]),
        "n_b": len(values[1]),
    }
    row["reason"] = other_workload or _why_not(metric, a, b, values, points)
    if row["reason"] is not None or ratio is None:
        return row
    draws = [
        _draws(metric, side, value, gaps, np.random.default_rng([seed, number]))
        for number, (side, value, gaps) in enumerate(
            ((a, values[0], gaps_a), (b, values[1], gaps_b)), start=3
        )
    ]
    low, high = ratio_interval(ratio, draws[0], draws[1], len(values[0]), len(values[1]))
    row["ci95"] = [low, high]
    row["p_value"] = _mann_whitney(values[0], values[1])
    row["verdict"], row["reason"] = judge(ratio, low, high, metric.higher_is_better, floor)
    return row


def _why_not(
    metric: Metric, a: Side, b: Side, values: Sequence[FloatArray], points: Sequence[float | None]
) -> str | None:
    if metric.source == "mbu":
        for letter, side in (("A", a), ("B", b)):
            if side.reference_gb_s is None:
                return f"{letter}: {side.mbu_reason or 'the memory was not measured'}"
    few = [
        f"{letter} has {len(value)}"
        for letter, value in (("A", values[0]), ("B", values[1]))
        if len(value) < MIN_REQUESTS
    ]
    if few:
        return f"needs {MIN_REQUESTS} ok requests a side; {' and '.join(few)}"
    if None in points or points[0] == 0:
        return "the value of A is 0" if points[0] == 0 else "one side has no value"
    return None


def _per_request(metric: Metric, side: Side) -> FloatArray:
    """One value a request: what Mann-Whitney compares."""
    if metric.source == "gaps":
        return np.array([np.quantile(gaps, metric.q) for gaps in side.gaps_ms if len(gaps)])
    if metric.source == "residuals":
        return np.array([np.quantile(rest, metric.q) for rest in _lists("residuals", side)])
    if metric.source == "mbu":
        if side.reference_gb_s is None:
            return np.empty(0)
        good = side.moved_s > 0
        return np.asarray(side.moved_bytes[good] / side.moved_s[good] / (side.reference_gb_s * 1e9))
    values = side.scalars.get(metric.source, np.empty(0))
    return np.asarray(values[np.isfinite(values)], np.float64)


def _point(metric: Metric, side: Side) -> float | None:
    """The run's value, as the report has it."""
    if metric.source in ("gaps", "residuals"):
        kept = _lists(metric.source, side)
        return float(np.quantile(np.concatenate(kept), metric.q)) if kept else None
    if metric.source == "mbu":
        if side.reference_gb_s is None or not side.moved_s.sum() > 0:
            return None
        return float(side.moved_bytes.sum() / side.moved_s.sum() / (side.reference_gb_s * 1e9))
    values = _per_request(metric, side)
    return float(np.quantile(values, metric.q)) if len(values) else None


def _draws(
    metric: Metric, side: Side, values: FloatArray, gaps: _GapDraws, rng: np.random.Generator
) -> FloatArray:
    """The metric of each resample."""
    if metric.source in ("gaps", "residuals"):
        return gaps.quantiles(metric.source, metric.q)
    picks = rng.integers(0, len(values), (RESAMPLES, len(values)))
    if metric.source == "mbu":
        good = side.moved_s > 0
        moved, seconds = side.moved_bytes[good], side.moved_s[good]
        assert side.reference_gb_s is not None
        rate = moved[picks].sum(axis=1) / seconds[picks].sum(axis=1)
        return np.asarray(rate / (side.reference_gb_s * 1e9), np.float64)
    return np.asarray(np.quantile(values[picks], metric.q, axis=1), np.float64)


def _mann_whitney(a: FloatArray, b: FloatArray) -> float | None:
    from scipy import stats

    if not len(a) or not len(b):
        return None
    value = float(stats.mannwhitneyu(a, b, alternative="two-sided").pvalue)
    return value if math.isfinite(value) else None
