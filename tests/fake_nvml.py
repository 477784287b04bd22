"""The pretend NVIDIA driver of `tests/fakes/fake_nvml.c`, built on demand.

`fake_nvml_env(folder, **settings)` gives the environment for a process that shall see it:
`fake_nvml_env(tmp_path, COUNT=2, ERRORS="nvmlDeviceGetPowerUsage=3")`. The dynamic linker reads
LD_LIBRARY_PATH at start, hence always a process of its own.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "fakes" / "fake_nvml.c"
ROOT = Path(__file__).parent.parent


@functools.cache
def _library() -> bytes:
    """The built library's bytes; skips the test where it cannot be built."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("the pretend NVIDIA driver needs Linux and a C compiler")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "libnvidia-ml.so.1"
        command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", str(target), str(SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return target.read_bytes()


def fake_nvml_env(folder: Path, **settings: object) -> dict[str, str]:
    """An environment in which libnvidia-ml.so.1 is the pretend driver, set as `settings` say.

    Each setting X becomes FAKE_NVML_X (see the C file). `folder` takes the library. A value of
    bytes is passed as it is.
    """
    target = folder / "libnvidia-ml.so.1"
    if not target.exists():
        target.write_bytes(_library())
    env = {name: value for name, value in os.environ.items() if not name.startswith("FAKE_NVML_")}
    paths = [str(folder), env.get("LD_LIBRARY_PATH", "")]
    env["LD_LIBRARY_PATH"] = os.pathsep.join(path for path in paths if path)
    env["PYTHONPATH"] = os.pathsep.join(path for path in (str(ROOT), env.get("PYTHONPATH", "")) if path)
    for name, value in settings.items():
        env[f"FAKE_NVML_{name}"] = os.fsdecode(value) if isinstance(value, bytes) else str(value)
    return env
