"""Differences between two runs' circumstances."""

from __future__ import annotations

import copy
import json
from typing import Any

from profiler import events as ev
from profiler.analysis.manifest import MISSING, environment_differences, manifest
from profiler.engine.inspection import environment
from profiler.telemetry.hardware import hardware_facts, software_facts
from profiler.timeline import Run, Timeline

CONFIG = {"model": "preset:nano", "name": "one", "dtype": "auto", "cache": "dynamic", "threads": None}
ENVIRONMENT = {
    "hardware": {
        "cpu": {"model": "EPYC", "governor": "performance", "affinity": [0, 1]},
        "memory": {"total_bytes": 8, "available_bytes": 5},
    },
    "software": {"torch": "2.9.0", "packages": {"numpy": "2.1"}},
    "driver": "550.1",
    "gpus": [{"name": "A100", "power_limit_w": 400.0}],
}
FACTS = {
    "model": {"dtype": "bf16", "device": "cpu", "attn": "sdpa"},
    "clock": {"offset_ns": 12},
    "reference": {"gb_s": 10.0},
}


def run_of(config: Any = None, environment: Any = None, facts: Any = None) -> Run:
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0, "run", "", config or {}, environment or {}))
    for key, value in (facts or {}).items():
        timeline.apply(ev.Fact(key, value, 1))
    return timeline.runs[1]


def test_alike_is_no_difference() -> None:
    a = run_of(CONFIG, ENVIRONMENT, FACTS)
    b = run_of(
        CONFIG | {"name": "two"},
        copy.deepcopy(ENVIRONMENT),
        FACTS | {"clock": {"offset_ns": 99}, "reference": {"gb_s": 11.0}},
    )
    b.environment["hardware"]["memory"]["available_bytes"] = 4
    # A name, free memory, the clock's offset and what was measured are no circumstances.
    assert environment_differences(a, b) == []


def test_important_ones_come_first() -> None:
    other = copy.deepcopy(ENVIRONMENT)
    other["hardware"]["cpu"] |= {"governor": "powersave", "affinity": [0]}
    other["software"] |= {"torch": "2.13.0", "packages": {"numpy": "2.4"}}
    other["driver"] = "560.2"
    other["gpus"][0]["power_limit_w"] = 250.0
    a = run_of(CONFIG, ENVIRONMENT, FACTS)
    b = run_of(
        CONFIG | {"cache": "static", "threads": 2},
        other,
        FACTS | {"model": {"dtype": "fp32", "device": "cuda:0", "attn": "eager"}},
    )
    found = environment_differences(a, b)
    assert [item["path"] for item in found] == [
        "environment.gpus.0.power_limit_w",
        "environment.driver",
        "environment.software.torch",
        "facts.model.dtype",
        "facts.model.device",
        "config.threads",
        "environment.hardware.cpu.governor",
        "facts.model.attn",
        "config.cache",
        "environment.hardware.cpu.affinity",
        "environment.software.packages.numpy",
    ]
    assert found[0] == {
        "path": "environment.gpus.0.power_limit_w",
        "a": 400.0,
        "b": 250.0,
        "important": True,
    }
    assert [item["important"] for item in found] == [True] * 9 + [False] * 2


def test_a_missing_key_is_not_null() -> None:
    a = run_of({"threads": None}, {"gpus": [], "empty": {}})
    b = run_of({}, {"driver": "1"})
    assert environment_differences(a, b) == [
        {"path": "environment.driver", "a": MISSING, "b": "1", "important": True},
        {"path": "config.threads", "a": None, "b": MISSING, "important": True},
        {"path": "environment.gpus", "a": [], "b": MISSING, "important": False},
    ]


def test_odd_bytes_and_values_stay_strict_json() -> None:
    odd = {"cpu": "caf\udce9 \x1b[31m\u202e", "b\udc80d": float("nan"), "n": float("inf"), "o": {1, 2}}
    deep: dict[str, Any] = {}
    inner = deep
    for _ in range(5000):
        inner["d"] = {}
        inner = inner["d"]
    a, b = run_of({}, {"system": odd, "long": "x" * 10_000}), run_of({}, {"system": {}})
    found = environment_differences(a, b)
    text = json.dumps(found, allow_nan=False, ensure_ascii=False)
    text.encode("utf-8")
    assert "\x1b" not in text and "\u202e" not in text
    by_path = {item["path"]: item for item in found}
    assert by_path["environment.system.cpu"]["a"] == "caf? \ufffd[31m\ufffd"
    assert by_path["environment.system.b?d"]["a"] is None
    assert len(by_path["environment.long"]["a"]) == 300
    assert environment_differences(run_of({}, {"deep": deep}), run_of({}, {}))
    assert environment_differences(run_of({"x": True}), run_of({"x": 1}))
    assert not environment_differences(run_of({"x": 1.0}), run_of({"x": 1}))


def test_facts_that_are_no_objects() -> None:
    assert environment_differences(run_of({}, {}, {"model": "odd"}), run_of({}, {}, {"model": None})) == [
        {"path": "facts.model", "a": "odd", "b": None, "important": True}
    ]


def test_the_manifest_of_this_machine_has_all_that_is_promised() -> None:
    machine = {
        "hardware": hardware_facts(),
        "software": software_facts(),
        "driver": "550.1",
        "gpu_reason": None,
        "gpus": [
            {
                "index": 0,
                "name": "A100",
                "uuid": "GPU-1",
                "driver": "550.1",
                "limits": {"power_limit_w": 300.0, "power_cap_pct_of_default": 75.0},
                "free_bytes": 1,
            }
        ],
    }
    told = environment(machine, {"software": {"torch": "2.13", "threads": 2}})
    flat = manifest(run_of({}, told))
    for path in (
        "hardware.cpu.model",
        "hardware.cpu.affinity",
        "hardware.cpu.governor",
        "hardware.caches.llc_bytes",
        "hardware.memory.total_bytes",
        "hardware.system.version",
        "software.python",
        "software.torch",
        "software.threads",
        "software.packages.transformers",
        "driver",
        "gpus.0.name",
        "gpus.0.power_limit_w",
        "gpus.0.power_cap_pct_of_default",
        "gc",
    ):
        assert f"environment.{path}" in flat, path
    assert any(path.startswith("environment.hardware.numa_nodes") for path in flat)
    assert "environment.gpus.0.free_bytes" not in flat
