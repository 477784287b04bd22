"""A timeline as the events that made it: to write what was read into another file."""

from __future__ import annotations

import math
from collections.abc import Iterator

from profiler import events as ev
from profiler.timeline import Request, Run, SampleColumns, Timeline


def replay(timeline: Timeline) -> Iterator[ev.Event]:
    """Every stored event, run by run; facts of the session first. Reads steps as it goes.

    What was never an event of its own (order between requests, batching of steps) is not
    brought back; `Timeline.apply` of all of it gives an equal timeline.
    """
    for key, value in timeline.facts.items():
        yield ev.Fact(key, value)
    for run in timeline.runs.values():
        yield from _run(run)
    for columns in timeline.samples.values():
        yield from _samples(columns)
    for kind, intervals in timeline.intervals.items():
        starts, ends = intervals.t_ns.tolist(), intervals.end_ns.tolist()
        for start, end, detail in zip(starts, ends, intervals.details, strict=True):
            yield ev.Interval(kind, start, end, detail)
    yield from timeline.logs
    yield from timeline.failures


def _run(run: Run) -> Iterator[ev.Event]:
    yield ev.RunStart(run.no, run.t_ns, run.name, run.model, run.config, run.environment)
    for key, value in run.facts.items():
        yield ev.Fact(key, value, run.no)
    for note in run.notes:
        yield ev.Note(run.no, note)
    yield from run.spans
    for request in run.requests:
        yield from _request(request)
    if run.status != "running":
        yield ev.RunEnd(run.no, run.end_ns if run.end_ns is not None else run.t_ns, run.status, run.reason)


def _request(request: Request) -> Iterator[ev.Event]:
    yield ev.RequestStart(
        request.no,
        request.run,
        request.id,
        request.t0_ns,
        request.prompt_tokens,
        request.max_new_tokens,
        request.streamed,
        request.warmup,
        request.batch_id,
        request.label,
    )
    if len(request):
        yield ev.Steps(request.no, 0, request.t_ns, request.k, request.kv_len, request.flags, request.ids)
    if len(request.busy_us):
        yield ev.Busy(request.no, 0, request.busy_us.tolist())
    if request.pieces:
        yield ev.Text(request.no, list(request.pieces), 0)
    yield from request.spans
    if request.end_status is not None and request.end_ns is not None:
        yield ev.RequestEnd(
            request.no, request.end_ns, request.end_status, request.stop_reason, request.error
        )


def _samples(columns: SampleColumns) -> Iterator[ev.Event]:
    metrics = columns.metrics
    values = [columns.values(metric).tolist() for metric in metrics]
    for i, (t_ns, read_ns) in enumerate(zip(columns.t_ns.tolist(), columns.read_ns.tolist(), strict=True)):
        reading = {
            metric: None if math.isnan(column[i]) else column[i]
            for metric, column in zip(metrics, values, strict=True)
        }
        yield ev.Sample(t_ns, columns.source, reading, None if read_ns < 0 else read_ns)
