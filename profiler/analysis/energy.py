"""Energy of the measured window: the counter's difference, else power over time, else nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from profiler.timeline import Run, SampleColumns, Timeline
from profiler.units import NS_PER_S

FloatArray = npt.NDArray[np.float64]
Window = tuple[int, int]

COUNTER = "energy_j"
HOST_COUNTERS = ("package_energy_j",)
POWER = "power_w"
_MAX_HOLE_NS = 5 * NS_PER_S
"""Power is not integrated over a hole longer than this: nobody looked."""


def energy(timeline: Timeline, run: Run, window: Window | None, output_tokens: int) -> dict[str, Any]:
    """The report's `energy {joules, joules_per_token, source, reason}` over `window` (ns).

    Of the GPUs that were sampled, summed, where the model runs on one; of the processor's
    counter where it runs on the CPU. `joules_per_token` is by the tokens of ok requests.
    """
    joules, source, reason = _joules(timeline, run, window)
    per_token = None
    if joules is not None and output_tokens > 0:
        per_token = joules / output_tokens
    return {"joules": joules, "joules_per_token": per_token, "source": source, "reason": reason}


def _joules(
    timeline: Timeline, run: Run, window: Window | None
) -> tuple[float | None, str | None, str | None]:
    if window is None:
        return None, None, "no request was measured"
    gpus = [columns for name, columns in timeline.samples.items() if name.startswith("gpu")]
    if model_device(run).startswith("cpu") or not gpus:
        return _host(timeline, window, bool(gpus))
    parts = [_gpu(timeline, columns, window) for columns in gpus]
    missing = next((reason for value, _, reason in parts if value is None), None)
    if missing is not None:
        return None, None, missing
    total = sum(value for value, _, _ in parts if value is not None)
    return total, " + ".join(dict.fromkeys(source for _, source, _ in parts if source)), None


def model_device(run: Run) -> str:
    """Where the model ran (cpu, cuda:0, ...); "" where nobody said."""
    facts = run.facts.get("model")
    device = facts.get("device") if isinstance(facts, dict) else None
    return str(device or run.environment.get("device") or "")


def _host(timeline: Timeline, window: Window, gpus: bool) -> tuple[float | None, str | None, str | None]:
    host = timeline.samples.get("host")
    for name in HOST_COUNTERS:
        joules = None if host is None else counter_difference(host.t_ns, host.values(name), window)
        if joules is not None:
            return joules, "processor energy counter", None
    told = timeline.facts.get("telemetry")
    described = told.get("host") if isinstance(told, dict) else None
    unavailable = described.get("unavailable") if isinstance(described, dict) else None
    for name in HOST_COUNTERS:
        if isinstance(unavailable, dict) and unavailable.get(name):
            return None, None, str(unavailable[name])
    if gpus:
        return None, None, "the model ran on the CPU, whose energy was not read"
    return None, None, "no energy counter was read"


def _gpu(
    timeline: Timeline, columns: SampleColumns, window: Window
) -> tuple[float | None, str | None, str | None]:
    joules = counter_difference(columns.t_ns, columns.values(COUNTER), window)
    if joules is not None:
        return joules, "energy counter", None
    joules = integrate_power(columns.t_ns, columns.values(POWER), window)
    if joules is not None:
        return joules, _power_words(timeline, columns.source, window), None
    if np.isfinite(columns.values(POWER)).any():
        return None, None, "neither energy nor power was read over the whole measured window"
    reasons = described_gpu(timeline, columns.source).get("unavailable")
    told = reasons.get(POWER) if isinstance(reasons, dict) else None
    return None, None, str(told or "neither energy nor power was read")


def _power_words(timeline: Timeline, source: str, window: Window) -> str:
    """What integrated power is worth: said where the readings are averages of a second or so."""
    averaged = str(described_gpu(timeline, source).get("power_source") or "").startswith("average")
    if averaged and window[1] - window[0] < 2 * NS_PER_S:
        return "power integrated over time (averages of about 1 s, too wide for so short a window)"
    if averaged:
        return "power integrated over time (averages of about 1 s)"
    return "power integrated over time"


def described_gpu(timeline: Timeline, source: str) -> dict[str, Any]:
    """The entry of the session fact "telemetry" for a source ("gpu0"); {} where there is none."""
    fact = timeline.facts.get("telemetry")
    gpus = fact.get("gpus") if isinstance(fact, dict) else None
    for gpu in gpus if isinstance(gpus, list) else []:
        if isinstance(gpu, dict) and source in (gpu.get("source"), f"gpu{gpu.get('index')}"):
            return gpu
    return {}


def counter_difference(t_ns: npt.NDArray[np.int64], joules: FloatArray, window: Window) -> float | None:
    """Growth of a counter over the window, J, interpolated at its ends.

    None where the readings do not reach over the window (half a second of it may stick out
    at each end, taken at the mean rate), or the counter went backwards.
    """
    known = ~np.isnan(joules) if len(joules) else np.zeros(0, bool)
    t, e = t_ns[known], joules[known]
    start, end = window
    if len(t) < 2 or end <= start:
        return None
    near = (t >= start - _MAX_HOLE_NS) & (t <= end + _MAX_HOLE_NS)
    t, e = t[near], e[near]
    if len(t) < 2 or (np.diff(e) < 0).any() or not _covers(t, window):
        return None
    seconds = (t - start) / NS_PER_S
    low, high = 0.0, (end - start) / NS_PER_S
    inside_low, inside_high = max(low, float(seconds[0])), min(high, float(seconds[-1]))
    if inside_high <= inside_low:
        return None
    grown = float(np.interp(inside_high, seconds, e) - np.interp(inside_low, seconds, e))
    return grown * (high - low) / (inside_high - inside_low)


def integrate_power(t_ns: npt.NDArray[np.int64], watts: FloatArray, window: Window) -> float | None:
    """Trapezoids over the readings around the window, J. None as for `counter_difference`."""
    known = ~np.isnan(watts) if len(watts) else np.zeros(0, bool)
    t, p = t_ns[known], watts[known]
    if len(t) < 2:
        return None
    area = np.concatenate(([0.0], np.cumsum(np.diff(t) / NS_PER_S * (p[1:] + p[:-1]) / 2)))
    return counter_difference(t, area, window)


def _covers(t: npt.NDArray[np.int64], window: Window) -> bool:
    """The readings reach from end to end of the window, but for 0.5 s each, without a long hole."""
    slack = NS_PER_S // 2
    if t[0] > window[0] + slack or t[-1] < window[1] - slack:
        return False
    return int(np.diff(t).max()) <= _MAX_HOLE_NS
