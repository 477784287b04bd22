"""From Start to the first token: python tests/bench/bench_start.py [--rounds N] [--json FILE]

`preset:nano` (16 prompt tokens, no reference measurement), through a real engine process: from the
moment `run` is sent to the stamp of the run's first token.

    cold     the engine is up, no worker is
    warm     a worker has imported everything while the user was choosing
    loaded   the model is still there from the run before

Prints one line a figure (medians). Nothing is asserted: figures depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from processes import Session, settings

from profiler import events as ev

SHORT = {"output_tokens": 8, "repeats": 1, "warmup": 0}


def start_s(session: Session, model: str) -> float:
    """Run once, to the end; returns the seconds to the first token."""
    start_ns = time.perf_counter_ns()
    session.run(model, **SHORT)
    steps = session.wait_for(ev.Steps, timeout_s=120)
    session.wait_for(ev.RunEnd, timeout_s=60)
    return (int(steps.t_ns[0]) - start_ns) / 1e9


def one_round(folder: Path, model: str, took: dict[str, list[float]]) -> None:
    """A fresh engine each for the cold and the warm start."""
    for kind in ("cold", "warm"):
        session = Session(folder)
        session.reply(session.client.send("machine"))
        if kind == "warm":
            asked_ns = time.perf_counter_ns()
            session.reply(session.client.send("warm", config=settings(model, **SHORT)), timeout_s=120)
            took["warming"].append((time.perf_counter_ns() - asked_ns) / 1e9)
        took[kind].append(start_s(session, model))
        took["loaded"].append(start_s(session, model))
        session.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", default="preset:nano")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    took: dict[str, list[float]] = {"cold": [], "warm": [], "loaded": [], "warming": []}
    with tempfile.TemporaryDirectory() as name:
        os.environ["DECODESCOPE_HOME"] = name
        for _ in range(options.rounds):
            one_round(Path(name) / "sessions", options.model, took)
    figures: dict[str, Any] = {f"{kind}_s": statistics.median(values) for kind, values in took.items()}
    figures["rounds"] = options.rounds
    for key, value in figures.items():
        print(f"{key:12} {value:8.2f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
