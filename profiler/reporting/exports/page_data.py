"""What the page draws: figures of plotly as plain JSON, made from a timeline."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from profiler.analysis.bandwidth import bytes_model_from_facts, reference_from_facts, step_mbu
from profiler.analysis.comparison_curves import ecdf, itl_by_token
from profiler.analysis.steps import step_view
from profiler.timeline import Request, Run, Timeline
from profiler.units import NS_PER_MS, NS_PER_S

FloatArray = npt.NDArray[np.float64]

MAX_POINTS = 20_000
"""Dots of all requests together; beyond that each bucket keeps its lowest and its highest."""
MAX_TELEMETRY = 8
SHOWN_METRICS = (
    "gpu_busy_pct",
    "memory_busy_pct",
    "power_w",
    "sm_clock_mhz",
    "temperature_c",
    "memory_used_bytes",
    "cpu_busy_pct",
    "cpu_freq_mhz",
    "cpu_pressure_pct",
    "rss_bytes",
)


def figures(timeline: Timeline, run: Run) -> list[dict[str, Any]]:
    """`{title, note, data, layout}` for each chart that has something to show."""
    made = [_itl(run), _first_token(run), _bandwidth(run), _distribution(run)]
    made += _telemetry(timeline, run)
    return [figure for figure in made if figure is not None]


def thin(x: FloatArray, y: FloatArray, points: int) -> tuple[FloatArray, FloatArray]:
    """At most about `points` points: of each bucket the lowest and the highest, so that spikes stay."""
    if len(x) <= points:
        return x, y
    size = math.ceil(2 * len(x) / points)
    whole = len(x) // size * size
    blocks = y[:whole].reshape(-1, size)
    base = np.arange(0, whole, size)
    at = np.concatenate(
        [base + blocks.argmin(axis=1), base + blocks.argmax(axis=1), np.arange(whole, len(x))]
    )
    at = np.unique(at)
    return x[at], y[at]


def _itl(run: Run) -> dict[str, Any] | None:
    numbered = [(number, request, step_view(request)) for number, request in _numbered(run)]
    series = [(number, request, view) for number, request, view in numbered if len(view.gaps_ms)]
    if not series:
        return None
    total = sum(len(view.gaps_ms) for _, _, view in series)
    data: list[dict[str, Any]] = []
    for number, request, view in series:
        share = max(int(MAX_POINTS * len(view.gaps_ms) / total), 50)
        x, y = thin(np.arange(2, len(view.gaps_ms) + 2, dtype=float), view.gaps_ms, share)
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": _label(number, request),
                "x": _list(x),
                "y": _list(y),
                "marker": {"size": 4},
                "opacity": 0.35 if request.warmup else 0.7,
                "visible": "legendonly" if request.warmup and len(series) > 1 else True,
                "hovertemplate": "token %{x}: %{y:.4g} ms<extra></extra>",
            }
        )
    measured = [view.gaps_ms for _, request, view in series if not request.warmup]
    curve = itl_by_token(measured or [view.gaps_ms for _, _, view in series])
    x, y = thin(curve.tokens, curve.p50, 2000)
    data.append(_line("rolling median", x, y, role="text", width=1.5))
    floor = _floor(run, len(curve.tokens))
    if floor is not None:
        x, y = thin(curve.tokens, floor, 500)
        data.append(_line("physical limit", x, y, role="green", dash="dashdot"))
    note = (
        ""
        if total <= MAX_POINTS
        else f"{total:,} tokens; of neighbours the lowest and the highest are drawn."
    )
    return _figure("Inter-token latency", "Output token", "ITL (ms)", data, note)


def _floor(run: Run, tokens: int) -> FloatArray | None:
    model, _ = bytes_model_from_facts(run.facts.get("footprint"))
    reference = reference_from_facts(run.facts.get("reference"))
    prompts = {request.prompt_tokens for request in run.requests}
    prompt = prompts.pop() if len(prompts) == 1 else None
    if model is None or reference.gb_s is None or prompt is None:
        return None
    if reference.llc_bytes is not None and model.weight_bytes_per_step < 2 * reference.llc_bytes:
        return None
    return np.asarray(model.floor_ms(prompt + np.arange(2, tokens + 2), reference.gb_s), np.float64)


def _first_token(run: Run) -> dict[str, Any] | None:
    rows: list[tuple[str, dict[str, float]]] = []
    for number, request in _numbered(run):
        if not len(request):
            continue
        first_ns = int(request.t_ns[0])
        parts: dict[str, float] = {}
        for span in sorted(request.spans, key=lambda span: span.t_ns):
            if span.end_ns <= first_ns + NS_PER_MS:
                parts[span.name] = parts.get(span.name, 0.0) + (span.end_ns - span.t_ns) / NS_PER_MS
        rest = (first_ns - request.t0_ns) / NS_PER_MS - sum(parts.values())
        if rest > 0.001 or not parts:
            parts["not told apart" if parts else "first token"] = max(rest, 0.0)
        rows.append((_label(number, request), parts))
    if not rows:
        return None
    # Every row has its stages in the order of time.
    names = list(dict.fromkeys(name for _, parts in rows for name in parts))
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": _plain(name),
            "y": [label for label, _ in rows],
            "x": [parts.get(name, 0.0) for _, parts in rows],
            "hovertemplate": "%{y}: %{x:.4g} ms<extra>" + _plain(name).replace("%{", "% {") + "</extra>",
        }
        for name in names
    ]
    figure = _figure("Time to first token", "ms", "", data)
    figure["layout"] |= {"barmode": "stack"}
    figure["layout"]["yaxis"] |= {"autorange": "reversed", "type": "category"}
    return figure


def _bandwidth(run: Run) -> dict[str, Any] | None:
    model, _ = bytes_model_from_facts(run.facts.get("footprint"))
    reference = reference_from_facts(run.facts.get("reference"))
    if model is None or reference.gb_s is None:
        return None
    data = []
    for number, request in _numbered(run):
        view = step_view(request)
        if request.warmup or not len(view.gaps_ms):
            continue
        mbu = 100 * step_mbu(view.gaps_ms * NS_PER_MS, view.gap_kv_len, model, reference.gb_s)
        good = np.isfinite(mbu)
        x, y = thin(np.arange(2, len(mbu) + 2, dtype=float)[good], mbu[good], 2000)
        data.append(_line(_label(number, request), x, y))
    if not data:
        return None
    note = f"100 % is {reference.gb_s:.4g} GB/s ({reference.source or 'source not told'})."
    return _figure("Memory bandwidth, model-based", "Output token", "MBU (%)", data, note)


def _distribution(run: Run) -> dict[str, Any] | None:
    gaps = [view.gaps_ms for view in map(step_view, run.measured) if len(view.gaps_ms)]
    if not gaps:
        return None
    x, share = ecdf(np.concatenate(gaps))
    data = [_line("gaps of the measured requests", x, 100 * share)]
    return _figure("Distribution of ITL", "ITL (ms)", "Tokens at or below (%)", data)


def _telemetry(timeline: Timeline, run: Run) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for source, columns in sorted(timeline.samples.items()):
        for metric in SHOWN_METRICS:
            values = columns.values(metric)
            good = np.isfinite(values)
            if not good.any() or len(made) >= MAX_TELEMETRY:
                continue
            seconds = (columns.t_ns - run.t_ns) / NS_PER_S
            x, y = thin(seconds[good], values[good], 1000)
            figure = _figure(f"{source}: {metric}", "s", metric, [_line(metric, x, y)])
            figure["small"] = True
            made.append(figure)
    return made


def _line(
    name: str, x: FloatArray, y: FloatArray, role: str | None = None, dash: str = "solid", width: float = 1.2
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": _list(x),
        "y": _list(y),
        "line": {"width": width, "dash": dash},
        "role": role,
    }


def _figure(title: str, x: str, y: str, data: list[dict[str, Any]], note: str = "") -> dict[str, Any]:
    layout: dict[str, Any] = {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}}
    return {"title": title, "note": note, "data": data, "layout": layout, "small": False}


def _numbered(run: Run) -> list[tuple[int, Request]]:
    """The requests with their numbers in the run: the same as in the page's table."""
    return list(enumerate(run.requests, start=1))


def _label(number: int, request: Request) -> str:
    """Number and label: two requests of one label stay two."""
    return _plain(f"{number} · {request.label or request.id}")


def _plain(text: str) -> str:
    """plotly draws some HTML in its texts (links too); names from outside must stay text."""
    return text.replace("<", "‹").replace(">", "›")


def _list(values: FloatArray) -> list[float]:
    return [float(f"{value:.6g}") for value in values.tolist()]
