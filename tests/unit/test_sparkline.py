"""A run's gaps as a small picture: few numbers, and no spike lost."""

from __future__ import annotations

import numpy as np
import pytest

from profiler import events as ev
from profiler.analysis.sparkline import itl_trace_ms, max_per_bucket
from profiler.timeline import Timeline


@pytest.mark.parametrize(
    ("values", "buckets", "expected"),
    [
        ([], 3, []),
        ([1, 2], 3, [1.0, 2.0]),
        ([1, 2, 3], 3, [1.0, 2.0, 3.0]),
        ([1, 9, 3, 4, 5, 6], 3, [9.0, 4.0, 6.0]),
        ([7, 1, 1, 9, 1], 2, [7.0, 9.0]),
        ([1, 2, 3, 4], 1, [4.0]),
    ],
)
def test_the_largest_of_each_bucket(values: list[float], buckets: int, expected: list[float]) -> None:
    assert max_per_bucket(np.array(values, float), buckets) == expected


def test_a_spike_stays_wherever_it_is() -> None:
    for at in (0, 1, 5_000, 99_998, 99_999):
        values = np.ones(100_000)
        values[at] = 50.0
        found = max_per_bucket(values, 64)
        assert (len(found), found.count(50.0), found.count(1.0)) == (64, 1, 63)


def test_measured_requests_one_after_another() -> None:
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0))
    for no, gap_ns, warmup in ((1, 99_000_000, True), (2, 10_000_000, False), (3, 20_123_456, False)):
        t0_ns = no * 1_000_000_000
        timeline.apply(ev.RequestStart(no, 1, f"r{no}", t0_ns, warmup=warmup))
        timeline.apply(ev.make_steps(no, 0, [t0_ns + gap_ns * i for i in (1, 2, 3)]))
    assert itl_trace_ms(timeline.runs[1]) == [10.0, 10.0, 20.12, 20.12]
    assert itl_trace_ms(timeline.runs[1], 2) == [10.0, 20.12]


def test_a_run_without_tokens() -> None:
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0))
    assert itl_trace_ms(timeline.runs[1]) == []
