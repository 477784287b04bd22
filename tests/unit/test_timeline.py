from __future__ import annotations

import numpy as np

from profiler import events as ev
from profiler.session.replay import replay
from profiler.timeline import IntervalColumns, SampleColumns, Timeline, overlaps


def _timeline() -> Timeline:
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0, "run"))
    timeline.apply(ev.RequestStart(1, 1, "r1", 100, 16, 4))
    return timeline


def test_columns_grow_and_views_keep_their_values() -> None:
    timeline = _timeline()
    request = timeline.requests[1]
    timeline.apply(ev.make_steps(1, 0, [110, 120], ids=[1, 2]))
    early = request.t_ns
    for i in range(2, 2000):
        timeline.apply(ev.make_steps(1, i, [100 + 10 * (i + 1)], ids=[i]))
    assert early.tolist() == [110, 120]
    assert len(request) == 2000
    assert request.t_ns[-1] == 100 + 10 * 2000
    assert len(request.ids) == 2000


def test_what_was_seen_changes_nothing() -> None:
    timeline = _timeline()
    request = timeline.requests[1]
    timeline.apply(ev.make_steps(1, 0, [110, 120, 130], [1, 2, 1], ids=[1, 2, 3, 4]))
    timeline.apply(ev.make_steps(1, 1, [120, 130, 140], [2, 1, 1], ids=[2, 3, 4, 5]))
    timeline.apply(ev.make_steps(1, 0, [110, 120], [1, 2], ids=[1, 2, 3]))
    timeline.apply(ev.RequestStart(1, 1, "r1", 100, 16, 4))
    timeline.apply(ev.RunStart(1, 0, "again"))
    assert request.t_ns.tolist() == [110, 120, 130, 140]
    assert request.ids.tolist() == [1, 2, 3, 4, 5]
    assert timeline.runs[1].name == "run" and len(timeline.runs[1].requests) == 1
    timeline.apply(ev.Text(1, ["a", "b"], 0))
    timeline.apply(ev.Text(1, ["a", "b", "c"], 0))
    timeline.apply(ev.Text(1, ["b"], 1))
    assert request.pieces == ["a", "b", "c"]
    sample = ev.Sample(5, "host", {"x": 1.0})
    timeline.apply(sample)
    timeline.apply(sample)
    assert len(timeline.samples["host"]) == 1


def test_missing_samples_are_nan_in_columns_that_line_up() -> None:
    columns = SampleColumns("gpu0")
    columns.append(ev.Sample(1, "gpu0", {"a": 1}))
    columns.append(ev.Sample(2, "gpu0", {"a": None, "b": 2.5}, read_ns=7))
    columns.append(ev.Sample(3, "gpu0", {"b": 3}))
    assert columns.metrics == ["a", "b"]
    assert np.array_equal(columns.values("a"), [1.0, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(columns.values("b"), [np.nan, 2.5, 3.0], equal_nan=True)
    assert columns.read_ns.tolist() == [-1, 7, -1]
    assert len(columns.values("c")) == 0


def test_intervals_stay_sorted() -> None:
    columns = IntervalColumns()
    for start, end in ((10, 12), (30, 31), (20, 25), (20, 25), (5, 6)):
        columns.append(ev.Interval("redraw", start, end))
    assert columns.t_ns.tolist() == [5, 10, 20, 30]
    assert columns.end_ns.tolist() == [6, 12, 25, 31]


def test_overlaps_counts_shared_time_only() -> None:
    starts, ends = np.array([0, 10, 20, 30]), np.array([10, 20, 30, 40])
    others = np.array([10, 25]), np.array([12, 26])
    assert overlaps(starts, ends, *others).tolist() == [False, True, True, False]
    # A long one that began early still counts, although a later one began nearer.
    others = np.array([1, 2]), np.array([35, 3])
    assert overlaps(starts, ends, *others).tolist() == [True, True, True, True]
    assert overlaps(starts, ends, np.array([], int), np.array([], int)).tolist() == [False] * 4


def test_a_step_that_overlaps_a_redraw_is_disturbed() -> None:
    timeline = _timeline()
    timeline.apply(ev.make_steps(1, 0, [110, 120, 130], flags=[0, 0, 1]))
    timeline.apply(ev.Interval("redraw", 112, 113))
    timeline.apply(ev.Interval("gc", 101, 102))  # not ours
    assert timeline.disturbed(timeline.requests[1]).tolist() == [False, True, True]


def test_steps_are_loaded_on_first_use() -> None:
    timeline = _timeline()
    request = timeline.requests[1]
    calls = []

    def loader(me: object) -> None:
        calls.append(me)
        request.append_steps(ev.make_steps(1, 0, [110, 120]))

    request.attach_loader(loader)
    assert calls == []
    assert request.t_ns.tolist() == [110, 120]
    assert len(request) == 2 and calls == [request]


def test_replay_gives_an_equal_timeline() -> None:
    first = _timeline()
    first.apply(ev.Fact("anchor", {"t_ns": 1}))
    first.apply(ev.Fact("footprint", {"weight_bytes": 5}, 1))
    first.apply(ev.Note(1, "a note"))
    first.apply(ev.make_steps(1, 0, [110, 120], [1, 2], [17, 19], [5, 6, 7], [0, 1]))
    first.apply(ev.Text(1, ["a", "b"], 0))
    first.apply(ev.Busy(1, 0, [4, 9]))
    first.apply(ev.Busy(1, 1, [9, 5_000_000]))
    first.apply(ev.Span(1, "prefill", 100, 105, 1))
    first.apply(ev.Span(1, "load", 1, 2))
    first.apply(ev.RequestEnd(1, 130, "error", "error", "why"))
    first.apply(ev.Sample(105, "host", {"a": 1.5, "b": None}, 3))
    first.apply(ev.Interval("gc", 101, 102, {"generation": 2}))
    first.apply(ev.Log("warning", 1, "s", "m"))
    first.apply(ev.Failure("run", 1, "m"))
    first.apply(ev.RunEnd(1, 140, "failed", "why"))
    second = Timeline()
    second.apply_all(replay(first))
    one, two = first.requests[1], second.requests[1]
    assert one.busy_us.tolist() == [4, 9, 5_000_000]
    for name in ("t_ns", "k", "kv_len", "flags", "ids", "busy_us"):
        assert getattr(one, name).tolist() == getattr(two, name).tolist()
    for name in ("pieces", "spans", "end_ns", "end_status", "stop_reason", "error", "prompt_tokens"):
        assert getattr(one, name) == getattr(two, name)
    for name in ("status", "reason", "end_ns", "facts", "notes", "spans", "name", "config"):
        assert getattr(first.runs[1], name) == getattr(second.runs[1], name)
    assert first.facts == second.facts
    assert list(first.logs) == list(second.logs) and first.failures == second.failures
    assert second.intervals["gc"].details == [{"generation": 2}]
    assert np.array_equal(second.samples["host"].values("b"), [np.nan], equal_nan=True)
