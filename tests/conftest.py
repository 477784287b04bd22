"""Shared by all tests: a home of their own, and no window on a real screen."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Recordings and logs of a test go into a folder of its own (inherited by children)."""
    path = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("DECODESCOPE_HOME", str(path))
    yield path
