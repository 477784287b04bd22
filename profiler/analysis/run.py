"""The numbers of a run: every figure of the report and of the live view, by one code path.

`run_metrics` pools what `latency.request_metrics` says of each request. Live and final
numbers differ in two things only, both named in its docstring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from profiler.analysis.bandwidth import BandwidthSteps, run_mbu, slope_factor
from profiler.analysis.disturbance import DisturbedSteps, disturbance
from profiler.analysis.energy import energy
from profiler.analysis.jitter import GapFit, fit_gaps, pooled, run_jitter
from profiler.analysis.latency import ASSUMED_FIRST, SCALARS, RequestMetrics, request_metrics
from profiler.analysis.plausibility import plausibility_notes
from profiler.analysis.prompt_floor import ttft_floor
from profiler.analysis.stats import brief, distribution
from profiler.analysis.step_time import step_time
from profiler.analysis.steps import StepView, any_between, step_view
from profiler.analysis.strict import strict
from profiler.analysis.trend import run_trend
from profiler.timeline import Request, Run, Timeline
from profiler.units import NS_PER_MS, NS_PER_S

COUNTED = ("ok", "failed", "cancelled", "incomplete", "invalid")
PER_REQUEST = (
    "ttft_ms",
    "tpot_ms",
    "e2e_ms",
    "decode_tok_s",
    "output_tok_s",
    "effective_tok_s",
    "fluctuation",
)
"""Metrics whose distribution has one value a request."""
Window = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class RequestSummary:
    """All that a run needs of one request. `fit` is None where the request counts for nothing."""

    key: tuple[Any, ...]
    view: StepView
    metrics: RequestMetrics
    fit: GapFit | None
    row: dict[str, Any]


class RunSummary:
    """Keeps what is known of finished requests between two calls of `run_metrics`.

    One per run that is shown live; not needed otherwise. Thread: that of the timeline. A
    request is worked out again only when it has grown, ended, or been overlapped by a new
    interval. Memory: about 60 bytes a token.
    """

    def __init__(self) -> None:
        self._requests: dict[int, RequestSummary] = {}
        self._disturbed: dict[int, tuple[tuple[int, ...], npt.NDArray[np.bool_]]] = {}
        self._trend: tuple[tuple[Any, ...], dict[str, Any]] | None = None

    def request(self, request: Request, running: bool, usage_tokens: int | None) -> RequestSummary:
        """The request's part, kept from before where nothing has changed."""
        key = (
            len(request.busy_us),
            len(request),
            request.end_status,
            request.end_ns,
            len(request.spans),
            len(request.pieces),
            running,
            usage_tokens,
        )
        known = self._requests.get(request.no)
        if known is None or known.key != key:
            known = self._requests[request.no] = _summarise(request, key, running, usage_tokens)
        return known

    def disturbed(self, timeline: Timeline, request: Request, view: StepView) -> npt.NDArray[np.bool_]:
        """`disturbed` of each step, bool[m]. Intervals that begin after the last step cannot matter."""
        if len(view) == 0:
            return np.zeros(0, bool)
        last = int(view.t_ns[-1])
        columns = (timeline.intervals.get(kind) for kind in Timeline.DISTURBING)
        key = (len(view), *(0 if c is None else int(np.searchsorted(c.t_ns, last)) for c in columns))
        known = self._disturbed.get(request.no)
        if known is None or known[0] != key:
            known = (key, any_between(timeline.disturbed(request), view.at))
            self._disturbed[request.no] = known
        return known[1]

    def trend(self, key: tuple[Any, ...], fits: Sequence[GapFit], with_ci: bool) -> dict[str, Any]:
        """`run_trend` of the fits; `key` says which they are."""
        key = (*key, with_ci)
        if self._trend is None or self._trend[0] != key:
            value = run_trend([(fit.kv_len, fit.gaps_ms, fit.line) for fit in fits], with_ci=with_ci)
            self._trend = (key, value)
        return dict(self._trend[1])


