"""One vocabulary for the pipe, the session file, the live view and the trace.

Every fact that travels from the worker to the engine to the window is one of the frozen
dataclasses below; a session file holds the same facts as rows. All `*_ns` are integers of
`time.perf_counter_ns` on one clock unless a docstring says otherwise.

On a pipe a message is bytes: one tag byte, then

    J   a strict JSON array of objects, each with "type"
    S   a batch of steps, packed columns (little-endian): see `_pack_steps`

Nothing is pickled, so nothing that a child sends is executed.
Thread: any; values are immutable by convention (arrays are not written after creation).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

JSON: TypeAlias = Any
Int64Array: TypeAlias = npt.NDArray[np.int64]
Int32Array: TypeAlias = npt.NDArray[np.int32]
UInt8Array: TypeAlias = npt.NDArray[np.uint8]

UNKNOWN = -1
"""In the step columns `k` and `kv_len`: not known. Shown as missing, never as a number."""
DISTURBED = 1
"""Bit of the step column `flags`: a redraw or a sampler reading overlapped the step."""

QUIET_STAGE = "quiet"
"""Stage of the Progress event that asks the window not to draw (done 1) or to go on (done 0)."""

RUN_STATUSES = ("running", "finished", "stopped", "failed", "interrupted")
END_STATUSES = ("ok", "error", "cancelled")
ENGINE_STATES = ("idle", "loading", "ready", "running", "stopping", "failed")


@dataclass(frozen=True, slots=True)
class RunStart:
    """A run begins. `config` is a `RunConfig` as JSON, `environment` what is known of the machine."""

    type: ClassVar[str] = "run"
    run: int
    t_ns: int
    name: str = ""
    model: str = ""
    config: dict[str, JSON] = field(default_factory=dict)
    environment: dict[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """A run is over. `status` is one of RUN_STATUSES, `reason` one sentence or None."""

    type: ClassVar[str] = "run_end"
    run: int
    t_ns: int
    status: str = "finished"
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RequestStart:
    """t0 of one prompt and its answer. `no` is unique in the session, `id` what people see."""

    type: ClassVar[str] = "request"
    no: int
    run: int
    id: str
    t_ns: int
    prompt_tokens: int | None = None
    max_new_tokens: int | None = None
    streamed: bool = True
    warmup: bool = False
    batch_id: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class RequestEnd:
    """The end event of a request. `status` is one of END_STATUSES."""

    type: ClassVar[str] = "end"
    no: int
    t_ns: int
    status: str
    stop_reason: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Consecutive steps of one request.

    `index0` is the 0-based number of the first of them within the request, so that a reader
    that has seen some of them already can skip those. Columns of n: `t_ns`, `k` (tokens that
    arrived, or UNKNOWN), `kv_len` (or UNKNOWN), `flags`. `ids`: the sum of k token ids in
    order, or empty where ids are not known.
    """

    type: ClassVar[str] = "steps"
    no: int
    index0: int
    t_ns: Int64Array
    k: Int32Array
    kv_len: Int32Array
    flags: UInt8Array
    ids: Int32Array

    def __len__(self) -> int:
        return len(self.t_ns)


