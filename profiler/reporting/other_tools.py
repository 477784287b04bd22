"""As other tools would report it: the same events under other definitions, to reconcile numbers.

The definitions stand in `other_definitions`. Nothing here replaces a number of the report: it is
shown on request, beside ours. Thread: any; pure functions of what was recorded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from profiler.analysis.latency import request_metrics
from profiler.analysis.run import run_metrics
from profiler.analysis.steps import step_view
from profiler.errors import UsageError
from profiler.reporting.other_definitions import TOOLS, Figure, Tool
from profiler.reporting.other_values import Answer, FloatArray, Missing
from profiler.timeline import Run, Timeline

SCHEMA = "decodescope.report-as/1"
PERCENTILES = (50, 90, 95, 99)


def find_tool(name: str) -> Tool:
    """The tool of that name (any case); UsageError with the names there are."""
    tool = TOOLS.get(name.strip().lower())
    if tool is None:
        raise UsageError(f"No other tool is known as {name!r}; choose one of {', '.join(TOOLS)}.", field="as")
    return tool


def definitions_elsewhere(metric: str) -> list[tuple[Tool, Figure]]:
    """What other tools have near to our metric (a key of the report), or call alike; in order of TOOLS."""
    return [
        (tool, figure)
        for tool in TOOLS.values()
        for figure in tool.figures
        if metric == figure.ours or metric in figure.also
    ]


def report_as(
    timeline: Timeline, name: str, *, session_name: str = "", path: str | None = None
) -> dict[str, Any]:
    """The whole session as the tool `name` would report it, strict JSON. UsageError: unknown tool.

    `schema, session {name, path}, tool {name, label, source, notes[]}, runs[]`, see `run_as`.
    """
    tool = find_tool(name)
    result = {
        "schema": SCHEMA,
        "session": {"name": session_name, "path": None if path is None else str(path)},
        "tool": {"name": tool.name, "label": tool.label, "source": tool.source, "notes": list(tool.notes)},
        "runs": [run_as(timeline, run, tool) for _, run in sorted(timeline.runs.items())],
    }
    json.dumps(result, allow_nan=False)  # a value that is no JSON is a bug of ours: ValueError
    return result


def run_as(timeline: Timeline, run: Run, tool: Tool, ours: dict[str, Any] | None = None) -> dict[str, Any]:
    """One run: `id, name, model, status, requests {counted, left_out, warmup}, figures {name: ...}, notes[]`.

    A figure is `{label, unit, formula, ours, differs, value, statistics, reason}`. `value` is the
    mean (or the one number of the run) and None with a `reason` where there is none; `statistics`
    is `{n, mean, min, p50, p90, p95, p99, max}`, None where the tool shows one number only. The
    standard deviation is left out, since the tools disagree about n or n - 1. `ours` is
    `{metric, value}`: our own mean of the metric that is nearest, or None. Warm-ups and all
    requests that did not end well are left out, as the tools do. `ours`: what `run_metrics` said of
    this finished run, where the caller has it already (its intervals take the longest).
    """
    if ours is None:
        ours = run_metrics(timeline, run)
    answers = _answers(run)
    measured = len(run.measured)
    notes = []
    if tool.counts_empty_chunks and ours["empty_events"]:
        notes.append(
            f"{tool.label} counts chunks without text, too: its TTFT may end at such a chunk. "
            f"{ours['empty_events']} empty events were recorded and left out here."
        )
    return {
        "id": run.no,
        "name": run.name,
        "model": run.model,
        "status": run.status,
        "requests": {
            "counted": len(answers),
            "left_out": measured - len(answers),
            "warmup": len(run.requests) - measured,
        },
        "figures": {figure.name: _figure(figure, tool, answers, ours) for figure in tool.figures},
        "notes": notes,
    }


def _answers(run: Run) -> list[Answer]:
    usage = run.facts.get("usage")
    told = usage if isinstance(usage, dict) else {}
    answers = []
    for request in run.measured:
        tokens = told.get(request.id)
        view = step_view(request)
        known = isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0
        metrics = request_metrics(request, usage_tokens=tokens if known else None, view=view)
        if metrics.status == "ok":
            answers.append(Answer(request, metrics, view))
    return answers


def _figure(figure: Figure, tool: Tool, answers: Sequence[Answer], ours: dict[str, Any]) -> dict[str, Any]:
    value: float | None
    statistics = None
    if figure.each is None:
        assert figure.ours is not None  # a figure of the run is one of ours
        value = ours["metrics"][figure.ours]
        reason = None if value is not None else ours["metrics"]["reasons"][figure.ours]
    else:
        values, weights, reason = _values(figure, answers)
        statistics = _statistics(values, weights, tool.stepped)
        value = statistics["mean"]
        if figure.only_mean:
            statistics = None
    return {
        "label": figure.label,
        "unit": figure.unit,
        "formula": figure.formula,
        "ours": None if figure.ours is None else {"metric": figure.ours, "value": _our(figure.ours, ours)},
        "differs": figure.differs,
        "value": value,
        "statistics": statistics,
        "reason": reason,
    }


def _values(figure: Figure, answers: Sequence[Answer]) -> tuple[FloatArray, FloatArray, str | None]:
    """Values and their weights over all requests; without any, the commonest reason."""
    assert figure.each is not None
    values: list[FloatArray] = []
    weights: list[FloatArray] = []
    reasons: Counter[str] = Counter()
    for answer in answers:
        given = figure.each(answer)
        if isinstance(given, Missing):
            reasons[given.reason] += 1
            continue
        column = np.atleast_1d(np.asarray(given, np.float64))
        values.append(column)
        weights.append(np.full(len(column), 1.0 if figure.weight is None else figure.weight(answer)))
    if not values:
        reason = reasons.most_common(1)[0][0] if reasons else "no request counts"
        return np.empty(0), np.empty(0), reason
    return np.concatenate(values), np.concatenate(weights), None


def _statistics(values: FloatArray, weights: FloatArray, stepped: bool) -> dict[str, Any]:
    names = ("mean", "min", *(f"p{p}" for p in PERCENTILES), "max")
    if len(values) == 0:
        return {"n": 0, **dict.fromkeys(names)}
    if stepped:
        percentiles = [stepped_percentile(values, weights, p) for p in PERCENTILES]
    else:
        percentiles = [float(value) for value in np.percentile(values, PERCENTILES)]
    mean = float(np.average(values, weights=weights))
    numbers = (mean, float(values.min()), *percentiles, float(values.max()))
    return {"n": len(values), **dict(zip(names, numbers, strict=True))}


def stepped_percentile(values: FloatArray, weights: FloatArray, percent: float) -> float:
    """The smallest value at which the values up to it hold `percent` of all weight. Weights > 0."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order])
    at = int(np.searchsorted(upto, percent / 100 * upto[-1], side="left"))
    return float(values[order[min(at, len(values) - 1)]])


def _our(metric: str, ours: dict[str, Any]) -> float | None:
    """Our own mean (or number) of a metric, also of one that the report gives by request only."""
    if metric not in ours["metrics"]:
        rows = [row[metric] for row in ours["per_request"] if not row["warmup"]]
        known = [float(value) for value in rows if value is not None]
        return sum(known) / len(known) if known else None
    value: Any = ours["metrics"][metric]
    number: float | None = value["mean"] if isinstance(value, dict) else value
    return number
