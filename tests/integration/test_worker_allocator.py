"""What CUDA's allocator holds between two requests, with torch's real module and a made-up reading."""

from __future__ import annotations

from typing import Any

import pytest

from profiler.worker.memory import allocator_sample

torch = pytest.importorskip("torch")


def test_no_sample_without_cuda() -> None:
    assert allocator_sample("cpu") is None
    assert allocator_sample("mps") is None


def test_counters_under_our_names(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def stats(device: Any) -> dict[str, int]:
        asked.append(str(device))
        # As torch 2 names them; an allocator of another kind leaves some out.
        return {
            "allocated_bytes.all.current": 3_000,
            "allocated_bytes.all.peak": 9_000,
            "reserved_bytes.all.current": 4_096,
        }

    monkeypatch.setattr(torch.cuda, "memory_stats", stats)
    sample = allocator_sample("cuda:1")
    assert sample is not None and sample.source == "torch"
    assert sample.values == {"allocated_bytes": 3_000, "reserved_bytes": 4_096, "alloc_retries": None}
    assert sample.read_ns is not None and sample.read_ns >= 0
    assert asked == ["cuda:1"]
