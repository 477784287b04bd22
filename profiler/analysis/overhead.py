"""What our own parts add to the gaps: paired blocks against the bare loop.

Each cycle holds one block of every variant, in random order. The ratio of means is resampled
over whole cycles, so that what a neighbour does to the machine for a while hits both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

BARE = "bare"
RESAMPLES = 2000


def overhead_ratios(
    blocks: Sequence[tuple[int, str, Sequence[int]]],
    variant: str,
    alone: Sequence[Sequence[bool]] | None = None,
    *,
    seed: int = 0,
) -> dict[str, Any]:
    """Ratios of `variant` against the bare loop from (cycle, variant, gaps in ns).

    `itl_mean_ratio` with `itl_mean_ratio_ci95` (bootstrap over cycles), `itl_p50_ratio`,
    `itl_p99_ratio` of the pooled gaps, `itl_p99_undisturbed_ratio` of those that no reading and
    no redraw overlapped (`alone`, as long as `blocks`; null where not given or none is left),
    `blocks` (cycles that hold both). All null, with a `reason`, below 6 cycles.
    """
    bare = {cycle: gaps for cycle, name, gaps in blocks if name == BARE and len(gaps)}
    other = {cycle: gaps for cycle, name, gaps in blocks if name == variant and len(gaps)}
    cycles = sorted(bare.keys() & other.keys())
    if len(cycles) < 6:
        return {
            "itl_mean_ratio": None,
            "itl_mean_ratio_ci95": None,
            "itl_p50_ratio": None,
            "itl_p99_ratio": None,
            "itl_p99_undisturbed_ratio": None,
            "blocks": len(cycles),
            "reason": "fewer than 6 blocks of each were measured",
        }
    sums = np.array([[sum(other[c]), len(other[c]), sum(bare[c]), len(bare[c])] for c in cycles], float)
    picks = np.random.default_rng(seed).integers(0, len(cycles), (RESAMPLES, len(cycles)))
    drawn = sums[picks].sum(axis=1)
    ratios = (drawn[:, 0] / drawn[:, 1]) / (drawn[:, 2] / drawn[:, 3])
    total = sums.sum(axis=0)
    pooled_other = np.concatenate([np.asarray(other[c], float) for c in cycles])
    pooled_bare = np.concatenate([np.asarray(bare[c], float) for c in cycles])
    p50, p99 = (float(np.percentile(pooled_other, q) / np.percentile(pooled_bare, q)) for q in (50, 99))
    left_alone = [
        gap
        for (cycle, name, gaps), flags in zip(blocks, alone or (), strict=False)
        if name == variant and cycle in bare
        for gap, ok in zip(gaps, flags, strict=True)
        if ok
    ]
    p99_alone = float(np.percentile(left_alone, 99) / np.percentile(pooled_bare, 99)) if left_alone else None
    low, high = np.percentile(ratios, (2.5, 97.5))
    return {
        "itl_mean_ratio": float((total[0] / total[1]) / (total[2] / total[3])),
        "itl_mean_ratio_ci95": [float(low), float(high)],
        "itl_p50_ratio": p50,
        "itl_p99_ratio": p99,
        "itl_p99_undisturbed_ratio": p99_alone,
        "blocks": len(cycles),
        "reason": None,
    }
