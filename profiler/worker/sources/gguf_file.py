"""Reading the header of a GGUF file: what model it is, and whether the file is whole.

Format (v2, v3): magic "GGUF", version u32, tensor count u64, key count u64, then the keys
(string, type u32, value) and the tensors (string, n_dims u32, dims u64[], type u32, offset
u64), all little-endian; then the data, aligned. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
Every length is checked against the file's size before anything is read by it. Token lists are
skipped, so a header takes milliseconds.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from profiler.errors import ModelError

MAGIC = b"GGUF"
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MAX_KEPT_ARRAY = 4096

# ggml type -> (elements a block, bytes a block)
BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
    16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110),
    22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8),
    29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One tensor: `elements` as unpacked, `stored_bytes` in the file (None: unknown packing)."""

    name: str
    elements: int
    stored_bytes: int | None


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Keys (long arrays as their length alone, under `KEY#`) and tensors of a file."""

    keys: dict[str, Any]
    tensors: tuple[GgufTensor, ...]
    file_bytes: int


class _DamagedError(Exception):
    """The bytes do not follow the format."""


class _Reader:
    """Little-endian reads that cannot run past the end of the file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._size = file, size

    def bytes(self, count: int) -> bytes:
        if count < 0 or count > self._size - self._file.tell():
            raise _DamagedError
        return self._file.read(count)

    def skip(self, count: int) -> None:
        if count < 0 or count > self._size - self._file.tell():
            raise _DamagedError
        self._file.seek(count, 1)

    def number(self, code: str) -> Any:
        return struct.unpack("<" + code, self.bytes(struct.calcsize("<" + code)))[0]

    def string(self) -> str:
        return self.bytes(self.number("Q")).decode("utf-8", errors="replace")

    def tell(self) -> int:
        return self._file.tell()

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY or depth > 4:
            raise _DamagedError
        inner, count = self.number("I"), self.number("Q")
        if count > _MAX_KEPT_ARRAY:
            self._skip_array(inner, count)
            return count
        return [self.value(inner, depth + 1) for _ in range(count)]

    def _skip_array(self, kind: int, count: int) -> None:
        if kind in _SCALARS:
            self.skip(count * struct.calcsize("<" + _SCALARS[kind]))
        elif kind == _STRING:
            for _ in range(count):
                self.skip(self.number("Q"))
        else:
            raise _DamagedError


def read_gguf_header(path: Path) -> GgufHeader:
    """The header of a GGUF file. ModelError when it is no GGUF, damaged, or cut short."""
    again = "download or copy it again"
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            reader = _Reader(file, size)
            if size < 4 or reader.bytes(4) != MAGIC:
                raise ModelError(f"{path} is not a GGUF file (it does not begin with GGUF); {again}.")
            try:
                keys, tensors, end = _parse(reader)
            except (_DamagedError, struct.error, OverflowError, MemoryError):
                raise ModelError(f"{path} has a damaged or incomplete GGUF header; {again}.") from None
    except OSError as error:
        raise ModelError(f"{path} cannot be read; check its permissions.", str(error)) from None
    if size < end:
        raise ModelError(f"{path} is cut short: it has {size:,} of {end:,} bytes; {again}.")
    return GgufHeader(keys, tensors, size)


def _parse(reader: _Reader) -> tuple[dict[str, Any], tuple[GgufTensor, ...], int]:
    version = reader.number("I")
    if version not in (2, 3):
        raise _DamagedError
    n_tensors, n_keys = reader.number("Q"), reader.number("Q")
    if n_tensors > 1_000_000 or n_keys > 1_000_000:
        raise _DamagedError
    keys: dict[str, Any] = {}
    for _ in range(n_keys):
        name, kind = reader.string(), reader.number("I")
        value = reader.value(kind)
        keys[f"{name}#" if kind == _ARRAY and isinstance(value, int) else name] = value
    tensors: list[GgufTensor] = []
    ends: list[int] = []
    for _ in range(n_tensors):
        name, n_dims = reader.string(), reader.number("I")
        if n_dims > 8:
            raise _DamagedError
        elements = prod(reader.number("Q") for _ in range(n_dims))
        kind, offset = reader.number("I"), reader.number("Q")
        block = BLOCKS.get(kind)
        stored = None if block is None else -(-elements // block[0]) * block[1]
        tensors.append(GgufTensor(name, elements, stored))
        ends.append(offset + (stored or 0))
    alignment = keys.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment <= 0:
        raise _DamagedError
    data = -(-reader.tell() // alignment) * alignment
    return keys, tuple(tensors), data + max(ends, default=0)
