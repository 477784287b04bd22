"""Words for the driver's "clocks event reasons" mask: why the GPU does not run faster."""

from __future__ import annotations

_REASONS: tuple[tuple[int, str, bool], ...] = (
    # bit, what it means, is it an alarm
    (0x001, "idle", False),
    (0x002, "application clocks set", False),
    (0x004, "power cap", False),
    (0x008, "hardware slowdown", True),
    (0x010, "sync boost", False),
    (0x020, "software thermal slowdown", True),
    (0x040, "hardware thermal slowdown", True),
    (0x080, "power brake", True),
    (0x100, "display clock", False),
    (0x200, "board limit", False),
    (0x400, "reliability", False),
)
ALARM_MASK = sum(bit for bit, _, alarm in _REASONS if alarm)
"""Only these mean that something is wrong. A software power cap is normal under load."""


def reason_names(mask: int) -> list[str]:
    """The reasons of a mask in words, lowest bit first; bits that are not known as `bit 0x...`."""
    names = [name for bit, name, _ in _REASONS if mask & bit]
    known = sum(bit for bit, _, _ in _REASONS)
    rest = mask & ~known
    if rest > 0:
        names.append(f"bit {rest:#x}")
    return names


def alarm_names(mask: int) -> list[str]:
    """The reasons that are alarms (see ALARM_MASK), in words."""
    return reason_names(mask & ALARM_MASK)
