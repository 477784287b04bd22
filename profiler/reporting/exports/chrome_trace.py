"""The Trace Event Format (JSON object form) that Perfetto and chrome://tracing open.

Requests lie in lanes, so that slices of one track never overlap; below each its stages and its
steps. Stages that overlap only in part get tracks of their own (see `tracks`). Telemetry becomes
counters, our own redraws and readings a process of their own. Times are microseconds since the
first moment of the session.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from profiler.analysis.steps import step_view
from profiler.reporting.exports.tracks import tracks
from profiler.reporting.exports.writing import write_text
from profiler.timeline import Request, Run, Timeline

MODEL, TELEMETRY, OURS = 1, 2, 3
"""Process ids."""


class _Threads:
    """Thread ids of the model's process in the order in which their tracks are asked for."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self._ids: dict[tuple[str, int, int], int] = {}

    def reserve(self, kind: str, lane: int, tracks: int, name: str) -> None:
        """Tracks of one kind in a lane; the first is called `name`, the others `name (2)` ..."""
        for track in range(tracks):
            tid = len(self._ids) + 1
            self._ids[kind, lane, track] = tid
            self.names[tid] = name if track == 0 else f"{name} ({track + 1})"

    def tid(self, kind: str, lane: int = 0, track: int = 0) -> int:
        """The id of a reserved track."""
        return self._ids[kind, lane, track]


def write_chrome_trace(timeline: Timeline, path: Path, overwrite: bool = False, name: str = "") -> None:
    """Write the trace. SessionError, SessionExists."""
    write_text(path, overwrite, _pieces(timeline, name))


def _pieces(timeline: Timeline, name: str) -> Iterator[str]:
    other = {"program": "Decodescope", "session": name}
    yield f'{{"displayTimeUnit":"ms","otherData":{_dump(other)},"traceEvents":[\n'
    first = True
    for event in sorted(trace_events(timeline), key=_place):
        yield ("" if first else ",\n") + _dump(event)
        first = False
    yield "\n]}\n"


def _place(event: dict[str, Any]) -> tuple[float, float]:
    """Names first, then by time; of what begins together the outer slice."""
    return event.get("ts", -1.0), -event.get("dur", 0.0)


def trace_events(timeline: Timeline) -> Iterator[dict[str, Any]]:
    """All events: metadata first, then slices, counters and instants."""
    zero = _first_ns(timeline)
    runs = [timeline.runs[no] for no in sorted(timeline.runs)]
    requests = [request for run in runs for request in run.requests]
    loading = [span for run in runs for span in run.spans]
    run_tracks = tracks([(run.t_ns, _run_end_ns(run)) for run in runs])
    loading_tracks = tracks([(span.t_ns, span.end_ns) for span in loading])
    extents = [(_start_ns(request), _end_ns(request)) for request in requests]
    lanes = tracks(extents, nesting=False)
    stage_tracks = {request.no: _stage_tracks(request) for request in requests}
    threads = _threads(requests, lanes, stage_tracks, _count(run_tracks), _count(loading_tracks))
    yield from _names(timeline, threads)
    for run, track in zip(runs, run_tracks, strict=True):
        args = {"model": run.model, "status": run.status}
        tid = threads.tid("runs", track=track)
        yield _slice(run.name or f"run {run.no}", "run", MODEL, tid, run.t_ns, _run_end_ns(run), zero, args)
    for span, track in zip(loading, loading_tracks, strict=True):
        tid = threads.tid("loading", track=track)
        yield _slice(span.name or "stage", "stage", MODEL, tid, span.t_ns, span.end_ns, zero, {})
    for request, lane in zip(requests, lanes, strict=True):
        yield from _request(timeline, request, lane, stage_tracks[request.no], threads, zero)
    yield from _telemetry(timeline, zero)
    yield from _own(timeline, zero)
    for failure in timeline.failures:
        yield {
            "ph": "i",
            "s": "g",
            "name": failure.message[:200] or "failure",
            "cat": "failure",
            "pid": MODEL,
            "tid": threads.tid("runs"),
            "ts": _us(failure.t_ns - zero),
        }


def _threads(
    requests: Sequence[Request],
    lanes: Sequence[int],
    stage_tracks: dict[int, list[int]],
    run_tracks: int,
    loading_tracks: int,
) -> _Threads:
    threads = _Threads()
    threads.reserve("runs", 0, run_tracks, "runs")
    threads.reserve("loading", 0, loading_tracks, "loading")
    count = max(lanes, default=-1) + 1
    stages = [1] * count
    for request, lane in zip(requests, lanes, strict=True):
        stages[lane] = max(stages[lane], _count(stage_tracks[request.no]))
    for lane in range(count):
        suffix = f" {lane + 1}" if count > 1 else ""
        threads.reserve("requests", lane, 1, f"requests{suffix}")
        threads.reserve("stages", lane, stages[lane], f"stages{suffix}")
        threads.reserve("tokens", lane, 1, f"tokens{suffix}")
    return threads


