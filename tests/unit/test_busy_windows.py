"""The driver's busy share: windows against decoding, by hand. Times in seconds."""

from __future__ import annotations

from analysis_streams import add_request, empty_timeline

from profiler import events as ev
from profiler.analysis.busy_windows import (
    BusyWindow,
    busy_windows,
    decode_intervals,
    decode_windows,
    window_ns,
)
from profiler.analysis.telemetry import telemetry
from profiler.reporting.report import report
from profiler.timeline import Timeline

S = 1_000_000_000
MS = 1_000_000


def gpu_timeline(readings: list[tuple[float, float | None, float | None, float | None]]) -> Timeline:
    """Readings (t, busy %, age ms, window ms) of gpu0, of a model that runs on it."""
    timeline = empty_timeline()
    timeline.apply(ev.Fact("model", {"device": "cuda:0"}, 1))
    for t_s, pct, age_ms, window_ms in readings:
        values = {"memory_busy_pct": pct, "busy_age_ms": age_ms, "busy_window_ms": window_ms}
        timeline.apply(ev.Sample(round(t_s * S), "gpu0", values))
    return timeline


def test_half_a_second_of_decoding_at_a_window_of_one_second_is_withheld() -> None:
    timeline = gpu_timeline([(1.25, 45.0, 0, 1000), (1.5, 45.0, 0, 1000)])
    request = add_request(timeline, 1, [1000, 1250, 1500], t0_ms=900)
    assert busy_windows(timeline, timeline.runs[1], request) == ([], "too short for this counter")
    (run,) = report(timeline)["runs"]
    assert run["telemetry"]["gpus"][0]["metrics"]["memory_busy_pct"] == {
        "n": 0,
        "mean": None,
        "min": None,
        "max": None,
        "window_ms": 1000.0,
        "reason": "too short for this counter",
    }


def test_exactly_three_windows_are_enough() -> None:
    timeline = gpu_timeline([(2.0, 90.0, 0, 1000)])
    columns = timeline.samples["gpu0"]
    assert decode_windows(columns, [(0, 3 * S)]) == ([BusyWindow(1 * S, 2 * S, 90.0, True)], None)
    assert decode_windows(columns, [(0, 3 * S - 1)]) == ([], "too short for this counter")


def test_only_windows_wholly_inside_count() -> None:
    # Decoding from 10 to 14 s, windows of 1 s. The first began in prefill, the last ended after it.
    timeline = gpu_timeline(
        [
            (9.5, 5.0, 0, 1000),  # before it
            (10.5, 40.0, 0, 1000),  # 9.5 .. 10.5
            (11.5, 80.0, 0, 1000),  # 10.5 .. 11.5
            (12.5, 90.0, 0, 1000),
            (14.5, 30.0, 0, 1000),  # 13.5 .. 14.5
            (15.5, 1.0, 0, 1000),  # after it
        ]
    )
    request = add_request(timeline, 1, [10_000, 11_000, 12_000, 13_000, 14_000], t0_ms=9000)
    windows, reason = busy_windows(timeline, timeline.runs[1], request)
    assert reason is None
    # Token 1 came at 10 s, token 5 at 14 s: half a second is half a token.
    assert windows == [
        (1.0, 1.5, 40.0, False),
        (1.5, 2.5, 80.0, True),
        (2.5, 3.5, 90.0, True),
        (4.5, 5.0, 30.0, False),
    ]
    (gpu,) = telemetry(timeline, (9 * S, 14 * S), decode_intervals([request]))["gpus"]
    assert gpu["metrics"]["memory_busy_pct"] == {
        "n": 2,
        "mean": 85.0,
        "min": 80.0,
        "max": 90.0,
        "window_ms": 1000.0,
        "reason": None,
    }


def test_a_value_read_again_with_a_greater_age_is_one_window() -> None:
    timeline = gpu_timeline(
        [(1.00, 50.0, 0, 1000), (1.25, 50.0, 251, 1000), (1.5, 50.0, 500, 1000), (2.25, 70.0, 250, 1000)]
    )
    windows, _ = decode_windows(timeline.samples["gpu0"], [(0, 10 * S)])
    assert windows == [BusyWindow(0, 1 * S, 50.0, True), BusyWindow(1 * S, 2 * S, 70.0, True)]


def test_a_snapshot_without_a_width_is_taken_to_be_a_second_wide() -> None:
    timeline = gpu_timeline([(2.0, 50.0, None, None), (2.25, 50.0, None, None)])
    columns = timeline.samples["gpu0"]
    assert window_ns(columns) == S
    windows, _ = decode_windows(columns, [(0, 3 * S)])
    assert [(w.t_from_ns, w.t_to_ns) for w in windows] == [(S, 2 * S), (S + S // 4, 2 * S + S // 4)]
    assert window_ns(columns, {"busy_window_ms": 200.0}) == 200 * MS


def test_requests_that_overlap_decode_as_one_stretch() -> None:
    timeline = empty_timeline()
    first = add_request(timeline, 1, [0, 1000])
    second = add_request(timeline, 2, [500, 2000])
    third = add_request(timeline, 3, [3000, 3500])
    lone = add_request(timeline, 4, [9000])
    backwards = add_request(timeline, 5, [9500, 9400], end_ms=9600)
    assert decode_intervals([third, first, second, lone, backwards]) == [(0, 2 * S), (3 * S, 3 * S + S // 2)]


def test_a_short_stretch_among_long_ones_is_left_out() -> None:
    timeline = gpu_timeline([(1.5, 80.0, 0, 500), (8.4, 10.0, 0, 500)])
    windows, reason = decode_windows(timeline.samples["gpu0"], [(0, 2 * S), (8 * S, 9 * S)])
    assert (windows, reason) == ([BusyWindow(S, S + S // 2, 80.0, True)], None)


def test_why_there_is_nothing_to_show() -> None:
    timeline = empty_timeline()
    request = add_request(timeline, 1, [0, 1000])
    run = timeline.runs[1]
    assert busy_windows(timeline, run, request) == ([], "needs an NVIDIA GPU")
    timeline.apply(ev.Sample(5, "gpu0", {"memory_busy_pct": None}))
    assert busy_windows(timeline, run, request) == ([], "the driver does not tell it")
    timeline.apply(ev.Fact("model", {"device": "cpu"}, 1))
    assert busy_windows(timeline, run, request) == ([], "the model runs on the CPU")


def test_a_request_that_runs_is_not_too_short_yet() -> None:
    timeline = gpu_timeline([(1.2, 45.0, 0, 1000)])
    request = add_request(timeline, 1, [1000, 1200], end=None)
    assert busy_windows(timeline, timeline.runs[1], request) == ([], None)


def test_long_enough_but_no_window_inside() -> None:
    timeline = gpu_timeline([(0.5, 45.0, 0, 1000)])
    (gpu,) = telemetry(timeline, (0, 5 * S), [(0, 5 * S)])["gpus"]
    metric = gpu["metrics"]["memory_busy_pct"]
    assert metric["n"] == 0 and "wholly inside decoding" in metric["reason"]
