"""From session files to what the Compare page shows: functions for the thread beside the window.

Nothing here touches a widget. Opening a file, its curves, and the judgement on a pair are one
job each, so that what is ready shows early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from app.charts.compare_style import Floats, rolling_quantiles
from app.pages.chart_data import Cache, mbu_of
from profiler.analysis.latency import request_metrics
from profiler.analysis.manifest import manifest
from profiler.errors import SessionError
from profiler.reporting.comparison_sides import Recording
from profiler.timeline import Request, Run, Timeline
from profiler.units import NS_PER_MS, NS_PER_S

MIN_REQUESTS = 5
"""Fewer ok requests than this give no verdict (MEASUREMENT, section 7)."""


@dataclass(frozen=True, eq=False)
class LoadedSession:
    """A session file, read whole. `created` is ISO 8601 or None."""

    path: Path
    name: str
    created: str | None
    timeline: Timeline

    @property
    def runs(self) -> list[Run]:
        """Its runs in order."""
        return [run for _, run in sorted(self.timeline.runs.items())]

    def recording(self, run: Run) -> Recording:
        """One of its runs, as a comparison takes it."""
        return Recording(run, self.timeline, self.created)

    def run_label(self, number: int) -> str:
        """`2: long prompt`: what a choice of runs says."""
        run = self.timeline.runs[number]
        return f"{number}: {run.name or run.model or 'run'}"


@dataclass(frozen=True, eq=False)
class Curve:
    """Rolling p10, p50, p90 of a value at `x`."""

    x: Floats
    p10: Floats
    p50: Floats
    p90: Floats


@dataclass(frozen=True, eq=False)
class RunCurves:
    """What the charts need of one run. Times in ms, the x of `..._by_time` in s.

    `requests`: how many ok, measured requests it is made of. `stages_ms`: median time of each
    stage before the first token. `mbu_reason`: why there is no bandwidth. `settings`: the
    flat manifest.
    """

    requests: int
    tokens: int
    itl_by_token: Curve | None
    itl_by_time: Curve | None
    mbu_by_token: Curve | None
    mbu_by_time: Curve | None
    mbu_reason: str | None
    sorted_gaps_ms: Floats
    ttft_ms: float | None
    stages_ms: tuple[tuple[str, float], ...]
    settings: dict[str, Any] = field(default_factory=dict)


def load_session(path: Path) -> LoadedSession:
    """Read a session with the steps of all requests. SessionError with one sentence."""
    from profiler.session.reader import SessionReader

    with SessionReader.open(path) as reader:
        timeline = reader.timeline()
        timeline.read_all()
        name, created = reader.name, reader.created
    if not timeline.runs:
        raise SessionError(f"{path} holds no run; choose a session in which something was measured.")
    return LoadedSession(path, name, created, timeline)


def run_curves(run: Run) -> RunCurves:
    """All curves of a run. Cost: some ms for 10,000 tokens."""
    cache = Cache()
    counted = []
    for request in run.measured:
        view = cache.view(request)
        metrics = request_metrics(request, view=view)
        if metrics.status == "ok":
            counted.append((request, view, metrics))
    gaps = [view.gaps_ms for _, view, _ in counted]
    tokens = [_token_numbers(view.k) for _, view, _ in counted]
    times = [np.cumsum(view.gaps_ms) * NS_PER_MS / NS_PER_S for _, view, _ in counted]
    mbu = [mbu_of(run, request, cache) for request, _, _ in counted]
    told = [values for values in mbu if values is not None]
    complete = len(told) == len(counted) and bool(counted)
    ttft = [metrics.ttft_ms for _, _, metrics in counted if metrics.ttft_ms is not None]
    pool = np.sort(np.concatenate(gaps)) if gaps else np.empty(0)
    return RunCurves(
        requests=len(counted),
        tokens=len(pool),
        itl_by_token=_curve(tokens, gaps),
        itl_by_time=_curve(times, gaps),
        mbu_by_token=_curve(tokens, told) if complete else None,
        mbu_by_time=_curve(times, told) if complete else None,
        mbu_reason=None if complete else _mbu_reason(run),
        sorted_gaps_ms=pool,
        ttft_ms=float(np.median(ttft)) if ttft else None,
        stages_ms=_stages([request for request, _, metrics in counted if metrics.ttft_ms is not None]),
        settings=manifest(run),
    )


def _token_numbers(k: np.ndarray[Any, Any]) -> Floats:
    """The output token that each gap ends with; steps where the tokens were not told."""
    counts = np.where(k > 0, k, 1)
    return np.asarray(np.cumsum(counts)[1:], np.float64)


def _curve(xs: list[Floats], ys: list[Floats]) -> Curve | None:
    kept = [(x, y) for x, y in zip(xs, ys, strict=True) if len(y)]
    if not kept:
        return None
    x = np.concatenate([part for part, _ in kept])
    y = np.concatenate([part for _, part in kept])
    longest = float(x.max())
    if longest <= 0:
        return None
    middles, p10, p50, p90 = rolling_quantiles(x, y, longest, blocks=int(min(96, max(len(kept[0][0]), 1))))
    return Curve(middles, p10, p50, p90) if len(middles) else None


def _mbu_reason(run: Run) -> str:
    from profiler.analysis.bandwidth import bytes_model_from_facts, reference_from_facts

    _, no_model = bytes_model_from_facts(run.facts.get("footprint"))
    return no_model or reference_from_facts(run.facts.get("reference")).reason or "no step could be used"


def _stages(requests: list[Request]) -> tuple[tuple[str, float], ...]:
    """Median length of each stage that ends before (or 1 ms after) the first token, in order."""
    found: dict[str, list[float]] = {}
    for request in requests:
        arrived = np.flatnonzero(request.k)
        first_ns = int(request.t_ns[arrived[0]])
        each: dict[str, float] = {}
        for span in request.spans:
            if span.end_ns <= first_ns + NS_PER_MS:
                each[span.name] = each.get(span.name, 0.0) + (span.end_ns - span.t_ns) / NS_PER_MS
        for name, value in each.items():
            found.setdefault(name, []).append(value)
    return tuple((name, float(np.median(values))) for name, values in found.items())


@dataclass(frozen=True, eq=False)
class Pair:
    """The judgement on B against A: what `dscope compare --json` says, and the quantiles' curve.

    `quantiles`: q, difference, low, high (ms), None where the gaps do not give it.
    """

    values: dict[str, Any]
    quantiles: tuple[Floats, Floats, Floats, Floats] | None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One a metric."""
        rows: list[dict[str, Any]] = self.values["rows"]
        return rows

    @property
    def differences(self) -> list[dict[str, Any]]:
        """What differs between the manifests, important first."""
        found: list[dict[str, Any]] = self.values["environment_differences"]
        return found


Compare = Callable[[Recording, Recording, dict[str, float] | None], Pair]
"""Judges a run against a baseline, inside a noise floor by metric. Runs beside the window."""


def ok_gaps(run: Run) -> list[Floats]:
    """The gaps of each ok, measured request, ms."""
    cache = Cache()
    return [
        cache.view(request).gaps_ms
        for request in run.measured
        if request_metrics(request, view=cache.view(request)).status == "ok"
    ]


def compare_pair(a: Recording, b: Recording, floor: dict[str, float] | None) -> Pair:
    """The judgement on two runs by the engine's own functions: as `dscope compare` has it."""
    from profiler.analysis.comparison_curves import quantile_differences
    from profiler.reporting.comparison import compare_runs

    values = compare_runs(a, b, noise_floor=floor)
    gaps_a, gaps_b = ok_gaps(a.run), ok_gaps(b.run)
    found = quantile_differences(gaps_a, gaps_b) if min(len(gaps_a), len(gaps_b)) else None
    return Pair(values, found)
