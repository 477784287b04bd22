"""The report: what `dscope report --json` prints and every other page is made of.

Strict JSON, schema `decodescope.report/1`: keys are added, never removed.
"""

from __future__ import annotations

import json
from typing import Any

from profiler.analysis.busy_windows import decode_intervals
from profiler.analysis.energy import described_gpu, model_device
from profiler.analysis.run import run_metrics
from profiler.analysis.strict import strict
from profiler.analysis.targets import Targets, targets_report
from profiler.analysis.telemetry import NO_READING, telemetry
from profiler.errors import RunFailed
from profiler.reporting.clock_events import METRIC, clock_events, gpu_notes
from profiler.timeline import Run, Timeline

SCHEMA = "decodescope.report/1"


def report(
    timeline: Timeline,
    *,
    session_name: str = "",
    path: str | None = None,
    targets: Targets | None = None,
) -> dict[str, Any]:
    """The whole session as one JSON object, runs in the order of their numbers.

    Reads every step of every request: about 1 ms for 1,000 steps, and up to 0.3 s a run for
    the interval of the trend. `path` is only told on;
    `targets` are what the requests are held against (None: the defaults).
    """
    result = {
        "schema": SCHEMA,
        "session": {"name": session_name, "path": None if path is None else str(path)},
        "runs": [run_report(timeline, run, targets) for _, run in sorted(timeline.runs.items())],
    }
    json.dumps(result, allow_nan=False)  # a value that is no JSON is a bug of ours: ValueError
    return result


def run_report(timeline: Timeline, run: Run, targets: Targets | None = None) -> dict[str, Any]:
    """One entry of `runs`. `targets` None: the defaults."""
    numbers = run_metrics(timeline, run)
    window = numbers["window_ns"]
    read = run_telemetry(timeline, run, None if window is None else (window[0], window[1]))
    # A GPU beside a model on the CPU is a neighbour: its limits explain nothing.
    notes = [] if model_device(run).startswith("cpu") else gpu_notes(read["gpus"])
    environment = run.environment or timeline.facts.get("environment") or {}
    return {
        "id": run.no,
        "name": run.name,
        "model": run.model,
        "status": run.status,
        "reason": run.reason,
        "config": strict(run.config),
        "environment": strict(environment),
        "requests": numbers["requests"],
        "empty_events": numbers["empty_events"],
        "metrics": numbers["metrics"],
        "telemetry": strict(read),
        "targets": strict(targets_report(numbers["per_request"], numbers["metrics"], targets or Targets())),
        "disturbance": strict(numbers["disturbance"]),
        "per_request": numbers["per_request"],
        "notes": [*numbers["notes"], *notes],
        "window_ns": window,
    }


def run_telemetry(timeline: Timeline, run: Run, window: tuple[int, int] | None) -> dict[str, Any]:
    """The report's `telemetry` over `window` (ns), with each GPU's clock event reasons in words."""
    read = telemetry(timeline, window, decode_intervals(run.measured))
    for gpu in read["gpus"]:
        reason = described_gpu(timeline, gpu["source"]).get("unavailable", {}).get(METRIC)
        reason = str(reason or gpu["state_reason"] or NO_READING)
        gpu["clock_events"] = clock_events(timeline.samples.get(gpu["source"]), window, reason)
    return read


def exit_code(value: dict[str, Any]) -> int:
    """What the command line returns for a report: 4 if any measured request failed, else 0."""
    failed = any(run["requests"]["failed"] for run in value["runs"])
    return RunFailed.exit_code if failed else 0
