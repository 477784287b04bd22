"""The reference measurement: its arithmetic with numbers, its kernels once, small."""

from __future__ import annotations

import json

import pytest

from profiler.config import RunConfig
from profiler.worker.reference import _faster, buffer_bytes, choose, measure_bandwidth, measure_flops
from profiler.worker.ruler import reference_fact
from profiler.worker.sources.presets import preset_source

MIB = 1 << 20
GIB = 1 << 30


@pytest.mark.parametrize(
    ("llc", "free", "on_gpu", "size"),
    [
        (32 * MIB, 16 * GIB, False, 128 * MIB),  # four times the cache
        (32 * MIB, None, False, 128 * MIB),
        # 10 % of 1,200 MiB for three buffers: 40 MiB each
        (32 * MIB, 1200 * MIB, False, 40 * MIB),
        (4096 * MIB, 512 * GIB, False, 1024 * MIB),  # an absurd cache
        (50 * MIB, 80 * GIB, True, 256 * MIB),
        (96 * MIB, 80 * GIB, True, 384 * MIB),
        (1, 16 * GIB, False, 16_384),  # at least one row of 4096 float32
        (32 * MIB, 1000, False, 16_384),
    ],
)
def test_buffer(llc: int, free: int | None, on_gpu: bool, size: int) -> None:
    assert buffer_bytes(llc, free, on_gpu) == size


def test_the_best_kernel_is_taken() -> None:
    rates = {"copy": 10.0, "triad": 12.345678, "read_sum": 9.0, "gemv": 11.0}
    assert choose(rates, None) == {"gb_s": 12.346, "best": "triad", "reason": None}


def test_up_to_5_percent_above_the_advertised_peak() -> None:
    assert choose({"copy": 105.0}, 100.0)["gb_s"] == 105.0
    rejected = choose({"copy": 105.1, "gemv": 90.0}, 100.0)
    assert rejected["gb_s"] is None and rejected["best"] is None
    assert rejected["reason"] == (
        "copy reached 105.1 GB/s, more than the memory's advertised peak of 100.0 GB/s: it measured a cache."
    )


def test_nothing_timed() -> None:
    assert choose({}, None)["gb_s"] is None


def test_bandwidth_on_the_cpu() -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    result = measure_bandwidth("cpu", 1, 0.05, llc_bytes=MIB)
    json.dumps(result, allow_nan=False)
    assert torch.get_num_threads() == before
    assert result["threads"] == 1 and result["rounds"] >= 3
    assert result["buffer_bytes"] == 4 * MIB and result["llc_bytes"] == MIB
    assert set(result["kernels"]) == {"copy", "triad", "read_sum", "gemv"}
    assert result["gb_s"] == max(result["kernels"].values()) > 0
    assert result["gb_s"] == result["kernels"][result["best"]]
    assert result["reason"] is None and result["notes"] == []


def test_bandwidth_with_little_memory_says_so() -> None:
    pytest.importorskip("torch")
    result = measure_bandwidth("cpu", 1, 0.0, llc_bytes=MIB, free_bytes=60 * MIB)
    assert result["buffer_bytes"] == 2 * MIB
    assert result["notes"][0].startswith("The buffers are 2.0 times the last-level cache rather than 4")


def test_an_impossible_peak_rejects() -> None:
    pytest.importorskip("torch")
    result = measure_bandwidth("cpu", 1, 0.0, llc_bytes=MIB, advertised_gb_s=1e-6)
    assert result["gb_s"] is None and "measured a cache" in result["reason"]
    assert result["kernels"]["copy"] > 0


def test_flops_on_the_cpu() -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    result = measure_flops("cpu", "fp32", 0.05, threads=1)
    json.dumps(result, allow_nan=False)
    assert torch.get_num_threads() == before
    assert result["tflop_s"] > 0 and result["n"] >= 256 and result["reason"] is None


def test_flops_of_a_type_without_a_product() -> None:
    pytest.importorskip("torch")
    result = measure_flops("cpu", "int4", 0.05)
    assert result["tflop_s"] is None and "int4" in result["reason"]


def test_a_device_that_is_not_there() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    bandwidth, flops = measure_bandwidth("cuda:0", None, 0.05), measure_flops("cuda:0", "bf16", 0.05)
    assert bandwidth["gb_s"] is None and "could not be measured" in bandwidth["reason"]
    assert flops["tflop_s"] is None and "could not be measured" in flops["reason"]


def test_the_fastest_product_is_taken_not_the_largest() -> None:
    # 8 times the work in 8 times the time is alike; in 9 times it is slower.
    assert _faster((256, 100), (512, 800)) == (512, 800)
    assert _faster((256, 100), (512, 900)) == (256, 100)


def test_the_fact_of_a_run_holds_both_rates() -> None:
    pytest.importorskip("torch")
    shape = preset_source("preset:nano").shape
    config = RunConfig(model="preset:nano", device="cpu", dtype="fp32", measure_reference=False)
    off = reference_fact(config, shape)
    assert (off["gb_s"], off["compute"], off["source"]) == (None, None, None)
    assert "switched off" in off["reason"]


@pytest.mark.slow
def test_the_fact_of_a_run_measured() -> None:
    pytest.importorskip("torch")
    config = RunConfig(model="preset:nano", device="cpu", threads=1)
    fact = reference_fact(config, preset_source("preset:nano").shape)
    json.dumps(fact, allow_nan=False)
    assert fact["gb_s"] > 0 and (fact["source"], fact["device"]) == ("measured", "cpu")
    # auto: as the preset's weights are stored.
    assert fact["compute"]["tflop_s"] > 0 and fact["compute"]["dtype"] == "bf16"
    assert fact["compute"]["threads"] == 1
