"""Append-only columns of everything that was observed: the one shape for live and saved data.

Events go in (`Timeline.apply`), numpy views come out. A session file is read into the same
object, with the steps of each request fetched on first use. Charts and `analysis` read it;
nobody writes into the arrays they get.

Thread: one writer, readers on the same thread. A view stays valid (and keeps its values)
after more was appended. Memory: 21 bytes a token and at most half as much in spare room; with
its text some 10 more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from profiler import events as ev
from profiler.columns import Column, Pieces

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


class Request:
    """One prompt and its answer, as far as it is known.

    Columns over its steps (one entry an arrival, also those with k = 0): `t_ns`, `k`,
    `kv_len`, `flags`; `ids` are the token ids in order. `end_status` is what the end event
    said (ok, error, cancelled) or None while there is none.
    """

    __slots__ = (
        "_busy_us",
        "_flags",
        "_ids",
        "_k",
        "_kv_len",
        "_loader",
        "_t_ns",
        "batch_id",
        "end_ns",
        "end_status",
        "error",
        "id",
        "label",
        "max_new_tokens",
        "no",
        "pieces",
        "prompt_tokens",
        "run",
        "spans",
        "stop_reason",
        "streamed",
        "t0_ns",
        "warmup",
    )

    def __init__(self, start: ev.RequestStart) -> None:
        self.no = start.no
        self.run = start.run
        self.id = start.id
        self.t0_ns = start.t_ns
        self.prompt_tokens = start.prompt_tokens
        self.max_new_tokens = start.max_new_tokens
        self.streamed = start.streamed
        self.warmup = start.warmup
        self.batch_id = start.batch_id
        self.label = start.label
        self.end_ns: int | None = None
        self.end_status: str | None = None
        self.stop_reason: str | None = None
        self.error: str | None = None
        self.spans: list[ev.Span] = []
        self.pieces = Pieces()
        self._loader: Callable[[Request], None] | None = None
        self._t_ns = Column(np.int64)
        self._k = Column(np.int32)
        self._kv_len = Column(np.int32)
        self._flags = Column(np.uint8)
        self._ids = Column(np.int32)
        self._busy_us = Column(np.uint32, room=0)

    def attach_loader(self, loader: Callable[[Request], None]) -> None:
        """`loader(request)` is called once, before the step columns are first read.

        It calls `append_steps`. Used by the session reader: steps are read on demand.
        """
        self._loader = loader

    def _load(self) -> None:
        loader, self._loader = self._loader, None
        if loader is not None:
            loader(self)

    def append_steps(self, steps: ev.Steps) -> int:
        """Append what is new of `steps` (by `index0`); returns how many steps were appended."""
        self._load()  # what a file holds comes first (a live session that was caught up with)
        have = len(self._t_ns)
        skip = have - steps.index0
        if skip < 0:
            # A hole: never happens on a pipe; keep what came rather than lose it.
            skip = 0
        if skip >= len(steps):
            return 0
        if skip:
            known_k = np.where(steps.k[:skip] > 0, steps.k[:skip], 0)
            ids = steps.ids[int(known_k.sum()) :]
        else:
            ids = steps.ids
        self._t_ns.extend(steps.t_ns[skip:])
        self._k.extend(steps.k[skip:])
        self._kv_len.extend(steps.kv_len[skip:])
        self._flags.extend(steps.flags[skip:])
        self._ids.extend(ids)
        return len(steps) - skip

    @property
    def t_ns(self) -> npt.NDArray[np.int64]:
        """Stamp of each arrival, ns, int64[m']."""
        self._load()
        return self._t_ns.view

    @property
    def k(self) -> npt.NDArray[np.int32]:
        """Tokens of each arrival (0: empty event, UNKNOWN: not told), int32[m']."""
        self._load()
        return self._k.view

    @property
    def kv_len(self) -> npt.NDArray[np.int32]:
        """Prompt tokens plus tokens produced including this step (or UNKNOWN), int32[m']."""
        self._load()
        return self._kv_len.view

    @property
    def flags(self) -> npt.NDArray[np.uint8]:
        """Flags as they were recorded, uint8[m']. See `Timeline.disturbed` for the whole truth."""
        self._load()
        return self._flags.view

    @property
    def ids(self) -> npt.NDArray[np.int32]:
        """Token ids in order, int32[n] (empty where not known)."""
        self._load()
        return self._ids.view

    def append_busy(self, event: ev.Busy) -> None:
        """Append what is new of the busy times (by `index0`)."""
        skip = max(len(self._busy_us) - event.index0, 0)
        self._busy_us.extend(np.asarray(event.busy_us[skip:], np.uint32))

    @property
    def busy_us(self) -> npt.NDArray[np.uint32]:
        """Device busy time of each step's forward pass, us; empty where it was not taken."""
        self._load()
        return self._busy_us.view

    @property
    def text(self) -> str:
        """The answer's text so far ("" where text was not kept)."""
        return self.pieces.text

    def forget_text(self) -> None:
        """Drop what the answer says: its text and its token ids. Counts and times stay."""
        self._load()
        self.pieces = Pieces()
        self._ids = Column(np.int32)

    def span_ns(self, name: str) -> int | None:
        """Total length of the spans of that name, ns; None when there is none."""
        lengths = [span.end_ns - span.t_ns for span in self.spans if span.name == name]
        return sum(lengths) if lengths else None

    def __len__(self) -> int:
        self._load()
        return len(self._t_ns)


class Run:
    """One execution of one configuration."""

    __slots__ = (
        "config",
        "end_ns",
        "environment",
        "facts",
        "model",
        "name",
        "no",
        "notes",
        "reason",
        "requests",
        "spans",
        "status",
        "t_ns",
    )

    def __init__(self, start: ev.RunStart) -> None:
        self.no = start.run
        self.t_ns = start.t_ns
        self.name = start.name
        self.model = start.model
        self.config = start.config
        self.environment = start.environment
        self.status = "running"
        self.reason: str | None = None
        self.end_ns: int | None = None
        self.requests: list[Request] = []
        self.spans: list[ev.Span] = []
        self.notes: list[str] = []
        self.facts: dict[str, Any] = {}

    @property
    def measured(self) -> list[Request]:
        """The requests that are no warm-ups."""
        return [request for request in self.requests if not request.warmup]


class SampleColumns:
    """The readings of one source: a time column and one float column a metric (NaN: missing)."""

    __slots__ = ("_read_ns", "_t_ns", "_values", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._t_ns = Column(np.int64)
        self._read_ns = Column(np.int64)
        self._values: dict[str, Column] = {}

    def append(self, sample: ev.Sample) -> None:
        if len(self._t_ns) and sample.t_ns <= self._t_ns.view[-1]:
            return  # seen already (a subscriber that caught up from the file)
        for name in sample.values:
            if name not in self._values:
                column = self._values[name] = Column(np.float64)
                column.extend(np.full(len(self._t_ns), np.nan))
        for name, column in self._values.items():
            value = sample.values.get(name)
            column.append(np.nan if value is None else float(value))
        self._t_ns.append(sample.t_ns)
        self._read_ns.append(-1 if sample.read_ns is None else sample.read_ns)

    def extend(
        self,
        t_ns: npt.NDArray[np.int64],
        read_ns: npt.NDArray[np.int64],
        values: dict[str, FloatArray],
    ) -> None:
        """Append many readings at once, in the order in which they were taken.

        As `append` for each: what is not later than everything before it is left out. `values`
        has a column (NaN: missing) a metric; `read_ns` is -1 where not told.
        """
        if len(t_ns) == 0:
            return
        newest = np.maximum.accumulate(t_ns)
        keep = np.concatenate(([True], t_ns[1:] > newest[:-1]))
        if len(self._t_ns):
            keep &= t_ns > self._t_ns.view[-1]
        added = int(keep.sum())
        for name in values:
            if name not in self._values:
                column = self._values[name] = Column(np.float64)
                column.extend(np.full(len(self._t_ns), np.nan))
        for name, column in self._values.items():
            column.extend(values[name][keep] if name in values else np.full(added, np.nan))
        self._t_ns.extend(t_ns[keep])
        self._read_ns.extend(read_ns[keep])

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics seen so far, in order of appearance."""
        return list(self._values)

    @property
    def t_ns(self) -> npt.NDArray[np.int64]:
        """Time of each reading, ns."""
        return self._t_ns.view

    @property
    def read_ns(self) -> npt.NDArray[np.int64]:
        """What each reading cost, ns (-1: not told)."""
        return self._read_ns.view

    def values(self, metric: str) -> FloatArray:
        """Values of a metric, NaN where missing; empty for a metric never seen."""
        column = self._values.get(metric)
        return np.empty(0) if column is None else column.view

    def __len__(self) -> int:
        return len(self._t_ns)


class IntervalColumns:
    """Intervals of one kind, by start."""

    __slots__ = ("_end_ns", "_t_ns", "details")

    def __init__(self) -> None:
        self._t_ns = Column(np.int64)
        self._end_ns = Column(np.int64)
        self.details: list[dict[str, Any] | None] = []

    def append(self, interval: ev.Interval) -> None:
        starts = self._t_ns.view
        at = len(starts)
        if at and interval.t_ns <= starts[-1]:
            at = int(np.searchsorted(starts, interval.t_ns))
            if at < len(starts) and starts[at] == interval.t_ns:
                return  # seen already
            self._insert(at, interval)
            return
        self._t_ns.append(interval.t_ns)
        self._end_ns.append(interval.end_ns)
        self.details.append(interval.detail)

    def extend(
        self,
        t_ns: npt.NDArray[np.int64],
        end_ns: npt.NDArray[np.int64],
        details: list[dict[str, Any] | None],
    ) -> None:
        """Add many intervals at once; `t_ns` strictly rising, all later than what is there."""
        if len(t_ns) and (
            bool((np.diff(t_ns) <= 0).any()) or (len(self._t_ns) and t_ns[0] <= self._t_ns.view[-1])
        ):
            raise ValueError("intervals must be added in order of their start")
        self._t_ns.extend(t_ns)
        self._end_ns.extend(end_ns)
        self.details.extend(details)

    def _insert(self, at: int, interval: ev.Interval) -> None:
        self._t_ns.insert(at, interval.t_ns)
        self._end_ns.insert(at, interval.end_ns)
        self.details.insert(at, interval.detail)

    @property
    def t_ns(self) -> npt.NDArray[np.int64]:
        """Start of each interval, ns."""
        return self._t_ns.view

    @property
    def end_ns(self) -> npt.NDArray[np.int64]:
        """End of each interval, ns."""
        return self._end_ns.view

    def __len__(self) -> int:
        return len(self._t_ns)


def overlaps(
    starts_ns: npt.NDArray[np.int64],
    ends_ns: npt.NDArray[np.int64],
    other_starts_ns: npt.NDArray[np.int64],
    other_ends_ns: npt.NDArray[np.int64],
) -> BoolArray:
    """For each interval [start, end]: does it share time with any of the others (sorted by start)?"""
    if len(other_starts_ns) == 0 or len(starts_ns) == 0:
        return np.zeros(len(starts_ns), bool)
    # Of all others that begin before our end, the latest end decides.
    latest_end = np.maximum.accumulate(other_ends_ns)
    at = np.searchsorted(other_starts_ns, ends_ns, side="left") - 1
    result = at >= 0
    result &= latest_end[np.maximum(at, 0)] > starts_ns
    return np.asarray(result, bool)


class Timeline:
    """Everything seen of one session, live or saved."""

    DISTURBING = ("redraw", "sampler")
    """Kinds of interval that make a step `disturbed`."""

    def __init__(self) -> None:
        self.runs: dict[int, Run] = {}
        self.requests: dict[int, Request] = {}
        self.samples: dict[str, SampleColumns] = {}
        self.intervals: dict[str, IntervalColumns] = {}
        self.facts: dict[str, Any] = {}
        self.failures: list[ev.Failure] = []
        self.logs: deque[ev.Log] = deque(maxlen=2000)
        self.revision = 0
        """Grows with every event applied: a reader that saw it needs no look."""
        self._order: list[int] = []

    def apply(self, event: ev.Event) -> None:
        """Take in one event. Events seen already (after a Resync) change nothing."""
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)
            self.revision += 1

    def apply_all(self, events: Iterable[ev.Event]) -> None:
        """`apply` for each."""
        for event in events:
            self.apply(event)

    @property
    def last_run(self) -> Run | None:
        """The newest run, if any."""
        return self.runs[max(self.runs)] if self.runs else None

    def disturbed(self, request: Request) -> BoolArray:
        """Per step: a redraw or a sampler reading overlapped it, or the recording said so.

        The step's time is from the stamp before it (t0 for the first) to its own.
        """
        t_ns = request.t_ns
        result = (request.flags & ev.DISTURBED).astype(bool)
        if len(t_ns) == 0:
            return result
        starts = np.concatenate(([request.t0_ns], t_ns[:-1]))
        for kind in self.DISTURBING:
            column = self.intervals.get(kind)
            if column is not None:
                result |= overlaps(starts, t_ns, column.t_ns, column.end_ns)
        return result

    def iter_requests(self) -> Iterator[Request]:
        """All requests of all runs, by number."""
        for no in self._order:
            yield self.requests[no]

    def read_all(self) -> None:
        """Read the steps of every request now: while the file that they come from is open and in its
        place. Cost: about 1 us a step."""
        for request in self.iter_requests():
            request._load()

    # -- one method an event ------------------------------------------------------------

    def _run(self, event: ev.RunStart) -> None:
        if event.run not in self.runs:
            self.runs[event.run] = Run(event)

    def _run_end(self, event: ev.RunEnd) -> None:
        run = self.runs.get(event.run)
        if run is not None:
            run.status, run.reason, run.end_ns = event.status, event.reason, event.t_ns

    def _request(self, event: ev.RequestStart) -> None:
        if event.no in self.requests:
            return
        request = self.requests[event.no] = Request(event)
        self._order.insert(bisect_left(self._order, event.no), event.no)
        run = self.runs.get(event.run)
        if run is not None:
            run.requests.append(request)

    def _steps(self, event: ev.Steps) -> None:
        request = self.requests.get(event.no)
        if request is not None:
            request.append_steps(event)

    def _end(self, event: ev.RequestEnd) -> None:
        request = self.requests.get(event.no)
        if request is not None:
            request.end_ns, request.end_status = event.t_ns, event.status
            request.stop_reason, request.error = event.stop_reason, event.error

    def _span(self, event: ev.Span) -> None:
        owner: Request | Run | None
        owner = self.runs.get(event.run) if event.no is None else self.requests.get(event.no)
        if owner is not None and event not in owner.spans[-8:]:
            owner.spans.append(event)

    def _text(self, event: ev.Text) -> None:
        request = self.requests.get(event.no)
        if request is not None:
            seen = 0 if event.index0 is None else max(len(request.pieces) - event.index0, 0)
            request.pieces.extend(event.pieces[seen:])

    def _busy(self, event: ev.Busy) -> None:
        request = self.requests.get(event.no)
        if request is not None:
            request.append_busy(event)

    def _sample(self, event: ev.Sample) -> None:
        columns = self.samples.get(event.source)
        if columns is None:
            columns = self.samples[event.source] = SampleColumns(event.source)
        columns.append(event)

    def _interval(self, event: ev.Interval) -> None:
        columns = self.intervals.get(event.kind)
        if columns is None:
            columns = self.intervals[event.kind] = IntervalColumns()
        columns.append(event)

    def _fact(self, event: ev.Fact) -> None:
        if event.run is None:
            self.facts[event.key] = event.value
        elif event.run in self.runs:
            self.runs[event.run].facts[event.key] = event.value

    def _note(self, event: ev.Note) -> None:
        run = self.runs.get(event.run)
        if run is not None and event.text not in run.notes:
            run.notes.append(event.text)

    def _failure(self, event: ev.Failure) -> None:
        self.failures.append(event)

    def _log(self, event: ev.Log) -> None:
        self.logs.append(event)


_HANDLERS: dict[type, Callable[[Timeline, Any], None]] = {
    ev.RunStart: Timeline._run,
    ev.RunEnd: Timeline._run_end,
    ev.RequestStart: Timeline._request,
    ev.RequestEnd: Timeline._end,
    ev.Steps: Timeline._steps,
    ev.Span: Timeline._span,
    ev.Text: Timeline._text,
    ev.Busy: Timeline._busy,
    ev.Sample: Timeline._sample,
    ev.Interval: Timeline._interval,
    ev.Fact: Timeline._fact,
    ev.Note: Timeline._note,
    ev.Failure: Timeline._failure,
    ev.Log: Timeline._log,
}
