"""From a timeline to what charts take: pure functions, one a chart.

What belongs to a request that has ended is computed once (`Cache`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QCoreApplication

from app.charts.bandwidth_marks import BandwidthSeries, BusyWindow
from app.charts.columns import BlockStats
from app.charts.first_token_bars import FirstTokenBar, Status
from app.charts.spike_lane import Spike
from app.charts.token_latency import block_stats
from app.charts.token_layers import TokenSeries
from app.charts.token_marks import TrendLine
from app.pages.gpm_data import gpm_lens
from app.pages.spike_data import find_spikes
from app.run_facts import config_of
from profiler.analysis.bandwidth import bytes_model_from_facts, reference_from_facts, step_mbu
from profiler.analysis.busy_windows import NEEDS_GPU, busy_windows, window_ns
from profiler.analysis.energy import described_gpu
from profiler.analysis.steps import StepView, step_view
from profiler.config import RunConfig
from profiler.timeline import Request, Run, Timeline
from profiler.units import NS_PER_MS, NS_PER_S, format_number

tr = QCoreApplication.translate
US_PER_MS = 1000

Floats = npt.NDArray[np.float64]


@dataclass
class Cache:
    """Step views by request, kept while a request has not grown. One per shown timeline."""

    views: dict[int, tuple[int, StepView]] = field(default_factory=dict)
    spikes: dict[int, tuple[Spike, ...]] = field(default_factory=dict)
    mbu: dict[int, tuple[tuple[object, ...], Floats]] = field(default_factory=dict)
    stats: BlockStats | None = None
    """Band and median of all requests, where they were computed before the first drawing."""
    pooled: tuple[tuple[int, ...], tuple[Spike, ...]] = ((), ())

    def view(self, request: Request) -> StepView:
        """The request's steps with their gaps."""
        count = len(request)
        known = self.views.get(request.no)
        if known is None or known[0] != count:
            known = self.views[request.no] = (count, step_view(request))
        return known[1]


def filled_cache(timeline: Timeline, run: Run) -> Cache:
    """A cache with everything that the charts of a run that has ended will ask for. Thread: any."""
    cache = Cache()
    for request in run.requests:
        cache.view(request)
        mbu_of(run, request, cache)
    shown_spikes(timeline, run, cache)
    config = config_of(run)
    tokens = output_length(run, config.output_tokens if config else None)
    cache.stats = block_stats(token_series(run, cache), tokens)
    return cache


def request_label(run: Run, request: Request) -> str:
    """`Repeat 2`, `Warm-up 1`, or the label that the recording gave."""
    if request.label:
        return request.label
    same = [other for other in run.requests if other.warmup == request.warmup]
    number = same.index(request) + 1 if request in same else 1
    return _numbered(request.warmup, number)


def _numbered(warmup: bool, number: int) -> str:
    words = tr("Charts", "Warm-up {0}") if warmup else tr("Charts", "Repeat {0}")
    return words.format(number)


Shows = Callable[[Request], bool]


def all_shown(_request: Request) -> bool:
    """Every request is shown."""
    return True


def shown_spikes(timeline: Timeline, run: Run, cache: Cache, shows: Shows = all_shown) -> tuple[Spike, ...]:
    """Spikes of the measured requests that have ended, and of one that is shown alone.

    The same tuple again while nothing new has ended.
    """
    chosen = [
        request
        for request in run.requests
        if (request.end_ns is not None or run.status != "running")
        and (not request.warmup if shows is all_shown else shows(request))
    ]
    key = tuple(request.no for request in chosen)
    if cache.pooled[0] != key:
        found: list[Spike] = []
        for request in chosen:
            if request.no not in cache.spikes:
                label = request_label(run, request)
                cache.spikes[request.no] = find_spikes(timeline, cache.view(request), label)
            found += cache.spikes[request.no]
        cache.pooled = (key, tuple(found))
    return cache.pooled[1]


def token_series(run: Run, cache: Cache, shows: Shows = all_shown) -> list[TokenSeries]:
    """Gaps of every request that has any, in the order of the run."""
    return [
        TokenSeries(
            request_label(run, request),
            cache.view(request).gaps_ms,
            request.warmup,
            forward_ms(request, cache.view(request)),
        )
        for request in run.requests
        if shows(request) and len(cache.view(request).gaps_ms)
    ]


def place_in_series(run: Run, cache: Cache, front: Request | None, shows: Shows = all_shown) -> int | None:
    """Which of `token_series` is the request in front; None where it has no gap."""
    shown = [request for request in run.requests if shows(request) and len(cache.view(request).gaps_ms)]
    return shown.index(front) if front in shown else None


def forward_ms(request: Request, view: StepView) -> Floats | None:
    """Time of the forward pass in each gap, ms (NaN: not known); None where it was not taken."""
    busy_us = request.busy_us
    if not len(busy_us):
        return None
    at = view.at[1:]
    known = at < len(busy_us)
    result = np.full(len(at), np.nan)
    result[known] = busy_us[at[known]] / US_PER_MS
    return result


def running_index(run: Run, cache: Cache, shows: Shows = all_shown) -> int | None:
    """Which of `token_series` is live; None when none is."""
    shown = [request for request in run.requests if shows(request) and len(cache.view(request).gaps_ms)]
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
        interval = tr("Charts", "95 % CI {0} to {1}").format(
            format_number(bounds[0], 2), format_number(bounds[1], 2)
        )
    words = sign + tr("Charts", "{0} µs per token").format(format_number(slope, 2))
    return TrendLine(low, at[0], high, at[1], words, interval)


