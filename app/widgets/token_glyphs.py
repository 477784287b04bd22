"""What a piece of text looks like in a view of tokens: every sign of it visible, none of it in force.

Pieces come from outside, and random weights print anything: control signs, half an emoji, marks
without a letter, orders to write from right to left. Each becomes signs that stay in their place.
No Qt here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

LINE_BREAK = "↵"
SPACE = "·"
TAB = "→"
NOTHING = "▫"
"""Stands for a token without text of its own: its text comes with a later one."""
CHUNK = 16
"""Most signs that are measured and drawn as one (of text that is not ASCII)."""
MAX_PIECE = 4000
"""Longer pieces show their beginning and "…"."""

_BREAKS = "\n\u2028\u2029\x0b\x0c\x85"
_ORDERS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
"""Signs without a look that turn the order of others around (and the byte order mark)."""
_JOINER = "\u200d"


@dataclass(frozen=True, slots=True)
class Unit:
    """Signs that stay together: `cols` columns wide.

    `simple`: ASCII, so that neighbours may be drawn as one string. `tall`: may paint outside its
    line. `symbol`: stands for white space. `ends_line`: the next unit begins a new line.
    """

    text: str
    cols: int
    simple: bool = True
    tall: bool = False
    symbol: bool = False
    ends_line: bool = False


@dataclass(frozen=True, slots=True)
class Glyphs:
    """A piece as units; may a line be broken before it, and after it?"""

    units: tuple[Unit, ...]
    break_before: bool
    break_after: bool


def glyphs_of(piece: str, measure: Callable[[str], int]) -> Glyphs:
    """The look of a piece. `measure(text)`: width of text that is not ASCII, in columns."""
    text = piece.replace("\r\n", "\n")
    if len(text) > MAX_PIECE:
        text = text[:MAX_PIECE] + "…"
    if not text:
        return Glyphs((Unit(NOTHING, 1, simple=False, symbol=True),), False, False)
    if text.isascii() and text.isprintable() and not text.isspace():
        return Glyphs((Unit(text, len(text)),), text[0] == " ", text[-1] == " ")
    units: list[Unit] = []
    alone = text.isspace()
    line = ""
    for sign in text:
        if sign in _BREAKS:
            units += _text_units(line, measure, alone)
            units.append(Unit(LINE_BREAK, 1, simple=False, symbol=True, ends_line=True))
            line = ""
        else:
            line += sign
    units += _text_units(line, measure, alone)
    return Glyphs(tuple(units), text[0].isspace(), text[-1].isspace())


def readable(piece: str) -> str:
    """A piece in one line, for a readout: as it is drawn, without line breaks."""
    return "".join(unit.text for unit in glyphs_of(piece, len).units)


def _text_units(line: str, measure: Callable[[str], int], alone: bool) -> list[Unit]:
    """Units of text without line breaks; `alone`: the whole piece is white space."""
    if not line:
        return []
    if alone:
        shown = "".join(TAB if sign == "\t" else SPACE for sign in line)
        return [Unit(part, len(part), simple=False, symbol=True) for part in _slices(shown)]
    shown = "".join(_sign(sign) for sign in line)
    if shown.isascii():
        return [Unit(shown, len(shown))]
    units = []
    for part in _chunks(shown):
        if part.isascii():
            units.append(Unit(part, len(part)))
        else:
            tall = any(unicodedata.category(sign) in ("Mn", "Me", "Mc") for sign in part)
            units.append(Unit(part, max(measure(part), 1), simple=False, tall=tall))
    return units


def _sign(sign: str) -> str:
    code = ord(sign)
    if sign == "\t":
        return TAB
    if code < 32:
        return chr(0x2400 + code)
    if code == 127:
        return "\u2421"
    if 0xD800 <= code < 0xE000:
        return "\ufffd"  # half of a pair: no text to any library
    if 127 < code < 160 or sign in _ORDERS:
        return f"‹U+{code:04X}›"
    if sign.isspace():
        return " "  # of whatever width
    return sign


def _slices(text: str) -> list[str]:
    return [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]


def _chunks(text: str) -> list[str]:
    """At most `CHUNK` signs each, cut where no sign leans on the one before it."""
    if unicodedata.category(text[0]) in ("Mn", "Me", "Mc") or text[0] == _JOINER:
        text = "◌" + text  # a mark needs something to stand on
    parts, start, at = [], 0, 1
    while at < len(text):
        full = at - start >= CHUNK
        if full and (not _leans(text, at) or at - start >= 4 * CHUNK):
            parts.append(text[start:at])
            start = at
        at += 1
    parts.append(text[start:])
    return parts


def _leans(text: str, at: int) -> bool:
    sign, before = text[at], text[at - 1]
    return (
        unicodedata.category(sign) in ("Mn", "Me", "Mc", "Sk", "Cf")
        or before == _JOINER
        or (0x1F1E6 <= ord(sign) <= 0x1F1FF and 0x1F1E6 <= ord(before) <= 0x1F1FF)
    )
