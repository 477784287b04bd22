"""Makes the README's picture: records a session (or takes one) and lets the window draw it.

python tests/make_picture.py [SESSION.dscope]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from cli import ROOT, environment

PICTURE = ROOT / "resources" / "pictures" / "profile.png"
RUN = (
    "--model",
    "preset:small",
    "--prompt-tokens",
    "128",
    "--output-tokens",
    "256",
    "--repeats",
    "4",
    "--warmup",
    "1",
)


def main() -> int:
    """Exit code 0 when the picture was made."""
    env = environment(QT_QPA_PLATFORM="offscreen")
    with tempfile.TemporaryDirectory() as folder:
        session = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "picture.dscope"
        if not session.exists():
            subprocess.run(
                [sys.executable, "-m", "profiler", "record", *RUN, "--out", session], env=env, check=True
            )
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        window = ("--quit-when-done", "--size", "1440x900", "--theme", "dark", "--screenshot", str(PICTURE))
        return subprocess.run(
            [sys.executable, "-m", "app", str(session), *window], env=env, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
