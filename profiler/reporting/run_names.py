"""When a run was made, and what tells two runs of one name apart."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from profiler.timeline import Run, Timeline


def started(timeline: Timeline, run: Run) -> str | None:
    """When the run began, ISO 8601, by the session's wall-clock anchor; None without one.

    For labels only: nothing is ever measured by it (MEASUREMENT, section 2).
    """
    anchor = timeline.facts.get("anchor")
    wall = anchor.get("wall") if isinstance(anchor, dict) else None
    t_ns = anchor.get("t_ns") if isinstance(anchor, dict) else None
    if not isinstance(wall, str) or not isinstance(t_ns, int):
        return None
    try:
        moment = datetime.fromisoformat(wall) + timedelta(microseconds=(run.t_ns - t_ns) // 1000)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="milliseconds")


def telling_apart(a: dict[str, Any], b: dict[str, Any]) -> tuple[str, str]:
    """What to write behind the names of two runs that are called alike; "", "" where they are not.

    Each run as a comparison names it (`id, name, model, started, created`). Local time to the second;
    the run's number where the times are alike as well, or unknown.
    """
    if _shown(a) != _shown(b):
        return "", ""
    times = (_local(a), _local(b))
    if times[0] and times[1] and times[0] != times[1]:
        return times
    numbers = (_number(a), _number(b))
    if numbers[0] == numbers[1]:
        return times
    both = [", ".join(part for part in pair if part) for pair in zip(times, numbers, strict=True)]
    return both[0], both[1]


def _shown(who: dict[str, Any]) -> str:
    return " ".join(str(who.get("name") or who.get("model") or "").split()).casefold()


def _number(who: dict[str, Any]) -> str:
    return "" if who.get("id") is None else f"run {who['id']}"


def _local(who: dict[str, Any]) -> str:
    told = who.get("started") or who.get("created")
    try:
        return datetime.fromisoformat(str(told)).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return ""
