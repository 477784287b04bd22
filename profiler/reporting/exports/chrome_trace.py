"""The Trace Event Format (JSON object form) that Perfetto and chrome://tracing open.

Requests lie in lanes, so that slices of one track never overlap; below each its stages and its
steps. Telemetry becomes counters, our own redraws and readings a process of their own. Times are
microseconds since the first moment of the session.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from profiler.analysis.steps import step_view
from profiler.reporting.exports.writing import write_text
from profiler.timeline import Request, Timeline

MODEL, TELEMETRY, OURS = 1, 2, 3
"""Process ids."""
REQUESTS, STAGES, STEPS = 1, 2, 3
"""Tracks of a lane: thread id 10 * lane + this."""
RUNS = 1
"""Thread id of the runs' own track."""


def write_chrome_trace(timeline: Timeline, path: Path, overwrite: bool = False, name: str = "") -> None:
    """Write the trace. SessionError, SessionExists."""
    write_text(path, overwrite, _pieces(timeline, name))


def _pieces(timeline: Timeline, name: str) -> Iterator[str]:
    other = {"program": "Decodescope", "session": name}
    yield f'{{"displayTimeUnit":"ms","otherData":{_dump(other)},"traceEvents":[\n'
    first = True
    for event in sorted(trace_events(timeline), key=lambda event: event.get("ts", -1.0)):
        yield ("" if first else ",\n") + _dump(event)
        first = False
    yield "\n]}\n"


def trace_events(timeline: Timeline) -> Iterator[dict[str, Any]]:
    """All events: metadata first, then slices, counters and instants."""
    zero = _first_ns(timeline)
    lanes = _lanes(timeline)
    yield from _names(timeline, max(lanes.values(), default=-1) + 1)
    for no in sorted(timeline.runs):
        run = timeline.runs[no]
        ends = [run.end_ns, *(_end_ns(request) for request in run.requests)]
        end = max((value for value in ends if value is not None), default=run.t_ns)
        args = {"model": run.model, "status": run.status}
        yield _slice(run.name or f"run {no}", "run", MODEL, RUNS, run.t_ns, end, zero, args)
        for span in run.spans:
            yield _slice(span.name, "stage", MODEL, RUNS + 1, span.t_ns, span.end_ns, zero, {})
        for request in run.requests:
            yield from _request(timeline, request, 10 * (lanes[request.no] + 1), zero)
    yield from _telemetry(timeline, zero)
    for index, (kind, columns) in enumerate(sorted(timeline.intervals.items()), 1):
        for t_ns, end_ns in zip(columns.t_ns.tolist(), columns.end_ns.tolist(), strict=True):
            yield _slice(kind, "own", OURS, index, t_ns, end_ns, zero, {})
    for failure in timeline.failures:
        yield {
            "ph": "i",
            "s": "g",
            "name": failure.message[:200],
            "cat": "failure",
            "pid": MODEL,
            "tid": RUNS,
            "ts": _us(failure.t_ns - zero),
        }


def _request(timeline: Timeline, request: Request, tid: int, zero: int) -> Iterator[dict[str, Any]]:
    end = _end_ns(request)
    args = {
        "prompt_tokens": request.prompt_tokens,
        "status": request.end_status,
        "stop_reason": request.stop_reason,
        "warmup": request.warmup,
    }
    name = request.label or request.id
    yield _slice(name, "request", MODEL, tid + REQUESTS, request.t0_ns, end, zero, args)
    for span in request.spans:
        yield _slice(span.name, "stage", MODEL, tid + STAGES, span.t_ns, span.end_ns, zero, {})
    view = step_view(request)
    if not view.in_order:
        return
    disturbed = timeline.disturbed(request)[view.at].tolist()
    pieces = request.pieces
    before, token = request.t0_ns, 0
    for index, t_ns in enumerate(view.t_ns.tolist()):
        k, kv_len = int(view.k[index]), int(view.kv_len[index])
        token += max(k, 0)
        at = int(view.at[index])
        args = {"step": index + 1, "k": k if k > 0 else None, "kv_len": kv_len if kv_len >= 0 else None}
        args["disturbed"] = disturbed[index]
        if at < len(pieces) and pieces[at]:
            args["text"] = pieces[at]
        name = f"token {token}" if index else "first token"
        yield _slice(name, "step", MODEL, tid + STEPS, before, t_ns, zero, args)
        before = t_ns


def _telemetry(timeline: Timeline, zero: int) -> Iterator[dict[str, Any]]:
    for source, columns in sorted(timeline.samples.items()):
        for metric in columns.metrics:
            name = f"{source} {metric}"
            for t_ns, value in zip(columns.t_ns.tolist(), columns.values(metric).tolist(), strict=True):
                if math.isfinite(value):
                    yield {
                        "ph": "C",
                        "name": name,
                        "cat": "telemetry",
                        "pid": TELEMETRY,
                        "tid": 0,
                        "ts": _us(t_ns - zero),
                        "args": {metric: value},
                    }


def _names(timeline: Timeline, lanes: int) -> Iterator[dict[str, Any]]:
    for pid, name in ((MODEL, "model"), (TELEMETRY, "telemetry"), (OURS, "Decodescope itself")):
        yield _meta("process_name", pid, 0, name)
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
    yield _meta("thread_name", MODEL, RUNS, "runs")
    yield _meta("thread_name", MODEL, RUNS + 1, "loading")
    for lane in range(lanes):
        suffix = f" {lane + 1}" if lanes > 1 else ""
        for track, name in ((REQUESTS, "requests"), (STAGES, "stages"), (STEPS, "tokens")):
            yield _meta("thread_name", MODEL, 10 * (lane + 1) + track, name + suffix)
    for index, kind in enumerate(sorted(timeline.intervals), 1):
        yield _meta("thread_name", OURS, index, kind)


def _lanes(timeline: Timeline) -> dict[int, int]:
    """A lane for each request, so that those of one lane do not overlap: the first that is free."""
    lanes: dict[int, int] = {}
    free_at: list[int] = []
    requests = [request for run in timeline.runs.values() for request in run.requests]
    for request in sorted(requests, key=lambda request: request.t0_ns):
        lane = next((i for i, end in enumerate(free_at) if end <= request.t0_ns), len(free_at))
        if lane == len(free_at):
            free_at.append(0)
        free_at[lane] = _end_ns(request)
        lanes[request.no] = lane
    return lanes


def _end_ns(request: Request) -> int:
    last = int(request.t_ns.max()) if len(request) else request.t0_ns
    spans = [span.end_ns for span in request.spans]
    return max([last, request.end_ns or request.t0_ns, request.t0_ns, *spans])


def _first_ns(timeline: Timeline) -> int:
    """The earliest moment that the file tells of."""
    found = [run.t_ns for run in timeline.runs.values()]
    for run in timeline.runs.values():
        found += [span.t_ns for span in run.spans]
        for request in run.requests:
            found += [request.t0_ns, *(span.t_ns for span in request.spans)]
    found += [int(columns.t_ns[0]) for columns in timeline.samples.values() if len(columns)]
    found += [int(columns.t_ns[0]) for columns in timeline.intervals.values() if len(columns)]
    found += [failure.t_ns for failure in timeline.failures]
    return min(found, default=0)


def _slice(
    name: str, category: str, pid: int, tid: int, t_ns: int, end_ns: int, zero: int, args: dict[str, Any]
) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": pid,
        "tid": tid,
        "ts": _us(t_ns - zero),
        "dur": _us(max(end_ns - t_ns, 0)),
        "args": args,
    }


def _meta(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _us(ns: int) -> float:
    return ns / 1000


def _dump(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
