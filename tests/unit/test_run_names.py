"""When a run was made, and what tells two runs of one name apart."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from profiler import events as ev
from profiler.reporting.run_names import started, telling_apart
from profiler.timeline import Timeline

S = 1_000_000_000


@pytest.fixture(autouse=True)
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An hour ahead of UTC in winter."""
    if not hasattr(time, "tzset"):
        pytest.skip("the time zone cannot be set here")
    monkeypatch.setenv("TZ", "CET-1")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def timeline_with(anchor: Any) -> Timeline:
    timeline = Timeline()
    timeline.facts["anchor"] = anchor
    timeline.apply(ev.RunStart(1, 100 * S))
    return timeline


def test_a_run_starts_by_the_anchor_of_its_session() -> None:
    timeline = timeline_with({"wall": "2026-11-30T23:59:50.250+00:00", "t_ns": 85 * S})
    assert started(timeline, timeline.runs[1]) == "2026-12-01T00:00:05.250+00:00"


@pytest.mark.parametrize(
    "anchor",
    [None, {}, "now", {"wall": "yesterday", "t_ns": 1}, {"wall": 5, "t_ns": 1}, {"wall": "2026-11-30"}],
)
def test_without_a_good_anchor_it_is_not_known(anchor: Any) -> None:
    timeline = timeline_with(anchor)
    assert started(timeline, timeline.runs[1]) is None


def who(name: str, started: str | None = None, model: str = "m", no: int = 1, **more: Any) -> dict[str, Any]:
    return {"id": no, "name": name, "model": model, "started": started} | more


MORNING, LATER = "2026-12-01T08:00:00.100+00:00", "2026-12-01T08:00:07.900+00:00"


def test_other_names_need_no_date() -> None:
    assert telling_apart(who("a", MORNING), who("b", LATER)) == ("", "")
    assert telling_apart(who("", MORNING, "one"), who("", LATER, "two")) == ("", "")


def test_one_name_or_one_model_gets_the_local_time() -> None:
    times = ("2026-12-01 09:00:00", "2026-12-01 09:00:07")
    assert telling_apart(who("a", MORNING), who("a", LATER)) == times
    assert telling_apart(who("Night run", MORNING), who("night  run ", LATER)) == times
    assert telling_apart(who("", MORNING), who("", LATER)) == times


def test_of_a_trace_the_file_tells_the_time() -> None:
    a, b = who("a", created="2026-12-01T08:00:00+00:00"), who("a", created="2026-12-01T09:00:00+00:00")
    assert telling_apart(a, b) == ("2026-12-01 09:00:00", "2026-12-01 10:00:00")


def test_the_same_moment_leaves_the_number_of_the_run() -> None:
    both = telling_apart(who("a", MORNING, no=1), who("a", MORNING, no=2))
    assert both == ("2026-12-01 09:00:00, run 1", "2026-12-01 09:00:00, run 2")
    assert telling_apart(who("a", no=1), who("a", no=2)) == ("run 1", "run 2")
    assert telling_apart(who("a"), who("a")) == ("", "")
