"""The run fact "reference": bandwidth and rate of arithmetic of the device that a run is asked for."""

from __future__ import annotations

from typing import Any

from profiler.config import RunConfig
from profiler.shapes import ModelShape, resolve_dtype

COMPUTE_BUDGET_S = 1.0


def reference_fact(config: RunConfig, shape: ModelShape) -> dict[str, Any]:
    """Measures, unless `config` says not to: call it before the model is loaded. Strict JSON.

    What `reference.measure_bandwidth` returns, `source` ("measured" or None), and `compute`:
    what `reference.measure_flops` returns for the dtype that the model will have, or None.
    A figure that could not be measured is None with its `reason`. About 3 s. UsageError for a
    device that is not there.
    """
    if not config.measure_reference:
        return _nothing("the reference measurement was switched off")
    from profiler.worker.reference import measure_bandwidth, measure_flops
    from profiler.worker.sources.device import resolve_device

    device = str(resolve_device(config.device))
    try:
        result = measure_bandwidth(device, config.threads)
    except (RuntimeError, MemoryError, OSError) as error:
        result = _nothing(f"the memory bandwidth could not be measured: {error}")
    dtype = resolve_dtype(shape, config.dtype)
    try:
        result["compute"] = measure_flops(device, dtype, COMPUTE_BUDGET_S, threads=config.threads)
    except (RuntimeError, MemoryError, OSError) as error:
        reason = f"the rate of arithmetic could not be measured: {error}"
        result["compute"] = {"tflop_s": None, "dtype": dtype, "reason": reason}
    result["source"] = "measured" if result.get("gb_s") is not None else None
    return result


def _nothing(reason: str) -> dict[str, Any]:
    return {
        "gb_s": None,
        "source": None,
        "advertised_gb_s": None,
        "llc_bytes": None,
        "compute": None,
        "reason": reason,
    }
