"""What this machine's memory and arithmetic can do, measured: the ruler of MBU and of the floors.

Run once per device and session, before the model is loaded. Bandwidth is the best of four
kernels over buffers of 4 times the last-level cache, touched before timing (MEASUREMENT,
"The physical limits"). Nothing is advertised here, nothing guessed: what cannot be measured
is None with a `reason`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from profiler.caches import last_level_cache
from profiler.units import GB, MIB, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

CACHE_FACTOR = 4
MEMORY_SHARE = 0.10
"""All buffers together take at most this share of the free memory."""
MAX_BUFFER_BYTES = 1 << 30
"""Virtual machines may claim absurd caches; touching more than this takes longer than it tells."""
MIN_GPU_BUFFER_BYTES = 256 * MIB
"""On a GPU four times its cache would be read in the time of a launch."""
PEAK_TOLERANCE = 1.05
"""A result above this much of the advertised peak measured a cache."""
KERNELS: dict[str, int] = {"copy": 2, "triad": 3, "read_sum": 1, "gemv": 1}
"""Kernel to how many times the buffer's bytes it moves."""
BUFFERS = 3
GEMV_COLUMNS = 4096


def measure_bandwidth(
    device: str,
    threads: int | None,
    budget_s: float = 2.0,
    *,
    advertised_gb_s: float | None = None,
    llc_bytes: int | None = None,
    free_bytes: int | None = None,
) -> dict[str, Any]:
    """Memory bandwidth of `device` ("cpu", "cuda:0", "mps") in GB/s, strict JSON.

    `threads`: torch's intra-op threads while measuring (the model's; None leaves them), put
    back after. `budget_s` covers touching and timing; at least three rounds are run. The last
    three arguments stand in for what would be asked of the system.

    Returns `gb_s` (the best kernel's best round; None with `reason`), `best`, `kernels`
    {copy, triad, read_sum, gemv: GB/s or None}, `buffer_bytes`, `llc_bytes`, `llc_source`,
    `advertised_gb_s`, `threads`, `rounds`, `notes` (sentences), `reason`.
    """
    import torch

    cache_bytes, cache_source = (llc_bytes, "given") if llc_bytes is not None else _cache(device)
    if free_bytes is None:
        free_bytes = _free_bytes(device)
    if advertised_gb_s is None:
        advertised_gb_s = _advertised_gb_s(device)
    size = buffer_bytes(cache_bytes, free_bytes, on_gpu=device.startswith("cuda"))
    result: dict[str, Any] = {
        "device": device,
        "gb_s": None,
        "best": None,
        "kernels": dict.fromkeys(KERNELS),
        "buffer_bytes": size,
        "llc_bytes": cache_bytes,
        "llc_source": cache_source,
        "advertised_gb_s": advertised_gb_s,
        "threads": None,
        "rounds": 0,
        "notes": _notes(size, cache_bytes, cache_source),
        "reason": None,
    }
    try:
        with _threads(threads):
            result["threads"] = torch.get_num_threads() if device == "cpu" else None
            best_ns, result["rounds"] = _time_kernels(device, size, budget_s)
    except (RuntimeError, MemoryError, AssertionError) as error:  # AssertionError: torch without CUDA
        result["reason"] = f"The bandwidth could not be measured ({_first_line(error)})."
        return result
    rates = {name: KERNELS[name] * size / (ns / NS_PER_S) / GB for name, ns in best_ns.items()}
    result["kernels"] = {name: _round(rates.get(name)) for name in KERNELS}
    result.update(choose(rates, advertised_gb_s))
    return result


