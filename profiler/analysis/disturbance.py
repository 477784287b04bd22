"""Our own part: how many steps a redraw or a sampler reading overlapped, and what p99 owes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from profiler.analysis.jitter import pooled

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class DisturbedSteps:
    """One request: `flags` bool[m] over its steps, `gaps_ms` float64[m-1] between them."""

    flags: BoolArray
    gaps_ms: FloatArray


def disturbance(requests: Sequence[DisturbedSteps], overhead: Any = None) -> dict[str, Any]:
    """The report's `disturbance` over the steps of ok, measured requests.

    `disturbed_steps_pct` is of all steps, first ones too; `itl_p99_ms` of all gaps,
    `itl_p99_undisturbed_ms` of those whose step was left alone. `overhead` is what
    `dscope overhead` measured on this machine (a dict with `itl_mean_ratio` and its interval).
    """
    flags = np.concatenate([item.flags for item in requests]) if requests else np.zeros(0, bool)
    gaps = pooled([item.gaps_ms for item in requests])
    alone = pooled([item.gaps_ms[~item.flags[1:]] for item in requests])
    measured = overhead if isinstance(overhead, dict) else {}
    return {
        "disturbed_steps_pct": 100 * float(flags.mean()) if len(flags) else None,
        "itl_p99_ms": float(np.percentile(gaps, 99)) if len(gaps) else None,
        "itl_p99_undisturbed_ms": float(np.percentile(alone, 99)) if len(alone) else None,
        "itl_mean_ratio": measured.get("itl_mean_ratio"),
        "itl_mean_ratio_ci95": measured.get("itl_mean_ratio_ci95"),
    }
