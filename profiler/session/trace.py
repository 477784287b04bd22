"""Traces: one JSON object a line, in and out, loss-free for what they name (MEASUREMENT, section 10).

What a trace does not say, an import decides so:
- A run is `finished`, from its first request to the last thing that is known of it. Requests
  without an end stay without one (`incomplete`).
- A run without a `run` line gets an empty one. Numbers follow the order of first appearance.
- `text` lines are the pieces of the answer. An export writes one line a piece, each behind its
  step where there is one a step.
- Token ids count only when every step of a request has as many as its k; otherwise those of
  that request are left out, with a warning.
- Samples are put in order of time; lines of one source and time are one reading.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from profiler import events as ev
from profiler.errors import TraceError
from profiler.session.files import check_target, os_error, publish, remove_session, temporary_beside
from profiler.session.store import SessionWriter
from profiler.session.trace_lines import TraceParser, TraceRequest, TraceRun
from profiler.timeline import Request, Timeline

MAX_LINE_BYTES = 64 << 20


@dataclass(frozen=True)
class TraceFile:
    """What a trace holds, in the order in which a session wants it, and what was left out."""

    events: list[ev.Event]
    warnings: list[str]


# -- in ---------------------------------------------------------------------------------------


def read_trace(path: str | os.PathLike[str]) -> TraceFile:
    """Read a trace. Raises TraceError (with the line's number) on the first thing that is wrong."""
    path = Path(path)
    parser = TraceParser()
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(_lines(file), 1):
                parser.line(number, raw)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TraceError(f"{path} cannot be read ({reason}); check the path.", None, repr(error)) from error
    if not parser.requests:
        raise TraceError(f"{path} has no request; a trace needs at least one.")
    return _events(parser)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    # Lines end with \n only: a text may hold the other characters that split lines.
    first = True
    while raw := file.readline(MAX_LINE_BYTES):
        yield raw.removeprefix(b"\xef\xbb\xbf") if first else raw
        first = False


def _events(parser: TraceParser) -> TraceFile:
    warnings: list[str] = []
    if parser.unknown:
        warnings.append(f"Unknown keys were left out: {', '.join(parser.unknown)}.")
    events: list[ev.Event] = []
    without_ids: list[str] = []
    for run in parser.runs:
        start_ns, end_ns = _extent(run)
        events.append(ev.RunStart(run.no, start_ns, run.name, run.model, run.config))
        for request in run.requests:
            events.extend(_request_events(request, without_ids))
        events.append(ev.RunEnd(run.no, end_ns, "finished"))
    if without_ids:
        shown = ", ".join(without_ids[:5]) + (", ..." if len(without_ids) > 5 else "")
        warnings.append(
            f"The token ids of {len(without_ids)} requests were left out, since they are not as many "
            f"as k in every step: {shown}."
        )
    for source, t_ns in sorted(parser.samples, key=lambda key: (key[1], key[0])):
        events.append(ev.Sample(t_ns, source, parser.samples[source, t_ns]))
    return TraceFile(events, warnings)


def _extent(run: TraceRun) -> tuple[int, int]:
    starts = [request.t_ns for request in run.requests]
    ends = starts + [t for request in run.requests for t in request.t[-1:]]
    ends += [request.end[0] for request in run.requests if request.end is not None]
    return min(starts, default=0), max(ends, default=0)


def _request_events(request: TraceRequest, without_ids: list[str]) -> Iterator[ev.Event]:
    yield ev.RequestStart(
        no=request.no,
        run=request.run,
        id=request.id,
        t_ns=request.t_ns,
        prompt_tokens=request.prompt_tokens,
        max_new_tokens=request.max_new_tokens,
        streamed=request.streamed,
        warmup=request.warmup,
        batch_id=request.batch_id,
    )
    for name, t_ns, end_ns in request.spans:
        yield ev.Span(request.run, name, t_ns, end_ns, request.no)
    if request.t:
        yield ev.make_steps(
            request.no,
            0,
            request.t,
            request.k,
            request.kv_len,
            _ids(request, without_ids),
            request.flags,
        )
    if request.pieces:
        yield ev.Text(request.no, request.pieces)
    if request.end is not None:
        yield ev.RequestEnd(request.no, *request.end)


def _ids(request: TraceRequest, without_ids: list[str]) -> list[int]:
    told = [ids for ids in request.ids if ids]
    fits = all(len(ids or ()) == k for ids, k in zip(request.ids, request.k, strict=True))
    if fits:
        return [id_ for ids in told for id_ in ids]
    if told:
        without_ids.append(request.id)
    return []


def import_trace(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    name: str = "",
    overwrite: bool = False,
) -> TraceFile:
    """Read a trace into a new session `out`; returns what was read, with its warnings.

    Raises TraceError, or SessionExists and SessionError about `out`; no file is left then.
    """
    path, out = Path(path), Path(out)
    check_target(out, overwrite)
    trace = read_trace(path)
    part = temporary_beside(out)
    try:
        part.unlink(missing_ok=True)
        writer = SessionWriter.create(
            part, {"imported_from": path.name}, name=name or path.stem, shared_memory=False
        )
        try:
            writer.write(trace.events)
        finally:
            writer.close()
        publish(part, out, overwrite)
    except OSError as error:
        raise os_error(error, out) from error
    finally:
        remove_session(part)
    return trace


# -- out --------------------------------------------------------------------------------------


def write_trace(timeline: Timeline, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write everything that a trace can name. The file appears complete or not at all.

    Runs and requests come in the order of their numbers, the lines of a request in order of
    time. Raises SessionExists and SessionError about `path`, TraceError where a step's number of
    tokens is not known (the format has no way to say that).
    """
    path = Path(path)
    check_target(path, overwrite)
    part = temporary_beside(path)
    try:
        with part.open("wb") as file:
            for line in trace_lines(timeline):
                file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        publish(part, path, overwrite)
    except OSError as error:
        raise os_error(error, path) from error
    finally:
        remove_session(part)


def trace_lines(timeline: Timeline) -> Iterator[str]:
    """The lines of a trace, without line breaks. TraceError as in `write_trace`."""
    names = _unique_ids(timeline)
    for no in sorted(timeline.runs):
        run = timeline.runs[no]
        yield _line({"type": "run", "name": run.name, "model": run.model, "config": run.config})
        for request in sorted(run.requests, key=lambda request: request.no):
            yield from _request_lines(timeline, request, names[request.no])
    samples = [
        (t_ns, source, i)
        for source, columns in timeline.samples.items()
        for i, t_ns in enumerate(columns.t_ns.tolist())
    ]
    tables = {
        source: {metric: _or_none(columns.values(metric)) for metric in columns.metrics}
        for source, columns in timeline.samples.items()
    }
    for t_ns, source, i in sorted(samples):
        values = {metric: column[i] for metric, column in tables[source].items()}
        yield _line({"type": "sample", "t_ns": t_ns, "source": source, "values": values})


def _or_none(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]


def _unique_ids(timeline: Timeline) -> dict[int, str]:
    """Ids by request number: a trace has one name space for all runs, a session one a run."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for request in timeline.iter_requests():
        name = request.id
        if name in taken:
            name = f"{request.run}/{request.id}"
        while name in taken:
            name += "'"
        taken.add(name)
        names[request.no] = name
    return names


def _request_lines(timeline: Timeline, request: Request, name: str) -> Iterator[str]:
    yield _line(
        {
            "type": "request",
            "id": name,
            "t_ns": request.t0_ns,
            "prompt_tokens": request.prompt_tokens,
            "max_new_tokens": request.max_new_tokens,
            "streamed": request.streamed,
            "warmup": request.warmup,
            "batch_id": request.batch_id,
        }
    )
    spans = sorted(request.spans, key=lambda span: span.t_ns)
    pieces = list(request.pieces)
    beside_steps = len(pieces) == len(request)
    at = 0
    for i, (t_ns, line) in enumerate(_step_lines(timeline, request, name)):
        while at < len(spans) and spans[at].t_ns <= t_ns:
            yield _span_line(spans[at], name)
            at += 1
        yield line
        if beside_steps:
            yield _line({"type": "text", "id": name, "text": pieces[i]})
    for span in spans[at:]:
        yield _span_line(span, name)
    if not beside_steps:
        for piece in pieces:
            yield _line({"type": "text", "id": name, "text": piece})
    if request.end_status is not None:
        yield _line(
            {
                "type": "end",
                "id": name,
                "t_ns": request.end_ns,
                "status": request.end_status,
                "stop_reason": request.stop_reason,
            }
        )


def _span_line(span: ev.Span, name: str) -> str:
    return _line({"type": "span", "id": name, "name": span.name, "t_ns": span.t_ns, "end_ns": span.end_ns})


def _step_lines(timeline: Timeline, request: Request, name: str) -> Iterator[tuple[int, str]]:
    k = request.k
    if len(k) and int(k.min()) < 0:
        raise TraceError(
            f"request {name!r} has steps whose number of tokens is not known, which a trace cannot say; "
            "export it in another format."
        )
    ids = request.ids.tolist()
    has_ids = len(ids) > 0 and len(ids) == int(k.sum())
    start = 0
    # By hand, since there are many: all values are integers and booleans, the id is quoted once.
    head = _line({"type": "step", "id": name})[:-1]
    for t_ns, count, kv_len, disturbed in zip(
        request.t_ns.tolist(),
        k.tolist(),
        request.kv_len.tolist(),
        timeline.disturbed(request).tolist(),
        strict=True,
    ):
        kv_text = "null" if kv_len < 0 else kv_len
        ids_text = ""
        if has_ids:
            ids_text = ',"token_ids":[' + ",".join(map(str, ids[start : start + count])) + "]"
            start += count
        disturbed_text = "true" if disturbed else "false"
        yield (
            t_ns,
            f'{head},"t_ns":{t_ns},"k":{count},"kv_len":{kv_text}{ids_text},"disturbed":{disturbed_text}}}',
        )


def _line(value: dict[str, ev.JSON]) -> str:
    text = ev.dump_json(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair has no UTF-8 form, but JSON can write it down.
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text
