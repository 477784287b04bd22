"""Messages on a plain pipe: four bytes of length (little-endian), then that many bytes.

For a process that is started as a program (`subprocess`), where `multiprocessing`'s
connections do not reach. Raw files only: a buffered one holds a lock while it waits.
"""

from __future__ import annotations

import io
import struct

_LENGTH = struct.Struct("<I")


def write_frame(pipe: io.RawIOBase, message: bytes) -> None:
    """Write one message, as long as that blocks. OSError when nobody reads any more."""
    view = memoryview(_LENGTH.pack(len(message)) + message)
    while view:
        written = pipe.write(view)
        view = view[written or 0 :]


def read_frame(pipe: io.RawIOBase) -> bytes | None:
    """The next message; None at the end of the pipe, also in the middle of a message."""
    head = _read(pipe, _LENGTH.size)
    return None if head is None else _read(pipe, _LENGTH.unpack(head)[0])


def _read(pipe: io.RawIOBase, n: int) -> bytes | None:
    data = bytearray()
    while len(data) < n:
        try:
            part = pipe.read(n - len(data))
        except OSError:
            return None
        if not part:
            return None
        data += part
    return bytes(data)
