"""Between the values of events and the values of columns: text, JSON, step rows, text pieces.

Everything here is loss-free both ways, also for what is odd: half a surrogate pair in a
text, a batch with more ids than its k say, stamps at the ends of 64 bits.
Thread: any (pure functions).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from profiler.events import JSON, UNKNOWN, Int32Array, Steps, dump_json

StepRow = tuple[int, int, int, int | None, int | None, int, int | bytes | None]
"""request_no, i, offset_ns, k, kv_len, flags, ids."""


def to_text(value: str) -> str | bytes:
    """What to bind for a TEXT column, inside `CAST(? AS TEXT)`.

    Half a surrogate pair (a tokenizer that cuts a character, an odd file name) has no UTF-8
    form: such a text is bound as bytes, and `from_text` restores it.
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def maybe_text(value: str | None) -> str | bytes | None:
    """`to_text`, None stays None."""
    return None if value is None else to_text(value)


def from_text(value: bytes) -> str:
    """The `text_factory` of every reading connection; never raises."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        try:
            return value.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return value.decode("utf-8", "replace")


def to_json(value: JSON) -> str | bytes:
    """Strict JSON for a TEXT column. What JSON cannot say (NaN, a path) becomes null or text:
    a recording is not lost for one odd value."""
    try:
        text = dump_json(value)
    except (ValueError, TypeError):
        text = dump_json(_plain(value))
    return to_text(text)


def maybe_json(value: JSON) -> str | bytes | None:
    """`to_json`, None stays None (a NULL column)."""
    return None if value is None else to_json(value)


def _plain(value: Any) -> JSON:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def finite_float(text: str) -> float:
    """A JSON number as a float; ValueError where it is too large for one (1e999)."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text} is too large")
    return value


def load_strict_json(text: str) -> JSON:
    """JSON without NaN, Infinity and numbers that become them. ValueError otherwise."""
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=finite_float)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


# -- steps ------------------------------------------------------------------------------------


def _known(values: Int32Array) -> list[int | None]:
    result: list[int | None] = values.tolist()
    if len(values) and int(values.min()) <= UNKNOWN:
        result = [None if value is None or value <= UNKNOWN else value for value in result]
    return result


def _id_column(k: Int32Array, ids: Int32Array) -> Iterable[int | bytes | None]:
    """One entry a step, so that all of them in order are `ids` again, whatever `k` says."""
    if len(ids) == 0:
        return repeat(None)
    if len(ids) == len(k) and bool((k == 1).all()):
        column: list[int | bytes | None] = ids.tolist()
        return column
    ends = np.minimum(np.cumsum(np.maximum(k, 0)), len(ids))
    ends[-1] = len(ids)
    return _cut_ids(ids.astype("<i4", copy=False), ends.tolist())


def _cut_ids(ids: Int32Array, ends: list[int]) -> Iterator[int | bytes | None]:
    start = 0
    for end in ends:
        count = end - start
        yield None if count <= 0 else int(ids[start]) if count == 1 else ids[start:end].tobytes()
        start = max(start, end)


def step_rows(steps: Steps, t0_ns: int) -> Iterator[StepRow]:
    """The rows of a batch. Offsets wrap around 64 bits rather than fail; reading wraps them back."""
    n = len(steps)
    if n == 0:
        return iter(())
    return zip(
        repeat(steps.no, n),
        range(steps.index0, steps.index0 + n),
        (steps.t_ns - np.int64(t0_ns)).tolist(),
        _known(steps.k),
        _known(steps.kv_len),
        steps.flags.tolist(),
        _id_column(steps.k, steps.ids),
        strict=False,
    )


def steps_from_rows(no: int, index0: int, t0_ns: int, rows: Sequence[Sequence[Any]]) -> Steps:
    """Steps of rows (offset_ns, k or UNKNOWN, kv_len or UNKNOWN, flags, ids).

    ValueError or OverflowError where a value cannot be one of a step.
    """
    if not rows:
        offsets: Sequence[Any] = ()
        k = kv_len = flags = ids = offsets
    else:
        offsets, k, kv_len, flags, ids = zip(*rows, strict=True)
    return Steps(
        no=no,
        index0=index0,
        t_ns=np.array(offsets, np.int64) + np.int64(t0_ns),
        k=np.array(k, np.int32),
        kv_len=np.array(kv_len, np.int32),
        flags=np.array(flags, np.uint8),
        ids=_join_ids(ids),
    )


def _join_ids(column: Sequence[int | bytes | None]) -> Int32Array:
    kinds = set(map(type, column))
    if kinds == {int}:
        return np.array(column, np.int32)
    if kinds <= {type(None)}:
        return np.empty(0, np.int32)
    if not kinds <= {int, bytes, type(None)}:
        raise ValueError("token ids of a wrong type")
    parts: list[Int32Array] = []
    for value in column:
        if isinstance(value, bytes):
            parts.append(np.frombuffer(value, "<i4").astype(np.int32, copy=False))
        elif value is not None:
            parts.append(np.array([value], np.int32))
    return np.concatenate(parts)


# -- text pieces --------------------------------------------------------------------------------


def pack_pieces(pieces: Sequence[str]) -> tuple[str, bytes]:
    """The joined text and the `lengths` blob of the table `text`: one byte a piece as a rule."""
    lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
    longest = int(lengths.max()) if len(pieces) else 0
    width = 1 if longest < 1 << 8 else 2 if longest < 1 << 16 else 4
    return "".join(pieces), bytes((width,)) + lengths.astype(f"<u{width}").tobytes()


def unpack_pieces(text: str, lengths: bytes) -> list[str]:
    """The pieces again. ValueError where text and lengths do not belong together."""
    if lengths[:1] not in (b"\x01", b"\x02", b"\x04"):
        raise ValueError("the lengths of the text pieces are damaged")
    ends = np.cumsum(np.frombuffer(lengths, f"<u{lengths[0]}", offset=1).astype(np.int64)).tolist()
    if (ends[-1] if ends else 0) != len(text):
        raise ValueError("the text and the lengths of its pieces do not agree")
    pieces = []
    start = 0
    for end in ends:
        pieces.append(text[start:end])
        start = end
    return pieces
