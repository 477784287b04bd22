"""Many short runs in one window: does anything grow, is anything lost?

python tests/bench/bench_soak.py [--runs 200] [--real 10] [--seed N] [--json FILE]

The real window (offscreen), engine and worker. At random, from a seed that is printed: how a run
is and how it ends (by itself, stopped, killed, its worker or its engine killed from outside), and what is done between
runs (a recording is opened, the model is freed). Every step that reached the window must be in
the file. After a warm-up, handles, threads and processes must be the same at the end, and the
memory of window and engine must not grow. Exit code 1 when something is wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parents[2]))

import psutil
from figures import Value, tell
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.background import Background
from app.dialogs import NoDialogs
from app.engine_link import EngineLink
from app.main_window import MainWindow
from app.run_controller import RunController
from app.run_state import RunState
from app.session_library import SessionLibrary
from app.settings import Settings
from app.theme import Theme
from profiler.config import RunConfig, make_config
from profiler.engine.client import EngineClient
from profiler.session.reader import SessionReader
from profiler.timeline import Timeline

PROCESSES = 5
"""Engine, worker, a spare one, and two trackers of Python's."""
WARM_UP = 40
"""Runs before the first reading: caches fill, pages are made."""
GROWTH_BYTES_PER_RUN = 20_000
"""More than this, as the slope of the medians of quarters, counts as growth (3 MB in 150 runs)."""
GROWTH_COUNT_PER_RUN = 0.02
"""The same for handles and threads, of which one more or less is chance."""
ENDS = ("by itself",) * 5 + ("stop",) * 3 + ("kill",) * 2 + ("worker killed", "engine killed")
SYNTHETIC = "synthetic:ttft_ms=5,itl_ms=1,jitter_ms=0.2"