def buffer_bytes(llc_bytes: int, free_bytes: int | None, on_gpu: bool = False) -> int:
    """Bytes of one of the three buffers: 4 times the cache, within a tenth of the free memory.

    A whole number of rows of the matrix of the matrix-vector product (16 KiB), at least one.
    """
    size = CACHE_FACTOR * llc_bytes
    if on_gpu:
        size = max(size, MIN_GPU_BUFFER_BYTES)
    size = min(size, MAX_BUFFER_BYTES)
    if free_bytes is not None:
        size = min(size, int(MEMORY_SHARE * free_bytes) // BUFFERS)
    row = 4 * GEMV_COLUMNS
    return max(size // row, 1) * row


def choose(rates_gb_s: dict[str, float], advertised_gb_s: float | None) -> dict[str, Any]:
    """The best kernel as `gb_s` and `best`, or None and a `reason` where it cannot be true."""
    if not rates_gb_s:
        return {"gb_s": None, "best": None, "reason": "No kernel could be timed."}
    best = max(rates_gb_s, key=lambda name: rates_gb_s[name])
    rate = rates_gb_s[best]
    if advertised_gb_s is not None and rate > PEAK_TOLERANCE * advertised_gb_s:
        reason = (
            f"{best} reached {rate:.1f} GB/s, more than the memory's advertised peak of "
            f"{advertised_gb_s:.1f} GB/s: it measured a cache."
        )
        return {"gb_s": None, "best": None, "reason": reason}
    return {"gb_s": _round(rate), "best": best, "reason": None}


def measure_flops(
    device: str, dtype: str, budget_s: float = 1.0, *, threads: int | None = None
) -> dict[str, Any]:
    """Rate of a large square matrix product in `dtype` ("fp32", "bf16", "fp16"), strict JSON.

    Starts small and doubles while `budget_s` allows, so that a dtype that the processor has no
    instructions for ends in time; the fastest size counts. An operation is a multiply or an
    add: 2 n^3. Returns `tflop_s` (best round; None with `reason`), `n`, `dtype`, `reason`.
    """
    import torch

    types = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    result: dict[str, Any] = {
        "device": device,
        "dtype": dtype,
        "tflop_s": None,
        "n": None,
        "threads": None,
        "reason": None,
    }
    if dtype not in types:
        result["reason"] = f"There is no product to measure for the type {dtype}."
        return result
    try:
        with _threads(threads):
            result["threads"] = torch.get_num_threads() if device == "cpu" else None
            result["n"], best_ns = _time_products(device, types[dtype], budget_s)
    except (RuntimeError, MemoryError, AssertionError) as error:
        result["reason"] = f"The arithmetic rate could not be measured ({_first_line(error)})."
        return result
    result["tflop_s"] = _round(2 * result["n"] ** 3 / (best_ns / NS_PER_S) / 1e12)
    return result


# -- timing ------------------------------------------------------------------------------


def _time_kernels(device: str, size: int, budget_s: float) -> tuple[dict[str, int], int]:
    """Best time of each kernel, ns, and the number of rounds. float32 throughout.

    Memory is freed on return.
    """
    import torch

    deadline_ns = time.perf_counter_ns() + int(budget_s * NS_PER_S)
    with torch.inference_mode():
        n = size // 4
        # full() writes every page with the threads that will read it: they are where they will be.
        target, left, right = (torch.full((n,), 1.0, device=device) for _ in range(BUFFERS))
        matrix = left.view(-1, GEMV_COLUMNS)
        vector = torch.full((GEMV_COLUMNS,), 1.0 / GEMV_COLUMNS, device=device)
        product = torch.empty(matrix.shape[0], device=device)
        kernels: dict[str, Callable[[], Any]] = {
            "copy": lambda: target.copy_(left),
            "triad": lambda: torch.add(left, right, alpha=0.5, out=target),
            "read_sum": lambda: torch.sum(right),
            "gemv": lambda: torch.mv(matrix, vector, out=product),
        }
        timer = _timer(device)
        for run in kernels.values():
            timer(run)  # warm: threads started, kernels chosen
        best_ns: dict[str, int] = {}
        rounds = 0
        while rounds < 3 or (time.perf_counter_ns() < deadline_ns and rounds < 1000):
            for name, run in kernels.items():
                best_ns[name] = min(best_ns.get(name, 1 << 62), max(timer(run), 1))
            rounds += 1
        return best_ns, rounds


def _time_products(device: str, dtype: Any, budget_s: float) -> tuple[int, int]:
    """(n, ns) of the fastest product, sizes doubling up to the largest that fits the budget.

    The second matrix is given as a model's Linear layer gives its weights, by columns: where the
    processor has no instructions for the type, the other way is five times slower.
    """
    import torch

    largest = 8192 if device.startswith("cuda") else 4096
    deadline_ns = time.perf_counter_ns() + int(budget_s * NS_PER_S)
    timer = _timer(device)
    n = 256
    fastest = (n, 1 << 62)
    with torch.inference_mode():
        while True:
            left = torch.full((n, n), 0.5, device=device, dtype=dtype)
            right = torch.full((n, n), 0.25, device=device, dtype=dtype)
            out = torch.empty((n, n), device=device, dtype=dtype)

            def run(left: Any = left, right: Any = right, out: Any = out) -> Any:
                return torch.mm(left, right.t(), out=out)

            timer(run)
            best_ns = max(timer(run), 1)
            fastest = _faster(fastest, (n, best_ns))
            left_ns = deadline_ns - time.perf_counter_ns()
            # Twice the size takes eight times as long, twice (warm-up and one timed).
            if n >= largest or 2 * 8 * best_ns > left_ns:
                break
            n *= 2
        while time.perf_counter_ns() + best_ns < deadline_ns:
            best_ns = min(best_ns, max(timer(run), 1))
    return _faster(fastest, (n, best_ns))


def _faster(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """The (n, ns) with more operations in a nanosecond; of two alike the second."""
    return b if b[0] ** 3 * a[1] >= a[0] ** 3 * b[1] else a


def _timer(device: str) -> Callable[[Callable[[], Any]], int]:
    """A function that runs something once and returns its ns, the device's own where it has any."""
    import torch

    if device.startswith("cuda"):

        def on_cuda(run: Callable[[], Any]) -> int:
            with torch.cuda.device(device):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                run()
                end.record()
                end.synchronize()
            return int(start.elapsed_time(end) * 1e6)

        return on_cuda

    synchronize = torch.mps.synchronize if device.startswith("mps") else _nothing

    def on_host(run: Callable[[], Any]) -> int:
        synchronize()
        start_ns = time.perf_counter_ns()
        run()
        synchronize()
        return time.perf_counter_ns() - start_ns

    return on_host


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# -- asking the system -------------------------------------------------------------------


def _cache(device: str) -> tuple[int, str]:
    """Bytes of the last-level cache and where the figure is from."""
    if device.startswith("cuda"):
        size = getattr(_cuda_properties(device), "L2_cache_size", None)
        return (int(size), "driver") if size else (64 * MIB, "assumed")
    import os

    getter = getattr(os, "sched_getaffinity", None)
    cache = last_level_cache(sorted(getter(0)) if getter is not None else None)
    return cache.bytes, cache.source


def _free_bytes(device: str) -> int | None:
    """Free memory of the device, bytes."""
    if device.startswith("cuda"):
        import torch

        try:
            return int(torch.cuda.mem_get_info(device)[0])
        except (RuntimeError, AssertionError):
            return None
    import psutil

    return int(psutil.virtual_memory().available)


def _advertised_gb_s(device: str) -> float | None:
    """2 * max memory clock * bus width / 8, where torch tells both (kHz, bits)."""
    if not device.startswith("cuda"):
        return None
    properties = _cuda_properties(device)
    clock_khz = getattr(properties, "memory_clock_rate", None)
    bus_bits = getattr(properties, "memory_bus_width", None)
    if not clock_khz or not bus_bits:
        return None
    return round(2 * float(clock_khz) * 1e3 * float(bus_bits) / 8 / GB, 1)


def _cuda_properties(device: str) -> Any:
    import torch

    try:
        return torch.cuda.get_device_properties(device)
    except (RuntimeError, AssertionError):
        return None


def _notes(size: int, cache_bytes: int, cache_source: str) -> list[str]:
    notes = []
    if cache_source == "assumed":
        notes.append(f"The size of the last-level cache is not told; {cache_bytes // MIB} MiB is assumed.")
    if size < CACHE_FACTOR * cache_bytes:
        notes.append(
            f"The buffers are {size / cache_bytes:.1f} times the last-level cache rather than "
            f"{CACHE_FACTOR}: the memory did not allow more, and part of it may have been cached."
        )
    return notes


def _nothing() -> None:
    pass


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")
