"""TELEMETRY's table "it breaks like this", row by row, through the real bindings.

Each test runs a small script in a process of its own that sees the pretend driver.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_nvml import fake_nvml_env

pytest.importorskip("pynvml")

SCRIPT = """
import ctypes, json, sys, time
from profiler.telemetry.nvml import open_nvml
from profiler.telemetry.sampler import ReaderGone, ReadingFailed

plan = json.loads(sys.argv[1])
opening = open_nvml(plan["uuids"], gpm=plan["gpm"])
result = {"reason": opening.reason, "driver": opening.driver, "gpus": []}
for reader in opening.readers:
    readings = []
    for _ in range(plan["readings"]):
        try:
            readings.append(reader.read())
        except (ReaderGone, ReadingFailed) as error:
            readings.append({"raised": type(error).__name__, "text": str(error)})
        time.sleep(plan["pause_s"])
    result["gpus"].append({**reader.describe(), "readings": readings})
for reader in opening.readers:
    reader.close()
    reader.close()
try:
    library = ctypes.CDLL("libnvidia-ml.so.1")
    library.fake_nvml_calls.restype = ctypes.c_ulonglong
    count = lambda name: library.fake_nvml_calls(name.encode())
    result["calls"] = {name: count(name) for name in plan["count"]}
except OSError:
    pass
