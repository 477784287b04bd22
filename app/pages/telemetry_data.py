"""From readings to the telemetry chart: rows, zones, the sentence where there is no GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QCoreApplication

from app.charts.telemetry import TelemetryRow, Zone
from profiler.analysis.energy import described_gpu
from profiler.config import RunConfig
from profiler.timeline import Run, SampleColumns, Timeline
from profiler.units import GIB, NS_PER_S

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Metric:
    """A metric of a source: what it is called, its unit, and how many of them make one."""

    name: str
    label: str
    unit: str
    role: str
    scale: float = 1.0
    group: str = ""
    low: float | None = None


def _gpu_metrics() -> tuple[_Metric, ...]:
    tr = QCoreApplication.translate
    return (
        _Metric("sm_clock_mhz", tr("Telemetry", "SM clock"), "MHz", "data1"),
        _Metric("power_w", tr("Telemetry", "Power"), "W", "data2"),
        _Metric("temperature_c", tr("Telemetry", "Temperature"), "°C", "data5"),
        _Metric("gpu_busy_pct", tr("Telemetry", "GPU busy"), "%", "data3", group="busy", low=0.0),
    )


def _host_metrics(with_gpu: bool) -> tuple[_Metric, ...]:
    tr = QCoreApplication.translate
    busy = _Metric("cpu_busy_pct", tr("Telemetry", "CPU busy"), "%", "data4", group="busy", low=0.0)
    if with_gpu:
        return (busy,)
    return (
        _Metric("cpu_freq_mhz", tr("Telemetry", "CPU clock"), "MHz", "data1"),
        busy,
        _Metric("rss_bytes", tr("Telemetry", "Process memory"), "GiB", "data3", scale=1 / GIB, low=0.0),
    )


def telemetry_view(
    timeline: Timeline, run: Run, config: RunConfig | None, now_ns: int
) -> tuple[list[TelemetryRow], list[Zone], float, str | None]:
    """What `TelemetryChart.refresh` takes. Times count from the start of the run, s."""
    gpu = _used_gpu(timeline)
    # A GPU that the model does not use is a neighbour: its rows would hide the CPU's.
    shown_gpu = gpu if gpu is not None and _on_gpu(run) else None
    rows: list[TelemetryRow] = []
    if shown_gpu is not None:
        rows += _rows(timeline.samples[shown_gpu], run, _gpu_metrics())
    host = timeline.samples.get("host")
    if host is not None:
        rows += _rows(host, run, _host_metrics(shown_gpu is not None))
    zones = _zones(run, now_ns)
    return rows, zones, _expected_end_s(run, config, zones), _notice(timeline, _on_gpu(run), shown_gpu)


def _on_gpu(run: Run) -> bool:
    model = run.facts.get("model")
    device = model.get("device") if isinstance(model, dict) else None
    return isinstance(device, str) and device.startswith("cuda")


def _used_gpu(timeline: Timeline) -> str | None:
    return next((name for name in sorted(timeline.samples) if name.startswith("gpu")), None)


def _rows(columns: SampleColumns, run: Run, metrics: tuple[_Metric, ...]) -> list[TelemetryRow]:
    # Timeline columns live on one clock; a reading from before the run is not shown.
    first = int(np.searchsorted(columns.t_ns, run.t_ns))
    last = (
        len(columns.t_ns) if run.end_ns is None else int(np.searchsorted(columns.t_ns, run.end_ns, "right"))
    )
    t_s = (columns.t_ns[first:last] - run.t_ns) / NS_PER_S
    rows = []
    for metric in metrics:
        values = columns.values(metric.name)[first:last] * metric.scale
        # Slow metrics are read once a second: between two readings there is no value.
        known = np.isfinite(values)
        if known.any():
            rows.append(
                TelemetryRow(
                    metric.label,
                    metric.unit,
                    t_s[known],
                    values[known],
                    metric.role,
                    group=metric.group,
                    low=metric.low,
                )
            )
    return rows


def _zones(run: Run, now_ns: int) -> list[Zone]:
    zones: list[Zone] = []
    warmups = repeats = 0
    for request in run.requests:
        if request.warmup:
            warmups += 1
            label = f"W{warmups}"
        else:
            repeats += 1
            label = f"R{repeats}"
        running = request.end_ns is None and run.status == "running"
        end_ns = request.end_ns
        if end_ns is None:
            end_ns = now_ns if running else (run.end_ns or request.t0_ns)
        zones.append(
            Zone(label, (request.t0_ns - run.t_ns) / NS_PER_S, (end_ns - run.t_ns) / NS_PER_S, running)
        )
    return zones


def _expected_end_s(run: Run, config: RunConfig | None, zones: list[Zone]) -> float:
    """Where the time axis should end: from what requests took so far, so that it seldom grows."""
    if not zones or run.status != "running" or config is None:
        return zones[-1].t1_s if zones else 0.0
    finished = [zone.t1_s - zone.t0_s for zone in zones if not zone.running]
    if not finished:
        return 0.0
    return zones[0].t0_s + config.total_requests * max(finished)


def _notice(timeline: Timeline, on_gpu: bool, shown: str | None) -> str | None:
    """The calm sentence above the plots: what is not read, and why. `shown`: the GPU in the rows."""
    fact: Any = timeline.facts.get("telemetry")
    if not isinstance(fact, dict):
        return None
    tr = QCoreApplication.translate
    if fact.get("hz") == 0:
        return tr("Telemetry", "The sampler was switched off for this run.")
    trouble = _trouble(fact) or _sentence(fact.get("reason"))
    if shown is not None:
        return trouble or _not_read(timeline, shown)
    instead = tr("Telemetry", "CPU readings are shown instead.")
    if trouble is not None:
        # The driver's sentence may say the same of the processor in other words.
        return f"{trouble.removesuffix('; processor telemetry is on.').rstrip('.')}. {instead}"
    if fact.get("gpus"):
        if on_gpu:
            return None  # its first reading is still to come
        return tr("Telemetry", "The model runs on the CPU, so its readings are shown.")
    text = tr("Telemetry", "No NVIDIA GPU here, so GPU clocks, power and memory-busy time are not recorded.")
    return f"{text} {instead}"


def _trouble(fact: dict[str, Any]) -> str | None:
    """Why a GPU is not read any more, or not just now; None while every one of them answers."""
    sampler = fact.get("sampler")
    sources = sampler.get("sources") if isinstance(sampler, dict) else None
    for name, state in sources.items() if isinstance(sources, dict) else ():
        told = isinstance(state, dict) and name.startswith("gpu") and state.get("state") in ("stale", "gone")
        if told and state.get("reason"):
            return _sentence(state["reason"])
    return None


def _not_read(timeline: Timeline, source: str) -> str | None:
    """Which rows of the GPU are missing because the driver does not tell them."""
    unavailable = described_gpu(timeline, source).get("unavailable")
    reasons = unavailable if isinstance(unavailable, dict) else {}
    parts = [
        f"{metric.label} ({reasons[metric.name]})" for metric in _gpu_metrics() if metric.name in reasons
    ]
    if not parts:
        return None
    words = QCoreApplication.translate("Telemetry", "Not read on this GPU: {}.")
    return words.format(", ".join(parts))


def _sentence(text: Any) -> str | None:
    if not isinstance(text, str) or not text:
        return None
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
