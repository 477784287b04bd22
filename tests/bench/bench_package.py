"""Size and start of the packaged program: python tests/bench/bench_package.py [FOLDER] [--json FILE]

FOLDER is what PyInstaller made (by default dist/decodescope). Start: until an unattended window
that has nothing to do has ended again, against `python -m app` doing the same, the two in turn.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench_open import write
from figures import tell

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist" / "decodescope")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    program = options.folder / ("decodescope.exe" if sys.platform == "win32" else "decodescope")
    if not program.exists():
        raise SystemExit(
            f"There is no package in {options.folder}; build one: python -m PyInstaller build.spec"
        )
    size = sum(
        path.stat().st_size for path in options.folder.rglob("*") if not path.is_symlink() and path.is_file()
    )
    took: dict[str, list[float]] = {"package": [], "checkout": []}
    with tempfile.TemporaryDirectory() as name:
        session = Path(name) / "short.dscope"
        environment = {**os.environ, "DECODESCOPE_HOME": name, "PYTHONPATH": str(ROOT)}
        environment.setdefault("QT_QPA_PLATFORM", "offscreen")
        write(session, 100, 1)
        commands = {"package": [str(program)], "checkout": [sys.executable, "-m", "app"]}
        for index in range(options.rounds + 1):
            for key, command in commands.items():
                begin = time.perf_counter()
                subprocess.run([*command, str(session), "--quit-when-done"], env=environment, check=True)
                if index:
                    took[key].append(time.perf_counter() - begin)
    package, checkout = (statistics.median(took[key]) for key in ("package", "checkout"))
    figures = {
        "bytes": float(size),
        "start_s": package,
        "checkout_start_s": checkout,
        "start_ratio": package / checkout,
    }
    tell(figures, options.json)


if __name__ == "__main__":
    main()