print(json.dumps(result, allow_nan=False))
"""


def drive(
    tmp_path: Path,
    uuids: list[str] | None = None,
    readings: int = 1,
    pause_s: float = 0.0,
    gpm: bool = True,
    count: tuple[str, ...] = (),
    env: dict[str, str] | None = None,
    **settings: object,
) -> Any:
    plan = {"uuids": uuids, "readings": readings, "pause_s": pause_s, "gpm": gpm, "count": count}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, json.dumps(plan)],
        env=env if env is not None else fake_nvml_env(tmp_path, **settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_healthy_card(tmp_path: Path) -> None:
    result = drive(tmp_path, count=("nvmlInitWithFlags", "nvmlShutdown"))
    assert result["reason"] is None and result["driver"] == "570.00"
    (gpu,) = result["gpus"]
    assert (gpu["source"], gpu["index"], gpu["uuid"]) == ("gpu0", 0, "GPU-fake-0")
    assert gpu["name"] == "Fake A100" and gpu["pci_bus_id"] == "00000000:00:00.0"
    assert gpu["limits"] == {
        "power_limit_w": 300.0,
        "default_power_limit_w": 400.0,
        "power_cap_pct_of_default": 75.0,
        "max_sm_clock_mhz": 1410,
        "max_memory_clock_mhz": 1593,
        "memory_bus_bits": 5120,
        "memory_total_bytes": 85_899_345_920,
        "advertised_gb_s": 2039.0,
    }
    (values,) = gpu["readings"]
    assert values["power_w"] == 250.0 and gpu["power_source"] == "instant"
    assert values["gpu_busy_pct"] == 97.0 and values["memory_busy_pct"] == 45.0
    assert values["sm_clock_mhz"] == 1410 and values["memory_clock_mhz"] == 1593
    assert values["temperature_c"] == 61 and values["clock_event_reasons"] == 4
    assert values["memory_used_bytes"] == 14_680_064_000
    assert values["energy_j"] > 0
    assert set(gpu["unavailable"]) == {"dram_bw_pct", "sm_busy_pct", "sm_occupancy_pct", "tensor_pct"}
    assert result["calls"] == {"nvmlInitWithFlags": 1, "nvmlShutdown": 1}


def test_busy_window_is_the_distance_of_the_stamps(tmp_path: Path) -> None:
    (gpu,) = drive(tmp_path, RING_PERIOD_US=1_000_000, RING_N=5)["gpus"]
    assert gpu["busy_window_ms"] == 1000.0
    (values,) = gpu["readings"]
    assert values["busy_window_ms"] == 1000.0 and values["busy_age_ms"] >= 0


def test_no_library(tmp_path: Path) -> None:
    # A library that is no library is the same to the linker as none.
    env = fake_nvml_env(tmp_path)
    (tmp_path / "libnvidia-ml.so.1").write_bytes(b"")
    result = drive(tmp_path, env=env)
    assert result["gpus"] == [] and result["reason"].startswith("No NVIDIA driver was found")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (9, "not loaded"),
        (18, "reboot or reload the driver"),
        (4, "refuses access"),
        (999, "did not start"),
    ],
)
def test_driver_that_does_not_start(tmp_path: Path, code: int, words: str) -> None:
    result = drive(tmp_path, ERRORS=f"nvmlInitWithFlags={code}")
    assert result["gpus"] == [] and words in result["reason"]


def test_no_card(tmp_path: Path) -> None:
    result = drive(tmp_path, COUNT=0, count=("nvmlShutdown",))
    assert result["gpus"] == [] and "lists no GPU" in result["reason"]
    assert result["calls"]["nvmlShutdown"] == 1


def test_unknown_errors_after_a_good_start(tmp_path: Path) -> None:
    # Opening takes some 27 calls, a reading 12 or fewer: the first is whole, the last has nothing.
    (gpu,) = drive(tmp_path, readings=3, ERRORS="*=999@40")["gpus"]
    last = gpu["readings"][-1]
    assert last["raised"] == "ReadingFailed" and "GPU 0 (Fake A100) does not answer" in last["text"]
    assert gpu["readings"][0]["power_w"] == 250.0


def test_one_call_not_supported_leaves_the_rest(tmp_path: Path) -> None:
    name = "nvmlDeviceGetTotalEnergyConsumption"
    result = drive(tmp_path, COUNT=2, readings=4, ERRORS=f"{name}#1=3", count=(name,))
    first, second = result["gpus"]
    assert first["readings"][-1]["energy_j"] > 0 and "energy_j" not in first["unavailable"]
    assert second["readings"][-1]["energy_j"] is None
    assert "integrated" in second["unavailable"]["energy_j"]
    assert second["readings"][-1]["power_w"] == 250.0
    # Probed once on the second card, read on the first at the probe and at each reading.
    assert result["calls"][name] == 1 + 5


def test_gpu_lost_in_mid_run(tmp_path: Path) -> None:
    (gpu,) = drive(tmp_path, readings=3, ERRORS="*=15@40")["gpus"]
    assert gpu["readings"][0]["power_w"] == 250.0
    last = gpu["readings"][-1]
    assert last["raised"] == "ReaderGone" and "was lost" in last["text"]


def test_gpu_lost_before_the_run(tmp_path: Path) -> None:
    result = drive(tmp_path, COUNT=2, ERRORS="nvmlDeviceGetEnforcedPowerLimit#0=16", count=("nvmlShutdown",))
    assert [gpu["source"] for gpu in result["gpus"]] == ["gpu1"]
    assert "GPU 0 (Fake A100) was lost" in result["reason"]
    assert result["calls"]["nvmlShutdown"] == 1


def test_empty_ring_falls_back_to_the_snapshot(tmp_path: Path) -> None:
    (gpu,) = drive(tmp_path, ERRORS="nvmlDeviceGetSamples=6", GPU_PCT=3, MEM_PCT=0)["gpus"]
    (values,) = gpu["readings"]
    assert values["gpu_busy_pct"] == 3.0 and values["memory_busy_pct"] == 0.0
    assert "busy_window_ms" not in values and gpu["busy_window_ms"] is None


def test_unified_memory(tmp_path: Path) -> None:
    errors = "nvmlDeviceGetMemoryInfo_v2=3,nvmlDeviceGetMemoryInfo=3"
    (gpu,) = drive(tmp_path, ERRORS=errors)["gpus"]
    assert gpu["memory_source"] == "system memory (unified)"
    assert gpu["readings"][0]["memory_used_bytes"] > 0
    assert "memory_used_bytes" not in gpu["unavailable"]


def test_old_driver_without_memory_version_2(tmp_path: Path) -> None:
    (gpu,) = drive(tmp_path, ERRORS="nvmlDeviceGetMemoryInfo_v2=13")["gpus"]
    assert gpu["memory_source"] == "driver"
    assert gpu["readings"][0]["memory_used_bytes"] == 14_680_064_000


def test_implausible_power(tmp_path: Path) -> None:
    (gpu,) = drive(tmp_path, LIMIT_MW=80_000, INSTANT_MW=593_000, POWER_MW=593_000)["gpus"]
    assert gpu["readings"][0]["power_w"] is None
    assert gpu["unavailable"]["power_w"] == "The driver reports 593 W, which is not plausible."


def test_power_without_a_limit_is_believed_below_2000_w(tmp_path: Path) -> None:
    errors = "nvmlDeviceGetEnforcedPowerLimit=3"
    (gpu,) = drive(tmp_path, ERRORS=errors, INSTANT_MW=1_999_000)["gpus"]
    assert gpu["readings"][0]["power_w"] == 1999.0
    (gpu,) = drive(tmp_path, ERRORS=errors, INSTANT_MW=2_000_000, POWER_MW=2_000_000)["gpus"]
    assert gpu["readings"][0]["power_w"] is None


def test_power_average_where_there_is_no_instant(tmp_path: Path) -> None:
    (gpu,) = drive(tmp_path, INSTANT_MW=-1)["gpus"]
    assert gpu["readings"][0]["power_w"] == 240.0
    assert gpu["power_source"] == "average of about 1 s"


def test_name_with_bad_bytes(tmp_path: Path) -> None:
    (gpu,) = drive(tmp_path, NAME=b"Ge\xff\xfeForce\x1b[31m")["gpus"]
    assert gpu["name"] == "Ge\ufffd\ufffdForce [31m"


def test_missing_symbol(tmp_path: Path) -> None:
    # The pretend driver has no nvmlDeviceGetTemperatureV: the old name fails, the new one is not there.
    (gpu,) = drive(tmp_path, ERRORS="nvmlDeviceGetTemperature=13")["gpus"]
    assert gpu["readings"][0]["temperature_c"] is None
    assert "Function Not Found" in gpu["unavailable"]["temperature_c"]


def test_hardware_counters(tmp_path: Path) -> None:
    (gpu,) = drive(tmp_path, GPM=1, DRAM_PCT=91, readings=3, pause_s=0.15)["gpus"]
    assert gpu["gpm"] is True
    last = gpu["readings"][-1]
    assert last["dram_bw_pct"] == 91.0 and last["sm_busy_pct"] == 50.0
    assert last["tensor_pct"] is None and "no value" in gpu["unavailable"]["tensor_pct"]


def test_hardware_counters_are_not_read_too_fast(tmp_path: Path) -> None:
    # Readings without a pause between them; the pretend driver refuses samples closer than 100 ms.
    result = drive(tmp_path, GPM=1, readings=5, count=("nvmlGpmMetricsGet", "nvmlGpmSampleAlloc"))
    assert result["calls"]["nvmlGpmSampleAlloc"] >= 1
    assert all(values.get("dram_bw_pct") in (None, 91.0) for values in result["gpus"][0]["readings"])
    assert "dram_bw_pct" not in result["gpus"][0]["unavailable"]


def test_hardware_counters_switched_off(tmp_path: Path) -> None:
    result = drive(tmp_path, GPM=1, gpm=False, count=("nvmlGpmSampleAlloc",))
    assert result["calls"]["nvmlGpmSampleAlloc"] == 0
    assert "switched off" in result["gpus"][0]["unavailable"]["dram_bw_pct"]


UUIDS = "GPU-aaaa,GPU-bbbb,MIG-cccc"


@pytest.mark.parametrize(
    ("wanted", "sources"),
    [
        (["bbbb"], ["gpu1"]),  # torch's form
        (["GPU-bbbb", "aaaa"], ["gpu1", "gpu0"]),
        (["cccc"], ["gpu2"]),  # a part of a card
        (["00000000:01:00.0"], ["gpu1"]),
        (["unheard;00000000:00:00.0"], ["gpu0"]),
        (["aaaa", "aaaa", "GPU-aaaa"], ["gpu0"]),
        (None, ["gpu0", "gpu1", "gpu2"]),
    ],
)
def test_the_right_card(tmp_path: Path, wanted: list[str] | None, sources: list[str]) -> None:
    result = drive(tmp_path, uuids=wanted, COUNT=3, UUIDS=UUIDS)
    assert [gpu["source"] for gpu in result["gpus"]] == sources
    assert result["reason"] is None


def test_a_card_that_the_driver_does_not_know(tmp_path: Path) -> None:
    result = drive(tmp_path, uuids=["aaaa", "nope"], COUNT=3, UUIDS=UUIDS)
    assert [gpu["source"] for gpu in result["gpus"]] == ["gpu0"]
    assert "does not know the GPU nope" in result["reason"]
