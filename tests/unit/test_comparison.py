"""Verdicts on two runs: by hand where that is possible, by simulation where it is not."""

import numpy as np
import pytest

from profiler.analysis.comparison import (
    METRICS,
    Side,
    compare,
    different_workload,
    holm,
    judge,
    noise_floor,
)
from profiler.analysis.comparison_bootstrap import block_bootstrap

THREE = ("itl_ms.p50", "tpot_ms.p50", "e2e_ms.p50")


def side(
    rng: np.random.Generator,
    requests: int = 40,
    tokens: int = 64,
    scale: float = 1.0,
    request_noise: float = 0.02,
    gap_noise: float = 0.05,
) -> Side:
    """Requests around 10 ms a gap; each has its own level, each gap its own noise (log-normal)."""
    levels = 10 * scale * np.exp(rng.normal(0, request_noise, requests))
    gaps = [level * np.exp(rng.normal(0, gap_noise, tokens)) for level in levels]
    ttft = 100 * scale * np.exp(rng.normal(0, 0.02, requests))
    spent = np.array([values.sum() for values in gaps])
    return Side(
        {
            "ttft_ms": ttft,
            "tpot_ms": spent / tokens,
            "e2e_ms": ttft + spent,
            "output_tok_s": 1000 * (tokens + 1) / (ttft + spent),
        },
        gaps,
    )


def rows(a: Side, b: Side, **options) -> dict[str, dict]:  # type: ignore[no-untyped-def, type-arg]
    return {row["metric"]: row for row in compare(a, b, **options)}


# -- by hand ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratio", "low", "high", "higher_is_better", "verdict"),
    [
        (1.05, 1.03, 1.07, False, "slower"),
        (0.95, 0.93, 0.97, False, "faster"),
        (1.05, 1.03, 1.07, True, "faster"),
        (0.95, 0.93, 0.97, True, "slower"),
        (1.05, 0.99, 1.11, False, "no_difference"),
        (1.015, 1.01, 1.019, False, "equivalent"),  # excludes 1, yet lies within 2 %
        (1.019, 1.005, 1.033, False, "no_difference"),  # excludes 1, no larger than 2 %
        (1.0, 0.985, 1.015, False, "equivalent"),
        (1.0, 0.97, 1.03, False, "no_difference"),
    ],
)
def test_verdicts(ratio: float, low: float, high: float, higher_is_better: bool, verdict: str) -> None:
    assert judge(ratio, low, high, higher_is_better)[0] == verdict


def test_a_difference_within_the_noise_floor_is_not_claimed() -> None:
    assert judge(1.05, 1.03, 1.07, False, floor=0.06) == (
        "no_difference",
        "within the noise floor: an A/A pair differed by 6.0 %",
    )
    assert judge(1.05, 1.03, 1.07, False, floor=0.04) == ("slower", None)


def test_holm_steps_down() -> None:
    # 0.01 <= 0.05 / 3, 0.02 <= 0.05 / 2, 0.06 > 0.05: the first two hold.
    assert holm([0.02, 0.06, 0.01, None]) == [True, False, True, False]
    # 0.03 > 0.05 / 2: nothing holds, although 0.04 <= 0.05.
    assert holm([0.03, 0.04]) == [False, False]


def test_values_are_those_of_the_run() -> None:
    a = Side({"ttft_ms": np.array([10.0, 20, 30, 40, 50])}, [np.array([1.0, 2, 3])] * 5)
    b = Side({"ttft_ms": np.array([20.0, 40, 60, 80, 100])}, [np.array([2.0, 4, 6])] * 5)
    found = rows(a, b)
    assert found["ttft_ms.p50"]["a"] == 30
    assert found["ttft_ms.p50"]["b"] == 60
    assert found["ttft_ms.p50"]["difference"] == 30
    assert found["ttft_ms.p50"]["ratio"] == 2
    assert found["itl_ms.p50"]["a"] == 2
    assert found["itl_ms.p50"]["ratio"] == 2
    assert found["tpot_ms.p50"]["verdict"] == "not_comparable"
    assert found["mbu.run"]["reason"] == "A: the memory was not measured"


