"""Our own cost against a bare loop: python tests/bench/bench_overhead.py [--budget S] [--json FILE]

`dscope overhead` on `preset:small`, its rows as flat figures. The variant `full` is the measured
ITL against that of a loop that only takes the time, in alternating blocks of one answer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from figures import Value, tell


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=120.0, help="seconds a side")
    parser.add_argument("--model", default="preset:small")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    command = ["overhead", "--model", options.model, "--budget", str(options.budget), "--json"]
    result = subprocess.run(
        [sys.executable, "-m", "profiler", *command], capture_output=True, text=True, check=True
    )
    figures: dict[str, Value | list[str]] = {}
    for row in json.loads(result.stdout)["variants"]:
        name = row["variant"]
        interval = row["itl_mean_ratio_ci95"] or [None, None]
        figures[f"{name}_itl_mean_ratio"] = row["itl_mean_ratio"]
        figures[f"{name}_itl_mean_ratio_lower"], figures[f"{name}_itl_mean_ratio_upper"] = interval
        figures[f"{name}_itl_p99_ratio"] = row["itl_p99_ratio"]
        figures[f"{name}_itl_p99_undisturbed_ratio"] = row["itl_p99_undisturbed_ratio"]
        figures[f"{name}_others_cpu_pct"] = row["others_cpu_pct"]
        figures[f"{name}_blocks"] = row["blocks"]
    tell(figures, options.json)


if __name__ == "__main__":
    main()
