"""The Chrome trace against the rules of the Trace Event Format, and of the viewers that read it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from odd_session import MS, odd_timeline

from profiler import events as ev
from profiler.reporting.exports import export
from profiler.reporting.exports.chrome_trace import _us, trace_events
from profiler.reporting.exports.tracks import tracks
from profiler.timeline import Timeline

NAMED = {
    "process_name": ("name", str),
    "thread_name": ("name", str),
    "process_sort_index": ("sort_index", int),
    "thread_sort_index": ("sort_index", int),
}


def check_trace_event_format(value: Any) -> list[dict[str, Any]]:
    """The rules of the Trace Event Format for the phases that we write."""
    assert isinstance(value, dict)
    events = value["traceEvents"]
    assert value["displayTimeUnit"] in ("ms", "ns")
    for event in events:
        assert event["ph"] in ("X", "C", "M", "i"), event
        assert isinstance(event["name"], str) and event["name"]
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        if event["ph"] == "M":
            key, kind = NAMED[event["name"]]
            assert list(event["args"]) == [key] and isinstance(event["args"][key], kind)
            continue
        assert isinstance(event["ts"], int | float) and math.isfinite(event["ts"]) and event["ts"] >= 0
        if event["ph"] == "X":
            assert isinstance(event["dur"], int | float) and math.isfinite(event["dur"]) and event["dur"] >= 0
        if event["ph"] == "C":
            assert event["args"] and all(isinstance(v, int | float) for v in event["args"].values())
        if event["ph"] == "i":
            assert event["s"] in ("g", "p", "t")
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    drawn = {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}
    assert drawn <= named, "a track without a name"
    assert len(named) == sum(e["name"] == "thread_name" for e in events), "a track with two names"
    return list(events)


def check_nesting(events: list[dict[str, Any]]) -> None:
    """On a track, slices nest or are apart, in whole ns as Perfetto reads them, the outer one first."""
    open_ends: dict[tuple[int, int], list[int]] = {}
    for event in events:
        if event["ph"] != "X":
            continue
        start = int(event["ts"] * 1000)
        end = start + int(event["dur"] * 1000)
        ends = open_ends.setdefault((event["pid"], event["tid"]), [])
        while ends and ends[-1] <= start:
            ends.pop()
        assert not ends or end <= ends[-1], event
        ends.append(end)


def exported(folder: Path, timeline: Timeline) -> list[dict[str, Any]]:
    target = folder / "t.json"
    export(timeline, target, "chrome-trace", name="n")
    text = target.read_text(encoding="utf-8")
    events = check_trace_event_format(json.loads(text, parse_constant=lambda name: pytest.fail(name)))
    check_nesting(events)
    return events


def spans_timeline(*spans: tuple[str, int, int]) -> Timeline:
    """One request from 0 to 100 ms with these spans (name, start, end in ms)."""
    timeline = Timeline()
    for event in (
        ev.RunStart(1, 0, "r", "m"),
        ev.RequestStart(1, 1, "r1", 0, 4, 2),
        *(ev.Span(1, name, start * MS, end * MS, 1) for name, start, end in spans),
        ev.make_steps(1, 0, [90 * MS, 100 * MS], [1, 1], [5, 6], [7, 8]),
        ev.RequestEnd(1, 100 * MS, "ok", "length"),
    ):
        timeline.apply(event)
    return timeline


def stage_tracks(events: list[dict[str, Any]]) -> dict[str, str]:
    """The name of each stage's track."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    return {e["name"]: names[e["pid"], e["tid"]] for e in events if e.get("cat") == "stage"}


# -- which slices may lie on one track ---------------------------------------------------------


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ([], []),
        ([(0, 10), (10, 20)], [0, 0]),  # they touch
        ([(0, 10), (2, 8), (3, 4)], [0, 0, 0]),  # one in the other
        ([(2, 8), (0, 10)], [0, 0]),  # in any order
        ([(0, 10), (5, 15)], [0, 1]),  # they overlap in part
        ([(0, 10), (5, 15), (12, 20)], [0, 1, 0]),  # the first track is free again
        ([(0, 10), (2, 6), (4, 8)], [0, 0, 1]),  # within the outer one, but not within each other
        ([(0, 10), (5, 15), (8, 20)], [0, 1, 2]),
        ([(0, 10), (0, 10)], [0, 0]),  # the same twice
        ([(5, 3), (4, 6)], [0, 0]),  # an end before its start is a moment
    ],
)
def test_slices_of_a_track_nest_or_are_apart(intervals: list[tuple[int, int]], expected: list[int]) -> None:
    assert tracks(intervals) == expected


def test_requests_never_nest() -> None:
    assert tracks([(0, 10), (2, 8), (10, 12)], nesting=False) == [0, 1, 0]


# -- spans made by hand ------------------------------------------------------------------------


def test_nested_stages_share_a_track(tmp_path: Path) -> None:
    timeline = spans_timeline(("prefill", 0, 80), ("attention", 10, 40), ("mlp", 40, 70))
    assert set(stage_tracks(exported(tmp_path, timeline)).values()) == {"stages"}


