"""Unit conversion and number formatting: the edge between integers inside and words outside.

Inside the program times are integer nanoseconds of `time.perf_counter_ns`, sizes are
bytes. Everything that a person or a script reads is converted here.
GB is 1e9 bytes (file sizes, bandwidth), GiB is 2**30 bytes (memory).
"""

from __future__ import annotations

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
GB = 1_000_000_000
GIB = 1 << 30
MIB = 1 << 20
KIB = 1 << 10

THIN = "\u2009"
"""Thin space, between a number and its unit."""
MINUS = "\u2212"
DASH = "\u2014"
"""What a missing value shows as."""


def ns_to_ms(value_ns: float) -> float:
    """Nanoseconds to milliseconds."""
    return value_ns / NS_PER_MS


def ns_to_s(value_ns: float) -> float:
    """Nanoseconds to seconds."""
    return value_ns / NS_PER_S


def format_number(value: float | None, digits: int = 3) -> str:
    """A number with `digits` significant figures, a comma for thousands, U+2212 as minus.

    None shows as a dash. Zeroes behind the point are kept (13.20), whole digits before the
    point are never rounded away (1,024 with 3 digits stays 1,024).
    """
    if value is None or value != value or value in (float("inf"), float("-inf")):
        return DASH
    if value == 0:
        return "0"
    magnitude = abs(value)
    exponent = 0
    # The exponent after rounding to `digits`: 9.996 with 3 digits is 10.0.
    scientific = f"{magnitude:.{max(digits, 1) - 1}e}"
    exponent = int(scientific.split("e")[1])
    decimals = max(digits - 1 - exponent, 0)
    text = f"{magnitude:,.{min(decimals, 12)}f}"
    return f"{MINUS}{text}" if value < 0 else text


def format_bytes(value: float | None, binary: bool = True) -> str:
    """Bytes for a person: memory in KiB/MiB/GiB (`binary`), files in kB/MB/GB."""
    if value is None:
        return DASH
    base = 1024.0 if binary else 1000.0
    names = ("B", "KiB", "MiB", "GiB", "TiB") if binary else ("B", "kB", "MB", "GB", "TB")
    index = 0
    size = float(value)
    while abs(size) >= base and index < len(names) - 1:
        size /= base
        index += 1
    return f"{format_number(size, 3) if index else int(size)}{THIN}{names[index]}"


def format_duration_s(value_s: float | None) -> str:
    """Seconds for a person: `0.4 s`, `18 s`, `2 min 5 s`, `3 h 20 min`."""
    if value_s is None:
        return DASH
    if value_s < 10:
        return f"{value_s:.1f}{THIN}s"
    seconds = round(value_s)
    if seconds < 60:
        return f"{seconds}{THIN}s"
    if seconds < 3600:
        minutes, rest = divmod(seconds, 60)
        return f"{minutes}{THIN}min {rest}{THIN}s" if rest else f"{minutes}{THIN}min"
    hours, rest = divmod(round(seconds / 60), 60)
    return f"{hours}{THIN}h {rest}{THIN}min" if rest else f"{hours}{THIN}h"
