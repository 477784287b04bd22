"""Which automatic recordings may go. A clock by hand, sizes in round numbers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from profiler.session.entry import SessionEntry
from profiler.session.retention import MAX_AGE_DAYS, QUOTA_BYTES, is_automatic, retention_candidates

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


def entry(name: str, days: float, size: int = 100) -> SessionEntry:
    """An automatic recording that is so many days old."""
    date = (NOW - timedelta(days=days)).isoformat()
    return SessionEntry(Path(f"{name}.dscope"), size, name=name, date=date, status="finished")


def names(entries: list[SessionEntry]) -> list[str]:
    return [found.name for found in entries]


def test_nothing_to_do() -> None:
    assert retention_candidates([], now=NOW) == []
    assert retention_candidates([entry("a", 89), entry("b", 0)], now=NOW) == []


def test_the_defaults() -> None:
    assert (QUOTA_BYTES, MAX_AGE_DAYS) == (5_000_000_000, 90.0)
    old = entry("old", 90.001)
    assert names(retention_candidates([entry("young", 89.999), old], now=NOW)) == ["old"]
    big = [entry("a", 2, 3_000_000_000), entry("b", 1, 2_000_000_000), entry("c", 0, 1)]
    assert names(retention_candidates(big, now=NOW)) == ["a"]
    assert retention_candidates(big[:2], now=NOW) == []


def test_by_age_oldest_first() -> None:
    entries = [entry("b", 20), entry("a", 30), entry("d", 5), entry("c", 10.5)]
    assert names(retention_candidates(entries, None, 10, now=NOW)) == ["a", "b", "c"]
    assert retention_candidates(entries, None, None, now=NOW) == []


@pytest.mark.parametrize(
    ("quota", "gone"),
    [
        (400, []),
        (399, ["a"]),
        (300, ["a"]),
        (250, ["a", "b"]),
        (100, ["a", "b", "c"]),
        (0, ["a", "b", "c", "d"]),
    ],
)
def test_by_quota_until_the_rest_fits(quota: int, gone: list[str]) -> None:
    entries = [entry("d", 1), entry("c", 2), entry("b", 3), entry("a", 4)]
    assert names(retention_candidates(entries, quota, None, now=NOW)) == gone


def test_age_and_quota_together() -> None:
    entries = [entry("a", 100), entry("b", 50), entry("c", 1), entry("d", 0)]
    # a by its age; that leaves 300 bytes, of which b is too much.
    assert names(retention_candidates(entries, 200, 90, now=NOW)) == ["a", "b"]


@pytest.mark.parametrize(
    "touched",
    [
        {"named": True},
        {"starred": True},
        {"tags": ("x",)},
        {"note": "n"},
        {"live": True},
        {"error": "is damaged"},
    ],
)
def test_what_somebody_cares_for_stays_and_does_not_count(touched: dict[str, object]) -> None:
    kept = replace(entry("kept", 1000, 10**12), **touched)  # type: ignore[arg-type]
    assert not is_automatic(kept)
    assert retention_candidates([kept, entry("a", 1)], 150, 90, now=NOW) == []
    assert names(retention_candidates([kept, entry("a", 1)], 50, 90, now=NOW)) == ["a"]


def test_a_recording_without_a_date_is_never_a_candidate() -> None:
    undated = [replace(entry("a", 1000), date=date) for date in (None, "", "yesterday")]
    assert retention_candidates(undated, 0, 0, now=NOW) == []


def test_dates_of_other_zones() -> None:
    west = replace(entry("west", 0), date="2026-11-30T12:00:00-08:00")  # 16 h ago
    plain = replace(entry("plain", 0), date="2026-12-01T11:00:00")  # no zone: UTC, 1 h ago
    assert names(retention_candidates([plain, west], None, 0.5, now=NOW)) == ["west"]


def test_one_date_for_all() -> None:
    entries = [entry("b", 1), entry("a", 1), entry("c", 1)]
    assert names(retention_candidates(entries, 100, None, now=NOW)) == ["a", "b"]
