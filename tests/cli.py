"""Runs `dscope` as a user does: a process, its exit code, its words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def environment(**extra: str) -> dict[str, str]:
    """The environment of a child that must find the packages from any folder."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **extra}


def dscope(
    *arguments: Any, timeout_s: float = 120, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """`python -m profiler ARGUMENTS`; no traceback may reach the user."""
    result = subprocess.run(
        [sys.executable, "-m", "profiler", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env=environment(**env),
        cwd=cwd,
        check=False,
    )
    assert "Traceback" not in result.stderr + result.stdout, result.stderr
    return result


def one_sentence(result: subprocess.CompletedProcess[str], code: int, *words: str) -> str:
    """Asserts the exit code and that stderr's last line is one sentence with all of `words`."""
    assert result.returncode == code, (result.returncode, result.stdout, result.stderr)
    line = result.stderr.strip().splitlines()[-1]
    assert line.startswith("dscope: ") and line.endswith("."), result.stderr
    for word in words:
        assert word in line, (word, line)
    return line
