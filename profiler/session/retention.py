"""Which automatic recordings a library may let go. Pure: no files, no clock; the window asks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from profiler.session.entry import SessionEntry

QUOTA_BYTES = 5_000_000_000
"""Default room for automatic recordings: 5 GB."""
MAX_AGE_DAYS = 90.0
"""Default age at which an automatic recording is offered for the trash."""


def is_automatic(entry: SessionEntry) -> bool:
    """Has nobody ever touched this recording: no name, star, tag or note; and can it be read?"""
    return not (
        entry.named or entry.starred or entry.tags or entry.note or entry.live or entry.error is not None
    )


def retention_candidates(
    entries: Iterable[SessionEntry],
    quota_bytes: int | None = QUOTA_BYTES,
    max_age_days: float | None = MAX_AGE_DAYS,
    *,
    now: datetime,
) -> list[SessionEntry]:
    """Automatic recordings that are older than the age, or beyond the quota; oldest first.

    The quota is on the automatic recordings alone: the oldest go until the rest fits. None
    switches a limit off. A recording without a date is never a candidate. `now` has a zone.
    """
    dated = [(moment, entry) for entry in entries if is_automatic(entry) and (moment := _moment(entry))]
    dated.sort(key=lambda pair: (pair[0], str(pair[1].path)))
    room = sum(entry.size_bytes for _, entry in dated)
    found = []
    for moment, entry in dated:
        old = max_age_days is not None and now - moment > timedelta(days=max_age_days)
        much = quota_bytes is not None and room > quota_bytes
        if not (old or much):
            break  # all that follow are younger, and the rest fits
        found.append(entry)
        room -= entry.size_bytes
    return found


def _moment(entry: SessionEntry) -> datetime | None:
    try:
        moment = datetime.fromisoformat(entry.date or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
