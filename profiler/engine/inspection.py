"""What the engine can tell without a worker: models, fit, machine, names. No torch.

Everything here may take a while (file headers, drivers) and runs on a background thread.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from profiler.config import RunConfig
from profiler.errors import ModelError, SessionError
from profiler.paths import log_dir
from profiler.session.reader import SessionReader
from profiler.shapes import fit_check, kv_bytes_per_token, weight_bytes
from profiler.telemetry.cgroup import ControlGroup
from profiler.telemetry.hardware import hardware_facts, software_facts
from profiler.telemetry.nvml import open_nvml
from profiler.units import GIB
from profiler.worker.backends.synthetic import is_synthetic, parse
from profiler.worker.backends.transformers import check_context
from profiler.worker.prompts import read_prompts
from profiler.worker.sources import ModelSource, list_models, resolve

WARM_FREE_BYTES = 2 * GIB
"""A worker that has torch imported holds some 0.4 GiB: not where memory is short."""


def models() -> list[dict[str, Any]]:
    """The models that can be named, for the picker and `dscope models`."""
    return list_models()


def machine_facts() -> dict[str, Any]:
    """This machine: devices a model can run on, hardware and software facts, why no GPU."""
    hardware = hardware_facts()
    software = software_facts()
    opening = open_nvml(None)
    gpus = []
    try:
        for reader in opening.readers:
            gpus.append({**reader.describe(), "free_bytes": _free_of(reader.read())})
    except (OSError, RuntimeError):
        pass
    finally:
        for reader in opening.readers:
            reader.close()
    devices: list[dict[str, Any]] = []
    torch_version = _torch_version()
    if torch_version is not None and "+cpu" not in torch_version:
        devices += [
            {"name": f"cuda:{i}", "label": f"cuda:{i} · {gpu.get('name')}", "free_bytes": gpu["free_bytes"]}
            for i, gpu in enumerate(gpus)
        ]
    if sys.platform == "darwin":
        devices.append({"name": "mps", "label": "mps · Apple GPU", "free_bytes": None})
    cpu = hardware.get("cpu") or {}
    name, usable = cpu.get("model"), cpu.get("usable_cpus")
    label = f"cpu · {name or 'CPU'}" + (f" · {usable:g} cores" if usable else "")
    devices.append({"name": "cpu", "label": label, "free_bytes": free_memory_bytes()})
    return {
        "devices": devices,
        "gpus": gpus,
        "gpu_reason": opening.reason,
        "driver": opening.driver,
        "torch": torch_version,
        "usable_cpus": usable,
        "hardware": hardware,
        "software": software,
    }


def _free_of(values: dict[str, Any]) -> int | None:
    total, used = values.get("memory_total_bytes"), values.get("memory_used_bytes")
    return int(total - used) if total is not None and used is not None else None


def _torch_version() -> str | None:
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None


def free_memory_bytes() -> int:
    """Memory that a process can still take here: what is available, within the cgroup's limit."""
    available = int(psutil.virtual_memory().available)
    limit = ControlGroup().memory_limit_bytes()
    return available if limit is None else min(available, limit)


def _device_and_free(device: str) -> tuple[str, int | None]:
    """The device that `device` will most likely mean here, and its free memory."""
    if device == "cpu":
        return "memory", free_memory_bytes()
    facts = machine_facts()
    for entry in facts["devices"]:
        if device == "auto" or entry["name"] == device or entry["name"].startswith(f"{device}:"):
            name = "memory" if entry["name"] == "cpu" else f"memory of {entry['name']}"
            return name, entry["free_bytes"]
    return device, None


def _fit(source: ModelSource, dtype: str, total_tokens: int, device: str) -> Any:
    label, free = _device_and_free(device)
    return fit_check(source.shape, dtype, total_tokens, free, label)


def inspect_model(
    model: str,
    dtype: str = "auto",
    total_tokens: int = 256,
    device: str = "auto",
    trust_remote_code: bool = False,
    **_: Any,
) -> dict[str, Any]:
    """What is known of a model before it is loaded, and whether it fits. ModelError, UsageError."""
    if is_synthetic(model):
        parse(model)
        return {
            "label": "synthetic schedule",
            "kind": "synthetic",
            "parameters": None,
            "weight_bytes": None,
            "kv_bytes_per_token": None,
            "max_context": None,
            "dtype": None,
            "random_weights": False,
            "notes": ["No model runs: the times are those that the schedule asks for."],
            "fit": None,
        }
    source = resolve(model, trust_remote_code=trust_remote_code)
    shape = source.shape
    name = shape.stored_dtype or "fp32" if dtype == "auto" else dtype
    fit = _fit(source, dtype, total_tokens, device)
    return {
        "label": source.label,
        "kind": source.kind,
        "parameters": shape.n_params,
        "weight_bytes": fit.weights_bytes if fit.weights_bytes is not None else weight_bytes(shape, name),
        "kv_bytes_per_token": kv_bytes_per_token(shape, name),
        "max_context": shape.max_context,
        "dtype": name,
        "random_weights": source.random_weights,
        "stored_bytes": source.stored_bytes,
        "notes": list(source.notes),
        "fit": {
            "verdict": fit.verdict,
            "needed_bytes": fit.needed_bytes,
            "free_bytes": fit.free_bytes,
            "message": fit.message,
        },
    }


