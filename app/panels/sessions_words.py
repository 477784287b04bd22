"""A session of the list in words: title, state, date, figures. No Qt widgets."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from PySide6.QtCore import QCoreApplication, QLocale

from profiler.session.library import SessionEntry
from profiler.units import DASH, format_number

translate = QCoreApplication.translate

FIGURES: dict[str, int] = {
    "ttft_p50_ms": 3,
    "itl_p50_ms": 4,
    "itl_p99_ms": 3,
    "jitter_ms": 3,
    "mbu_pct": 3,
}
"""Significant digits of each figure."""


def title(entry: SessionEntry) -> str:
    """The name a person gave, or the file's. Never empty."""
    return entry.name or entry.path.stem


def state(entry: SessionEntry) -> tuple[str, str]:
    """What is special about a session: mark (see `app.widgets.marks`) and words; ("none", "")."""
    if entry.error is not None:
        return "bad", translate("SessionWords", "cannot be opened: {0}").format(_reason(entry))
    if entry.live:
        return "live", translate("SessionWords", "recording")
    if entry.ended_unexpectedly:
        return "warning", translate("SessionWords", "ended unexpectedly")
    if entry.status == "failed":
        return "warning", translate("SessionWords", "failed")
    if entry.status in ("stopped", "cancelled"):
        return "ring", translate("SessionWords", "stopped, partial")
    if not entry.named:
        return "none", translate("SessionWords", "unnamed recording")
    return "none", ""


def _reason(entry: SessionEntry) -> str:
    """The reason without the path that the row shows already."""
    words = (entry.error or "").replace(str(entry.path), translate("SessionWords", "it"))
    return re.sub(r"\s+", " ", words).strip()


def model(entry: SessionEntry) -> str:
    """The model without its folders; "" when nothing is known."""
    text = entry.model.replace("\\", "/").rstrip("/")
    return text.rsplit("/", 1)[-1]


def moment(entry: SessionEntry) -> datetime | None:
    """When it was recorded, with a zone."""
    try:
        when = datetime.fromisoformat(entry.date or "")
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def date(entry: SessionEntry, now: datetime, *, long: bool = False) -> str:
    """Local date and time: "24 Nov 14:32", with the year when it is not the present one."""
    when = moment(entry)
    if when is None:
        return DASH
    try:
        local = when.astimezone(now.tzinfo)
    except (OverflowError, OSError, ValueError):
        return DASH
    month = QLocale().monthName(local.month, QLocale.FormatType.ShortFormat)
    if long:
        return f"{local.day} {month} {local.year}, {local:%H:%M}"
    if local.year != now.year:
        return f"{local.day} {month} {local.year}"
    return f"{local.day} {month} {local:%H:%M}"


def figure(entry: SessionEntry, field: str) -> str:
    """A key figure without its unit; a dash when it is missing."""
    return format_number(getattr(entry, field), FIGURES[field])


def energy(entry: SessionEntry) -> tuple[str, str]:
    """Energy a token: number and unit."""
    joules = entry.joules_per_token
    if joules is None:
        return DASH, ""
    return (format_number(joules * 1000), "mJ") if joules < 1 else (format_number(joules), "J")


def haystack(entry: SessionEntry) -> str:
    """Everything the search looks at, in lower case."""
    parts = (
        title(entry),
        entry.path.stem,
        entry.model,
        entry.device or "",
        entry.workload,
        entry.note,
        *entry.tags,
        state(entry)[1],
    )
    return "\n".join(parts).casefold()
