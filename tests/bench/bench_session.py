"""Rates of the session file: python tests/bench/bench_session.py [--steps N] [--json FILE]

Prints one line a figure. Nothing is asserted: figures depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from profiler import events as ev
from profiler.session.library import list_sessions
from profiler.session.reader import SessionReader
from profiler.session.repair import repair, verify
from profiler.session.store import SessionWriter
from profiler.session.trace import import_trace, write_trace


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - start) / 1e9


def write_steps(path: Path, steps: int, requests: int, batch: int) -> float:
    """Write `steps` over `requests` in batches, committed ten times a second of 20,000 tokens/s."""
    each = steps // requests
    batches: list[ev.Event] = []
    for no in range(1, requests + 1):
        t0_ns = no * 1_000_000_000
        batches.append(ev.RequestStart(no, 1, f"r{no}", t0_ns, 128, each))
        for start in range(0, each, batch):
            i = np.arange(start, min(start + batch, each))
            stamps = t0_ns + 13_000_000 * (i + 1)
            batches.append(ev.make_steps(no, start, stamps, kv_len=128 + i, ids=i % 128_000))
        batches.append(ev.RequestEnd(no, t0_ns + each * 13_000_000, "ok", "length"))
    writer = SessionWriter.create(path, {})

    def work() -> None:
        writer.write([ev.RunStart(1, 0)])
        since = 0
        for event in batches:
            writer.write([event])
            since += len(event) if isinstance(event, ev.Steps) else 0
            if since >= 20_000:
                writer.commit()
                since = 0
        writer.close("finished", None)

    return seconds(work)


def read_all(path: Path) -> None:
    with SessionReader.open(path) as reader:
        reader.timeline().read_all()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    n = options.steps
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one, many = folder / "one.dscope", folder / "many.dscope"
        figures["write_steps_per_s"] = n / write_steps(one, n, 1, 1000)
        figures["bytes_per_step"] = one.stat().st_size / n
        figures["open_and_read_steps_per_s"] = n / seconds(lambda: read_all(one))
        figures["verify_s"] = seconds(lambda: verify(one))
        figures["repair_s"] = seconds(lambda: repair(one, folder / "repaired.dscope"))
        requests = min(10_000, n)
        figures["write_10k_requests_s"] = write_steps(many, n // 10, requests, 16)
        figures["read_10k_requests_s"] = seconds(lambda: read_all(many))
        trace = folder / "one.jsonl"

        def export() -> None:
            with SessionReader.open(one) as reader:
                write_trace(reader.timeline(), trace)

        figures["export_steps_per_s"] = n / seconds(export)
        figures["import_steps_per_s"] = n / seconds(lambda: import_trace(trace, folder / "in.dscope"))
        library = folder / "library"
        library.mkdir()
        for i in range(500):
            with SessionWriter.create(library / f"{i}.dscope", {}, name=str(i)) as writer:
                writer.write([ev.RunStart(1, 0), ev.RunEnd(1, 1)])
                writer.set_summary(1, {"ttft_ms": 1.0})
        figures["list_500_sessions_s"] = seconds(lambda: list_sessions(library, use_cache=False))
    for key, value in figures.items():
        print(f"{key:28} {value:14,.3f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
