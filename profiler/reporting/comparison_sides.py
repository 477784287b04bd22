"""From a recorded run to what `analysis.comparison` takes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from profiler.analysis.bandwidth import bytes_model_from_facts, reference_from_facts
from profiler.analysis.comparison import Side
from profiler.analysis.comparison_unjudged import RunFigures
from profiler.analysis.energy import energy
from profiler.analysis.jitter import GapFit, fit_gaps
from profiler.analysis.latency import RequestMetrics, request_metrics
from profiler.analysis.run import RequestSummary, measured_window
from profiler.analysis.steps import StepView, step_view
from profiler.analysis.trend import run_trend
from profiler.timeline import Request, Run, Timeline

SCALARS = ("ttft_ms", "tpot_ms", "e2e_ms", "output_tok_s")
WORKLOAD = ("prompt", "prompt_tokens", "prompts_file", "output_tokens", "ignore_eos", "batch_size")
"""Settings that make two workloads different ones."""
_Part = tuple[Request, StepView, RequestMetrics]


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """A run with its steps in memory, and the session around it.

    `timeline`: for its energy and its time of day (None: neither is told). `created`: when the
    file was made, ISO 8601.
    """

    run: Run
    timeline: Timeline | None = None
    created: str | None = None


def side_of(recording: Recording) -> Side:
    """The ok, measured requests of a run: what verdicts are made of."""
    ok = _ok(_measured(recording.run))
    return _side(recording.run, ok, _fits(ok))


def sides_of(recording: Recording) -> tuple[Side, RunFigures]:
    """`side_of`, and what the run says only once: its energy and the slope of its gaps."""
    run, timeline = recording.run, recording.timeline
    measured = _measured(run)
    ok = _ok(measured)
    fits = _fits(ok)
    trend = run_trend([(fit.kv_len, fit.gaps_ms, fit.line) for fit in fits])
    told: dict[str, Any] = {}
    if timeline is not None:
        window = measured_window([(r, RequestSummary((), v, m, None, {})) for r, v, m in measured])
        total = sum(m.output_tokens for _, _, m in ok if m.output_tokens is not None)
        told = energy(timeline, run, window, total)
    figures = RunFigures(
        len(ok),
        told.get("joules_per_token"),
        told.get("source"),
        trend["slope_us_per_token"],
        trend["identifiable"],
    )
    return _side(run, ok, fits), figures


def _measured(run: Run) -> list[_Part]:
    """The measured requests with their metrics, as the report works them out."""
    usage = run.facts.get("usage")
    totals = usage if isinstance(usage, dict) else {}
    parts = []
    for request in run.measured:
        view, total = step_view(request), totals.get(request.id)
        known = isinstance(total, int) and not isinstance(total, bool) and total >= 0
        metrics = request_metrics(request, view=view, usage_tokens=total if known else None)
        parts.append((request, view, metrics))
    return parts


def _ok(parts: Sequence[_Part]) -> list[_Part]:
    return [part for part in parts if part[2].status == "ok"]


def _fits(parts: Sequence[_Part]) -> list[GapFit]:
    return [fit_gaps(m.itl_ms, view.gap_kv_len) for _, view, m in parts if len(m.itl_ms)]


def _side(run: Run, parts: Sequence[_Part], fits: Sequence[GapFit]) -> Side:
    model, no_model = bytes_model_from_facts(run.facts.get("footprint"))
    reference = reference_from_facts(run.facts.get("reference"))
    moved, seconds = _moved(parts, model)
    return Side(
        scalars={name: _column([m for _, _, m in parts], name) for name in SCALARS},
        gaps_ms=[metrics.itl_ms for _, _, metrics in parts],
        residuals_ms=[fit.residuals_ms for fit in fits],
        moved_bytes=moved,
        moved_s=seconds,
        reference_gb_s=None if model is None else reference.gb_s,
        mbu_reason=no_model or reference.reason,
        workload=_workload(run, [(request, metrics) for request, _, metrics in parts]),
    )


def _moved(parts: Sequence[_Part], model: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Bytes that each request's steps moved, and the seconds they took."""
    moved, seconds = np.zeros(len(parts)), np.zeros(len(parts))
    for number, (_, view, metrics) in enumerate(parts):
        known = view.gap_kv_len >= 0
        if model is not None and len(metrics.itl_ms) == len(known) and known.any():
            moved[number] = float(np.sum(model.step_bytes(view.gap_kv_len[known])))
            seconds[number] = float(metrics.itl_ms[known].sum()) / 1e3
    return moved, seconds


def _column(each: Sequence[RequestMetrics], name: str) -> np.ndarray[Any, Any]:
    values = [getattr(metrics, name) for metrics in each]
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _workload(run: Run, parts: Sequence[tuple[Request, RequestMetrics]]) -> dict[str, Any]:
    found: dict[str, Any] = {key: run.config[key] for key in WORKLOAD if key in run.config}
    prompts = [request.prompt_tokens for request, _ in parts if request.prompt_tokens is not None]
    tokens = [metrics.output_tokens for _, metrics in parts if metrics.output_tokens is not None]
    if prompts:
        found["median_prompt_tokens"] = float(np.median(prompts))
    if tokens:
        found["median_output_tokens"] = float(np.median(tokens))
    return found
