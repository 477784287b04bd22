"""How far a run is: segments, one line, time left. Pure functions of a timeline.

The estimate uses only what this run has shown (its own gaps and first tokens). Before the
first decoded tokens there is none, and none is invented.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QCoreApplication

from profiler import events as ev
from profiler.config import RunConfig
from profiler.timeline import Request, Run
from profiler.units import GB, NS_PER_S, format_number

LOAD_WEIGHT = 0.5
"""Width of the first segment (load and reference) against that of one request."""
MIN_STEPS = 4
"""Arrivals of a request before its gaps tell anything about the time left."""


@dataclass(frozen=True)
class Segment:
    """One stage: `weight` its share of the bar's width (relative), `done` 0..1 of it."""

    weight: float
    done: float


@dataclass(frozen=True)
class RunProgress:
    """What the run box shows. `left_s` None: not known yet."""

    segments: tuple[Segment, ...] = ()
    title: str = ""
    detail: str = ""
    left_s: float | None = None
    elapsed_s: float = 0.0


def run_progress(
    config: RunConfig, run: Run | None, stage: ev.Progress | None, started_ns: int, now_ns: int
) -> RunProgress:
    """Progress of the run that `config` asked for.

    `stage` is the newest Progress event, `run` None before the run began (loading).
    """
    requests = [] if run is None else run.requests
    segments = [Segment(LOAD_WEIGHT, 1.0 if requests else _load_share(stage))]
    for index in range(config.total_requests):
        segments.append(Segment(1.0, _share(requests[index]) if index < len(requests) else 0.0))
    current = requests[-1] if requests else None
    title, detail = (
        _loading_words(stage) if current is None else _request_words(config, requests, current, stage)
    )
    return RunProgress(
        segments=tuple(segments),
        title=title,
        detail=detail,
        left_s=_left_s(config, requests, now_ns),
        elapsed_s=max(now_ns - started_ns, 0) / NS_PER_S,
    )


def own_cost_progress(budget_s: float, since_ns: int, started_ns: int, now_ns: int) -> RunProgress:
    """Progress of a measurement of our own cost: it takes `budget_s` from `since_ns` at most."""
    tr = QCoreApplication.translate
    spent_s = max(now_ns - since_ns, 0) / NS_PER_S
    return RunProgress(
        segments=(Segment(LOAD_WEIGHT, 1.0), Segment(3.0, min(spent_s / budget_s, 1.0))),
        title=tr("Progress", "Measuring own cost"),
        detail=tr("Progress", "with and without the window"),
        left_s=max(budget_s - spent_s, 0.0),
        elapsed_s=max(now_ns - started_ns, 0) / NS_PER_S,
    )


def produced_tokens(request: Request) -> int:
    """Tokens that arrived so far (arrivals of unknown size count as one)."""
    k = request.k
    return int(np.where(k < 0, 1, k).sum()) if len(k) else 0


def _share(request: Request) -> float:
    if request.end_ns is not None:
        return 1.0
    if not request.max_new_tokens:
        return 0.0
    return min(produced_tokens(request) / request.max_new_tokens, 1.0)


def _load_share(stage: ev.Progress | None) -> float:
    if stage is None or not stage.total:
        return 0.0
    share = min(max(stage.done / stage.total, 0.0), 1.0)
    # Loading fills the first half, measuring the reference the second.
    return 0.5 + share / 2 if stage.stage == "reference" else share / 2


def _loading_words(stage: ev.Progress | None) -> tuple[str, str]:
    tr = QCoreApplication.translate
    if stage is None:
        return tr("Progress", "Starting"), ""
    if stage.stage == "reference":
        return tr("Progress", "Measuring the memory's speed"), stage.text
    if stage.total and stage.unit in ("B", "bytes"):
        done, total = format_number(stage.done / GB, 2), format_number(stage.total / GB, 2)
        return tr("Progress", "Loading model, {0} of {1} GB").format(done, total), stage.text
    return tr("Progress", "Loading model"), stage.text


def _request_words(
    config: RunConfig, requests: list[Request], current: Request, stage: ev.Progress | None
) -> tuple[str, str]:
    tr = QCoreApplication.translate
    warmups = sum(1 for request in requests if request.warmup)
    tokens = produced_tokens(current)
    if current.warmup:
        title = tr("Progress", "Warm-up {0} of {1}").format(warmups, config.warmup)
    elif tokens == 0 and current.end_ns is None:
        title = tr("Progress", "Prefill, repeat {0} of {1}").format(len(requests) - warmups, config.repeats)
    else:
        title = tr("Progress", "Decoding repeat {0} of {1}").format(len(requests) - warmups, config.repeats)
    wanted = current.max_new_tokens or config.output_tokens
    return title, tr("Progress", "{0}/{1} tokens").format(tokens, wanted)


def _left_s(config: RunConfig, requests: list[Request], now_ns: int) -> float | None:
    sample = next((request for request in reversed(requests) if len(request) >= MIN_STEPS), None)
    if sample is None:
        return None
    t_ns = sample.t_ns
    tokens = max(produced_tokens(sample) - 1, 1)
    per_token_ns = float(t_ns[-1] - t_ns[0]) / tokens
    first_ns = float(t_ns[0] - sample.t0_ns)
    whole_ns = first_ns + per_token_ns * (config.output_tokens - 1)
    left_ns = whole_ns * max(config.total_requests - len(requests), 0)
    current = requests[-1]
    if current.end_ns is None:
        produced = produced_tokens(current)
        if produced:
            left_ns += per_token_ns * max(config.output_tokens - produced, 0)
        else:
            left_ns += max(whole_ns - (now_ns - current.t0_ns), 0.0)
    return left_ns / NS_PER_S