def run_metrics(
    timeline: Timeline, run: Run, *, live: bool = False, summary: RunSummary | None = None
) -> dict[str, Any]:
    """`requests, empty_events, metrics, disturbance, per_request, notes` of the report, strict JSON,
    and `window_ns`: first t0 and last token of the measured requests (None before a token).

    `live`: a request without an end counts as running (not as incomplete) and what its steps
    say so far is pooled with the rest: ttft, gaps, tpot, decode rate; and the interval of the
    trend is left out. `summary` makes repeated calls cheap (some ms at 50,000 steps). The
    rows of `per_request` may be shared between calls: do not write into them.
    """
    summary = RunSummary() if summary is None else summary
    usage = run.facts.get("usage")
    told = usage if isinstance(usage, dict) else {}
    parts = [
        (request, summary.request(request, live and request.end_status is None, _count(told.get(request.id))))
        for request in run.requests
    ]
    measured = [(request, part) for request, part in parts if not request.warmup]
    shown = [(r, p) for r, p in measured if p.metrics.status in ("ok", "running")]
    window = measured_window(measured)
    statuses = Counter(part.metrics.status for _, part in measured)
    requests: dict[str, Any] = {status: statuses[status] for status in COUNTED}
    requests["warmup"] = len(parts) - len(measured)
    if live:
        requests["running"] = statuses["running"]
    flags = [summary.disturbed(timeline, request, part.view) for request, part in shown]
    metrics = _metrics(timeline, run, shown, window, summary, live)
    return {
        "requests": requests,
        "empty_events": sum(part.view.empty_events for _, part in measured),
        "metrics": metrics,
        "disturbance": disturbance(
            [DisturbedSteps(f, part.view.gaps_ms) for f, (_, part) in zip(flags, shown, strict=True)],
            run.facts.get("overhead", timeline.facts.get("overhead")),
        ),
        "per_request": [part.row for _, part in parts],
        "notes": [*run.notes, *_notes(measured, metrics), *plausibility_notes(timeline, run, metrics)],
        "window_ns": None if window is None else list(window),
    }


def measured_window(measured: Sequence[tuple[Request, RequestSummary]]) -> Window | None:
    """First t0 to last token of the measured requests, ns; None before the first token.

    Requests whose clock went backwards are left out.
    """
    valid = [(request, part) for request, part in measured if part.metrics.status != "invalid"]
    ends = [int(part.view.t_ns[-1]) for request, part in valid if len(part.view) and request.streamed]
    ends += [
        request.end_ns
        for request, part in valid
        if not request.streamed and request.end_ns is not None and part.metrics.status == "ok"
    ]
    if not ends:
        return None
    return min(request.t0_ns for request, _ in valid), max(ends)


def _metrics(
    timeline: Timeline,
    run: Run,
    shown: Sequence[tuple[Request, RequestSummary]],
    window: Window | None,
    summary: RunSummary,
    live: bool,
) -> dict[str, Any]:
    each = [part.metrics for _, part in shown]
    fits = [part.fit for _, part in shown if part.fit is not None]
    with_gaps = [metrics for metrics in each if len(metrics.itl_ms)]
    gaps = distribution(pooled([metrics.itl_ms for metrics in with_gaps]))
    result: dict[str, Any] = {
        "ttft_ms": _of_requests(each, "ttft_ms"),
        "itl_ms": gaps,
        "itl_per_token_ms": dict(gaps) if _one_each(shown) else _per_token(each),
        "itl_request_mean_ms": distribution(
            [float(metrics.itl_ms.mean()) for metrics in with_gaps], per_request=True
        ),
    }
    result |= {name: _of_requests(each, name) for name in PER_REQUEST if name != "ttft_ms"}
    total = sum(m.output_tokens for m in each if m.status == "ok" and m.output_tokens is not None)
    result["output_tokens"] = {"total": total}
    finished = sum(metrics.status == "ok" for metrics in each)
    wall_s = 0.0 if window is None else (window[1] - window[0]) / NS_PER_S
    result["run_tok_s"] = total / wall_s if wall_s > 0 and finished else None
    result["requests_per_s"] = finished / wall_s if wall_s > 0 and finished else None
    result["jitter"] = run_jitter(fits)
    key = tuple((request.no, part.key) for request, part in shown)
    trend = summary.trend(key, fits, with_ci=not live)
    footprint, reference = run.facts.get("footprint"), run.facts.get("reference")
    trend["slope_factor"] = slope_factor(trend["slope_us_per_token"], footprint, reference)
    result["trend"] = trend
    result["mbu"] = run_mbu(_bandwidth_steps(run, shown), footprint, reference)
    result["mbu"] |= ttft_floor(_prompts(run, shown), footprint, reference, _dtype(run))
    result["memory"] = _memory(run.facts.get("memory"))
    result["energy"] = energy(timeline, run, window, total)
    result["reasons"] = _reasons(result, each)
    return result


def _one_each(shown: Sequence[tuple[Request, RequestSummary]]) -> bool:
    """Every step brought one token: gaps and gaps a token are the same."""
    return all(bool((part.view.k[1:] == 1).all()) for _, part in shown)


def _per_token(each: Sequence[RequestMetrics]) -> dict[str, Any]:
    known = [metrics.itl_per_token_ms for metrics in each if metrics.itl_per_token_ms is not None]
    return distribution(pooled(known))


def _of_requests(each: Sequence[RequestMetrics], name: str) -> dict[str, Any]:
    values = [getattr(metrics, name) for metrics in each]
    return distribution([value for value in values if value is not None], per_request=True)


def _bandwidth_steps(run: Run, shown: Sequence[tuple[Request, RequestSummary]]) -> list[BandwidthSteps]:
    """Gaps with lengths; sequences decoded together read the weights once, so that each counts b."""
    sizes = _batch_sizes(run, shown)
    return [
        BandwidthSteps(part.view.gaps_ms, part.view.gap_kv_len, size)
        for (_, part), size in zip(shown, sizes, strict=True)
    ]


