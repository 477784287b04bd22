"""Reading a session file into a `Timeline`: the shape that live data has, too.

Steps are read on demand, a request at a time; everything else at once. Nothing is written:
a recording whose program died is *shown* as interrupted (`finish` in `repair` writes it down).
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from profiler import events as ev
from profiler.errors import SessionError
from profiler.session.codec import STEP_COLUMNS, join_ids, load_strict_json, steps_from_texts, unpack_pieces
from profiler.session.labels import labels_of
from profiler.session.lock import is_locked
from profiler.session.opening import Database, open_database
from profiler.session.store import ENDED_UNEXPECTEDLY
from profiler.timeline import FloatArray, IntervalColumns, Request, SampleColumns, Timeline

_LOGS = 2000
_STEPS_AT_ONCE = 50_000
_BAD = (ValueError, OverflowError, TypeError, KeyError, IndexError, sqlite3.DatabaseError)
"""What damaged contents can raise while they are decoded."""


class SessionReader:
    """One session file, open for reading. Use `open`.

    `path`; `name` and `labels` (what a person added); `facts` (of the session); `created`
    (ISO 8601 or None); `acknowledged` (a person has seen that it ended unexpectedly);
    `live` (a program was writing it when it was opened); `ended_unexpectedly` (its program
    died). Thread: any. A closed file is kept open until `close`; a live one is opened for each
    read only, so that its writer can make it one file at the end.
    """

    def __init__(self, path: Path, database: Database, live: bool) -> None:
        self.path = path
        self.live = live
        self._guard = threading.RLock()
        self._database: Database | None = database
        self._open = True
        with self._connection() as con:
            meta = {key: load_strict_json(value) for key, value in con.execute("SELECT key, value FROM meta")}
            facts = con.execute("SELECT key, value FROM fact WHERE run IS NULL ORDER BY no").fetchall()
            self.facts: dict[str, ev.JSON] = {key: load_strict_json(value) for key, value in facts}
        created = meta.get("created")
        self.labels = labels_of(meta)
        self.name = self.labels.name
        self.acknowledged = meta.get("acknowledged") is True
        self.created = created if isinstance(created, str) else None
        self.closed_properly = meta.get("closed") is True
        self.ended_unexpectedly = meta.get("ended_unexpectedly") is True or (
            not self.closed_properly and not live
        )

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, thorough: bool = True) -> SessionReader:
        """Open a session; `thorough` False skips reading every page once (for lists).

        Raises SessionError with one sentence: not there, a folder, empty, not a session, of a
        newer version, damaged, cut off, being written without sharing.
        """
        path = Path(path)
        # The lock before the contents: a file that is not locked now does not change any more.
        live = is_locked(path)
        database = open_database(path, thorough=thorough)
        try:
            reader = cls(path, database, live)
        except BaseException:
            database.close()
            raise
        if live:
            reader._database = None
            database.close()
        return reader

    def close(self) -> None:
        """Close the file. Steps that were not read yet can no longer be read (SessionError)."""
        with self._guard:
            self._open = False
            if self._database is not None:
                self._database.close()
                self._database = None

    def __enter__(self) -> SessionReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection for one read; damage found on the way becomes a SessionError."""
        with self._guard:
            if not self._open:
                raise SessionError(f"{self.path} was closed; open it again.")
            database = self._database or open_database(self.path, thorough=False)
            try:
                yield database.con
            except _BAD as error:
                raise SessionError(
                    f"{self.path} is damaged. `dscope repair` saves what can be read into a new file.",
                    repr(error),
                ) from error
            finally:
                if database is not self._database:
                    database.close()

    # -- what a list shows ------------------------------------------------------------------

    def summary(self) -> dict[str, ev.JSON]:
        """What a list of sessions shows, without reading a step.

        `name, model, date, status, live, ended_unexpectedly, requests, runs[] {no, name, model,
        status, reason, cell, attempt, summary}`; model and status are those of the last run.
        """
        with self._connection() as con:
            runs = [
                {
                    "no": no,
                    "name": name,
                    "model": model,
                    "status": self._status(status),
                    "reason": self._reason(status, reason),
                    "cell": cell,
                    "attempt": attempt,
                    "summary": None if summary is None else load_strict_json(summary),
                }
                for no, name, model, status, reason, cell, attempt, summary in con.execute(
                    "SELECT no, name, model, status, reason, cell, attempt, summary FROM run ORDER BY no"
                )
            ]
            requests = con.execute("SELECT count(*) FROM request").fetchone()[0]
        return {
            "name": self.name,
            "model": runs[-1]["model"] if runs else "",
            "date": self.created,
            "status": runs[-1]["status"] if runs else None,
            "live": self.live,
            "ended_unexpectedly": self.ended_unexpectedly,
            "requests": requests,
            "runs": runs,
        }

    def last_run(self) -> dict[str, ev.JSON]:
        """What the last run says of its circumstances: `config`, `environment`, and `model` (what
        the worker told of it, {} if nothing); {} without a run."""
        with self._connection() as con:
            row = con.execute("SELECT no, config, environment FROM run ORDER BY no DESC LIMIT 1").fetchone()
            if row is None:
                return {}
            model = con.execute(
                "SELECT value FROM fact WHERE run=? AND key='model' ORDER BY no DESC LIMIT 1", row[:1]
            ).fetchone()
            return {
                "config": load_strict_json(row[1]),
                "environment": load_strict_json(row[2]),
                "model": {} if model is None else load_strict_json(model[0]),
            }

    def _died(self, status: str) -> bool:
        return status == "running" and not self.live

    def _status(self, status: str) -> str:
        if status not in ev.RUN_STATUSES:
            raise ValueError(f"unknown status of a run: {status!r}")
        return "interrupted" if self._died(status) else status

    def _reason(self, status: str, reason: str | None) -> str | None:
        return ENDED_UNEXPECTEDLY if self._died(status) else reason

    # -- everything -------------------------------------------------------------------------

    def timeline(self) -> Timeline:
        """Everything in the file; the steps of a request when they are first looked at.

        Of a live session: as of the last commit. Raises SessionError where the file is damaged;
        reading steps later can raise it, too. Cost: about 30 us a request, 3 us a sample.
        """
        timeline = Timeline()
        with self._connection() as con:
            con.execute("BEGIN")  # one moment for all tables, although a writer goes on
            try:
                timeline.facts.update(self.facts)
                self._read_runs(con, timeline)
                self._read_requests(con, timeline)
                _read_spans(con, timeline)
                _read_text(con, timeline)
                _read_samples(con, timeline)
                _read_intervals(con, timeline)
                _read_messages(con, timeline)
            finally:
                con.execute("ROLLBACK")
        timeline.revision += 1
        return timeline

    def _read_runs(self, con: sqlite3.Connection, timeline: Timeline) -> None:
        for no, name, model, status, reason, t_ns, end_ns, config, environment in con.execute(
            "SELECT no, name, model, status, reason, t_ns, end_ns, config, environment FROM run ORDER BY no"
        ):
            timeline.apply(
                ev.RunStart(no, t_ns, name, model, load_strict_json(config), load_strict_json(environment))
            )
            run = timeline.runs[no]
            # When a run that died ended is not known, so its end stays missing.
            run.status, run.reason, run.end_ns = self._status(status), self._reason(status, reason), end_ns
        for no, key, value in con.execute("SELECT run, key, value FROM fact WHERE run NOT NULL ORDER BY no"):
            timeline.apply(ev.Fact(key, load_strict_json(value), no))
        for no, text in con.execute("SELECT run, text FROM note ORDER BY no"):
            timeline.apply(ev.Note(no, text))

    def _read_requests(self, con: sqlite3.Connection, timeline: Timeline) -> None:
        for row in con.execute(
            "SELECT no, run, id, t_ns, prompt_tokens, max_new_tokens, streamed, warmup, batch_id, label, "
            "end_ns, status, stop_reason, error FROM request ORDER BY no"
        ):
            no, run, id_, t_ns, prompt, most, streamed, warmup, batch, label, end_ns, status, stop, error = (
                row
            )
            timeline.apply(
                ev.RequestStart(no, run, id_, t_ns, prompt, most, bool(streamed), bool(warmup), batch, label)
            )
            if status is not None:
                if status not in ev.END_STATUSES or end_ns is None:
                    raise ValueError(f"unknown end of a request: {status!r}")
                timeline.apply(ev.RequestEnd(no, end_ns, status, stop, error))
            timeline.requests[no].attach_loader(self._load_steps)

    def _load_steps(self, request: Request) -> None:
        """Read the steps of a request; a loader as `Request.attach_loader` wants it.

        Up to the first hole (a repaired file may have some): what lies behind it would read as one
        long gap.
        """
        # The inner select has an order and a limit, so its rows reach the outer one in order.
        rows = "SELECT * FROM step WHERE request_no=? AND i>=? ORDER BY i LIMIT ?"
        index0 = start = 0
        busy = "SELECT i, busy_us FROM busy WHERE request_no=? ORDER BY i"
        with self._connection() as con:
            for i, data in con.execute(busy, (request.no,)):
                request.append_busy(ev.Busy(request.no, i, np.frombuffer(data, "<u4").tolist()))
            while True:
                piece = (request.no, start, _STEPS_AT_ONCE)
                row = con.execute(f"SELECT {STEP_COLUMNS} FROM ({rows})", piece).fetchone()
                count, last, blobs = row[0], row[1], row[-1]
                if count == 0:
                    return
                if last - start + 1 != count:
                    limit = self._before_hole(con, request.no, start)
                    if limit == 0:
                        return
                    piece = (request.no, start, limit)
                    row = con.execute(f"SELECT {STEP_COLUMNS} FROM ({rows})", piece).fetchone()
                    count, last, blobs = limit, start + limit - 1, row[-1]
                ids = None
                if blobs:
                    ids = join_ids(value for (value,) in con.execute(f"SELECT ids FROM ({rows})", piece))
                request.append_steps(steps_from_texts(request.no, index0, request.t0_ns, row, ids))
                if count < _STEPS_AT_ONCE:
                    return
                index0, start = index0 + count, last + 1

    @staticmethod
    def _before_hole(con: sqlite3.Connection, no: int, start: int) -> int:
        """How many steps of a request follow `start` without a hole."""
        found = con.execute("SELECT i FROM step WHERE request_no=? AND i>=? ORDER BY i", (no, start))
        count = 0
        for (i,) in found:
            if i != start + count:
                break
            count += 1
        return count


