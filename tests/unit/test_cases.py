"""The event streams with the right answers (tests/cases), through the trace reader and the report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from profiler.errors import TraceError
from profiler.reporting.report import report
from profiler.session.trace import read_trace
from profiler.timeline import Timeline

CASES = Path(__file__).parent.parent / "cases"
NAMES = sorted(path.name.removesuffix(".expected.json") for path in CASES.glob("*.expected.json"))


def look_up(run: dict[str, Any], path: str) -> Any:
    """The value at `metrics.itl_ms.n` or `per_request[r1].ttft_ms`."""
    value: Any = run
    for part in path.split("."):
        picked = re.fullmatch(r"(\w+)\[(.+)\]", part)
        if picked:
            (value,) = [item for item in value[picked[1]] if item["id"] == picked[2]]
        else:
            value = value[part]
    return value


def test_there_are_cases() -> None:
    assert len(NAMES) >= 11


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str) -> None:
    expected = json.loads((CASES / f"{name}.expected.json").read_text(encoding="utf-8"))["expect"]
    trace = CASES / f"{name}.jsonl"
    if "exit" in expected:
        with pytest.raises(TraceError) as caught:
            read_trace(trace)
        assert caught.value.exit_code == expected["exit"]
        assert expected["stderr_has"] in str(caught.value)
        return
    timeline = Timeline()
    timeline.apply_all(read_trace(trace).events)
    run = report(timeline)["runs"][0]
    for path, value in expected.items():
        found = look_up(run, path)
        if value is None or isinstance(value, bool):
            assert found is value, path
        else:
            assert found == pytest.approx(value, rel=1e-6), path
