from __future__ import annotations

import numpy as np
import pytest

from profiler import events as ev
from profiler.analysis.step_time import step_time
from profiler.timeline import Request


def _request(busy_us: list[int]) -> Request:
    request = Request(ev.RequestStart(1, 1, "r1", 0, 16, 3))
    request.append_steps(ev.make_steps(1, 0, [100_000_000, 110_000_000, 130_000_000]))
    request.append_busy(ev.Busy(1, 0, busy_us))
    return request


def test_a_gap_is_busy_plus_host() -> None:
    value = step_time(_request([90_000, 8_000, 15_000]), np.array([10.0, 20.0]))
    assert value["busy_ms"] == {"n": 2, "mean": 11.5, "p50": 11.5, "max": 15.0}
    assert value["host_ms"] == {"n": 2, "mean": 3.5, "p50": 3.5, "max": 5.0}
    assert value["busy_share"] == pytest.approx(23 / 30)
    assert value["reason"] is None


def test_missing_is_null_with_a_reason() -> None:
    for busy, gaps in (([], [10.0, 20.0]), ([1, 2], [10.0, 20.0]), ([1], [])):
        value = step_time(_request(busy), np.array(gaps))
        assert value["busy_ms"] is None and value["busy_share"] is None and value["reason"]
