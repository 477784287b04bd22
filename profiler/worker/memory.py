"""The most memory that a run has taken, without what loading and measuring took before it."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import Any

from profiler import events as ev


class PeakMemory:
    """Make it when the model is loaded, `forget` before each run, `read` after it.

    `device`: as torch names it. On CUDA the allocator's own peak. Elsewhere the resident set
    size of this process: of the run where the system can begin anew (Linux), else of all its
    life, and `source` says which. Thread: the one that runs the model.
    """

    def __init__(self, device: str) -> None:
        self._cuda = device.startswith("cuda")
        self._device = device
        self._anew = False

    def forget(self) -> None:
        """What was before does not count."""
        if self._cuda:
            import torch

            torch.cuda.reset_peak_memory_stats(torch.device(self._device))
            return
        try:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        except OSError:
            self._anew = False
        else:
            self._anew = True

    def read(self) -> dict[str, Any]:
        """`peak_bytes`, `source`, `reason` (why there is none), JSON-ready."""
        peak, source = self._read()
        reason = None if peak is not None else "this system does not tell a process's peak"
        return {"peak_bytes": peak, "source": source if peak is not None else None, "reason": reason}

    def _read(self) -> tuple[int | None, str]:
        if self._cuda:
            import torch

            return int(torch.cuda.max_memory_allocated(torch.device(self._device))), "CUDA allocator"
        if self._anew:
            with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):
                status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
                line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
                return int(line.split()[1]) * 1024, "peak resident set size of the run"
        source = "peak resident set size of the process, loading included"
        try:
            import resource
        except ImportError:
            import psutil

            return getattr(psutil.Process().memory_info(), "peak_wset", None), source
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return int(peak if sys.platform == "darwin" else peak * 1024), source


ALLOCATOR = {
    "allocated_bytes": "allocated_bytes.all.current",
    "reserved_bytes": "reserved_bytes.all.current",
    "alloc_retries": "num_alloc_retries",
}
"""Our names and torch's (`torch.cuda.memory_stats`): what tensors take, what is held for them, and
how often a request for memory first had to give some back (a cause of spikes)."""


def allocator_sample(device: str) -> ev.Sample | None:
    """What CUDA's allocator holds now, as a Sample of source "torch"; None elsewhere.

    For the time between two requests: it reads counters on the host and waits for no kernel.
    """
    if not device.startswith("cuda"):
        return None
    import torch

    before_ns = time.perf_counter_ns()
    stats = torch.cuda.memory_stats(torch.device(device))
    after_ns = time.perf_counter_ns()
    values: dict[str, float | int | None] = {ours: stats.get(theirs) for ours, theirs in ALLOCATOR.items()}
    return ev.Sample((before_ns + after_ns) // 2, "torch", values, after_ns - before_ns)
