"""Round numbers for axes, and ranges that change only in steps. No Qt."""

from __future__ import annotations

import math

from profiler.units import MINUS

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_STEPS_BELOW_10 = (1.0, 2.0, 5.0, 10.0)
"""25 and 250 are round, 2.5 is not."""
_CEILINGS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def round_step(span: float, count: int) -> float:
    """The smallest round step that divides `span` into at most `count` parts."""
    if span <= 0 or not math.isfinite(span):
        return 1.0
    raw = span / max(count, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    steps = _STEPS if power >= 10 else _STEPS_BELOW_10
    return next(step * power for step in steps if step * power >= raw * (1 - 1e-9))


def round_ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers in [low, high], at most `count` + 1 of them."""
    step = round_step(high - low, count)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def end_ticks(high: float, count: int, binary: bool = False) -> list[float]:
    """Ticks from 0 to `high` with both ends, whatever `high` is.

    `binary`: for token counts, eighths of a multiple of 64 rather than tens (64, 128, 192).
    """
    if high <= 0:
        return [0.0]
    whole = int(high)
    if binary and whole == high and whole >= 32 and whole % 32 == 0:
        step = whole / 8
        while whole / step > count:
            step *= 2
        return [number * step for number in range(int(whole / step) + 1)]
    step = round_step(high, count)
    if binary:
        step = max(math.ceil(step), 1.0)
    ticks = [number * step for number in range(math.floor(high / step + 1e-9) + 1)]
    if high - ticks[-1] > 1e-9 * high:
        # The last one wins over a neighbour it would touch.
        if len(ticks) > 1 and high - ticks[-1] < 0.6 * step:
            ticks.pop()
        ticks.append(high)
    return ticks


def log_ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers in [low, high] for a logarithmic axis, at most `count` + 2 of them.

    1, 2, 5 of each power of ten where they have room, else powers of ten; over less than half a
    decade the ticks of a straight axis, which are rounder there.
    """
    decades = math.log10(high / low)
    if decades < 0.5:
        return round_ticks(low, high, count)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        ticks = [
            value
            for power in powers
            for value in (digit * 10.0**power for digit in digits)
            if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)
        ]
        if len(ticks) <= count + 2:
            return ticks
    every = -(-len(ticks) // max(count, 1))
    return ticks[::every]


def window_ticks(low: float, high: float, count: int) -> list[float]:
    """Whole round numbers in a part of a token axis."""
    step = max(math.ceil(round_step(high - low, count)), 1)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(number * step) for number in range(first, last + 1)]


def format_tick(value: float, step: float) -> str:
    """A tick's words: as many decimals as its step needs, comma for thousands, U+2212."""
    decimals = 0
    while decimals < 6 and abs(step * 10**decimals - round(step * 10**decimals)) > 1e-6:
        decimals += 1
    text = f"{abs(value):,.{decimals}f}"
    # 14 rather than 14.0 beside 14.5, as in the other charts.
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{MINUS}{text}" if value < 0 and text != "0" else text


def round_ceiling(value: float) -> float:
    """The next round number that is at least `value` (1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten)."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in _CEILINGS if step * power >= value * (1 - 1e-9))


def stepped_ceiling(value: float, current: float | None, fill: float = 0.4) -> float:
    """`current` while `value` fits and fills at least `fill` of it, else the next round ceiling."""
    if current is not None and fill * current <= value <= current:
        return current
    return round_ceiling(value)


def stepped_time(expected: float, now: float, current: float | None) -> float:
    """End of a time axis: round, at least `now`, and not moved by small changes of the forecast."""
    wanted = max(expected, now)
    if current is not None and now <= current and 0.6 * current <= wanted <= 1.15 * current:
        return current
    if expected < now:
        # The forecast was passed: leave room, so that the axis grows seldom.
        wanted = 1.2 * now
    if wanted <= 0:
        return 1.0
    step = round_step(wanted, 12)
    return math.ceil(wanted / step - 1e-9) * step


def stepped_range(
    low: float,
    high: float,
    current: tuple[float, float] | None,
    below: float = 0.8,
    above: float = 1.4,
) -> tuple[float, float]:
    """A range round the core [low, high] that stays put while the core sits well inside it.

    `below` and `above` are the margins of a *new* range in lengths of the core. The result
    begins and ends at round numbers.
    """
    span = high - low
    if current is not None:
        inside = current[0] <= low - 0.15 * span and high + 0.3 * span <= current[1]
        if inside and span >= 0.12 * (current[1] - current[0]):
            return current
    wanted_low, wanted_high = low - below * span, high + above * span
    if low >= 0:
        wanted_low = max(wanted_low, 0.0)
    step = round_step(wanted_high - wanted_low, 12)
    return math.floor(wanted_low / step + 1e-9) * step, math.ceil(wanted_high / step - 1e-9) * step


def stepped_bounds(
    low: float, high: float, current: tuple[float, float] | None, floor: float | None = None
) -> tuple[float, float]:
    """Lowest and highest tick of a small plot: round, tight, and steady (see `stepped_range`)."""
    if floor is not None:
        low = min(low, floor)
        if high <= floor:
            # Nothing but the floor: show one unit above it.
            high = floor + 1.0
    least = max(0.02 * max(abs(high), abs(low)), 1e-9)
    if high - low < least:
        middle = (high + low) / 2
        low, high = middle - least / 2, middle + least / 2
    span = high - low
    if (
        current is not None
        and current[0] <= low
        and high <= current[1]
        and span >= 0.3 * (current[1] - current[0])
    ):
        return current
    step = round_step(span, 4)
    # A little air, so that a flat top is not drawn on the edge; none below a fixed floor.
    below = 0.0 if floor is not None and low >= floor else 0.05 * span
    bottom = math.floor((low - below) / step + 1e-9) * step
    top = math.ceil((high + 0.05 * span) / step - 1e-9) * step
    return bottom, top


def log_range(low: float, high: float, current: tuple[float, float] | None) -> tuple[float, float]:
    """A range for a logarithmic axis round [low, high] (above 0), steady like `stepped_range`."""
    low = max(low, 1e-6)
    high = max(high, 1.05 * low)
    if current is not None and current[0] <= low and high <= current[1]:
        if math.log(high / low) >= 0.4 * math.log(current[1] / current[0]):
            return current
    step = 10.0 ** math.floor(math.log10(low))
    bottom = max(math.floor(low / step * 10 / 1.02) / 10 * step, 0.1 * step)
    return bottom, round_ceiling(1.05 * high)
