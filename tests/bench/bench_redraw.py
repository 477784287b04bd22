"""What a redraw of the four charts costs by the number of tokens in view, and a million at first.

    python tests/bench/bench_redraw.py [--redraws 40] [--json FILE]

Each redraw has 16 tokens more than the one before, as live. Prints p50 and p95 (ms) of
`refresh` plus painting, for no cursor and for a cursor that moves.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from figures import Value, tell
from PySide6.QtWidgets import QApplication

from app.charts import (
    BandwidthChart,
    BandwidthSeries,
    FirstTokenBar,
    FirstTokenChart,
    TelemetryChart,
    TelemetryRow,
    TokenLatencyChart,
    TokenSeries,
    Zone,
)
from app.theme import Theme, apply_theme

BUDGET_MS = 33.0
SIZE = (510, 264)


def gaps_ms(count: int) -> np.ndarray:
    """Made-up gaps with a few stalls."""
    gaps = 13.0 + 0.15 * np.random.default_rng(4).standard_normal(count)
    gaps[::997] += 6.0
    return gaps


def measure(count: int, redraws: int, live: bool) -> tuple[list[float], list[float], float]:
    """Milliseconds of redraws without and with a cursor, and of the first one."""
    charts = (TokenLatencyChart(), FirstTokenChart(), BandwidthChart(), TelemetryChart())
    palette = Theme("dark").palette
    for chart in charts:
        chart.resize(*SIZE)
        apply_theme(chart, palette)
        chart.show()
    token, first, bandwidth, telemetry = charts
    gaps = gaps_ms(count + 16 * 3 * redraws)
    x = np.arange(2.0, 2 + len(gaps))
    share = 700 / gaps
    seconds = np.arange(0, min(count * 0.013, 3600), 0.25)
    rows = [
        TelemetryRow(name, "W", seconds, 30 + np.sin(seconds), role)
        for name, role in (("Power", "data2"), ("SM clock", "data1"), ("Temperature", "data5"))
    ]

    still = (TokenSeries("Repeat 1", gaps[:count]), BandwidthSeries("Repeat 1", x[:count], share[:count]))

    def redraw(number: int) -> float:
        end = count + (16 * number if live else 0)
        running = 0 if live else None
        begin = time.perf_counter_ns()
        # A saved session hands over the same arrays each time.
        entry, line = still
        if live:
            entry = TokenSeries("Repeat 1", gaps[:end])
            line = BandwidthSeries("Repeat 1", x[:end], share[:end])
        token.refresh([entry], len(gaps) + 1, running)
        first.refresh([FirstTokenBar("Repeat 1", (("prefill", 19.0),), 20.0 + number % 3)], 500)
        bandwidth.refresh([line], len(gaps) + 1, 300, "data sheet", [], running_index=running)
        telemetry.refresh(rows, [Zone("R1", 0, float(seconds[-1]))], float(seconds[-1]))
        # A grab of a canvas paints it at once, into a picture rather than to the screen.
        for chart in charts:
            chart.canvas.grab()
        return (time.perf_counter_ns() - begin) / 1e6

    opened = redraw(0)
    plain = [redraw(number) for number in range(1, redraws + 1)]
    with_cursor = []
    for number in range(redraws + 1, 2 * redraws + 1):
        token.set_cursor(count // 2 + number)
        bandwidth.set_cursor(count // 2 + number)
        telemetry.set_crosshair(float(seconds[-1]) / 2)
        with_cursor.append(redraw(number))
    for chart in charts:
        chart.close()
        chart.deleteLater()
    return plain, with_cursor, opened


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--redraws", type=int, default=40)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    redraws = options.redraws
    told: dict[str, Value | list[str]] = {}
    app = QApplication([])
    print("tokens     live   first ms   p50 ms   p95 ms   cursor p50   cursor p95")
    for count, live in ((1_000, True), (10_000, True), (100_000, True), (1_000_000, False)):
        plain, cursor, opened = measure(count, redraws, live)
        figures = (*np.percentile(plain, (50, 95)), *np.percentile(cursor, (50, 95)))
        names = ("first", "p50", "p95", "cursor_p50", "cursor_p95")
        told |= {f"{count}_{name}_ms": float(v) for name, v in zip(names, (opened, *figures), strict=True)}
        words = "   ".join(f"{value:8.1f}" for value in (opened, *figures))
        print(f"{count:9,}  {'yes' if live else 'no ':>5}  {words}", flush=True)
        if count == 100_000 and figures[1] > BUDGET_MS:
            print(f"over the budget of {BUDGET_MS:.0f} ms")
    app.processEvents()
    if options.json is not None:
        tell(told, options.json)


if __name__ == "__main__":
    main()
