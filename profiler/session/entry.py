"""One session of a list: what is stored in its file, as figures and words. No step is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiler.errors import SessionError
from profiler.events import JSON
from profiler.session.labels import is_named
from profiler.session.reader import SessionReader

TRACE_BUCKETS = 64
"""Points of `itl_trace`, at most."""
_PERCENT = 100.0

Row = dict[str, Any]
"""What is read of a file, plain JSON: the cache of a library keeps these."""


@dataclass(frozen=True)
class SessionEntry:
    """One session of a list. `error`: why it cannot be opened (the rest is then missing).

    `date` is ISO 8601 (UTC); `runs` all runs as `SessionReader.summary` says. Where a file has
    several runs, everything from `model` to `workload` is of the last one. Figures are those
    stored when the run ended (see `summary`): None where the recording program stored none.

    `device`: the GPU's name, or the CPU's where the model ran on that. `itl_trace`: gaps in ms,
    one request after another, the largest of each bucket, so that spikes stay; () if not known.
    `named`: a person named it or its file; False for an automatic recording. `acknowledged`: a
    person has seen that it ended unexpectedly.
    """

    path: Path
    size_bytes: int
    name: str = ""
    model: str = ""
    date: str | None = None
    status: str | None = None
    live: bool = False
    ended_unexpectedly: bool = False
    requests: int = 0
    runs: tuple[dict[str, JSON], ...] = ()
    error: str | None = None
    tags: tuple[str, ...] = ()
    note: str = ""
    starred: bool = False
    named: bool = False
    acknowledged: bool = False
    device: str | None = None
    workload: str = ""
    ttft_p50_ms: float | None = None
    itl_p50_ms: float | None = None
    itl_p99_ms: float | None = None
    jitter_ms: float | None = None
    mbu_pct: float | None = None
    joules_per_token: float | None = None
    itl_trace: tuple[float, ...] = ()

    @property
    def summary(self) -> dict[str, JSON] | None:
        """The stored summary of the last run, or None."""
        return _summary_of(self.runs)


def read_row(path: Path) -> Row:
    """What the entry of a file is made of. SessionError with one sentence."""
    with SessionReader.open(path, thorough=False) as reader:
        labels = reader.labels
        return reader.summary() | {
            "tags": list(labels.tags),
            "note": labels.note,
            "starred": labels.starred,
            "named": is_named(labels, path),
            "acknowledged": reader.acknowledged,
            **_circumstances(reader.last_run()),
        }


def make_entry(path: Path, size_bytes: int, row: Row) -> SessionEntry:
    """The entry of a row. KeyError, TypeError or ValueError when it is none (a damaged cache)."""
    values = dict(row)
    runs = tuple(values.pop("runs"))
    values["tags"] = tuple(values["tags"])
    return SessionEntry(path, size_bytes, runs=runs, **values, **_figures(_summary_of(runs) or {}))


def read_entry(path: Path) -> SessionEntry:
    """The entry of one file. Never raises: what is wrong is in `error`."""
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    try:
        return make_entry(path, size, read_row(path))
    except SessionError as error:
        return SessionEntry(path, size, error=error.message)


def _summary_of(runs: tuple[dict[str, JSON], ...]) -> dict[str, JSON] | None:
    value = runs[-1]["summary"] if runs else None
    return value if isinstance(value, dict) else None


def _figures(summary: Mapping[str, Any]) -> dict[str, Any]:
    mbu = _number(summary.get("mbu_run"))
    trace = summary.get("itl_trace_ms")
    points = [_number(value) for value in trace] if isinstance(trace, list) else []
    return {
        "ttft_p50_ms": _number(summary.get("ttft_ms_p50")),
        "itl_p50_ms": _number(summary.get("itl_ms_p50")),
        "itl_p99_ms": _number(summary.get("itl_ms_p99")),
        "jitter_ms": _number(summary.get("jitter_ms")),
        "mbu_pct": None if mbu is None else mbu * _PERCENT,
        "joules_per_token": _number(summary.get("joules_per_token")),
        "itl_trace": tuple(value for value in points if value is not None)[:TRACE_BUCKETS],
    }


def _circumstances(run: Mapping[str, Any]) -> dict[str, Any]:
    """Device and workload in words, from what a run says of itself (`SessionReader.last_run`)."""
    return {
        "device": _device(_dict(run.get("environment")), _dict(run.get("model"))),
        "workload": _workload(_dict(run.get("config"))),
    }


def _device(environment: Mapping[str, Any], model: Mapping[str, Any]) -> str | None:
    place = _text(model.get("device")) or _text(environment.get("device"))
    if place is None:
        return None
    if place.startswith("cpu"):
        cpu = _dict(_dict(environment.get("hardware")).get("cpu"))
        return _text(cpu.get("model")) or "CPU"
    gpus = environment.get("gpus")
    # With several GPUs torch may count them in another order than the driver does.
    only = _dict(gpus[0]) if isinstance(gpus, list) and len(gpus) == 1 else {}
    return _text(model.get("device_name")) or _text(only.get("name")) or place


def _workload(config: Mapping[str, Any]) -> str:
    """ "128 → 128, 3 repeats"; "" where the run says nothing of it (an own script, a trace)."""
    output, repeats = config.get("output_tokens"), config.get("repeats")
    if not _count(output):
        return ""
    if config.get("prompts_file"):
        prompt = "prompts file"
    elif config.get("prompt"):
        prompt = "prompt text"
    elif _count(config.get("prompt_tokens")):
        prompt = f"{config['prompt_tokens']}"
    else:
        prompt = "?"
    words = f"{prompt} → {output}"
    if _count(repeats):
        words += f", {repeats} {'repeat' if repeats == 1 else 'repeats'}"
    return words


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer beyond all floats
        return None
