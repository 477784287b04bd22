"""Bytes, floors and utilisation, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from profiler.analysis.bandwidth import (
    BandwidthSteps,
    BytesModel,
    bytes_model_from_facts,
    reference_from_facts,
    run_mbu,
    slope_factor,
    step_mbu,
)

FOOTPRINT: dict[str, Any] = {
    "weight_bytes_per_step": 1_000_000_000,
    "kv_layers": [
        {"bytes_per_token": 1000, "window": None},
        {"bytes_per_token": 1000, "window": None},
        {"bytes_per_token": 500, "window": 100},
    ],
    "state_bytes": 0,
    "static_cache_len": None,
}
REFERENCE = {"gb_s": 100.0, "source": "triad", "advertised_gb_s": None, "llc_bytes": None, "reason": None}


def test_windows_cap_the_length() -> None:
    model, reason = bytes_model_from_facts(FOOTPRINT)
    assert model is not None and reason is None
    assert model.step_bytes([50, 100, 300]).tolist() == [1_000_125_000, 1_000_250_000, 1_000_650_000]
    assert model.kv_bytes_per_token == 2500
    assert model.growth_bytes_per_token == 2000
    # 1.00065 GB at 100 GB/s
    assert float(model.floor_ms(300, 100.0)) == pytest.approx(10.0065)


def test_a_static_cache_is_read_whole() -> None:
    model = BytesModel(1000.0, ((10.0, None), (10.0, 64)), static_cache_len=512)
    assert model.step_bytes([1, 400]).tolist() == [1000 + 5120 + 640] * 2
    assert model.growth_bytes_per_token == 0


def test_state_is_read_and_written_and_a_batch_shares_the_weights() -> None:
    model = BytesModel(1000.0, ((1.0, None),), state_bytes=50.0)
    assert model.step_bytes([10], 4).tolist() == [1000 + 4 * (10 + 100)]


def test_llama_2_7b_of_the_contract() -> None:
    # fp16: 32 layers of 2 * 32 heads * 128 * 2 bytes; 13.231 GB at 32 tokens, 13.483 GB at 512.
    per_token = 32 * 2 * 32 * 128 * 2
    model = BytesModel(13.231e9 - 32 * per_token, ((float(per_token), None),))
    assert float(model.step_bytes(512)) == pytest.approx(13.483e9, rel=1e-4)


def test_ratio_of_sums_not_mean_of_ratios() -> None:
    facts = FOOTPRINT | {"kv_layers": []}
    steps = BandwidthSteps(np.array([10.0, 40.0]), np.array([1, 2]))
    mbu = run_mbu([steps], facts, REFERENCE)
    assert mbu["run"] == pytest.approx(2 / (0.050 * 100))
    assert mbu["p50"] == pytest.approx((1.0 + 0.25) / 2)
    assert mbu["floor_ms"] == pytest.approx(10.0)
    assert mbu["reference_source"] == "triad" and mbu["reason"] is None


def test_gaps_of_zero_and_unknown_lengths() -> None:
    model = BytesModel(1e9)
    values = step_mbu(np.array([0, 10_000_000, 10_000_000]), np.array([5, -1, 7]), model, 100.0)
    assert np.isnan(values[:2]).all() and values[2] == pytest.approx(1.0)
    unknown = run_mbu([BandwidthSteps(np.array([10.0]), np.array([-1]))], FOOTPRINT, REFERENCE)
    assert unknown["run"] is None and unknown["reason"] == "the length of the context is not known"
    still = run_mbu([BandwidthSteps(np.array([0.0]), np.array([3]))], FOOTPRINT, REFERENCE)
    assert still["run"] is None and still["reason"] == "no time passed between steps"
    assert run_mbu([], FOOTPRINT, REFERENCE)["reason"] == "no gap was measured"


def test_a_batch_of_two_counts_the_weights_once() -> None:
    facts = FOOTPRINT | {"kv_layers": [{"bytes_per_token": 1e6, "window": None}]}
    pair = [BandwidthSteps(np.array([20.0]), np.array([100]), 2)] * 2
    # 1 GB + 2 * 0.1 GB in 20 ms of 100 GB/s
    assert run_mbu(pair, facts, REFERENCE)["run"] == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("footprint", "reference", "words"),
    [
        (None, REFERENCE, "bytes of the model"),
        (FOOTPRINT | {"reason": "weights lie on another device"}, REFERENCE, "another device"),
        (FOOTPRINT | {"weight_bytes_per_step": None}, REFERENCE, "bytes of the model"),
        (FOOTPRINT | {"kv_layers": [{"bytes_per_token": None}]}, REFERENCE, "cache"),
        (FOOTPRINT | {"kv_layers": None, "kv_reason": "unknown family"}, REFERENCE, "unknown family"),
        ({"weight_bytes_per_step": 1e9}, REFERENCE, "cache"),
        (FOOTPRINT, None, "not measured"),
        (FOOTPRINT, {"gb_s": None, "reason": "too little free memory"}, "too little free memory"),
        (FOOTPRINT, {"gb_s": 106.0, "advertised_gb_s": 100.0}, "measured a cache"),
    ],
)
def test_off_with_a_reason(footprint: Any, reference: Any, words: str) -> None:
    mbu = run_mbu([BandwidthSteps(np.array([10.0]), np.array([10]))], footprint, reference)
    assert mbu["run"] is None and mbu["p50"] is None and mbu["floor_ms"] is None
    assert words in mbu["reason"]


def test_a_reference_at_105_percent_is_believed() -> None:
    assert reference_from_facts({"gb_s": 105.0, "advertised_gb_s": 100.0}).gb_s == 105.0


def test_a_model_in_the_cache_has_no_floor() -> None:
    reference = REFERENCE | {"llc_bytes": 600_000_000}
    mbu = run_mbu([BandwidthSteps(np.array([10.0]), np.array([10]))], FOOTPRINT, reference)
    assert mbu["floor_ms"] is None and "cache" in mbu["reason"]
    assert mbu["run"] is not None


def test_slope_factor() -> None:
    # 2000 bytes a token at 100 GB/s are 0.02 us; a slope of 0.06 us is three times that.
    assert slope_factor(0.06, FOOTPRINT, REFERENCE) == pytest.approx(3.0)
    assert slope_factor(None, FOOTPRINT, REFERENCE) is None
    assert slope_factor(0.06, FOOTPRINT | {"static_cache_len": 64}, REFERENCE) is None
