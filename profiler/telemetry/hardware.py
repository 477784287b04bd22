"""Facts about the machine and its software for the manifest of a session.

Thread: any. Costs some ten milliseconds, once. Everything is strict JSON and plain text:
odd bytes in a system string are replaced, a refused read is null. Nothing raises, nothing
imports torch: versions come from the installed packages' metadata.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from profiler.caches import last_level_cache
from profiler.telemetry.cgroup import ControlGroup
from profiler.telemetry.plain import plain_text, read_int, read_text

PACKAGES = (
    "decodescope",
    "torch",
    "transformers",
    "accelerate",
    "safetensors",
    "tokenizers",
    "gguf",
    "torchao",
    "bitsandbytes",
    "flash-attn",
    "nvidia-ml-py",
    "numpy",
    "scipy",
    "psutil",
    "PySide6-Essentials",
    "pyqtgraph",
)

ENVIRONMENT = frozenset(
    {
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "CUDA_DEVICE_ORDER",
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_MODULE_LOADING",
        "CUDA_VISIBLE_DEVICES",
        "CUBLAS_WORKSPACE_CONFIG",
        "GOMP_CPU_AFFINITY",
        "HF_HUB_OFFLINE",
        "HIP_VISIBLE_DEVICES",
        "KMP_AFFINITY",
        "KMP_BLOCKTIME",
        "MALLOC_ARENA_MAX",
        "MKL_NUM_THREADS",
        "NVIDIA_TF32_OVERRIDE",
        "NVIDIA_VISIBLE_DEVICES",
        "OMP_DYNAMIC",
        "OMP_NUM_THREADS",
        "OMP_PLACES",
        "OMP_PROC_BIND",
        "OMP_SCHEDULE",
        "OMP_WAIT_POLICY",
        "OPENBLAS_NUM_THREADS",
        "PYTORCH_ALLOC_CONF",
        "PYTORCH_CUDA_ALLOC_CONF",
        "PYTORCH_ENABLE_MPS_FALLBACK",
        "PYTORCH_HIP_ALLOC_CONF",
        "PYTORCH_MPS_HIGH_WATERMARK_RATIO",
        "PYTORCH_NO_CUDA_MEMORY_CACHING",
        "ROCR_VISIBLE_DEVICES",
        "TOKENIZERS_PARALLELISM",
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
        "TRANSFORMERS_OFFLINE",
    }
)
"""The only environment variables that leave the process. By exact name: a pattern would one day
match a secret."""

_SYS_CPU = Path("/sys/devices/system/cpu")
_SYS_NODE = Path("/sys/devices/system/node")


def hardware_facts() -> dict[str, Any]:
    """Processor, caches, memory, and what of them this process may use."""
    affinity = _affinity()
    group = ControlGroup()
    cache = last_level_cache(affinity)
    memory = _quiet(psutil.virtual_memory)
    swap = _quiet(psutil.swap_memory)
    quota, usable = group.cpu_quota(), usable_cpus()
    return {
        "usable_cpus": usable,
        "cpu": {
            "model": cpu_model(),
            "machine": plain_text(platform.machine()),
            "physical_cores": _quiet(lambda: psutil.cpu_count(logical=False)),
            "logical_cores": _quiet(lambda: psutil.cpu_count(logical=True)),
            "affinity": affinity,
            "cgroup_quota_cpus": quota,
            "usable_cpus": usable,
            "max_freq_mhz": _max_frequency_mhz(),
            "governor": _governor(),
            "boost": _boost(),
            "smt": read_text(_SYS_CPU / "smt" / "control"),
            "hybrid": Path("/sys/devices/cpu_core").exists() and Path("/sys/devices/cpu_atom").exists(),
            "virtual_machine": _virtual_machine(),
        },
        "caches": {
            "llc_bytes": cache.bytes,
            "llc_one_bytes": cache.one_bytes,
            "llc_instances": cache.instances,
            "llc_level": cache.level,
            "llc_source": cache.source,
        },
        "memory": {
            "total_bytes": None if memory is None else int(memory.total),
            "available_bytes": None if memory is None else int(memory.available),
            "swap_total_bytes": None if swap is None else int(swap.total),
            "cgroup_limit_bytes": group.memory_limit_bytes(),
        },
        "numa_nodes": _numa_nodes(),
        "system": {
            "os": plain_text(platform.system()),
            "release": plain_text(platform.release()),
            "version": _os_name(),
        },
    }


def software_facts(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Python, package versions (null: not installed), and the allow-listed environment."""
    return {
        "python": platform.python_version(),
        "python_implementation": platform.python_implementation(),
        "frozen": bool(getattr(sys, "frozen", False)),
        "packages": {name: _version(name) for name in PACKAGES},
        "environment": {name: plain_text(environ[name]) for name in sorted(ENVIRONMENT) if name in environ},
    }


