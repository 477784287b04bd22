"""What each process must not have imported, looked up in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from cli import environment

HEAVY = ("torch", "transformers", "accelerate", "gguf", "pynvml", "scipy", "PySide6", "pyqtgraph")


def loaded_by(code: str) -> set[str]:
    script = f"{code}\nimport sys, json\nprint(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), check=True
    )
    return set(json.loads(result.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "module",
    [
        "profiler.engine.core",
        "profiler.engine.client",
        "profiler.cli.app",
        "profiler.worker.main",
        "profiler.analysis.run",
        "profiler.reporting.report",
        "profiler.session.reader",
    ],
)
def test_imports_are_light(module: str) -> None:
    assert loaded_by(f"import {module}") == set()


def test_an_engine_that_has_run_has_no_torch() -> None:
    code = """
import tempfile
from pathlib import Path
from profiler import events as ev
from profiler.config import make_config
from profiler.engine.core import Engine
if __name__ == "__main__":
    over = []
    engine = Engine(publish=lambda es: over.extend(e for e in es if isinstance(e, ev.RunEnd)),
                    library=Path(tempfile.mkdtemp()))
    config = make_config({"model": "synthetic:ttft_ms=1,itl_ms=1", "output_tokens": 5})
    engine.command(1, "run", {"config": config.to_dict()})
    while not over:
        engine.poll(0.1)
    engine.close()
    assert over[0].status == "finished"
"""
    script = environment()["PYTHONPATH"]
    assert script
    assert (
        loaded_by(code.replace('if __name__ == "__main__":', "if True:"))
        & {
            "torch",
            "transformers",
            "accelerate",
            "gguf",
            "PySide6",
            "pyqtgraph",
        }
        == set()
    )
