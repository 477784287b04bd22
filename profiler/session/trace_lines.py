"""Lines of a trace, checked one by one (MEASUREMENT, section 10). `trace` makes events of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from profiler import events as ev
from profiler.errors import TraceError
from profiler.session.codec import load_strict_json

INT32_MAX = 2**31 - 1
_INT64 = range(-(2**63), 2**63)

KEYS: dict[str, tuple[str, ...]] = {
    "run": ("name", "model", "config"),
    "request": ("id", "t_ns", "prompt_tokens", "max_new_tokens", "streamed", "warmup", "batch_id"),
    "step": ("id", "t_ns", "k", "kv_len", "token_ids", "disturbed"),
    "span": ("id", "name", "t_ns", "end_ns"),
    "text": ("id", "text"),
    "sample": ("t_ns", "source", "values"),
    "end": ("id", "t_ns", "status", "stop_reason"),
}


@dataclass
class TraceRequest:
    """One request as far as its lines were read. `ids` has one entry a step (None: not told)."""

    no: int
    run: int
    id: str
    t_ns: int
    prompt_tokens: int | None
    max_new_tokens: int | None
    streamed: bool
    warmup: bool
    batch_id: str | None
    t: list[int] = field(default_factory=list)
    k: list[int] = field(default_factory=list)
    kv_len: list[int] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    ids: list[list[int] | None] = field(default_factory=list)
    produced: int = 0
    spans: list[tuple[str, int, int]] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    end: tuple[int, str, str | None] | None = None


@dataclass
class TraceRun:
    """One run: its own line (or none) and its requests."""

    no: int
    name: str = ""
    model: str = ""
    config: dict[str, ev.JSON] = field(default_factory=dict)
    requests: list[TraceRequest] = field(default_factory=list)


class TraceParser:
    """Takes lines in order; `runs`, `samples`, `unknown` hold what was read.

    `line` raises TraceError with the line's number on the first line that is refused.
    """

    def __init__(self) -> None:
        self.runs: list[TraceRun] = []
        self.requests: dict[str, TraceRequest] = {}
        self.samples: dict[tuple[str, int], dict[str, float | int | None]] = {}
        self.unknown: dict[str, None] = {}
        self._number = 0
        self._handlers: dict[str, Callable[[dict[str, Any]], None]] = {
            "run": self._run,
            "request": self._request,
            "step": self._step,
            "span": self._span,
            "text": self._text,
            "sample": self._sample,
            "end": self._end,
        }

    def line(self, number: int, raw: bytes) -> None:
        """One line, counted from 1. Blank lines are skipped."""
        self._number = number
        if not raw.strip():
            return
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise self._error("this is not text in UTF-8; give a trace in JSONL", str(error)) from None
        try:
            value = load_strict_json(text)
        except ValueError as error:
            raise self._error(f"this is not JSON ({error})") from None
        if not isinstance(value, dict):
            raise self._error("this is no JSON object; each line holds one")
        kind = value.get("type")
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if handler is None or not isinstance(kind, str):
            known = ", ".join(KEYS)
            what = "there is no type" if "type" not in value else f"the type {kind!r} is not known"
            raise self._error(f"{what}; it must be one of {known}")
        known_keys = KEYS[kind]
        for key in value:
            if key != "type" and key not in known_keys:
                self.unknown[f"{key} ({kind})"] = None
        handler(value)

    # -- one method a type --------------------------------------------------------------------

    def _run(self, value: dict[str, Any]) -> None:
        config = value.get("config", {})
        if config is None:
            config = {}
        if not isinstance(config, dict):
            raise self._error("config must be a JSON object")
        self.runs.append(
            TraceRun(
                no=len(self.runs) + 1,
                name=self._maybe_string(value, "name") or "",
                model=self._maybe_string(value, "model") or "",
                config=config,
            )
        )

    def _request(self, value: dict[str, Any]) -> None:
        id_ = self._id(value)
        if id_ in self.requests:
            raise self._error(f"the request {id_!r} has a line already; ids must be unique")
        t_ns = self._time(value, "t_ns")
        if not self.runs:
            self.runs.append(TraceRun(no=1))
        run = self.runs[-1]
        request = TraceRequest(
            no=len(self.requests) + 1,
            run=run.no,
            id=id_,
            t_ns=t_ns,
            prompt_tokens=self._maybe_count(value, "prompt_tokens"),
            max_new_tokens=self._maybe_count(value, "max_new_tokens"),
            streamed=self._flag(value, "streamed", True),
            warmup=self._flag(value, "warmup", False),
            batch_id=self._maybe_string(value, "batch_id"),
        )
        self.requests[id_] = request
        run.requests.append(request)

    def _step(self, value: dict[str, Any]) -> None:
        request = self._owner(value)
        if request.end is not None:
            raise self._error(f"a step of {request.id!r} comes after its end")
        t_ns = self._time(value, "t_ns")
        if "k" not in value:
            raise self._error("a step needs k, the number of tokens that arrived")
        k = self._count(value["k"], "k")
        produced = request.produced + k
        if "kv_len" in value:
            kv_len = self._maybe_count(value, "kv_len")
        else:
            kv_len = None if request.prompt_tokens is None else request.prompt_tokens + produced
        if produced > INT32_MAX or (kv_len is not None and kv_len > INT32_MAX):
            raise self._error("that is more tokens than can be counted (2147483647)")
        ids = self._ids(value)
        flags = ev.DISTURBED if self._flag(value, "disturbed", False) else 0
        request.produced = produced
        request.t.append(t_ns)
        request.k.append(k)
        request.kv_len.append(ev.UNKNOWN if kv_len is None else kv_len)
        request.flags.append(flags)
        request.ids.append(ids)

    def _span(self, value: dict[str, Any]) -> None:
        request = self._owner(value)
        name = self._maybe_string(value, "name")
        if name is None:
            raise self._error("a span needs a name")
        request.spans.append((name, self._time(value, "t_ns"), self._time(value, "end_ns")))

    def _text(self, value: dict[str, Any]) -> None:
        request = self._owner(value)
        text = self._maybe_string(value, "text")
        if text is None:
            raise self._error("a text line needs a text")
        request.pieces.append(text)

    def _sample(self, value: dict[str, Any]) -> None:
        t_ns = self._time(value, "t_ns")
        source = self._maybe_string(value, "source")
        if source is None:
            raise self._error("a sample needs a source, such as gpu0 or host")
        values = value.get("values")
        if not isinstance(values, dict):
            raise self._error("a sample needs values, a JSON object of numbers")
        for name, number in values.items():
            if number is not None and (isinstance(number, bool) or not isinstance(number, (int, float))):
                raise self._error(f"the value {name!r} of a sample must be a number or null")
            if isinstance(number, int) and number not in _INT64:
                raise self._error(f"the value {name!r} of a sample is too large")
        # Several lines of one reading (one a metric, say) are one reading.
        self.samples.setdefault((source, t_ns), {}).update(values)

    def _end(self, value: dict[str, Any]) -> None:
        request = self._owner(value)
        if request.end is not None:
            raise self._error(f"the request {request.id!r} has an end already")
        t_ns = self._time(value, "t_ns")
        status = value.get("status")
        if status not in ev.END_STATUSES:
            allowed = ", ".join(ev.END_STATUSES)
            raise self._error(f"an end needs a status, one of {allowed}")
        request.end = (t_ns, status, self._maybe_string(value, "stop_reason"))

    # -- values -------------------------------------------------------------------------------

    def _error(self, message: str, detail: str | None = None) -> TraceError:
        return TraceError(f"{message}.", self._number, detail)

    def _id(self, value: dict[str, Any]) -> str:
        id_ = value.get("id")
        if not isinstance(id_, str):
            raise self._error(f"the id of this {value['type']} line must be given, as a text")
        return id_

    def _owner(self, value: dict[str, Any]) -> TraceRequest:
        id_ = self._id(value)
        request = self.requests.get(id_)
        if request is None:
            kind = value["type"]
            article = "an" if kind == "end" else "a"
            raise self._error(f"{article} {kind} of {id_!r} comes before the line of its request")
        return request

    def _time(self, value: dict[str, Any], key: str) -> int:
        time_ns = value.get(key)
        if isinstance(time_ns, bool) or not isinstance(time_ns, int) or time_ns not in _INT64:
            raise self._error(f"{key} must be an integer of 64 bits, in nanoseconds")
        return time_ns

    def _count(self, number: Any, key: str) -> int:
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise self._error(f"{key} must be an integer of 0 or more")
        if number > INT32_MAX:
            raise self._error(f"{key} is too large (at most {INT32_MAX})")
        return number

    def _maybe_count(self, value: dict[str, Any], key: str) -> int | None:
        number = value.get(key)
        return None if number is None else self._count(number, key)

    def _maybe_string(self, value: dict[str, Any], key: str) -> str | None:
        text = value.get(key)
        if text is not None and not isinstance(text, str):
            raise self._error(f"{key} must be a text")
        return text

    def _flag(self, value: dict[str, Any], key: str, default: bool) -> bool:
        flag = value.get(key)
        if flag is None:
            return default
        if not isinstance(flag, bool):
            raise self._error(f"{key} must be true or false")
        return flag

    def _ids(self, value: dict[str, Any]) -> list[int] | None:
        ids = value.get("token_ids")
        if ids is None:
            return None
        if not isinstance(ids, list) or any(
            isinstance(id_, bool) or not isinstance(id_, int) or not -INT32_MAX <= id_ <= INT32_MAX
            for id_ in ids
        ):
            raise self._error("token_ids must be a list of integers of 32 bits")
        return ids