def doctor() -> dict[str, Any]:
    """What can be measured here and why not: see `profiler.telemetry.doctor`."""
    from profiler.telemetry import doctor as checks  # builds on this module

    return checks.doctor()


def usable_cpus() -> int | float:
    """Processors' worth of time this process may use: affinity and cgroup quota decide, not
    `os.cpu_count()`. A whole number unless a quota makes it a fraction; above 0."""
    affinity = _affinity()
    allowed = len(affinity) if affinity else os.cpu_count() or 1
    quota = ControlGroup().cpu_quota()
    if quota is None or quota >= allowed:
        return allowed
    return int(quota) if quota == int(quota) else round(quota, 2)


def cpu_model() -> str | None:
    """The processor's name as its maker writes it; None where the system does not tell."""
    for line in (read_text(Path("/proc/cpuinfo")) or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "Hardware") and value.strip():
            return plain_text(value)
    # Windows keeps it in the environment; the architecture is better than nothing.
    return plain_text(os.environ.get("PROCESSOR_IDENTIFIER", "") or platform.machine()) or None


def _affinity() -> list[int] | None:
    getter = getattr(os, "sched_getaffinity", None)
    if getter is None:
        return None
    try:
        return sorted(getter(0))
    except OSError:
        return None


def _governor() -> str | None:
    names = {read_text(path) for path in _SYS_CPU.glob("cpu[0-9]*/cpufreq/scaling_governor")} - {None, ""}
    return plain_text(", ".join(sorted(str(name) for name in names))) or None


def _boost() -> bool | None:
    boost = read_int(_SYS_CPU / "cpufreq" / "boost")
    if boost is not None:
        return boost == 1
    no_turbo = read_int(_SYS_CPU / "intel_pstate" / "no_turbo")
    return None if no_turbo is None else no_turbo == 0


def _max_frequency_mhz() -> float | None:
    value = read_int(_SYS_CPU / "cpu0" / "cpufreq" / "cpuinfo_max_freq")
    return None if value is None else value / 1000


def _numa_nodes() -> list[dict[str, Any]] | None:
    nodes = sorted(_SYS_NODE.glob("node[0-9]*"), key=lambda path: int(path.name[4:]))
    found = [{"node": int(path.name[4:]), "cpus": read_text(path / "cpulist")} for path in nodes]
    return found or None


def _virtual_machine() -> bool | None:
    for line in (read_text(Path("/proc/cpuinfo")) or "").splitlines():
        if line.startswith("flags"):
            return "hypervisor" in line.split()
    return None


def _os_name() -> str | None:
    if platform.system() == "Linux":
        try:
            return plain_text(platform.freedesktop_os_release().get("PRETTY_NAME", "")) or None
        except (OSError, UnicodeDecodeError):
            return None
    return plain_text(platform.version()) or None


def _version(package: str) -> str | None:
    try:
        return plain_text(metadata.version(package))
    except metadata.PackageNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):  # a broken or half-removed installation
        return None


def _quiet(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (psutil.Error, OSError, NotImplementedError, RuntimeError, ValueError):
        return None
