"""Text and numbers out of system files and foreign libraries, made safe to store and show.

Thread: any. Nothing here raises on odd bytes, on a missing file or on a refused read.
"""

from __future__ import annotations

from pathlib import Path

MAX_CHARS = 300
"""Longer strings are cut: a system string is a label, not a document."""


def plain_text(value: str | bytes, max_chars: int = MAX_CHARS) -> str:
    """`value` as printable text: bad UTF-8 becomes U+FFFD, control characters become spaces.

    Lone surrogates (what Python makes of undecodable bytes in the environment and in file
    names) are replaced too, so that the result can always be written as UTF-8.
    """
    data = value if isinstance(value, bytes) else _encoded(value)
    text = data.decode("utf-8", "replace")
    text = "".join(char if char.isprintable() or char == "\ufffd" else " " for char in text)
    return text.strip()[:max_chars]


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return text.encode("utf-8", "replace")


def read_text(path: Path) -> str | None:
    """The text of a small system file, stripped; None when it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8", "replace").strip("\x00 \t\r\n")
    except (OSError, ValueError):
        return None


def read_int(path: Path) -> int | None:
    """The whole number in a system file; None when it cannot be read or is no number."""
    text = read_text(path)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
