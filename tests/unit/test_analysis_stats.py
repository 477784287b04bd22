"""Distributions and their intervals, by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from profiler.analysis.stats import distribution, quantile_interval


def test_twenty_values() -> None:
    values = distribution(range(1, 21))
    assert (values["n"], values["mean"], values["p50"], values["p90"]) == (20, 10.5, 10.5, 18.1)
    assert values["p99"] == pytest.approx(19.81)
    assert values["std"] == pytest.approx(35**0.5)  # (20^2 - 1) / 12 * 20 / 19
    assert values["low_n"] is True
    assert "p50_ci95" not in values
    json.dumps(values, allow_nan=False)


def test_none_and_one() -> None:
    nothing = distribution([], per_request=True)
    assert nothing["n"] == 0 and nothing["low_n"] is True
    assert all(value is None for key, value in nothing.items() if key not in ("n", "low_n"))
    one = distribution([5.0])
    assert (one["mean"], one["std"], one["p99"], one["max"]) == (5.0, None, 5.0, 5.0)


def test_low_n_ends_at_a_hundred() -> None:
    assert distribution(range(99))["low_n"] is True
    assert distribution(range(100))["low_n"] is False


@pytest.mark.parametrize(("q", "needed"), [(0.5, 6), (0.95, 72), (0.99, 368)])
def test_a_finite_upper_end_needs_enough_values(q: float, needed: int) -> None:
    short, enough = np.arange(needed - 1.0), np.arange(float(needed))
    assert quantile_interval(short, q)[1] is None
    assert quantile_interval(enough, q)[1] == needed - 1


def test_median_interval_of_ten() -> None:
    # Binomial (10, 1/2): P(< 2) = 11/1024 = 1.07 %, P(< 3) = 5.5 %; so ranks 2 and 9.
    assert quantile_interval(np.arange(1.0, 11.0), 0.5) == [2.0, 9.0]


def test_interval_of_many_values_does_not_underflow() -> None:
    low, high = quantile_interval(np.arange(100_000.0), 0.99)
    assert low is not None and high is not None
    # n q +- 1.96 sqrt(n q (1 - q)) = 99000 +- 61.7
    assert low == pytest.approx(98_938, abs=3) and high == pytest.approx(99_062, abs=3)
