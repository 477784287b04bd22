"""All benches, one after the other: python tests/bench/run.py [--only NAME ...] [--out FILE.json]

Prints one table, with the limit beside a figure that has one, and writes everything with the
machine it was measured on. Ratios come from pairs within one run; times depend on the machine and
on what else it does. Exit code 1 when a figure is out of its limit or a bench failed.

`--peers` measures other tools, too: they are installed into an environment of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

BENCHES: dict[str, list[str]] = {
    "first_paint": [],
    "start": [],
    "redraw": [],
    "token_text": [],
    "open": [],
    "library": [],
    "session": [],
    "export": [],
    "scale": [],
    "overhead": [],
    "package": [],
}
PEERS: dict[str, list[str]] = {"peers": []}

LIMITS: dict[str, float] = {
    "first_paint.ratio": 1.5,
    "redraw.100000_p95_ms": 33.0,
    "open.first_chart_s": 3.0,
    "library.list_cold_s": 1.0,
    "overhead.full_itl_mean_ratio_upper": 1.04,
    "overhead.window_itl_mean_ratio_upper": 1.04,
    "overhead.full_others_cpu_pct": 2.0,
    "overhead.window_others_cpu_pct": 2.0,
    "package.start_ratio": 1.3,
    "package.bytes": 1.1e9,
}
"""At most so much; a bench that knows its own limits fails by its exit code."""


def run(name: str, arguments: list[str]) -> dict[str, Any]:
    """The figures of one bench; `error` with its last words where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figures.json"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE)])}
        begin = time.perf_counter()
        result = subprocess.run(
            [sys.executable, str(HERE / f"bench_{name}.py"), *arguments, "--json", str(path)],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        figures["bench_took_s"] = time.perf_counter() - begin
        if result.returncode != 0:
            lines = (result.stderr or result.stdout).strip().splitlines()
            figures["error"] = lines[-1] if lines else f"exit code {result.returncode}"
    return figures


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    load = os.getloadavg() if hasattr(os, "getloadavg") else None
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load_at_the_start": None if load is None else round(load[0], 2),
    }


def show(name: str, figures: dict[str, Any]) -> bool:
    """Print a bench's lines; True when nothing is out of its limit."""
    good = True
    for key, value in figures.items():
        limit = LIMITS.get(f"{name}.{key}")
        verdict = ""
        if limit is not None and isinstance(value, (int, float)):
            kept = value <= limit
            good = good and kept
            verdict = f"  at most {limit:g}: {'kept' if kept else 'NOT KEPT'}"
        words = f"{value:14,.3f}" if isinstance(value, float) else f"{value!s:>14}"
        print(f"{name:12} {key:36} {words}{verdict}", flush=True)
    return good and "error" not in figures


def main() -> int:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [*BENCHES, *PEERS]
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--peers", action="store_true", help="other tools, too (downloads them)")
    parser.add_argument("--out", type=Path, default=Path("bench.json"))
    options = parser.parse_args()
    known = {**BENCHES, **PEERS}
    chosen = options.only or [*BENCHES, *(PEERS if options.peers else ())]
    report: dict[str, Any] = {"schema": "decodescope.bench/1", "machine": machine(), "benches": {}}
    good = True
    for name in chosen:
        report["benches"][name] = figures = run(name, known[name])
        good = show(name, figures) and good
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"written: {options.out}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
