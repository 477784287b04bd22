"""When a worker is made ready, and which runs can begin in it."""

from __future__ import annotations

import pytest

from profiler.config import make_config
from profiler.engine import inspection
from profiler.engine.inspection import why_not_warm
from profiler.engine.job import process_key
from profiler.units import GIB

MACHINE = {"devices": [{"name": "cpu"}, {"name": "cuda:0"}]}


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "free_memory_bytes", lambda: 8 * GIB)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({}, None),
        ({"device": "cuda"}, None),
        ({"device": "cuda:0"}, None),
        ({"device": "cuda:7"}, None),  # the run will say that there is none of that number
        ({"device": "mps"}, "there is no mps here"),
        ({"model": "synthetic:rate=5"}, "no model runs"),
    ],
)
def test_only_where_a_run_could_use_it(values: dict[str, object], reason: str | None) -> None:
    assert why_not_warm(make_config(values), MACHINE) == reason


def test_the_machine_may_not_be_known_yet() -> None:
    assert why_not_warm(make_config({"device": "mps"}), None) is None


def test_not_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "free_memory_bytes", lambda: 2 * GIB - 1)
    assert why_not_warm(make_config({}), MACHINE) == "too little memory is free"


def test_what_the_libraries_read_at_import_needs_another_process() -> None:
    usual = process_key(make_config({}))
    same = {"threads": 3, "dtype": "bf16", "device": "cpu", "model": "demo", "output_tokens": 5}
    assert process_key(make_config(same)) == usual is not None
    assert process_key(make_config({"allow_download": True})) not in (usual, None)
    assert process_key(make_config({"model": "synthetic"})) is None
