"""How fast a library lists: python tests/bench/bench_library.py [--sessions N] [--json FILE]

Makes a folder of N recordings like real ones (3 requests of 128 steps, telemetry, a manifest, a
summary) and lists it: `cold` without the cache, `warm` with it, `one new` after one more file has
appeared. Prints one line a figure (median of 5). Nothing is asserted: figures depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from profiler import events as ev
from profiler.session.library import list_sessions
from profiler.session.store import SessionWriter

ROUNDS = 5
ENVIRONMENT: dict[str, ev.JSON] = {
    "hardware": {"cpu": {"model": "Some CPU", "flags": "x" * 1500}, "os": "Linux"},
    "software": {f"package-{i}": f"{i}.0.1" for i in range(40)},
    "gpus": [],
}
SUMMARY: dict[str, ev.JSON] = {
    "requests": {"ok": 3},
    "ttft_ms_p50": 120.25,
    "itl_ms_p50": 41.5,
    "itl_ms_p99": 60.125,
    "jitter_ms": 2.5,
    "mbu_run": 0.62,
    "output_tokens": 384,
    "joules_per_token": None,
    "itl_trace_ms": [41.5 + i / 8 for i in range(64)],
}


def record(path: Path) -> None:
    """One recording as the engine leaves it, about 40 kB."""
    with SessionWriter.create(path, {"created_by": {"program": "bench"}}, name=path.stem) as writer:
        config: dict[str, ev.JSON] = {"prompt_tokens": 128, "output_tokens": 128, "repeats": 3}
        writer.write([ev.RunStart(1, 0, path.stem, "preset:small", config, ENVIRONMENT)])
        writer.write([ev.Fact("model", {"device": "cpu"}, 1)])
        for no in range(1, 4):
            t0_ns = no * 10_000_000_000
            stamps = t0_ns + 41_500_000 * np.arange(1, 129)
            writer.write([ev.RequestStart(no, 1, f"r{no}", t0_ns, 128, 128)])
            writer.write([ev.make_steps(no, 0, stamps)])
            writer.write([ev.RequestEnd(no, int(stamps[-1]), "ok", "length")])
        writer.write([ev.Sample(i, "host", {"cpu_pct": 50.0, "rss": 1.0 * i}) for i in range(60)])
        writer.write([ev.RunEnd(1, 50_000_000_000)])
        writer.set_summary(1, SUMMARY)


def make_library(folder: Path, sessions: int) -> None:
    """`sessions` recordings: one is written, the rest are copies with another name."""
    first = folder / "2026-01-01 00.00.00 small 0.dscope"
    record(first)
    for i in range(1, sessions):
        shutil.copyfile(first, folder / f"2026-01-01 00.00.00 small {i}.dscope")


def median_s(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """Median of some rounds, s; `before` is not timed."""
    took = []
    for _ in range(ROUNDS):
        before()
        start_ns = time.perf_counter_ns()
        work()
        took.append((time.perf_counter_ns() - start_ns) / 1e9)
    return statistics.median(took)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        home, folder = Path(name) / "home", Path(name) / "sessions"
        folder.mkdir()
        os.environ["DECODESCOPE_HOME"] = str(home)
        make_library(folder, options.sessions)

        def forget() -> None:
            shutil.rmtree(home, ignore_errors=True)

        def one_more() -> None:
            shutil.copyfile(next(folder.glob("*.dscope")), folder / f"new {time.perf_counter_ns()}.dscope")

        figures = {"sessions": float(len(list_sessions(folder)))}
        figures["list_cold_s"] = median_s(lambda: list_sessions(folder), forget)
        figures["list_warm_s"] = median_s(lambda: list_sessions(folder))
        figures["list_one_new_s"] = median_s(lambda: list_sessions(folder), one_more)
    for key, value in figures.items():
        print(f"{key:20} {value:10,.3f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