def _stage_tracks(request: Request) -> list[int]:
    return tracks([(span.t_ns, span.end_ns) for span in request.spans])


def _count(chosen: Sequence[int]) -> int:
    """How many tracks; one at least, so that there is always a name to hang something on."""
    return max(chosen, default=0) + 1


def _request(
    timeline: Timeline,
    request: Request,
    lane: int,
    stage_tracks: Sequence[int],
    threads: _Threads,
    zero: int,
) -> Iterator[dict[str, Any]]:
    args = {
        "prompt_tokens": request.prompt_tokens,
        "status": request.end_status,
        "stop_reason": request.stop_reason,
        "warmup": request.warmup,
    }
    name = request.label or request.id or "request"
    tid, end = threads.tid("requests", lane), _end_ns(request)
    yield _slice(name, "request", MODEL, tid, request.t0_ns, end, zero, args)
    for span, track in zip(request.spans, stage_tracks, strict=True):
        tid = threads.tid("stages", lane, track)
        yield _slice(span.name or "stage", "stage", MODEL, tid, span.t_ns, span.end_ns, zero, {})
    view = step_view(request)
    if not view.in_order:
        return
    disturbed = timeline.disturbed(request)[view.at].tolist()
    pieces = list(request.pieces)
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
        yield _slice(name, "step", MODEL, threads.tid("tokens", lane), before, t_ns, zero, args)
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


def _own(timeline: Timeline, zero: int) -> Iterator[dict[str, Any]]:
    for kind, tids in _own_tracks(timeline).items():
        columns = timeline.intervals[kind]
        for tid, t_ns, end_ns in zip(tids, columns.t_ns.tolist(), columns.end_ns.tolist(), strict=True):
            yield _slice(kind, "own", OURS, tid, t_ns, end_ns, zero, {})


def _own_tracks(timeline: Timeline) -> dict[str, list[int]]:
    """Thread ids of our own intervals, by kind."""
    result: dict[str, list[int]] = {}
    first = 1
    for kind, columns in sorted(timeline.intervals.items()):
        chosen = tracks(list(zip(columns.t_ns.tolist(), columns.end_ns.tolist(), strict=True)))
        result[kind] = [first + track for track in chosen]
        first += _count(chosen)
    return result


def _names(timeline: Timeline, threads: _Threads) -> Iterator[dict[str, Any]]:
    for pid, name in ((MODEL, "model"), (TELEMETRY, "telemetry"), (OURS, "Decodescope itself")):
        yield _meta("process_name", pid, 0, {"name": name})
        yield _meta("process_sort_index", pid, 0, {"sort_index": pid})
    for tid, name in threads.names.items():
        yield _meta("thread_name", MODEL, tid, {"name": name})
        yield _meta("thread_sort_index", MODEL, tid, {"sort_index": tid})
    for kind, tids in _own_tracks(timeline).items():
        for tid in sorted(set(tids)):
            yield _meta("thread_name", OURS, tid, {"name": kind})


def _run_end_ns(run: Run) -> int:
    ends = [run.end_ns, *(_end_ns(request) for request in run.requests)]
    return max((value for value in ends if value is not None), default=run.t_ns)


def _start_ns(request: Request) -> int:
    """Where it begins on its lane: an intended arrival may lie after its first stage."""
    return min([request.t0_ns, *(span.t_ns for span in request.spans)])


def _end_ns(request: Request) -> int:
    last = int(request.t_ns.max()) if len(request) else request.t0_ns
    spans = [max(span.t_ns, span.end_ns) for span in request.spans]
    end = request.t0_ns if request.end_ns is None else request.end_ns
    return max([last, end, request.t0_ns, *spans])


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


def _meta(kind: str, pid: int, tid: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args}


def _us(ns: int) -> float:
    """Microseconds that give `ns` again when a reader multiplies by 1000 and cuts off.

    Perfetto does so: 1.001 would become 1000 ns, and a step that ends where the next one begins
    would overlap it by 1 ns and be dropped.
    """
    us = ns / 1000
    for _ in range(2):
        if int(us * 1000) >= ns:
            break
        us = math.nextafter(us, math.inf)
    return us


def _dump(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