@dataclass(frozen=True, slots=True)
class Span:
    """A named interval of a request (`no`) or, with `no` None, of a run."""

    type: ClassVar[str] = "span"
    run: int
    name: str
    t_ns: int
    end_ns: int
    no: int | None = None
    detail: dict[str, JSON] | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Text of a request, in order; one piece per step (a piece may be empty) where known.

    A piece that could not be decoded yet (half a UTF-8 character) is empty and its text arrives
    with a later one. `index0` counts the pieces before these, so that a reader that has seen some
    of them already can skip those; None: append.
    """

    type: ClassVar[str] = "text"
    no: int
    pieces: list[str]
    index0: int | None = None


@dataclass(frozen=True, slots=True)
class Busy:
    """How long the device was busy with the forward pass of each step, us.

    `index0`: the step of the first of them (step 0 is the prefill). On the CPU the time of the
    call, on CUDA between two events; the rest of a step's gap is host and launch.
    """

    type: ClassVar[str] = "busy"
    no: int
    index0: int
    busy_us: list[int]


@dataclass(frozen=True, slots=True)
class Sample:
    """One telemetry reading. `source`: "gpu0", "host". Missing values are None.

    `t_ns` is the middle of the reading, `read_ns` what the reading cost.
    """

    type: ClassVar[str] = "sample"
    t_ns: int
    source: str
    values: dict[str, float | int | None]
    read_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """Time in which something other than the model worked. `kind`: redraw, sampler, gc."""

    type: ClassVar[str] = "interval"
    kind: str
    t_ns: int
    end_ns: int
    detail: dict[str, JSON] | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about the session (`run` None) or about a run: hardware, footprint, reference..."""

    type: ClassVar[str] = "fact"
    key: str
    value: JSON
    run: int | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence that belongs beside the numbers of a run."""

    type: ClassVar[str] = "note"
    run: int
    text: str


@dataclass(frozen=True, slots=True)
class Progress:
    """What is going on, for a progress line. `total` None: unknown. Not stored."""

    type: ClassVar[str] = "progress"
    stage: str
    done: float = 0.0
    total: float | None = None
    unit: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """The engine's state changed. `state` is one of ENGINE_STATES."""

    type: ClassVar[str] = "state"
    state: str
    t_ns: int
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """A line for the log. `level`: debug, info, warning, error. `detail`: a traceback."""

    type: ClassVar[str] = "log"
    level: str
    t_ns: int
    source: str
    message: str
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Something failed. `where`: inspect, load, run, worker, disk, engine.

    `message` is one sentence with the next step, `detail` the traceback, `field` the setting
    it is about, `exit_code` what the command line returns.
    """

    type: ClassVar[str] = "failure"
    where: str
    t_ns: int
    message: str
    detail: str | None = None
    field: str | None = None
    exit_code: int = 4


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a verb, by the id that it was sent with. `ok` False: `message` says why."""

    type: ClassVar[str] = "reply"
    id: int
    ok: bool
    value: JSON = None
    message: str | None = None
    detail: str | None = None
    field: str | None = None
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Recording:
    """Where the session file is. `state`: recording, recorded, failed. Live only."""

    type: ClassVar[str] = "recording"
    path: str
    state: str
    name: str = ""
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Resync:
    """The subscriber lagged and was dropped; all before this is in the file at `path`."""

    type: ClassVar[str] = "resync"
    path: str
    run: int | None = None


Event: TypeAlias = (
    RunStart
    | RunEnd
    | RequestStart
    | RequestEnd
    | Steps
    | Span
    | Text
    | Busy
    | Sample
    | Interval
    | Fact
    | Note
    | Progress
    | State
    | Log
    | Failure
    | Reply
    | Recording
    | Resync
)

_JSON_EVENTS: dict[str, type[Any]] = {
    cls.type: cls
    for cls in (
        RunStart,
        RunEnd,
        RequestStart,
        RequestEnd,
        Span,
        Text,
        Busy,
        Sample,
        Interval,
        Fact,
        Note,
        Progress,
        State,
        Log,
        Failure,
        Reply,
        Recording,
        Resync,
    )
}
_FIELDS = {name: tuple(f.name for f in fields(cls)) for name, cls in _JSON_EVENTS.items()}

_STEP_HEADER = struct.Struct("<cIIII")


