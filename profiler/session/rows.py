"""One row (or many) for each event: the SQL that a recording consists of."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np

from profiler import events as ev
from profiler.session.codec import maybe_json, maybe_text, pack_pieces, step_rows, to_json, to_text

# A step that is there already changes nothing, as in a `Timeline`.
_STEP = "INSERT OR IGNORE INTO step VALUES (?,?,?,?,?,?,?)"


class RowWriter:
    """Puts events into the tables of `con`, in the transaction that the caller has begun.

    Remembers where each request began and the metrics of each source. Raises sqlite3.Error.
    """

    def __init__(self, con: sqlite3.Connection) -> None:
        self._con = con
        self._t0_ns: dict[int, int] = {}
        self._texts: dict[int, int] = {}
        self._sources: dict[tuple[str, tuple[str, ...]], int] = {}
        self._new_requests: list[int] = []
        self._new_sources: list[tuple[str, tuple[str, ...]]] = []

    def committed(self) -> None:
        """What was written so far is there for good."""
        self._new_requests.clear()
        self._new_sources.clear()

    def rolled_back(self) -> None:
        """What was written since `committed` is not there: it may be written again."""
        for no in self._new_requests:
            del self._t0_ns[no]
        for layout in self._new_sources:
            del self._sources[layout]
        self.committed()

    def write(self, event: ev.Event) -> None:
        """Store one event; kinds that are not stored (Progress, State, ...) are ignored."""
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    # -- one method an event ------------------------------------------------------------------

    def _run(self, event: ev.RunStart) -> None:
        self._con.execute(
            "INSERT OR IGNORE INTO run (no, name, model, status, t_ns, config, environment) "
            "VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), 'running', ?, CAST(? AS TEXT), CAST(? AS TEXT))",
            (
                event.run,
                to_text(event.name),
                to_text(event.model),
                event.t_ns,
                to_json(event.config),
                to_json(event.environment),
            ),
        )

    def _run_end(self, event: ev.RunEnd) -> None:
        self._con.execute(
            "UPDATE run SET status=?, reason=CAST(? AS TEXT), end_ns=? WHERE no=?",
            (event.status, maybe_text(event.reason), event.t_ns, event.run),
        )

    def _request(self, event: ev.RequestStart) -> None:
        if event.no in self._t0_ns:
            return
        self._t0_ns[event.no] = event.t_ns
        self._new_requests.append(event.no)
        self._con.execute(
            "INSERT OR IGNORE INTO request (no, run, id, t_ns, prompt_tokens, max_new_tokens, streamed, "
            "warmup, batch_id, label) "
            "VALUES (?, ?, CAST(? AS TEXT), ?, ?, ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT))",
            (
                event.no,
                event.run,
                to_text(event.id),
                event.t_ns,
                event.prompt_tokens,
                event.max_new_tokens,
                int(event.streamed),
                int(event.warmup),
                maybe_text(event.batch_id),
                maybe_text(event.label),
            ),
        )

    def _request_end(self, event: ev.RequestEnd) -> None:
        self._con.execute(
            "UPDATE request SET end_ns=?, status=?, stop_reason=CAST(? AS TEXT), error=CAST(? AS TEXT) "
            "WHERE no=?",
            (event.t_ns, event.status, maybe_text(event.stop_reason), maybe_text(event.error), event.no),
        )

    def _steps(self, event: ev.Steps) -> None:
        t0_ns = self._t0_ns.get(event.no)
        if t0_ns is None:
            # Without its request a stamp has no origin. Cannot happen on the pipe; never silent.
            text = f"{len(event)} steps of request {event.no}, which never started, were not stored"
            t_ns = int(event.t_ns[0]) if len(event) else 0
            self._log(ev.Log("error", t_ns, "session", text))
            return
        self._con.executemany(_STEP, step_rows(event, t0_ns))

    def _span(self, event: ev.Span) -> None:
        self._con.execute(
            "INSERT INTO span (run, request_no, name, t_ns, end_ns, detail) "
            "VALUES (?, ?, CAST(? AS TEXT), ?, ?, CAST(? AS TEXT))",
            (event.run, event.no, to_text(event.name), event.t_ns, event.end_ns, maybe_json(event.detail)),
        )

    def _text(self, event: ev.Text) -> None:
        i = self._texts.get(event.no, 0)
        self._texts[event.no] = i + 1
        text, lengths = pack_pieces(event.pieces)
        self._con.execute(
            "INSERT INTO text VALUES (?, ?, CAST(? AS TEXT), ?)", (event.no, i, to_text(text), lengths)
        )

    def _busy(self, event: ev.Busy) -> None:
        data = np.asarray(event.busy_us, "<u4").tobytes()
        self._con.execute("INSERT OR IGNORE INTO busy VALUES (?, ?, ?)", (event.no, event.index0, data))

    def _sample(self, event: ev.Sample) -> None:
        layout = (event.source, tuple(event.values))
        source = self._sources.get(layout)
        if source is None:
            source = self._sources[layout] = len(self._sources) + 1
            self._new_sources.append(layout)
            self._con.execute(
                "INSERT INTO source VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT))",
                (source, to_text(event.source), to_json(list(event.values))),
            )
        self._con.execute(
            "INSERT INTO sample (source, t_ns, read_ns, data) VALUES (?, ?, ?, CAST(? AS TEXT))",
            (source, event.t_ns, event.read_ns, to_json(list(event.values.values()))),
        )

    def _interval(self, event: ev.Interval) -> None:
        self._con.execute(
            "INSERT INTO interval (kind, t_ns, end_ns, detail) "
            "VALUES (CAST(? AS TEXT), ?, ?, CAST(? AS TEXT))",
            (to_text(event.kind), event.t_ns, event.end_ns, maybe_json(event.detail)),
        )

    def _fact(self, event: ev.Fact) -> None:
        self._con.execute(
            "INSERT INTO fact (run, key, value) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT))",
            (event.run, to_text(event.key), to_json(event.value)),
        )

    def _note(self, event: ev.Note) -> None:
        self._con.execute(
            "INSERT INTO note (run, text) VALUES (?, CAST(? AS TEXT))", (event.run, to_text(event.text))
        )

    def _log(self, event: ev.Log) -> None:
        self._con.execute(
            "INSERT INTO log (level, t_ns, source, message, detail) "
            "VALUES (?, ?, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))",
            (
                event.level,
                event.t_ns,
                to_text(event.source),
                to_text(event.message),
                maybe_text(event.detail),
            ),
        )

    def _failure(self, event: ev.Failure) -> None:
        self._con.execute(
            "INSERT INTO failure (place, t_ns, message, detail, field, exit_code) "
            "VALUES (CAST(? AS TEXT), ?, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?)",
            (
                to_text(event.where),
                event.t_ns,
                to_text(event.message),
                maybe_text(event.detail),
                maybe_text(event.field),
                event.exit_code,
            ),
        )


_HANDLERS: dict[type, Callable[[RowWriter, Any], None]] = {
    ev.RunStart: RowWriter._run,
    ev.RunEnd: RowWriter._run_end,
    ev.RequestStart: RowWriter._request,
    ev.RequestEnd: RowWriter._request_end,
    ev.Steps: RowWriter._steps,
    ev.Span: RowWriter._span,
    ev.Text: RowWriter._text,
    ev.Busy: RowWriter._busy,
    ev.Sample: RowWriter._sample,
    ev.Interval: RowWriter._interval,
    ev.Fact: RowWriter._fact,
    ev.Note: RowWriter._note,
    ev.Log: RowWriter._log,
    ev.Failure: RowWriter._failure,
}