def mbu_of(run: Run, request: Request, cache: Cache) -> Floats | None:
    """Utilisation of each gap in per cent; None where model or memory are not known."""
    footprint, told = run.facts.get("footprint"), run.facts.get("reference")
    view = cache.view(request)
    key = (len(view), id(footprint), id(told))
    known = cache.mbu.get(request.no)
    if known is not None and known[0] == key:
        return known[1]
    model, _ = bytes_model_from_facts(footprint)
    reference = reference_from_facts(told)
    if model is None or reference.gb_s is None or not len(view.gaps_ms):
        return None
    mbu = 100.0 * step_mbu(view.gaps_ms * NS_PER_MS, view.gap_kv_len, model, reference.gb_s)
    cache.mbu[request.no] = (key, mbu)
    return mbu


def first_token_bars(run: Run, config: RunConfig | None) -> list[FirstTokenBar]:
    """One bar a request, and one a request still to come while the run is on (`config`)."""
    bars = [_bar(run, request, index == 0 and _is_cold(run)) for index, request in enumerate(run.requests)]
    if config is not None:
        for index in range(len(run.requests), config.total_requests):
            warmup = index < config.warmup
            number = index + 1 if warmup else index - config.warmup + 1
            bars.append(FirstTokenBar(_numbered(warmup, number), warmup=warmup, status="waiting"))
    return bars


def _is_cold(run: Run) -> bool:
    """Is the first request of this run the first of its process? A model kept loaded is warm."""
    return any(span.name == "load" for span in run.spans) or bool(run.requests and run.requests[0].warmup)


def _bar(run: Run, request: Request, cold: bool) -> FirstTokenBar:
    view = step_view(request) if len(request) < 4 else None
    first_ns = int(view.t_ns[0]) if view is not None and len(view) else None
    if first_ns is None and len(request):
        arrived = np.flatnonzero(request.k)
        first_ns = int(request.t_ns[arrived[0]]) if len(arrived) else None
    spans = tuple(
        (span.name, (span.end_ns - span.t_ns) / NS_PER_MS)
        for span in request.spans
        if first_ns is None or span.end_ns <= first_ns + NS_PER_MS
    )
    total = None if first_ns is None else (first_ns - request.t0_ns) / NS_PER_MS
    status: Status = "done"
    if request.end_status in ("error", "cancelled") and total is None:
        status = "failed"
    elif total is None:
        status = "running" if run.status == "running" else "failed"
    return FirstTokenBar(request_label(run, request), spans, total, request.warmup, cold, status)


@dataclass(frozen=True)
class BandwidthView:
    """What `BandwidthChart.refresh` takes, by name."""

    series: list[BandwidthSeries]
    reference_gb_s: float | None
    reference_source: str
    busy: list[BusyWindow] | None
    busy_reason: str | None
    busy_window_s: float | None
    gpm: tuple[Floats, Floats] | None
    gpm_reason: str | None
    reason: str | None
    running_index: int | None
    selected: int | None = None


def bandwidth_view(
    timeline: Timeline,
    run: Run,
    cache: Cache,
    shows: Shows = all_shown,
    front: Request | None = None,
) -> BandwidthView:
    """Model-based utilisation of each request; the driver's busy time and counter of the one in
    front (`front`; None: the newest)."""
    _, no_model = bytes_model_from_facts(run.facts.get("footprint"))
    reference = reference_from_facts(run.facts.get("reference"))
    series: list[BandwidthSeries] = []
    shown: Request | None = None
    live: int | None = None
    selected: int | None = None
    for request in run.requests:
        mbu = mbu_of(run, request, cache) if shows(request) else None
        if mbu is None:
            continue
        if run.status == "running" and request.end_ns is None:
            live = len(series)
        if request is front:
            selected = len(series)
        if selected is None or request is front:
            shown = request
        tokens = np.arange(2, 2 + len(mbu), dtype=np.float64)
        series.append(BandwidthSeries(request_label(run, request), tokens, mbu, request.warmup))
    busy, busy_reason, window_s = _busy(timeline, run, shown)
    shown_view = None if shown is None else cache.view(shown)
    gpm, gpm_reason = gpm_lens(timeline, run, shown, shown_view, reference)
    reason = no_model or reference.reason if run.facts else None
    return BandwidthView(
        series,
        reference.gb_s,
        _source_words(reference.source),
        busy,
        busy_reason,
        window_s,
        gpm,
        _sentence(gpm_reason) if gpm_reason else None,
        _sentence(reason) if reason else None,
        live,
        selected,
    )


def _source_words(source: str | None) -> str:
    return tr("Charts", "measured here") if source == "measured" else source or ""


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _busy(
    timeline: Timeline, run: Run, request: Request | None
) -> tuple[list[BusyWindow] | None, str | None, float | None]:
    """The driver's memory-busy time of a request; why there is none; the counter's window, s."""
    source = next((name for name in sorted(timeline.samples) if name.startswith("gpu")), None)
    if source is None:
        return None, NEEDS_GPU, None
    window_s = window_ns(timeline.samples[source], described_gpu(timeline, source)) / NS_PER_S
    if request is None:
        return [], None, window_s
    found, reason = busy_windows(timeline, run, request)
    if reason is not None:
        return None, reason, window_s
    return [BusyWindow(*window) for window in found], None, window_s