class Soak:
    """One window and what is done to it. `lost`: what should not have happened, in words."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.folder = folder / "sessions"
        self.background = Background()
        self.controller = RunController(
            EngineLink(lambda: EngineClient(library=self.folder)), self.background
        )
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        theme = Theme("dark")
        theme.install(app)
        self.window = MainWindow(
            self.controller,
            SessionLibrary(self.background),
            Settings(folder / "window.ini"),
            theme,
            NoDialogs(),
        )
        self.window.resize(1280, 800)
        self.window.show()
        for page in ("sessions", "compare", "profile"):
            self.window.show_page(page)  # made at the first visit
        self.controller.start_engine()
        self.lost: list[str] = []
        self.steps = 0
        self.ends: dict[str, int] = {}

    def complain(self, text: str) -> None:
        """Something is wrong: kept for the end, and told now."""
        self.lost.append(text)
        print(f"  {text}", flush=True)

    def wait(self, condition: Callable[[], Any], timeout_s: float, what: str) -> bool:
        """Let the window live until `condition()`; False, and a complaint, after the time-out."""
        loop, end = QEventLoop(), time.monotonic() + timeout_s
        timer = QTimer()
        timer.timeout.connect(lambda: loop.quit() if condition() or time.monotonic() > end else None)
        timer.start(5)
        loop.exec()
        timer.stop()
        if condition():
            return True
        self.complain(f"{what} did not come within {timeout_s:g} s (state {self.controller.state.name})")
        return False

    def idle(self, seconds: float) -> None:
        """Let the window live for a while."""
        loop = QEventLoop()
        QTimer.singleShot(round(seconds * 1000), loop.quit)
        loop.exec()

    def config(self, real: bool) -> RunConfig:
        """A short run, different each time."""
        tokens = self.rng.choice((8, 40, 200))
        model = "preset:nano" if real else SYNTHETIC
        return make_config(
            {
                "model": model,
                "prompt_tokens": 16,
                "output_tokens": tokens,
                "repeats": self.rng.choice((1, 2, 4)),
                "warmup": self.rng.choice((0, 1)),
                "measure_reference": False,
                "threads": 1 if real else None,
            }
        )

    def one(self, number: int, real: bool) -> None:
        """One run, its end, its file, and something in between."""
        how = self.rng.choice(ENDS)
        self.ends[how] = self.ends.get(how, 0) + 1
        controller = self.controller
        self.window.set_config(self.config(real))
        self.window.start()
        if not controller.active:
            self.complain(f"run {number} did not start")
            return
        if how != "by itself":
            self.wait(lambda: controller.state is not RunState.LOADING, 60, f"run {number}: its beginning")
            self.idle(self.rng.uniform(0.0, 0.4))
            self._end(how)
        self.wait(lambda: not controller.active, 60, f"run {number}: its end ({how})")
        timeline, path = controller.timeline, controller.document.path
        self.wait(lambda: not controller.document.recording, 20, f"run {number}: its file closed")
        if not controller.engine_alive:
            controller.restart_engine()
            self.idle(0.5)
        path = controller.document.path or path
        if path is not None and path.exists():
            self._check(number, how, timeline, path)
        elif any(len(request) for request in timeline.iter_requests()):
            self.complain(f"run {number} ({how}): steps were shown and there is no file")
        self._between(path)

    def _end(self, how: str) -> None:
        if how == "stop":
            self.controller.stop()
        elif how == "kill":
            self.controller.kill()
        elif self.controller.active:
            engine = psutil.Process(self.controller.engine_pid or 0)
            workers = [
                p for p in engine.children(recursive=True) if "resource_tracker" not in " ".join(p.cmdline())
            ]
            for process in workers[:1] if how == "worker killed" else [engine]:
                process.kill()

    def _check(self, number: int, how: str, timeline: Timeline, path: Path) -> None:
        with SessionReader.open(path) as reader:
            kept = {request.no: list(request.t_ns) for request in reader.timeline().iter_requests()}
        for request in timeline.iter_requests():
            shown = list(request.t_ns)
            self.steps += len(shown)
            if how == "engine killed":
                # What is committed last is at most a second old.
                shown = [t_ns for t_ns in shown if t_ns < shown[-1] - 1_000_000_000]
            if kept.get(request.no, [])[: len(shown)] != shown:
                self.complain(f"run {number} ({how}): request {request.no}: the file has not what was shown")

    def _between(self, path: Path | None) -> None:
        what = self.rng.random()
        if what < 0.15 and path is not None and path.exists():
            self.window.open_session(path)
            self.wait(lambda: self.controller.document.saved, 20, f"opening {path.name}")
        elif what < 0.25:
            self.window.show_page(self.rng.choice(("sessions", "compare", "profile")))
            self.idle(0.2)
            self.window.show_page("profile")

    def reading(self) -> dict[str, float]:
        """Handles, threads and processes of window and engine, and what memory they have."""
        own = psutil.Process()
        found: dict[str, float] = {"processes": len(own.children(recursive=True))}
        names = {"window": own}
        if self.controller.engine_pid is not None:
            names["engine"] = psutil.Process(self.controller.engine_pid)
        for name, process in names.items():
            found[f"{name}_handles"] = (
                process.num_fds() if hasattr(process, "num_fds") else process.num_handles()
            )
            found[f"{name}_threads"] = process.num_threads()
            found[f"{name}_bytes"] = process.memory_info().rss
        return found

    def close(self) -> list[psutil.Process]:
        """Close the window; returns what is left of its children."""
        children = psutil.Process().children(recursive=True)
        self.window.close_without_asking()
        self.controller.close()
        _, left = psutil.wait_procs(children, timeout=10)
        return [process for process in left if "resource_tracker" not in " ".join(process.cmdline())]


def growth(values: list[float]) -> float:
    """Slope a run, from the medians of the first and the last third."""
    third = max(len(values) // 3, 1)
    return (statistics.median(values[-third:]) - statistics.median(values[:third])) / max(
        len(values) - third, 1
    )


def main() -> int:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--real", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    app = QApplication(sys.argv[:1])
    readings: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as name:
        os.environ["DECODESCOPE_HOME"] = name
        soak = Soak(Path(name), options.seed)
        real = set(soak.rng.sample(range(options.runs), min(options.real, options.runs)))
        for number in range(options.runs):
            soak.one(number, number in real)
            if number >= WARM_UP:
                soak.wait(lambda: not soak.background.busy, 20, "the end of the work in the background")
                readings.append(soak.reading())
            if number % 20 == 19:
                print(f"{number + 1} runs, {soak.steps:,} steps, {len(soak.lost)} complaints", flush=True)
        left = soak.close()
        app.processEvents()
    figures: dict[str, Value | list[str]] = {
        "seed": options.seed,
        "runs": options.runs,
        "steps": soak.steps,
        **{f"ended_{how.replace(' ', '_')}": count for how, count in sorted(soak.ends.items())},
    }
    wrong = list(soak.lost) + [f"a process was left: {process}" for process in left]
    keys = [key for key in readings[0] if key in readings[-1]] if readings else []
    if any(reading["processes"] > PROCESSES for reading in readings):
        wrong.append(f"more than {PROCESSES} processes below the window")
    for key in keys:
        series = [reading[key] for reading in readings if key in reading]
        slope = growth(series)
        figures[f"{key}_first"], figures[f"{key}_last"] = series[0], series[-1]
        figures[f"{key}_growth_per_run"] = slope
        limit = GROWTH_BYTES_PER_RUN if key.endswith("_bytes") else GROWTH_COUNT_PER_RUN
        # An engine that was killed begins anew: only the window is the same all the time.
        if key.startswith("window") and slope > limit:
            wrong.append(f"{key} grows by {slope:.3g} a run")
    figures["complaints"] = wrong
    tell(figures, options.json)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
