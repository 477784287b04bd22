"""From a timeline to what charts take: pure functions, one a chart.

What belongs to a request that has ended is computed once (`Cache`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from app.charts.token_latency import TokenSeries, TrendLine
from profiler.analysis.bandwidth import bytes_model_from_facts, reference_from_facts, step_mbu
from profiler.analysis.steps import StepView, step_view
from profiler.timeline import Request, Run
from profiler.units import format_number

Floats = npt.NDArray[np.float64]


@dataclass
class Cache:
    """Step views by request, kept while a request has not grown. One per shown timeline."""

    views: dict[int, tuple[int, StepView]] = field(default_factory=dict)

    def view(self, request: Request) -> StepView:
        """The request's steps with their gaps."""
        count = len(request)
        known = self.views.get(request.no)
        if known is None or known[0] != count:
            known = self.views[request.no] = (count, step_view(request))
        return known[1]


def request_label(run: Run, request: Request) -> str:
    """`Repeat 2`, `Warm-up 1`, or the label that the recording gave."""
    if request.label:
        return request.label
    same = [other for other in run.requests if other.warmup == request.warmup]
    number = same.index(request) + 1 if request in same else 1
    return f"{'Warm-up' if request.warmup else 'Repeat'} {number}"


def token_series(run: Run, cache: Cache) -> list[TokenSeries]:
    """Gaps of every request that has any, in the order of the run."""
    return [
        TokenSeries(request_label(run, request), cache.view(request).gaps_ms, request.warmup)
        for request in run.requests
        if len(cache.view(request).gaps_ms)
    ]


def running_index(run: Run, cache: Cache) -> int | None:
    """Which of `token_series` is live; None when none is."""
    shown = [request for request in run.requests if len(cache.view(request).gaps_ms)]
    if run.status == "running" and shown and shown[-1].end_ns is None:
        return len(shown) - 1
    return None


def output_length(run: Run, config_tokens: int | None) -> int:
    """Tokens of the x axis: what was asked for, else what came."""
    asked = [request.max_new_tokens for request in run.requests if request.max_new_tokens]
    return max([*asked, config_tokens or 1])


def prompt_length(run: Run) -> int | None:
    """Prompt tokens, when all requests have the same number."""
    lengths = {request.prompt_tokens for request in run.requests}
    return lengths.pop() if len(lengths) == 1 else None


def floor_curve(run: Run, tokens: int) -> Floats | None:
    """Physical limit of the gap at each output token from token 1, ms; None where there is none."""
    model, _ = bytes_model_from_facts(run.facts.get("footprint"))
    reference = reference_from_facts(run.facts.get("reference"))
    prompt = prompt_length(run)
    if model is None or reference.gb_s is None or prompt is None:
        return None
    if reference.llc_bytes is not None and model.weight_bytes_per_step < 2 * reference.llc_bytes:
        return None
    return model.floor_ms(prompt + np.arange(1, tokens + 1), reference.gb_s)


def trend_line(run: Run, metrics: dict[str, Any] | None, tokens: int) -> TrendLine | None:
    """The run's trend over the output tokens; None unless it is told from zero."""
    trend = (metrics or {}).get("trend") or {}
    slope, intercept, prompt = trend.get("slope_us_per_token"), trend.get("intercept_ms"), prompt_length(run)
    if not trend.get("identifiable") or slope is None or intercept is None or prompt is None:
        return None
    low, high = 2, max(tokens, 3)
    at = [intercept + slope / 1000 * (prompt + token) for token in (low, high)]
    sign = "+" if slope > 0 else ""
    interval = ""
    bounds = trend.get("slope_ci95_us_per_token")
    if isinstance(bounds, list) and len(bounds) == 2 and None not in bounds:
        interval = f"95 % CI {format_number(bounds[0], 2)} to {format_number(bounds[1], 2)}"
    return TrendLine(low, at[0], high, at[1], f"{sign}{format_number(slope, 2)} µs per token", interval)


def mbu_of(run: Run, request: Request, cache: Cache) -> Floats | None:
    """Utilisation of each gap in per cent; None where model or memory are not known."""
    model, _ = bytes_model_from_facts(run.facts.get("footprint"))
    reference = reference_from_facts(run.facts.get("reference"))
    if model is None or reference.gb_s is None:
        return None
    view = cache.view(request)
    if not len(view.gaps_ms):
        return None
    return 100.0 * step_mbu(view.gaps_ms, view.gap_kv_len, model, reference.gb_s)
