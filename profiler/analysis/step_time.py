"""Where the time of a decode step goes: the device's forward pass against host and launch.

    gap_i = busy_i + host_i        i = 2..m, one forward pass a step

Source of `busy`: CUDA events, on the CPU host stamps around the forward call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from profiler.analysis.stats import brief
from profiler.analysis.steps import FloatArray
from profiler.timeline import Request


def step_time(request: Request, itl_ms: FloatArray) -> dict[str, Any]:
    """`busy_ms`, `host_ms` (n, mean, p50, max) and `busy_share` of the request's decode steps.

    `busy_share` is the ratio of sums. All null with a `reason` where the recording has no busy
    times, or not one for each step.
    """
    busy_us = request.busy_us
    gaps = len(itl_ms)
    if not len(busy_us):
        return _missing("the recording does not tell it")
    if gaps == 0:
        return _missing("no gap")
    if len(busy_us) < gaps + 1 or len(request) != gaps + 1:
        return _missing("forward passes and steps are not one to one")
    busy_ms = np.asarray(busy_us[1 : gaps + 1], np.float64) / 1000
    host_ms = np.maximum(itl_ms - busy_ms, 0.0)
    total = float(itl_ms.sum())
    return {
        "busy_ms": brief(busy_ms),
        "host_ms": brief(host_ms),
        "busy_share": float(busy_ms.sum() / total) if total > 0 else None,
        "reason": None if total > 0 else "all gaps are 0",
    }


def _missing(reason: str) -> dict[str, Any]:
    return {"busy_ms": None, "host_ms": None, "busy_share": None, "reason": reason}
