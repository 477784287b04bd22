"""The script of the GPU checks without a GPU: its dry run against the pretend driver."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_nvml import ROOT, fake_nvml_env

pytest.importorskip("pynvml")


def dry_run(tmp_path: Path, **nvml: object) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit code, and the verdicts by the end of their names."""
    out = tmp_path / "out"
    # 10 GB a step in 10 ms are 1000 GB/s, of 2039 advertised: the counter's 49 % are 999.
    command = [
        sys.executable,
        str(ROOT / "tests" / "gpu" / "run.py"),
        *("--dry-run", "--output-tokens", "200", "--repeats", "1", "--out", str(out)),
    ]
    settings = {"GPM": 1, "DRAM_PCT": 49, "POWER_MW": 250_000, **nvml}
    done = subprocess.run(
        command,
        env=fake_nvml_env(tmp_path, **settings),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    verdicts = json.loads((out / "gpu_checks.json").read_text(encoding="utf-8"))
    return done.returncode, {verdict["check"]: verdict for verdict in verdicts}


def test_all_that_can_run_passes(tmp_path: Path) -> None:
    code, verdicts = dry_run(tmp_path)
    statuses = {name: verdict["status"] for name, verdict in verdicts.items()}
    assert code == 0, verdicts
    for cache in ("dynamic", "static"):
        for check in (
            "complete",
            "MBU is plausible",
            "the model's card was sampled",
            "bytes over time against the DRAM counter",
            "energy counter against power",
        ):
            assert statuses[f"schedule bf16 {cache}: {check}"] == "pass", verdicts
    # Without CUDA these cannot run, which is said and fails nothing.
    assert statuses["CUDA-event time against host time"] == "not run"
    assert verdicts["UUID of torch finds the driver's card"]["note"] == "a dry run"


def test_a_counter_that_disagrees_fails(tmp_path: Path) -> None:
    # Three quarters of the bytes' rate, and an energy counter of half the power.
    code, verdicts = dry_run(tmp_path, DRAM_PCT=65, POWER_MW=125_000)
    assert code == 1
    failed = {name for name, verdict in verdicts.items() if verdict["status"] == "FAIL"}
    assert failed == {
        f"schedule bf16 {cache}: {check}"
        for cache in ("dynamic", "static")
        for check in ("bytes over time against the DRAM counter", "energy counter against power")
    }


def test_a_card_without_counters_is_not_run(tmp_path: Path) -> None:
    code, verdicts = dry_run(tmp_path, GPM=0, ERRORS="nvmlDeviceGetTotalEnergyConsumption=3")
    assert code == 0
    counter = verdicts["schedule bf16 static: bytes over time against the DRAM counter"]
    assert counter["status"] == "not run" and "Hopper" in counter["note"]
    energy = verdicts["schedule bf16 static: energy counter against power"]
    assert energy["status"] == "not run" and energy["note"] == "the card tells no energy"
