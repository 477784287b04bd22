"""Every step as a row: CSV for a spreadsheet, Parquet for pandas."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from profiler.analysis.steps import step_view
from profiler.reporting.exports.libraries import PYARROW
from profiler.reporting.exports.writing import write_text, written
from profiler.timeline import Request, Run, Timeline
from profiler.units import NS_PER_MS

US_PER_MS = 1000


@dataclass(frozen=True)
class Column:
    """A column: its heading (with the unit), its kind, and what it holds."""

    name: str
    kind: type
    about: str


COLUMNS = (
    Column("run", int, "number of the run in the session"),
    Column("request", str, "id of the request"),
    Column("label", str, "label of the request"),
    Column("warmup", bool, "a warm-up is in no statistic"),
    Column("status", str, "how the request ended"),
    Column("step", int, "number of the step, from 1"),
    Column("token", int, "output tokens up to and with this step"),
    Column("k", int, "tokens of this step"),
    Column("t_ms", float, "stamp, since the prompt was handed over"),
    Column("gap_ms", float, "time since the step before; none for the first"),
    Column("forward_ms", float, "device busy time of the forward pass"),
    Column("kv_len", int, "prompt tokens and output tokens so far"),
    Column("disturbed", bool, "a redraw or a reading of the sampler overlapped it"),
    Column("token_ids", str, "ids of the step's tokens"),
    Column("text", str, "text that became complete with this step"),
)


def rows(timeline: Timeline) -> Iterator[tuple[Any, ...]]:
    """One tuple a step in the order of COLUMNS; None where a value is missing."""
    for no in sorted(timeline.runs):
        run = timeline.runs[no]
        for request in run.requests:
            yield from _request_rows(timeline, run, request)


def _request_rows(timeline: Timeline, run: Run, request: Request) -> Iterator[tuple[Any, ...]]:
    view = step_view(request)
    if not len(view):
        return
    known = np.where(view.k > 0, view.k, 0)
    tokens = np.cumsum(known).tolist() if view.k_known else [None] * len(view)
    t_ms = ((view.t_ns - request.t0_ns) / NS_PER_MS).tolist()
    gaps: list[float | None] = [None, *view.gaps_ms.tolist()] if view.in_order else [None] * len(view)
    busy = request.busy_us
    disturbed = timeline.disturbed(request)[view.at].tolist()
    ends = np.cumsum(np.where(request.k > 0, request.k, 0))
    ids, pieces = request.ids, list(request.pieces)
    with_ids = len(ids) == (int(ends[-1]) if len(ends) else 0) and len(ids) > 0
    for index, at in enumerate(view.at.tolist()):
        k, kv_len = int(view.k[index]), int(view.kv_len[index])
        end = int(ends[at])
        yield (
            run.no,
            request.id,
            request.label or "",
            request.warmup,
            request.end_status or "",
            index + 1,
            tokens[index],
            k if k > 0 else None,
            t_ms[index],
            gaps[index],
            int(busy[at]) / US_PER_MS if at < len(busy) else None,
            kv_len if kv_len >= 0 else None,
            disturbed[index],
            " ".join(map(str, ids[end - max(k, 0) : end].tolist())) if with_ids else "",
            pieces[at] if at < len(pieces) else "",
        )


def write_csv(timeline: Timeline, path: Path, overwrite: bool = False) -> None:
    """RFC 4180 with a heading line; floats so that they read back exactly."""
    write_text(path, overwrite, _csv_pieces(timeline))


def _csv_pieces(timeline: Timeline) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow([column.name for column in COLUMNS])
    for number, values in enumerate(rows(timeline)):
        writer.writerow([_cell(value) for value in values])
        if number % 1000 == 999:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return repr(value)
    return harmless(value) if isinstance(value, str) else value


def harmless(text: str) -> str:
    """A text cell that a spreadsheet would take for a formula gets an apostrophe in front."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def write_parquet(timeline: Timeline, path: Path, overwrite: bool = False) -> None:
    """The columns of the CSV, typed, missing values null. UsageError without pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise PYARROW.error() from None
    kinds = {int: pyarrow.int64(), str: pyarrow.string(), bool: pyarrow.bool_(), float: pyarrow.float64()}
    schema = pyarrow.schema(
        [
            pyarrow.field(column.name, kinds[column.kind], metadata={"about": column.about})
            for column in COLUMNS
        ]
    )
    with written(path, overwrite) as part, pyarrow.parquet.ParquetWriter(part, schema) as writer:
        batch: list[tuple[Any, ...]] = []
        for values in rows(timeline):
            batch.append(values)
            if len(batch) >= 65_536:
                writer.write_table(_arrow(batch, schema))
                batch = []
        if batch:
            writer.write_table(_arrow(batch, schema))


def _arrow(batch: list[tuple[Any, ...]], schema: Any) -> Any:
    import pyarrow

    columns: list[list[Any]] = [list(values) for values in zip(*batch, strict=True)]
    for index, column in enumerate(COLUMNS):
        if column.kind is str:
            columns[index] = [
                value.encode("utf-8", "replace").decode() if value else value for value in columns[index]
            ]
    return pyarrow.table(
        [pyarrow.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema
    )