def _prompts(run: Run, shown: Sequence[tuple[Request, RequestSummary]]) -> list[tuple[int | None, int]]:
    """Prompt tokens of each request, and how many prompts were processed together with it."""
    sizes = _batch_sizes(run, shown)
    return [(request.prompt_tokens, size) for (request, _), size in zip(shown, sizes, strict=True)]


def _batch_sizes(run: Run, shown: Sequence[tuple[Request, RequestSummary]]) -> list[int]:
    sizes = Counter((r.warmup, r.batch_id) for r in run.requests)
    return [1 if r.batch_id is None else sizes[r.warmup, r.batch_id] for r, _ in shown]


def _dtype(run: Run) -> str | None:
    """What the model computes in; None where nobody said."""
    model = run.facts.get("model")
    dtype = model.get("dtype") if isinstance(model, dict) else None
    return dtype if isinstance(dtype, str) else None


def _summarise(
    request: Request, key: tuple[Any, ...], running: bool, usage_tokens: int | None
) -> RequestSummary:
    view = step_view(request)
    metrics = request_metrics(request, running=running, usage_tokens=usage_tokens, view=view)
    fit = fit_gaps(metrics.itl_ms, view.gap_kv_len) if len(metrics.itl_ms) else None
    return RequestSummary(key, view, metrics, fit, _row(request, metrics, fit))


def _row(request: Request, metrics: RequestMetrics, fit: GapFit | None) -> dict[str, Any]:
    """One entry of `per_request`."""
    spans: dict[str, float] = {}
    for span in request.spans:
        spans[span.name] = spans.get(span.name, 0.0) + (span.end_ns - span.t_ns) / NS_PER_MS
    row: dict[str, Any] = {
        "id": request.id,
        "status": metrics.status,
        "warmup": request.warmup,
        "prompt_tokens": request.prompt_tokens,
        "output_tokens": metrics.output_tokens,
        "stop_reason": request.stop_reason,
        "error": request.error,
    }
    row |= {name: getattr(metrics, name) for name in SCALARS}
    row |= {
        "empty_events": metrics.empty_events,
        "spans_ms": spans,
        "itl": brief(metrics.itl_ms),
        "itl_p99_ms": _p99(metrics.itl_ms),
        "step_time": step_time(request, metrics.itl_ms),
        "itl_trimmed_weighted_ms": metrics.itl_trimmed_weighted_ms,
        "dropped": metrics.dropped,
        "spikes": 0 if fit is None else int(fit.spikes.sum()),
        "reasons": metrics.reasons,
    }
    if request.pieces:
        row["text"] = request.text
    return row


def _p99(gaps_ms: npt.NDArray[np.float64]) -> float | None:
    """What a target for p99 of one request is held against."""
    return float(np.percentile(gaps_ms, 99)) if len(gaps_ms) else None


def _memory(fact: Any) -> dict[str, Any]:
    told = fact if isinstance(fact, dict) else {"reason": "memory was not read"}
    names = ("weights_bytes", "kv_bytes_end", "peak_bytes", "source", "reason")
    result: dict[str, Any] = strict({name: told.get(name) for name in names})
    return result


def _reasons(result: dict[str, Any], each: Sequence[RequestMetrics]) -> dict[str, str]:
    """Why a distribution is empty, by metric: the commonest reason of its requests."""
    reasons: dict[str, str] = {}
    for name in ("itl_ms", "itl_per_token_ms", "itl_request_mean_ms", *PER_REQUEST):
        if result[name]["n"] == 0:
            source = name if name in ("itl_per_token_ms", *PER_REQUEST) else "itl_ms"
            told = [m.reasons.get(source) or m.reasons.get("itl_ms") for m in each]
            counted = Counter(reason for reason in told if reason)
            reasons[name] = counted.most_common(1)[0][0] if counted else "no request counts"
    for name in ("run_tok_s", "requests_per_s"):
        if result[name] is None:
            reasons[name] = "no request counts" if not each else "no request has ended with time passed"
    return reasons


def _notes(measured: Sequence[tuple[Request, RequestSummary]], metrics: dict[str, Any]) -> list[str]:
    """Sentences that the numbers need beside them."""
    notes: list[str] = []
    each = [part.metrics for _, part in measured]
    invalid = sum(m.status == "invalid" for m in each)
    if invalid:
        notes.append(f"Left out of all statistics, since the clock went backwards: {invalid} of {len(each)}.")
    assumed = sum(m.reasons.get("tpot_ms") == ASSUMED_FIRST and m.status == "ok" for m in each)
    if assumed:
        notes.append(f"TPOT of {assumed} requests {ASSUMED_FIRST}: only the total was told.")
    mbu = metrics["mbu"]
    if mbu["run"] is not None and mbu["reason"]:
        notes.append(f"No memory floor is shown: {mbu['reason']}.")
    return notes


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