def test_stages_that_overlap_in_part_get_tracks_of_their_own(tmp_path: Path) -> None:
    timeline = spans_timeline(("queue", 0, 30), ("connect", 20, 50), ("prefill", 40, 90))
    events = exported(tmp_path, timeline)
    assert stage_tracks(events) == {"queue": "stages", "connect": "stages (2)", "prefill": "stages"}
    times = {e["name"]: (e["ts"], e["dur"]) for e in events if e.get("cat") == "stage"}
    assert times == {"queue": (0, 30_000), "connect": (20_000, 30_000), "prefill": (40_000, 50_000)}


def test_of_slices_that_begin_together_the_outer_one_comes_first(tmp_path: Path) -> None:
    events = exported(tmp_path, spans_timeline(("inner", 0, 10), ("outer", 0, 50)))
    assert [e["name"] for e in events if e.get("cat") == "stage"] == ["outer", "inner"]


def test_a_stage_that_reaches_into_the_next_request_is_in_another_lane(tmp_path: Path) -> None:
    """The second request's queue begins at 70 ms, before its own start at 100 ms and the first's end."""
    timeline = spans_timeline(("prefill", 0, 80))
    for event in (
        ev.RequestStart(2, 1, "r2", 100 * MS, 4, 1),
        ev.Span(1, "queue", 70 * MS, 100 * MS, 2),
        ev.RequestEnd(2, 120 * MS, "ok", "length"),
    ):
        timeline.apply(event)
    assert stage_tracks(exported(tmp_path, timeline)) == {"prefill": "stages 1", "queue": "stages 2"}


def test_loading_and_runs_that_overlap_in_part(tmp_path: Path) -> None:
    timeline = Timeline()
    for event in (
        ev.RunStart(1, 0, "one", "m"),
        ev.Span(1, "load", 0, 40 * MS),
        ev.Span(1, "compile", 30 * MS, 60 * MS),
        ev.RunStart(2, 50 * MS, "two", "m"),
        ev.RunEnd(1, 70 * MS),
        ev.RunEnd(2, 90 * MS),
    ):
        timeline.apply(event)
    events = exported(tmp_path, timeline)
    assert stage_tracks(events) == {"load": "loading", "compile": "loading (2)"}
    assert len({e["tid"] for e in events if e.get("cat") == "run"}) == 2


def test_stamps_survive_a_reader_that_cuts_off() -> None:
    """1.001 us times 1000 is 1000.99... in floats; one stamp in 150 would be off by 1 ns."""
    assert _us(1500) == 1.5
    assert _us(1_000_000) == 1000.0
    for ns in (0, 1, 999, 1001, 4_005, 123_456_789, 999_999_999_999, 86_400_000_000_001):
        assert int(_us(ns) * 1000) == ns
        assert _us(ns) == pytest.approx(ns / 1000, rel=1e-15)


def test_steps_of_odd_nanoseconds_do_not_overlap() -> None:
    timeline = Timeline()
    stamps = [1001 + 1025 * i for i in range(2000)]  # as plain ns / 1000, nine would overlap
    for event in (
        ev.RunStart(1, 0),
        ev.RequestStart(1, 1, "r1", 0, 4, len(stamps)),
        ev.make_steps(1, 0, stamps),
        ev.RequestEnd(1, stamps[-1], "ok", "length"),
    ):
        timeline.apply(event)
    steps = [e for e in trace_events(timeline) if e.get("cat") == "step"]
    assert len(steps) == 2000
    check_nesting(steps)


# -- a whole session ---------------------------------------------------------------------------


def test_requests_stages_tokens_and_counters(tmp_path: Path) -> None:
    events = exported(tmp_path, odd_timeline())
    slices = [event for event in events if event["ph"] == "X"]
    steps = [event for event in slices if event["cat"] == "step" and event["ts"] >= 50_000]
    assert [(event["name"], event["ts"], event["dur"]) for event in steps] == [
        ("first token", 50_000.0, 50_000.0),
        ("token 2", 100_000.0, 10_000.0),
        ("token 3", 110_000.0, 20_000.0),
        ("token 4", 130_000.0, 30_000.0),
        ("token 5", 160_000.0, 40_000.0),
        ("token 6", 200_000.0, 50_000.0),
    ]
    stages = {event["name"]: event["dur"] for event in slices if event["cat"] == "stage"}
    assert stages == {"tokenize": 2_000.0, "prefill": 47_000.0}
    counters = [(event["name"], event["ts"], event["args"]) for event in events if event["ph"] == "C"]
    assert counters == [
        ("gpu0 power_w", 60_000.0, {"power_w": 250.5}),
        ("gpu0 power_w", 160_000.0, {"power_w": 251.5}),
        ("gpu0 memory_busy_pct", 160_000.0, {"memory_busy_pct": 30.0}),
    ]
    assert [event["name"] for event in slices if event["cat"] == "own"] == ["redraw"]
    assert [event["cat"] for event in events if event["ph"] == "i"] == ["failure"]
    # r1 (50 to 251 ms) and r2 (200 to 210) are under way at once: two lanes.
    requests = [(event["name"], event["tid"]) for event in slices if event["cat"] == "request"]
    assert len({tid for _, tid in requests}) == 2
    assert requests[0][1] == requests[1][1] != requests[2][1]
