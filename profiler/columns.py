"""Growing columns: numbers, and short texts, without an object for each.

Thread: one writer, readers on the same thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt


class Column:
    """A growing numpy array; `view` is a slice without a copy."""

    __slots__ = ("_data", "_n")

    def __init__(self, dtype: npt.DTypeLike, room: int = 64) -> None:
        self._data = np.empty(room, dtype)
        self._n = 0

    def extend(self, values: npt.NDArray[Any]) -> None:
        """Add values at the end."""
        n = self._n + len(values)
        if n > len(self._data):
            # Grow by half: at most a third of the memory is spare.
            data = np.empty(max(n, len(self._data) + (len(self._data) >> 1)), self._data.dtype)
            data[: self._n] = self._data[: self._n]
            self._data = data
        self._data[self._n : n] = values
        self._n = n

    def append(self, value: float) -> None:
        """Add one value."""
        self.extend(np.asarray([value], self._data.dtype))

    def insert(self, at: int, value: float) -> None:
        """Put a value before the one at `at`. Cost: a copy of the column; views keep the old values."""
        self._data = np.insert(self.view, at, value)
        self._n += 1

    @property
    def view(self) -> npt.NDArray[Any]:
        """What is there, without a copy."""
        return self._data[: self._n]

    def __len__(self) -> int:
        return self._n


class Pieces(Sequence[str]):
    """The pieces of a text, in order: a sequence of str that keeps bytes.

    A str of a few letters takes 56 bytes and the reference to it 8; here a piece takes its letters
    and 4 bytes (and at most half as much in spare room). Halves of surrogate pairs are kept.
    """

    __slots__ = ("_data", "_ends")

    def __init__(self, pieces: Iterable[str] = ()) -> None:
        self._data = bytearray()
        self._ends = Column(np.uint32, room=0)
        self.extend(list(pieces))

    def extend(self, pieces: Sequence[str]) -> None:
        """Add pieces at the end. ValueError for more than 4 GiB of text."""
        joined = "".join(pieces)
        if joined.isascii():
            data, lengths = joined.encode("ascii"), list(map(len, pieces))
        else:
            parts = [_encode(piece) for piece in pieces]
            data, lengths = b"".join(parts), list(map(len, parts))
        if len(self._data) + len(data) >= 1 << 32:
            raise ValueError("an answer of more than 4 GiB")
        self._ends.extend(np.cumsum(lengths, dtype=np.int64) + len(self._data))
        self._data += data

    @property
    def text(self) -> str:
        """All pieces, joined."""
        return self._data.decode("utf-8", "surrogatepass")

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return [self[i] for i in range(start, stop, step)]
            return self._cut(start, max(stop, start))
        at = range(len(self))[index]
        return self._cut(at, at + 1)[0]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _CHUNK):
            yield from self._cut(start, min(start + _CHUNK, len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Pieces({list(self)!r})"

    def _cut(self, start: int, stop: int) -> list[str]:
        ends = self._ends.view[max(start - 1, 0) : stop].tolist()
        if start == 0:
            ends.insert(0, 0)
        base = ends[0]
        data = self._data[base : ends[-1]]
        if data.isascii():
            text = data.decode("ascii")
            return [text[a - base : b - base] for a, b in pairwise(ends)]
        return [data[a - base : b - base].decode("utf-8", "surrogatepass") for a, b in pairwise(ends)]


_CHUNK = 4096


def _encode(piece: str) -> bytes:
    return piece.encode("utf-8", "surrogatepass")