def _detail(text: str | None) -> dict[str, Any] | None:
    return None if text is None else dict(load_strict_json(text))


def _read_spans(con: sqlite3.Connection, timeline: Timeline) -> None:
    for run, request_no, name, t_ns, end_ns, detail in con.execute(
        "SELECT run, request_no, name, t_ns, end_ns, detail FROM span ORDER BY no"
    ):
        timeline.apply(ev.Span(run, name, t_ns, end_ns, request_no, _detail(detail)))


def _read_text(con: sqlite3.Connection, timeline: Timeline) -> None:
    for no, text, lengths in con.execute("SELECT request_no, text, lengths FROM text ORDER BY request_no, i"):
        timeline.apply(ev.Text(no, unpack_pieces(text, lengths)))


def _read_samples(con: sqlite3.Connection, timeline: Timeline) -> None:
    """Readings in bulk. A source whose metrics changed has several layouts, used in turns."""
    layouts: dict[int, tuple[str, list[str]]] = {}
    for no, name, metrics in con.execute("SELECT no, name, metrics FROM source ORDER BY no"):
        layouts[no] = (name, [str(metric) for metric in load_strict_json(metrics)])
    rows: dict[int, list[tuple[int, int, int, str]]] = {no: [] for no in layouts}
    for source, *row in con.execute(
        "SELECT source, no, t_ns, ifnull(read_ns, -1), data FROM sample ORDER BY no"
    ):
        rows[source].append(tuple(row))
    for name in dict.fromkeys(name for name, _ in layouts.values()):
        parts = [
            _sample_table(metrics, rows[no])
            for no, (source, metrics) in layouts.items()
            if source == name and rows[no]
        ]
        columns = timeline.samples[name] = SampleColumns(name)
        if not parts:
            continue
        stamps = np.concatenate([part_stamps for part_stamps, _ in parts], axis=1)
        order = np.argsort(stamps[0])
        values = {
            metric: np.concatenate(
                [table.get(metric, np.full(part.shape[1], np.nan)) for part, table in parts]
            )[order]
            for metric in dict.fromkeys(metric for _, table in parts for metric in table)
        }
        columns.extend(stamps[1][order], stamps[2][order], values)