def test_mbu_is_bytes_over_time() -> None:
    def one(seconds: float) -> Side:
        return Side({}, [], moved_bytes=np.full(6, 2e9), moved_s=np.full(6, seconds), reference_gb_s=10.0)

    row = rows(one(0.4), one(0.5))["mbu.run"]
    # 2 GB in 0.4 s are 5 GB/s of 10; in 0.5 s 4 of 10.
    assert (row["a"], row["b"]) == (pytest.approx(0.5), pytest.approx(0.4))
    assert row["verdict"] == "slower"


def test_fewer_than_five_requests_say_so() -> None:
    rng = np.random.default_rng(0)
    row = rows(side(rng, requests=4), side(rng, requests=6))["itl_ms.p50"]
    assert row["verdict"] == "not_comparable"
    assert row["reason"] == "needs 5 ok requests a side; A has 4"
    assert row["ratio"] is not None  # what was measured is still told


def test_other_workloads_are_not_comparable() -> None:
    assert different_workload({"output_tokens": 64}, {"output_tokens": 64}) is None
    assert different_workload({"output_tokens": 64}, {"output_tokens": 128}) == (
        "different workloads: output tokens 64 and 128"
    )
    assert different_workload({"median_output_tokens": 100.0}, {"median_output_tokens": 105.0}) is None
    assert different_workload({"prompt_tokens": None}, {"prompt_tokens": 8}) is None
    rng = np.random.default_rng(0)
    a, b = side(rng), side(rng)
    a.workload["output_tokens"], b.workload["output_tokens"] = 64, 128
    assert {row["verdict"] for row in compare(a, b)} == {"not_comparable"}


def test_rows_are_the_contracts_in_its_order() -> None:
    assert [metric.name for metric in METRICS[:8]] == [
        "ttft_ms.p50",
        "itl_ms.p50",
        "itl_ms.p95",
        "itl_ms.p99",
        "tpot_ms.p50",
        "e2e_ms.p50",
        "output_tok_s.p50",
        "mbu.run",
    ]


def test_the_same_inputs_give_the_same_rows() -> None:
    a, b = side(np.random.default_rng(1)), side(np.random.default_rng(2))
    assert compare(a, b) == compare(a, b)


def test_blocks_hold_together() -> None:
    """Pairs (1, 1), (9, 9): resampled one by one the quantiles would mix as often as not."""
    rng = np.random.default_rng(0)
    drawn = block_bootstrap([np.array([5.0, 5.0, 5.0])], [0.5], rng, resamples=20)
    assert drawn.tolist() == [[5.0] * 20]
    assert np.isnan(block_bootstrap([], [0.5], rng, resamples=3)).all()


# -- by simulation ----------------------------------------------------------------------------


def test_the_same_distribution_is_neither_slower_nor_faster() -> None:
    """40 requests a side that differ by 4 % each: what a test of tokens would get wrong."""
    wrong = dict.fromkeys(THREE, 0)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        found = rows(side(rng, tokens=24, request_noise=0.04), side(rng, tokens=24, request_noise=0.04))
        for name in THREE:
            wrong[name] += found[name]["verdict"] in ("slower", "faster")
    assert max(wrong.values()) <= 3, wrong


def test_five_per_cent_slower_is_slower() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        found = rows(side(rng, tokens=24), side(rng, tokens=24, scale=1.05))
        assert {found[name]["verdict"] for name in THREE} == {"slower"}, seed
        assert found["output_tok_s.p50"]["verdict"] == "slower"


def test_intervals_hold_the_true_ratio() -> None:
    inside = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        found = rows(
            side(rng, requests=6, tokens=24, request_noise=0.05),
            side(rng, requests=6, tokens=24, request_noise=0.05, scale=1.1),
        )
        low, high = found["tpot_ms.p50"]["ci95"]
        inside += low <= 1.1 <= high
    assert inside >= 36


def test_an_a_a_pair_gives_the_floor() -> None:
    rng = np.random.default_rng(3)
    pair = compare(side(rng), side(rng))
    floor = noise_floor(pair)
    assert floor["itl_ms.p50"] == pytest.approx(abs(pair[1]["ratio"] - 1))
    assert "mbu.run" not in floor
    wide = dict.fromkeys(floor, 0.5)
    assert (
        rows(side(rng), side(rng, scale=1.05), noise_floor=wide)["itl_ms.p50"]["verdict"] == "no_difference"
    )
