"""Telemetry of the measured requests: what was read from first t0 to last token, or why not."""

from __future__ import annotations

from typing import Any

import numpy as np

from profiler.timeline import SampleColumns, Timeline
from profiler.units import NS_PER_MS, NS_PER_S

GPU_METRICS = (
    "power_w",
    "gpu_busy_pct",
    "memory_busy_pct",
    "memory_used_bytes",
    "sm_clock_mhz",
    "memory_clock_mhz",
    "temperature_c",
    "dram_bw_pct",
)
"""Always in the report, with a reason where there is no reading."""
NO_READING = "no reading within the measured requests"
Window = tuple[int, int]


def telemetry(timeline: Timeline, window: Window | None) -> dict[str, Any]:
    """The report's `telemetry` over `window` (ns, both ends in; None: nothing was measured)."""
    fact = timeline.facts.get("telemetry")
    told: dict[str, Any] = fact if isinstance(fact, dict) else {}
    described = [item for item in told.get("gpus") or [] if isinstance(item, dict)]
    by_source = {_source(item): item for item in described}
    sources = list(by_source) + [
        name for name in timeline.samples if name.startswith("gpu") and name not in by_source
    ]
    gpus = [_gpu(name, by_source.get(name, {}), timeline.samples.get(name), window) for name in sources]
    host_fact = told.get("host")
    host = timeline.samples.get("host")
    reason = None if gpus else told.get("reason") or "no GPU was sampled"
    return {
        "gpus": gpus,
        "host": {"metrics": _metrics((), host, _unavailable(host_fact), window)},
        "reason": reason,
        "sampler": _sampler(timeline, told, window),
    }


def _source(described: dict[str, Any]) -> str:
    return str(described.get("source") or f"gpu{described.get('index')}")


def _unavailable(described: Any) -> dict[str, Any]:
    reasons = described.get("unavailable") if isinstance(described, dict) else None
    return reasons if isinstance(reasons, dict) else {}


def _gpu(
    source: str, described: dict[str, Any], columns: SampleColumns | None, window: Window | None
) -> dict[str, Any]:
    index = described.get("index")
    if index is None and source[3:].isdigit():
        index = int(source[3:])
    return {
        "index": index,
        "uuid": described.get("uuid"),
        "name": described.get("name"),
        "driver": described.get("driver"),
        "source": source,
        "metrics": _metrics(GPU_METRICS, columns, _unavailable(described), window),
    }


def _metrics(
    names: tuple[str, ...],
    columns: SampleColumns | None,
    unavailable: dict[str, Any],
    window: Window | None,
) -> dict[str, dict[str, Any]]:
    """Summary by metric: `names` always, others as they were seen or found missing."""
    seen = [] if columns is None else columns.metrics
    return {
        name: _summary(columns, name, unavailable, window) for name in (*dict.fromkeys((*names, *seen)),)
    } | {
        name: _summary(None, name, unavailable, window)
        for name in unavailable
        if name not in names and name not in seen
    }


def _summary(
    columns: SampleColumns | None, name: str, unavailable: dict[str, Any], window: Window | None
) -> dict[str, Any]:
    values = np.empty(0)
    if columns is not None and window is not None:
        first, last = (
            np.searchsorted(columns.t_ns, window[0]),
            np.searchsorted(columns.t_ns, window[1], side="right"),
        )
        values = columns.values(name)[first:last]
        values = values[np.isfinite(values)]
    if len(values) == 0:
        reason = unavailable.get(name)
        return {"n": 0, "mean": None, "min": None, "max": None, "reason": str(reason or NO_READING)}
    return {
        "n": len(values),
        "mean": float(values.mean()),
        "min": float(values.min()),
        "max": float(values.max()),
        "reason": None,
    }


def _sampler(timeline: Timeline, told: dict[str, Any], window: Window | None) -> dict[str, Any]:
    """Pace (as set, else as found) and what one round of readings cost."""
    hz = told.get("hz")
    costs = []
    rates = []
    for columns in timeline.samples.values():
        inside = np.ones(len(columns), bool)
        if window is not None:
            inside = (columns.t_ns >= window[0]) & (columns.t_ns <= window[1])
        cost = columns.read_ns[inside]
        costs.append(cost[cost >= 0])
        steps = np.diff(columns.t_ns)
        if len(steps):
            rates.append(NS_PER_S / float(np.median(steps)))
    read = np.concatenate(costs) / NS_PER_MS if costs else np.empty(0)
    if hz is None and rates:
        hz = max(rates)
    return {
        "hz": hz,
        "read_ms_p50": float(np.median(read)) if len(read) else None,
        "read_ms_max": float(read.max()) if len(read) else None,
    }