def dump_json(value: JSON) -> str:
    """Strict JSON: no NaN, no Infinity (ValueError)."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)


def make_steps(
    no: int,
    index0: int,
    t_ns: Sequence[int] | Int64Array,
    k: Sequence[int] | Int32Array | None = None,
    kv_len: Sequence[int] | Int32Array | None = None,
    ids: Sequence[int] | Int32Array = (),
    flags: Sequence[int] | UInt8Array | None = None,
) -> Steps:
    """Steps from plain lists. `k` defaults to ones, `kv_len` to UNKNOWN, `flags` to 0."""
    n = len(t_ns)
    return Steps(
        no=no,
        index0=index0,
        t_ns=np.asarray(t_ns, dtype=np.int64),
        k=np.ones(n, np.int32) if k is None else np.asarray(k, dtype=np.int32),
        kv_len=np.full(n, UNKNOWN, np.int32) if kv_len is None else np.asarray(kv_len, np.int32),
        flags=np.zeros(n, np.uint8) if flags is None else np.asarray(flags, dtype=np.uint8),
        ids=np.asarray(ids, dtype=np.int32),
    )


def _pack_steps(steps: Steps) -> bytes:
    """Tag, no, index0, n, n_ids; then t_ns i64[n], k i32[n], kv_len i32[n], ids i32[n_ids], flags u8[n]."""
    return b"".join(
        (
            _STEP_HEADER.pack(b"S", steps.no, steps.index0, len(steps.t_ns), len(steps.ids)),
            steps.t_ns.astype("<i8", copy=False).tobytes(),
            steps.k.astype("<i4", copy=False).tobytes(),
            steps.kv_len.astype("<i4", copy=False).tobytes(),
            steps.ids.astype("<i4", copy=False).tobytes(),
            steps.flags.tobytes(),
        )
    )


def _unpack_steps(message: bytes) -> Steps:
    _, no, index0, n, n_ids = _STEP_HEADER.unpack_from(message)
    at = _STEP_HEADER.size
    if len(message) != at + n * 17 + n_ids * 4:
        raise ValueError("a batch of steps has the wrong length")
    t_ns = np.frombuffer(message, "<i8", n, at).astype(np.int64, copy=False)
    at += 8 * n
    k = np.frombuffer(message, "<i4", n, at).astype(np.int32, copy=False)
    at += 4 * n
    kv_len = np.frombuffer(message, "<i4", n, at).astype(np.int32, copy=False)
    at += 4 * n
    ids = np.frombuffer(message, "<i4", n_ids, at).astype(np.int32, copy=False)
    at += 4 * n_ids
    flags = np.frombuffer(message, np.uint8, n, at)
    return Steps(no, index0, t_ns, k, kv_len, flags, ids)


def to_dict(event: Event) -> dict[str, JSON]:
    """A JSON event as a dict with "type". Steps have no JSON form (TypeError)."""
    if isinstance(event, Steps):
        raise TypeError("steps are packed, not written as JSON")
    return {"type": event.type, **{name: getattr(event, name) for name in _FIELDS[event.type]}}


def from_dict(value: dict[str, JSON]) -> Event:
    """The event of a dict. Unknown keys are left out; ValueError on an unknown type."""
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in _JSON_EVENTS:
        raise ValueError(f"unknown event type {kind!r}")
    cls = _JSON_EVENTS[kind]
    event: Event = cls(**{name: value[name] for name in _FIELDS[kind] if name in value})
    return event


def encode(events: Iterable[Event]) -> list[bytes]:
    """Messages for a pipe, in order. Neighbouring JSON events share one message.

    Cost: about 3 us an event, 1 us a batch of steps. ValueError on NaN or Infinity.
    """
    messages: list[bytes] = []
    pending: list[dict[str, JSON]] = []
    for event in events:
        if isinstance(event, Steps):
            if pending:
                messages.append(b"J" + dump_json(pending).encode("utf-8", "surrogatepass"))
                pending = []
            messages.append(_pack_steps(event))
        else:
            pending.append(to_dict(event))
    if pending:
        messages.append(b"J" + dump_json(pending).encode("utf-8", "surrogatepass"))
    return messages


def decode(message: bytes) -> list[Event]:
    """The events of one message; ValueError when it is none of ours."""
    tag = message[:1]
    if tag == b"S":
        return [_unpack_steps(message)]
    if tag == b"J":
        values = json.loads(message[1:].decode("utf-8", "surrogatepass"))
        return [from_dict(value) for value in values]
    raise ValueError(f"a message starts with {tag!r}")
