"""How fast a session is exported: python tests/bench/bench_export.py [--tokens N] [--json FILE]

One session of ten requests, each format once to warm up and then as often as ROUNDS says; the
median counts. Tokens a second, so that formats can be compared with each other.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench_open import write
from figures import Value, tell

ROUNDS = 3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    from profiler.reporting.exports import FORMATS, export
    from profiler.session.reader import SessionReader

    figures: dict[str, Value | list[str]] = {"tokens": options.tokens}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["DECODESCOPE_HOME"] = name
        session = folder / "bench.dscope"
        write(session, options.tokens, 10)
        figures["session_bytes_per_token"] = session.stat().st_size / options.tokens
        with SessionReader.open(session) as reader:
            timeline = reader.timeline()
            for request in timeline.iter_requests():
                len(request)  # reads its steps
        for kind, about in FORMATS.items():
            if about.missing is not None:
                continue
            took = []
            target = folder / f"out.{kind}"
            for _ in range(ROUNDS + 1):
                target.unlink(missing_ok=True)
                begin = time.perf_counter()
                export(timeline, target, kind, name="bench", source=session)
                took.append(time.perf_counter() - begin)
            figures[f"{kind}_tokens_per_s"] = options.tokens / statistics.median(took[1:])
            figures[f"{kind}_bytes_per_token"] = target.stat().st_size / options.tokens
    tell(figures, options.json)


if __name__ == "__main__":
    main()
