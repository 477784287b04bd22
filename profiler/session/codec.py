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
import numpy.typing as npt

from profiler.events import JSON, UNKNOWN, Int32Array, Int64Array, Steps, dump_json

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


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=finite_float)


def load_strict_json(text: str) -> JSON:
    """JSON without NaN, Infinity and numbers that become them. ValueError otherwise."""
    try:
        return _DECODER.decode(text)
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


STEP_COLUMNS = (
    f"count(*), max(i), group_concat(offset_ns), group_concat(ifnull(k, {UNKNOWN})), "
    f"group_concat(ifnull(kv_len, {UNKNOWN})), group_concat(flags), group_concat(ids), "
    "total(typeof(ids) = 'blob')"
)
"""The columns of many step rows as one row of texts, for `steps_from_texts`: rows that never
become Python objects are read twice as fast. Ids that are not known (NULL) vanish in it, as in
`Steps.ids`; blobs are counted and must be read with `join_ids`."""


def steps_from_texts(no: int, index0: int, t0_ns: int, row: Sequence[Any], ids: Int32Array | None) -> Steps:
    """Steps of one row of STEP_COLUMNS with count > 0. `ids`: given where there are blobs.

    ValueError or OverflowError where a value cannot be one of a step.
    """
    count, _, offsets, k, kv_len, flags, id_text, _ = row
    if ids is None:
        ids = _narrow(_numbers(id_text), np.int32) if id_text is not None else np.empty(0, np.int32)
    columns = [_numbers(text) for text in (offsets, k, kv_len, flags)]
    if any(len(column) != count for column in columns):
        raise ValueError("a column of the steps is damaged")
    return Steps(
        no=no,
        index0=index0,
        t_ns=columns[0] + np.int64(t0_ns),
        k=_narrow(columns[1], np.int32),
        kv_len=_narrow(columns[2], np.int32),
        flags=_narrow(columns[3], np.uint8),
        ids=ids,
    )


def _numbers(text: str) -> Int64Array:
    # Text mode (sep given): not the deprecated binary mode of this function.
    return np.fromstring(text, np.int64, sep=",")


def _narrow(values: Int64Array, dtype: type[np.integer[Any]]) -> npt.NDArray[Any]:
    narrow = values.astype(dtype)
    if (narrow != values).any():
        raise OverflowError("a value of a step is too large")
    return narrow


def join_ids(column: Iterable[int | bytes | None]) -> Int32Array:
    """The ids of rows in order, one array. ValueError or OverflowError where they are damaged."""
    parts: list[Int32Array] = [np.empty(0, np.int32)]
    for value in column:
        if isinstance(value, bytes):
            parts.append(np.frombuffer(value, "<i4").astype(np.int32, copy=False))
        elif isinstance(value, int):
            parts.append(np.array([value], np.int32))
        elif value is not None:
            raise ValueError("token ids of a wrong type")
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