def check_run(config: RunConfig) -> None:
    """Everything that can be refused before a worker is started. ModelError, UsageError.

    A hub model that is yet to be downloaded is looked at by the worker, which can show progress
    and be stopped.
    """
    prompts = read_prompts(config.prompts_file) if config.prompts_file else None
    if is_synthetic(config.model):
        parse(config.model)
        return
    try:
        source = resolve(config.model, trust_remote_code=config.trust_remote_code)
    except ModelError:
        if config.allow_download:
            return
        raise
    prompt_tokens = config.prompt_tokens
    if prompt_tokens is not None:
        check_context(prompt_tokens, config.output_tokens, source.shape.max_context)
    else:
        # How many tokens a text has is not known yet; about four bytes make one.
        longest = max(
            (len(text.encode("utf-8", "replace")) for text in prompts or [config.prompt or ""]), default=0
        )
        prompt_tokens = longest // 4
    fit = _fit(source, config.dtype, config.output_tokens + prompt_tokens, config.device)
    if fit.verdict == "does_not_fit":
        raise ModelError(fit.message)


def why_not_warm(config: RunConfig, machine: dict[str, Any] | None) -> str | None:
    """Why no worker is to be made ready for runs like this one; None: it may. Under 1 ms.

    `machine`: what `machine_facts` told, None while that is not known.
    """
    if is_synthetic(config.model):
        return "no model runs"
    names = [entry["name"] for entry in machine["devices"]] if machine is not None else None
    kind = config.device.partition(":")[0]
    if names is not None and kind != "auto" and not any(name.partition(":")[0] == kind for name in names):
        return f"there is no {config.device} here"
    if free_memory_bytes() < WARM_FREE_BYTES:
        return "too little memory is free"
    return None


OLD_LOG_S = 24 * 3600


def remove_old_logs() -> None:
    """Logs of workers whose engine was killed stay behind; after a day nobody asks for them."""
    try:
        for path in log_dir().glob("worker-*.log"):
            if datetime.now().timestamp() - path.stat().st_mtime > OLD_LOG_S:
                path.unlink(missing_ok=True)
    except OSError:
        pass


def session_facts(now_ns: int) -> dict[str, Any]:
    """The manifest of a new session: the one wall-clock anchor, for labels only."""
    try:
        version = metadata.version("decodescope")
    except metadata.PackageNotFoundError:
        version = "unknown"
    return {
        "anchor": {"wall": datetime.now(UTC).isoformat(timespec="milliseconds"), "t_ns": now_ns},
        "created_by": {"program": "decodescope", "version": version},
    }


def environment(machine: dict[str, Any] | None, facts: dict[str, Any]) -> dict[str, Any]:
    """The record of hardware and software that a run carries."""
    machine = machine or {}
    return {
        "hardware": machine.get("hardware"),
        "software": {**(machine.get("software") or {}), **(facts.get("software") or {})},
        "driver": machine.get("driver"),
        "gpus": [_gpu_identity(gpu) for gpu in machine.get("gpus") or []],
        "gpu_reason": machine.get("gpu_reason"),
        "gc": "collected and frozen after the warm-up",
    }


def _gpu_identity(gpu: dict[str, Any]) -> dict[str, Any]:
    """A GPU's part of the manifest: what it is and what limits it, nothing that drifts."""
    limits = gpu.get("limits")
    names = ("index", "name", "uuid", "pci_bus_id", "driver")
    return {**{name: gpu.get(name) for name in names}, **(limits if isinstance(limits, dict) else {})}


def recording_path(folder: Path, config: RunConfig) -> Path:
    """A new name in the library: local date and time, then the model."""
    stamp = datetime.now().astimezone().strftime("%Y-%m-%d %H.%M.%S")
    tail = config.name or config.model.removeprefix("preset:").rstrip("/\\").replace("\\", "/").split("/")[-1]
    slug = re.sub(r"[^\w.-]+", "-", tail).strip("-.")[:48] or "model"
    path = folder / f"{stamp} {slug}.dscope"
    number = 2
    while path.exists():
        path = folder / f"{stamp} {slug} {number}.dscope"
        number += 1
    return path


def summary_of(path: Path, run_no: int) -> dict[str, Any]:
    """The figures of a run for the library's list, from the rows just recorded ({} if unreadable)."""
    from profiler.analysis.run import run_metrics
    from profiler.analysis.sparkline import itl_trace_ms

    try:
        reader = SessionReader.open(path)
    except SessionError:
        return {}
    try:
        timeline = reader.timeline()
        run = timeline.runs.get(run_no)
        if run is None:
            return {}
        value = run_metrics(timeline, run, live=True)
        metrics = value["metrics"]
        return {
            "requests": value["requests"],
            "ttft_ms_p50": metrics["ttft_ms"]["p50"],
            "itl_ms_p50": metrics["itl_ms"]["p50"],
            "itl_ms_p99": metrics["itl_ms"]["p99"],
            "jitter_ms": metrics["jitter"]["jitter_ms"],
            "mbu_run": metrics["mbu"]["run"],
            "output_tokens": metrics["output_tokens"]["total"],
            "joules_per_token": metrics["energy"]["joules_per_token"],
            "itl_trace_ms": itl_trace_ms(run),
        }
    finally:
        reader.close()
