"""Opening a session of a million tokens in the window: time to the first chart, longest freeze.

python tests/bench/bench_open.py [--tokens N] [--requests N] [--json FILE]

The window is the real one, offscreen, without an engine. "Freeze" is the longest time for which
the GUI thread answered no timer while the file was being opened and first drawn.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from figures import tell

from profiler import events as ev
from profiler.session.store import SessionWriter

MS = 1_000_000


def write(path: Path, tokens: int, requests: int) -> None:
    """A session of `requests` answers with `tokens` steps in all: 5 ms a gap, some noise, some spikes."""
    rng = np.random.default_rng(0)
    each = tokens // requests
    config = {"model": "synthetic", "output_tokens": each, "prompt_tokens": 16, "repeats": requests}
    with SessionWriter.create(path, {"os": "bench"}, name="bench") as writer:
        writer.write([ev.RunStart(1, 0, "bench", "bench", config, {})])
        now = MS
        for no in range(1, requests + 1):
            gaps = (5 * MS * np.exp(rng.normal(0, 0.02, each))).astype(np.int64)
            gaps[::997] += 20 * MS
            stamps = now + np.cumsum(gaps)
            writer.write([ev.RequestStart(no, 1, f"r{no}", now, 16, each, label=f"Repeat {no}")])
            for at in range(0, each, 20_000):
                part = stamps[at : at + 20_000]
                kv_len = np.arange(17 + at, 17 + at + len(part), dtype=np.int32)
                writer.write([ev.make_steps(no, at, part, None, kv_len)])
            now = int(stamps[-1]) + MS
            writer.write([ev.RequestEnd(no, now, "ok", "length")])
        writer.write([ev.RunEnd(1, now, "finished")])


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=10)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DECODESCOPE_HOME"] = folder
        path = Path(folder) / "big.dscope"
        begin = time.perf_counter()
        write(path, options.tokens, options.requests)
        written_s = time.perf_counter() - begin
        bytes_per_token = path.stat().st_size / options.tokens
        tell(
            {
                "tokens": options.tokens,
                "requests": options.requests,
                "write_tokens_per_s": options.tokens / written_s,
                "bytes_per_token": bytes_per_token,
                **measure(path),
            },
            options.json,
        )


def measure(path: Path) -> dict[str, float]:
    """Open `path` in a window and watch the event loop meanwhile."""
    from PySide6.QtCore import QEventLoop, QTimer
    from PySide6.QtWidgets import QApplication

    from app.background import Background
    from app.dialogs import NoDialogs
    from app.engine_link import EngineLink
    from app.main_window import MainWindow
    from app.run_controller import RunController
    from app.session_library import SessionLibrary
    from app.settings import Settings
    from app.theme import Theme
    from profiler.engine.client import EngineClient

    app = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(app, QApplication)
    theme = Theme("dark")
    theme.install(app)
    background = Background()
    controller = RunController(EngineLink(EngineClient), background)
    settings = Settings(path.with_suffix(".ini"))
    window = MainWindow(controller, SessionLibrary(background), settings, theme, NoDialogs())
    window.resize(1440, 900)
    window.show()
    app.processEvents()

    loop = QEventLoop()
    beats: list[float] = []
    pulse = QTimer()
    pulse.timeout.connect(lambda: beats.append(time.perf_counter()))
    pulse.start(5)
    first: list[float] = []
    done: list[float] = []
    ticker = QTimer()

    def tick() -> None:
        controller.tick()
        if not first and window.page.token_latency.summary().count("median"):
            first.append(time.perf_counter())
        if controller.values_final:
            done.append(time.perf_counter())
            loop.quit()

    ticker.timeout.connect(tick)
    ticker.start(20)
    begin = time.perf_counter()
    beats.append(begin)
    window.open_session(path)
    loop.exec()
    freeze = max(b - a for a, b in pairwise(beats)) if len(beats) > 1 else 0.0
    pulse.stop()
    ticker.stop()
    window.close_without_asking()
    return {
        "first_chart_s": first[0] - begin,
        "final_figures_s": done[0] - begin,
        "longest_freeze_ms": freeze * 1e3,
    }


if __name__ == "__main__":
    main()
