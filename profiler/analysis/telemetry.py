"""Telemetry of the measured requests: what was read from first t0 to last token, or why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from profiler.analysis import busy_windows
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
_MASKS = ("clock_event_reasons",)
"""Bits, not amounts: no mean of them (`reporting.clock_events` tells them in words)."""
NO_READING = "no reading within the measured requests"
NO_WINDOW_INSIDE = "no window of this counter lies wholly inside decoding"
Window = tuple[int, int]


def telemetry(timeline: Timeline, window: Window | None, decodes: Sequence[Window] = ()) -> dict[str, Any]:
    """The report's `telemetry` over `window` (ns, both ends in; None: nothing was measured).

    `decodes` are the stretches of decoding (`busy_windows.decode_intervals`): the memory-busy
    share is that of the counter's windows wholly inside them, or missing with the reason.
    """
    fact = timeline.facts.get("telemetry")
    told: dict[str, Any] = fact if isinstance(fact, dict) else {}
    described = [item for item in told.get("gpus") or [] if isinstance(item, dict)]
    by_source = {_source(item): item for item in described}
    sources = list(by_source) + [
        name for name in timeline.samples if name.startswith("gpu") and name not in by_source
    ]
    states = _states(told)
    gpus = [
        _gpu(name, by_source.get(name, {}), states.get(name, {}), timeline.samples.get(name), window, decodes)
        for name in sources
    ]
    host_fact = told.get("host")
    host = timeline.samples.get("host")
    # Also beside a GPU that was read: another one that was asked for may be missing.
    reason = told.get("reason") or (None if gpus else "no GPU was sampled")
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


def _states(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """How each source was doing at the end: `{state, reason}` by source, as the sampler told."""
    sampler = told.get("sampler")
    sources = sampler.get("sources") if isinstance(sampler, dict) else None
    found = sources.items() if isinstance(sources, dict) else ()
    return {str(name): value for name, value in found if isinstance(value, dict)}


def _gpu(
    source: str,
    described: dict[str, Any],
    state: dict[str, Any],
    columns: SampleColumns | None,
    window: Window | None,
    decodes: Sequence[Window],
) -> dict[str, Any]:
    index = described.get("index")
    if index is None and source[3:].isdigit():
        index = int(source[3:])
    limits = described.get("limits")
    limits = limits if isinstance(limits, dict) else {}
    metrics = _metrics(GPU_METRICS, columns, _unavailable(described), window, state.get("reason"))
    metrics[busy_windows.METRIC] = _memory_busy(
        columns, described, metrics[busy_windows.METRIC], window, decodes
    )
    return {
        "index": index,
        "uuid": described.get("uuid"),
        "name": described.get("name"),
        "driver": described.get("driver"),
        "source": source,
        "state": state.get("state"),
        "state_reason": state.get("reason"),
        "limits": limits,
        "power_cap_pct_of_default": limits.get("power_cap_pct_of_default"),
        "power_source": described.get("power_source"),
        "memory_source": described.get("memory_source"),
        "metrics": metrics,
    }


def _memory_busy(
    columns: SampleColumns | None,
    described: dict[str, Any],
    plain: dict[str, Any],
    window: Window | None,
    decodes: Sequence[Window],
) -> dict[str, Any]:
    """Statistics of the counter's windows wholly inside decoding, and their width `window_ms`."""
    missing: dict[str, Any] = {"n": 0, "mean": None, "min": None, "max": None, "window_ms": None}
    if columns is None or window is None or not np.isfinite(columns.values(busy_windows.METRIC)).any():
        return {**missing, "reason": plain["reason"] or NO_READING}
    windows, reason = busy_windows.decode_windows(columns, decodes, described)
    missing["window_ms"] = busy_windows.window_ns(columns, described) / NS_PER_MS
    shares = np.array([item.pct for item in windows if item.inside])
    if reason is not None or len(shares) == 0:
        return {**missing, "reason": reason or NO_WINDOW_INSIDE}
    return {**_statistics(shares), "window_ms": missing["window_ms"]}


def _metrics(
    names: tuple[str, ...],
    columns: SampleColumns | None,
    unavailable: dict[str, Any],
    window: Window | None,
    otherwise: str | None = None,
) -> dict[str, dict[str, Any]]:
    """Summary by metric: `names` always, others as they were seen or found missing.

    `otherwise`: the reason of a metric without a reading that has none of its own.
    """
    seen = [] if columns is None else [name for name in columns.metrics if name not in _MASKS]
    every = dict.fromkeys((*names, *seen, *(name for name in unavailable if name not in _MASKS)))
    return {
        name: _summary(columns, window, name, str(unavailable.get(name) or otherwise or NO_READING))
        for name in every
    }


def _summary(columns: SampleColumns | None, window: Window | None, name: str, reason: str) -> dict[str, Any]:
    """Statistics of the readings in the window; `reason` where there are none."""
    values = np.empty(0)
    if columns is not None and window is not None and name in columns.metrics:
        first, last = (
            np.searchsorted(columns.t_ns, window[0]),
            np.searchsorted(columns.t_ns, window[1], side="right"),
        )
        values = columns.values(name)[first:last]
        values = values[np.isfinite(values)]
    if len(values) == 0:
        return {"n": 0, "mean": None, "min": None, "max": None, "reason": reason}
    return _statistics(values)


def _statistics(values: npt.NDArray[np.float64]) -> dict[str, Any]:
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