def _sample_table(
    metrics: list[str], rows: list[tuple[int, int, int, str]]
) -> tuple[ev.Int64Array, dict[str, FloatArray]]:
    """(row number, t_ns, read_ns) as int64[3, n], and a column a metric (NaN: missing)."""
    numbers, t_ns, read_ns, data = zip(*rows, strict=True)
    table = np.array(load_strict_json(f"[{','.join(data)}]"), np.float64)
    if table.shape != (len(rows), len(metrics)):
        raise ValueError("samples do not fit their metrics")
    stamps = np.array((numbers, t_ns, read_ns), np.int64)
    return stamps, {metric: table[:, i] for i, metric in enumerate(metrics)}


def _read_intervals(con: sqlite3.Connection, timeline: Timeline) -> None:
    kinds = [kind for (kind,) in con.execute("SELECT DISTINCT kind FROM interval ORDER BY kind")]
    for kind in kinds:
        # Two of one start are one that was seen twice: the first counts, as in the live view.
        rows = con.execute(
            "SELECT t_ns, end_ns, detail FROM interval WHERE kind=? ORDER BY t_ns, no", (kind,)
        ).fetchall()
        starts, ends, details = zip(*rows, strict=True)
        t_ns, first = np.unique(np.array(starts, np.int64), return_index=True)
        columns = timeline.intervals[kind] = IntervalColumns()
        columns.extend(t_ns, np.array(ends, np.int64)[first], [_detail(details[i]) for i in first.tolist()])


def _read_messages(con: sqlite3.Connection, timeline: Timeline) -> None:
    for place, t_ns, message, detail, field, exit_code in con.execute(
        "SELECT place, t_ns, message, detail, field, exit_code FROM failure ORDER BY no"
    ):
        timeline.apply(ev.Failure(place, t_ns, message, detail, field, exit_code))
    for level, t_ns, source, message, detail in con.execute(
        "SELECT level, t_ns, source, message, detail FROM "
        f"(SELECT * FROM log ORDER BY no DESC LIMIT {_LOGS}) ORDER BY no"
    ):
        timeline.apply(ev.Log(level, t_ns, source, message, detail))
