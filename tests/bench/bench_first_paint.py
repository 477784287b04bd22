"""Time to the first paint: python tests/bench/bench_first_paint.py [--rounds N] [--json FILE]

From the start of the process to the first drawing of the window, against an empty window of
PySide6 and pyqtgraph, the two in turn. Prints the medians, their ratio, and which heavy modules the
window had imported by then. Nothing is asserted: `tests/gui/test_first_paint.py` looks at the modules.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIMIT_RATIO = 1.5
HEAVY = ("torch", "transformers", "accelerate", "scipy", "plotly", "pynvml", "pyarrow", "psutil")
"""Of these, the first five must not be there; the others are told."""

_TELL = """
import json, os, sys, time

def tell():
    t_ns = time.perf_counter_ns()
    print(json.dumps({"t_ns": t_ns, "modules": sorted(sys.modules)}), flush=True)
    os._exit(0)
"""

EMPTY = f"""{_TELL}
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
import pyqtgraph

class Watch(QObject):
    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint:
            QTimer.singleShot(0, tell)
        return False

app = QApplication([])
window = QMainWindow()
window.setCentralWidget(pyqtgraph.PlotWidget())
window.resize(1440, 900)
watch = Watch()
app.installEventFilter(watch)
window.show()
app.exec()
"""

WINDOW = f"""{_TELL}
import app.first_paint

class Watch(app.first_paint.FirstPaint):
    def __init__(self, window, painted):
        super().__init__(window, tell)  # instead of what would come then

app.first_paint.FirstPaint = Watch
from app.__main__ import main
sys.argv = ["decodescope", "--new-window", "--size", "1440x900"]
main()
"""


def first_paint(code: str, home: Path) -> dict[str, Any]:
    """Start `code` in a process of its own: {"s": seconds to its first paint, "modules": [...]}."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DECODESCOPE_HOME": str(home)}
    # As for an installed program: from byte code, also where this machine writes none.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(home / "bytecode")
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    start_ns = time.perf_counter_ns()
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True, timeout=60
    )
    value = json.loads(result.stdout.splitlines()[-1])
    return {"s": (value["t_ns"] - start_ns) / 1e9, "modules": value["modules"]}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    empty_s, window_s = [], []
    modules: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        for code in (EMPTY, WINDOW):
            first_paint(code, home)  # once for nothing: byte code, fonts, the disk's cache
        for i in range(options.rounds):
            for code in (EMPTY, WINDOW) if i % 2 == 0 else (WINDOW, EMPTY):
                told = first_paint(code, home)
                (empty_s if code is EMPTY else window_s).append(told["s"])
                if code is WINDOW:
                    modules = told["modules"]
    figures = {
        "empty_s": statistics.median(empty_s),
        "window_s": statistics.median(window_s),
        "ratio": statistics.median(window_s) / statistics.median(empty_s),
        "ratio_limit": LIMIT_RATIO,
        "rounds": options.rounds,
        "modules": len(modules),
        "heavy": [name for name in HEAVY if name in modules],
    }
    for key, value in figures.items():
        print(f"{key:14} {value:10.3f}" if isinstance(value, float) else f"{key:14} {value!s:>10}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
