"""Rows of a comparison that show a difference and give no verdict on it.

MEASUREMENT, section 7, gives verdicts on ratios of medians and percentiles, whose intervals come
from requests drawn again. Energy is one figure a run; a slope may be 0, and then no ratio exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from profiler.analysis.comparison import MIN_REQUESTS

ENERGY = "energy.joules_per_token"
SLOPE = "trend.slope_us_per_token"
ONE_A_RUN = "energy is one figure a run, which gives no interval"
NO_RATIO = "a slope may be 0, so that a ratio of slopes says nothing"


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What a run says once, as its report has it. `ok`: number of ok, measured requests.

    `joules_per_token` with the `energy_source`; `slope_us_per_token` of the ITL over the context,
    `slope_identifiable`: its interval does not hold 0. None: not known.
    """

    ok: int
    joules_per_token: float | None = None
    energy_source: str | None = None
    slope_us_per_token: float | None = None
    slope_identifiable: bool | None = None


def unjudged_rows(a: RunFigures, b: RunFigures, other_workload: str | None) -> list[dict[str, Any]]:
    """Rows as `comparison.compare` makes them, of the figures that both runs have.

    `verdict` is None with the reason; `not_comparable` where other rows could not be compared
    either: other workloads (`other_workload` says which), too few requests.
    """
    few = [f"{letter} has {run.ok}" for letter, run in (("A", a), ("B", b)) if run.ok < MIN_REQUESTS]
    barred = other_workload
    if barred is None and few:
        barred = f"needs {MIN_REQUESTS} ok requests a side; {' and '.join(few)}"
    rows = []
    if a.joules_per_token is not None and b.joules_per_token is not None:
        one, two = a.joules_per_token, b.joules_per_token
        reason = ONE_A_RUN
        if a.energy_source != b.energy_source:
            reason += f"; A by {a.energy_source or 'what was not told'}, B by {b.energy_source or 'what was not told'}"
        rows.append(_row(ENERGY, one, two, two / one if one > 0 else None, barred, reason))
    if a.slope_us_per_token is not None and b.slope_us_per_token is not None:
        unclear = [letter for letter, run in (("A", a), ("B", b)) if not run.slope_identifiable]
        reason = NO_RATIO
        if unclear:
            reason += f"; that of {' and '.join(unclear)} cannot be told from 0"
        rows.append(_row(SLOPE, a.slope_us_per_token, b.slope_us_per_token, None, barred, reason))
    return rows


def _row(
    metric: str, a: float, b: float, ratio: float | None, barred: str | None, reason: str
) -> dict[str, Any]:
    return {
        "metric": metric,
        "a": a,
        "b": b,
        "difference": b - a,
        "ratio": ratio,
        "ci95": None,
        "p_value": None,
        "verdict": None if barred is None else "not_comparable",
        "reason": reason if barred is None else barred,
        "higher_is_better": False,
        "n_a": None,
        "n_b": None,
    }
