from __future__ import annotations

import pytest

from profiler.units import format_bytes, format_duration_s, format_number


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (13.2, 4, "13.20"),
        (1024, 3, "1,024"),
        (0.09994, 3, "0.0999"),
        (9.996, 3, "10.0"),
        (-3.2, 3, "−3.20"),
        (0, 3, "0"),
        (None, 3, "—"),
        (float("nan"), 3, "—"),
        (999.9, 3, "1,000"),
        (123456.7, 4, "123,457"),
    ],
)
def test_numbers(value: float | None, digits: int, text: str) -> None:
    assert format_number(value, digits) == text


def test_bytes() -> None:
    assert format_bytes(512) == "512\u2009B"
    assert format_bytes(1536) == "1.50\u2009KiB"
    assert format_bytes(269_000_000, binary=False) == "269\u2009MB"
    assert format_bytes(None) == "—"


def test_durations() -> None:
    assert format_duration_s(0.42) == "0.4\u2009s"
    assert format_duration_s(18.2) == "18\u2009s"
    assert format_duration_s(125) == "2\u2009min 5\u2009s"
    assert format_duration_s(3 * 3600 + 20 * 60) == "3\u2009h 20\u2009min"
    assert format_duration_s(59.7) == "1\u2009min"
