"""The GPU checks under pytest: `pytest -m gpu`. Skipped without a device; see `run.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.slow]


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


@pytest.mark.timeout(600)
def test_every_check_that_can_run_passes(tmp_path: Path) -> None:
    if not _has_gpu():
        pytest.skip("no CUDA device")
    script = Path(__file__).parent / "run.py"
    done = subprocess.run([sys.executable, str(script), "--out", str(tmp_path)], check=False)
    table = (tmp_path / "gpu_checks.txt").read_text(encoding="utf-8")
    assert done.returncode == 0, table
