"""What the coloured text costs: laying out, appending while live, and scrolling 50,000 tokens.

    QT_QPA_PLATFORM=offscreen PYTHONPATH=. python tests/bench/bench_token_text.py [--tokens 50000]

Prints one figure a line. Made-up tokens from a fixed seed: a tenth of them is not ASCII.
"""

from __future__ import annotations

import argparse
from time import perf_counter_ns

import numpy as np
from PySide6.QtWidgets import QApplication

from app.panels.output import OutputPanel
from app.theme import DARK, Theme, apply_theme
from profiler import events as ev
from profiler.analysis.steps import step_view
from profiler.timeline import Timeline

ASCII = [
    f" {a}{b}" for a in ("har", "lam", "riv", "car", "nes", "fer", "oak") for b in ("bour", "p", "er", "")
]
ODD = ["麼", "山", "é", " \u0438\u0434", "\u05e9\u05dc\u05d5\u05dd", "\n", "", " "]


def made_up(tokens: int) -> tuple[list[str], np.ndarray]:
    """Pieces and stamps."""
    rng = np.random.default_rng(7)
    odd = rng.random(tokens) < 0.1
    pieces = [
        ODD[int(rng.integers(len(ODD)))] if is_odd else ASCII[int(rng.integers(len(ASCII)))] for is_odd in odd
    ]
    gaps = 13e6 * (1 + 0.03 * rng.standard_normal(tokens))
    return pieces, np.cumsum(np.maximum(gaps, 1e6)).astype(np.int64)


def elapsed_ms(since_ns: int) -> float:
    """Milliseconds since a stamp."""
    return (perf_counter_ns() - since_ns) / 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=50_000)
    tokens = parser.parse_args().tokens
    app = QApplication([])
    theme = Theme("dark")
    theme.install(app)
    pieces, t_ns = made_up(tokens)

    def panel_and_timeline() -> tuple[OutputPanel, Timeline]:
        panel = OutputPanel()
        panel.resize(1040, 600)
        apply_theme(panel, DARK)
        panel.show()
        timeline = Timeline()
        timeline.apply(ev.RequestStart(0, 1, "r1", 0, 16, tokens, True, False, None, "Repeat 1"))
        app.processEvents()
        return panel, timeline

    panel, timeline = panel_and_timeline()
    timeline.apply(ev.make_steps(0, 0, t_ns, kv_len=list(range(17, 17 + tokens)), ids=[]))
    timeline.apply(ev.Text(0, pieces, 0))
    begin = perf_counter_ns()
    panel.refresh(timeline.requests[0])
    print(f"lay out {tokens:,} tokens at once: {elapsed_ms(begin):.0f} ms")
    app.processEvents()

    for name, size in (("by one line", 1), ("by half a page", 15), ("far jumps", 997)):
        bar = panel.text.verticalScrollBar()
        costs = []
        for index in range(400):
            bar.setValue((index * size * panel.text.line_px) % max(bar.maximum(), 1))
            begin = perf_counter_ns()
            app.processEvents()
            costs.append(elapsed_ms(begin))
        print(f"scroll {name}: p50 {np.median(costs):.2f} ms, p95 {np.percentile(costs, 95):.2f} ms")
    begin = perf_counter_ns()
    panel.resize(900, 600)
    app.processEvents()
    print(f"lay out anew at another width: {elapsed_ms(begin):.0f} ms")
    panel.close()

    for shown in (True, False):
        panel, timeline = panel_and_timeline()
        panel.setVisible(shown)
        request = timeline.requests[0]
        timeline.apply(ev.make_steps(0, 0, t_ns[:-512], kv_len=list(range(17, 17 + tokens - 512)), ids=[]))
        timeline.apply(ev.Text(0, pieces[:-512], 0))
        panel.refresh(request)
        app.processEvents()
        total, painting, looking = 0.0, 0.0, 0.0
        for at in range(tokens - 512, tokens, 8):
            timeline.apply(
                ev.make_steps(0, at, t_ns[at : at + 8], kv_len=list(range(17 + at, 25 + at)), ids=[])
            )
            timeline.apply(ev.Text(0, pieces[at : at + 8], at))
            begin = perf_counter_ns()
            view = step_view(request)  # the page has it already, for its charts
            looking += elapsed_ms(begin)
            begin = perf_counter_ns()
            panel.refresh(request, view)
            total += elapsed_ms(begin)
            begin = perf_counter_ns()
            app.processEvents()
            painting += elapsed_ms(begin)
        print(
            f"append 8 tokens, {'shown' if shown else 'hidden'}: {1000 * total / 64:.0f} us, "
            f"painting {1000 * painting / 64:.0f} us (step view, shared: {1000 * looking / 64:.0f} us)"
        )
        panel.close()


if __name__ == "__main__":
    main()
