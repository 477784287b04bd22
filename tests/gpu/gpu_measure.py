"""The measuring half of the GPU checks: what needs torch, a driver, or the engine."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpu_verdicts import Verdict, compare, not_run

from profiler import events as ev
from profiler.config import make_config
from profiler.units import NS_PER_MS


def torch_with_cuda() -> tuple[Any, str | None]:
    """torch, or None; and why there is no CUDA."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        return None, f"torch cannot be imported ({error})"
    if not torch.cuda.is_available():
        return (
            None,
            "this torch is built without CUDA" if torch.version.cuda is None else "torch finds no GPU",
        )
    return torch, None


def event_against_host(torch: Any) -> Verdict:
    """Device time by an event pair against host time around the same work, some 20 ms a round."""
    check = "CUDA-event time against host time"
    n = 8192
    left = torch.randn((n, n), device="cuda:0", dtype=torch.bfloat16)
    out = torch.empty_like(left)

    def once(times: int) -> tuple[float, float]:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        before_ns = time.perf_counter_ns()
        start.record()
        for _ in range(times):
            torch.mm(left, left, out=out)
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end), (time.perf_counter_ns() - before_ns) / NS_PER_MS

    once(2)
    device_ms, _ = once(2)
    times = max(2, round(20 / max(device_ms / 2, 0.05)))
    pairs = [once(times) for _ in range(15)]
    device = statistics.median(pair[0] for pair in pairs)
    host = statistics.median(pair[1] for pair in pairs)
    return compare(check, host, device, "ms", 0.995, 1.05, f"median of 15 rounds of {times} products")


def uuid_match(torch: Any) -> Verdict:
    """The card found by torch's name of it is the one whose memory grows when torch allocates."""
    from profiler.telemetry.nvml import open_nvml
    from profiler.worker.cuda_identity import device_names

    check = "UUID of torch finds the driver's card"
    names = device_names(torch.cuda.get_device_properties(0), 0)
    if not names:
        return not_run(check, "this torch does not tell which GPU it uses")
    opening = open_nvml(names)
    try:
        if len(opening.readers) != 1:
            return Verdict(check, "FAIL", "no card", names[0], str(opening.reason))
        reader = opening.readers[0]
        about = reader.describe()
        torch.zeros(1, device="cuda:0")
        torch.cuda.synchronize()
        # Memory is a slow metric (1 Hz): a reader's first reading has it, later ones in turn.
        before = _memory_used(reader)
        block = torch.zeros(1 << 30, dtype=torch.uint8, device="cuda:0")
        torch.cuda.synchronize()
        time.sleep(1.1)
        after = _memory_used(reader)
        del block
        torch.cuda.empty_cache()
    finally:
        for reader in opening.readers:
            reader.close()
    measured = f"{about['uuid']} ({about['name']})"
    if before is None or after is None:
        return Verdict(check, "pass", measured, names[0], "memory is not told: growth was not checked")
    grown = (after - before) / (1 << 30)
    status = "pass" if 0.9 <= grown <= 1.1 else "FAIL"
    return Verdict(check, status, measured, names[0], f"its memory grew by {grown:.2f} GiB of 1.00")


def _memory_used(reader: Any) -> float | None:
    value = reader.read().get("memory_used_bytes")
    return None if value is None else float(value)


def reference_against_advertised() -> list[Verdict]:
    """The measured bandwidth as a share of the advertised peak; torch's peak against NVML's."""
    from profiler.telemetry.nvml import open_nvml
    from profiler.worker.reference import measure_bandwidth

    first, second = "reference bandwidth against the advertised", "advertised: torch against the driver"
    opening = open_nvml(None)
    try:
        peaks = [reader.describe()["limits"]["advertised_gb_s"] for reader in opening.readers]
    finally:
        for reader in opening.readers:
            reader.close()
    result = measure_bandwidth("cuda:0", None)
    by_torch, by_driver = result["advertised_gb_s"], next((peak for peak in peaks if peak), None)
    peak = by_torch or by_driver
    if result["gb_s"] is None:
        verdicts = [Verdict(first, "FAIL", note=str(result["reason"]))]
    elif peak is None:
        verdicts = [not_run(first, f"no peak is told; {result['gb_s']} GB/s by {result['best']}")]
    else:
        verdicts = [
            compare(first, result["gb_s"], peak, "GB/s", 0.6, 1.05, f"best of four: {result['best']}")
        ]
    if by_torch is None or by_driver is None:
        verdicts.append(not_run(second, "torch or the driver does not tell it"))
    else:
        verdicts.append(compare(second, by_torch, by_driver, "GB/s", 0.98, 1.02))
    return verdicts


class EngineFailed(RuntimeError):
    """The engine's run did not come to be. The message is its sentence."""


class Runs:
    """Runs through one engine in this process (its worker is a process of its own, as always)."""

    def __init__(self, folder: Path, deadline: Callable[[], float]) -> None:
        from profiler.engine.core import Engine

        self._folder = folder
        self._deadline = deadline
        self._seen: list[ev.Event] = []
        self._engine = Engine(publish=self._seen.extend, library=folder)
        self._number = 0

    def record(self, name: str, **settings: Any) -> Path:
        """Records one run; the path of its session. EngineFailed with a sentence."""
        self._seen.clear()
        self._number += 1
        path = self._folder / f"{name}.dscope"
        config = make_config(settings).to_dict()
        self._engine.command(self._number, "run", {"config": config, "name": name, "path": str(path)})
        while True:
            self._engine.poll(0.05)
            for event in self._seen:
                if isinstance(event, ev.Reply) and event.id == self._number and not event.ok:
                    raise EngineFailed(str(event.message))
                if isinstance(event, ev.RunEnd):
                    if event.status != "finished":
                        raise EngineFailed(f"The run ended as {event.status}: {event.reason}")
                    return path
            if self._deadline() <= 0:
                raise EngineFailed("The time for all checks is used up.")

    def close(self) -> None:
        """Ends the engine and its worker."""
        self._engine.close()
