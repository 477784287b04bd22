"""Trend, jitter and spikes: exact on clean series, honest on noisy ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from profiler.analysis.jitter import fit_gaps, run_jitter, trimmed_weighted_mean
from profiler.analysis.trend import run_trend, theil_sen

FloatArray = npt.NDArray[np.float64]


def autoregressive(rng: np.random.Generator, n: int, phi: float) -> FloatArray:
    noise = rng.normal(size=n + 200)
    for i in range(1, n + 200):
        noise[i] += phi * noise[i - 1]
    return 20 + 0.5 * noise[200:]


def trend_of(series: list[FloatArray], first_len: int = 130, **settings: object) -> dict[str, object]:
    fits = [fit_gaps(gaps, np.arange(first_len, first_len + len(gaps))) for gaps in series]
    return run_trend([(f.kv_len, f.gaps_ms, f.line) for f in fits], **settings)  # type: ignore[arg-type]


def test_theil_sen_is_scipys_joint_method() -> None:
    rng = np.random.default_rng(3)
    x = np.sort(rng.integers(1, 60, 80)).astype(float)
    y = 0.3 * x + rng.standard_t(2, 80)
    expected = stats.theilslopes(y, x, method="joint")
    assert theil_sen(x, y) == (pytest.approx(expected.intercept), pytest.approx(expected.slope))


def test_a_clean_line_is_found_exactly_also_when_binned() -> None:
    for n in (3, 100, 5000):
        x = np.arange(n) + 129.0
        line = theil_sen(x, 10 + 0.001 * x)
        assert line == (pytest.approx(10), pytest.approx(0.001))


def test_no_line_without_lengths() -> None:
    gaps = np.array([10.0, 12.0, 10.0, 10.0])
    for lengths in (np.full(4, -1), np.full(4, 50)):
        fit = fit_gaps(gaps, lengths)
        assert fit.line is None
        assert fit.residuals_ms.tolist() == [0, 2, 0, 0]
    unknown = run_trend([(np.full(4, -1.0), gaps, None)])
    assert unknown["slope_us_per_token"] is None and unknown["identifiable"] is None
    assert unknown["reason"] == "the length of the context is not known"
    assert run_trend([(np.full(4, 50.0), gaps, None)])["reason"] == "all lengths are equal"
    assert run_trend([])["reason"] == "fewer than 3 gaps in each request"


def test_clean_slope_is_identifiable_and_may_be_drift() -> None:
    gaps = 10 + 0.002 * np.arange(130.0, 230.0)
    trend = trend_of([gaps, gaps])
    assert trend["slope_us_per_token"] == pytest.approx(2.0)
    assert trend["intercept_ms"] == pytest.approx(10.0)
    assert trend["identifiable"] is True
    assert "may be drift" in str(trend["reason"])
    first, second = (fit_gaps(gaps, np.arange(start, start + 100)) for start in (130, 500))
    apart = run_trend([(f.kv_len, f.gaps_ms, f.line) for f in (first, second)])
    assert apart["reason"] is None


def test_constant_gaps_have_no_slope() -> None:
    trend = trend_of([np.full(50, 10.0)] * 7)
    assert trend["slope_us_per_token"] == 0
    assert trend["slope_ci95_us_per_token"] == [0, 0]
    assert trend["identifiable"] is False


def test_the_live_view_has_no_interval_yet() -> None:
    trend = trend_of([10 + 0.002 * np.arange(100.0)], with_ci=False)
    assert trend["slope_us_per_token"] == pytest.approx(2.0)
    assert trend["slope_ci95_us_per_token"] is None and trend["identifiable"] is None


def test_too_few_gaps_for_an_interval() -> None:
    trend = trend_of([np.array([10.0, 11.0, 12.0, 13.0])])
    assert trend["slope_us_per_token"] == pytest.approx(1000)
    assert trend["identifiable"] is False and trend["slope_ci95_us_per_token"] is None


@pytest.mark.slow
@pytest.mark.parametrize(("requests", "n"), [(1, 512), (1, 128), (3, 128), (7, 64)])
def test_autocorrelated_noise_is_not_taken_for_a_slope(requests: int, n: int) -> None:
    seen = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        seen += bool(trend_of([autoregressive(rng, n, 0.9) for _ in range(requests)])["identifiable"])
    assert seen <= 10


def test_a_real_slope_is_seen_through_the_noise() -> None:
    seen = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        gaps = [autoregressive(rng, 256, 0.9) + 0.02 * np.arange(256) for _ in range(3)]
        seen += bool(trend_of(gaps)["identifiable"])
    assert seen >= 19


def test_injected_stalls() -> None:
    # 10 ms steps, +250 ms at each 40th: MAD is 0, so the 10 % rule alone decides.
    gaps = np.full(400, 10.0)
    gaps[39::40] += 250
    fit = fit_gaps(gaps, np.arange(130, 530))
    assert np.flatnonzero(fit.spikes).tolist() == list(range(39, 400, 40))
    jitter = run_jitter([fit])
    assert jitter["jitter_ms"] == 0 and jitter["spikes"] == 10
    assert jitter["longest_stall_ms"] == 260
    assert fit.line == (10.0, 0.0)
    # ten of 250 among 400: variance = 250^2 * 0.025 * 0.975 * 400 / 399
    assert jitter["cv"] == pytest.approx((250**2 * 0.025 * 0.975 * 400 / 399) ** 0.5 / 10)
    assert jitter["p99_minus_p50_ms"] == pytest.approx(250)


def test_spikes_need_both_rules_where_mad_is_not_zero() -> None:
    # Lengths unknown: residuals 0, 1, -1, ...; MAD 1, median gap 100.
    gaps = np.array([99.0, 100, 101, 99, 100, 101, 100, 99, 101, 109, 120])
    fit = fit_gaps(gaps, np.full(11, -1))
    # 109: 0.6745 * 9 = 6 > 3.5, but 9 % only; 120: both.
    assert np.flatnonzero(fit.spikes).tolist() == [10]
    wide = np.array([80.0, 100, 120, 80, 100, 120, 100, 80, 120, 150])
    # MAD 20: 150 is 50 % above, yet 0.6745 * 50 / 20 = 1.7.
    assert not fit_gaps(wide, np.full(10, -1)).spikes.any()


def test_jitter_is_what_is_left_after_the_trend() -> None:
    x = np.arange(101.0, 121.0)
    gaps = 10 + 0.5 * x + np.tile([1.0, -1.0, -1.0, 1.0], 5)
    jitter = run_jitter([fit_gaps(gaps, x.astype(int))])
    assert jitter["jitter_ms"] == pytest.approx(1.4826, rel=0.05)


def test_no_gap_at_all() -> None:
    assert run_jitter([]) == {
        "jitter_ms": None,
        "p99_minus_p50_ms": None,
        "cv": None,
        "longest_stall_ms": None,
        "spikes": 0,
    }


def test_dynamic_threshold_of_the_brief() -> None:
    gaps = np.array([10.0, 10, 11, 10, 12, 10, 90, 11, 10, 10])
    # P75 11, P25 10, P90 19.8: above 22.8 goes. Weights 2..11 without 8.
    weighted = 2 * 10 + 3 * 10 + 4 * 11 + 5 * 10 + 6 * 12 + 7 * 10 + 9 * 11 + 10 * 10 + 11 * 10
    assert trimmed_weighted_mean(gaps) == (pytest.approx(weighted / 57), 1)
    assert trimmed_weighted_mean(np.empty(0)) == (None, 0)
