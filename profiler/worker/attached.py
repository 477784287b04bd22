"""What a process that runs somebody else's model can tell of itself. Nothing is imported for it:
torch is looked at only where the script has imported it already.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from profiler.errors import ModelError, UsageError
from profiler.shapes import shape_from_config
from profiler.worker.cuda_identity import device_name
from profiler.worker.footprint import footprint, kv_facts
from profiler.worker.memory import PeakMemory
from profiler.worker.sources.device import dtype_name


def _torch() -> Any:
    """torch, if the script uses it. Half imported (on another thread) counts as not."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "get_num_threads") and hasattr(torch, "cuda") else None


def software() -> dict[str, Any]:
    """Versions and thread settings of the libraries in use; {} without torch."""
    torch = _torch()
    if torch is None:
        return {}
    transformers = sys.modules.get("transformers")
    return {
        "torch": str(torch.__version__),
        "torch_cuda": torch.version.cuda,
        "transformers": getattr(transformers, "__version__", None),
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
    }


def devices() -> list[str]:
    """The devices on which torch holds memory of this process: "cuda:0", ..., "mps"; ["cpu"] where
    torch uses no other, [] where torch is not used at all."""
    torch = _torch()
    if torch is None:
        return []
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        used = [f"cuda:{i}" for i in range(torch.cuda.device_count()) if torch.cuda.memory_reserved(i) > 0]
        if used:
            return used
    mps = getattr(torch, "mps", None)
    if mps is not None and torch.backends.mps.is_available() and mps.current_allocated_memory() > 0:
        return ["mps"]
    return ["cpu"]


def gpu_names() -> list[str]:
    """Names of the CUDA devices in use, as `telemetry.nvml.open_nvml` takes them."""
    torch = _torch()
    names = []
    for device in devices():
        if device.startswith("cuda"):
            ordinal = int(device.partition(":")[2])
            names.append(
                device_name(
                    torch.cuda.get_device_properties(ordinal),
                    ordinal,
                    os.environ.get("CUDA_VISIBLE_DEVICES"),
                    os.environ.get("CUDA_DEVICE_ORDER"),
                )
            )
    return [name for name in names if name is not None]


def memory() -> dict[str, Any]:
    """The run fact "memory" without its `weights_bytes`: the peak, bytes, and who told it."""
    torch = _torch()
    if torch is not None and any(device.startswith("cuda") for device in devices()):
        peak = sum(int(torch.cuda.max_memory_allocated(i)) for i in range(torch.cuda.device_count()))
        source = "CUDA allocator"
    else:
        # Not ours to begin anew: the script may watch its own peak.
        return {"kv_bytes_end": None, **PeakMemory("cpu").read()}
    return {"kv_bytes_end": None, "peak_bytes": peak, "source": source, "reason": None}


def describe(model: Any, label: str, static_cache_len: int | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The run facts "model" and "footprint" of a model of transformers. UsageError for other things."""
    config = getattr(model, "config", None)
    if config is None or not hasattr(model, "named_parameters") or not hasattr(config, "get_text_config"):
        raise UsageError(
            f"A {type(model).__name__} cannot be described; give a model of transformers, or leave describe() out."
        )
    told = footprint(model)
    try:
        shape = shape_from_config(config.get_text_config().to_dict())
    except ModelError:
        shape = None  # the footprint says why
    if shape is not None:
        told |= kv_facts(shape, model)
    told["static_cache_len"] = static_cache_len
    device = getattr(model, "device", None)
    torch = _torch()
    on_cuda = torch is not None and device is not None and device.type == "cuda"
    facts = {
        "label": label,
        "kind": "script",
        "path": getattr(config, "_name_or_path", "") or None,
        "family": getattr(config, "model_type", None),
        "parameters": told["parameters"],
        "layers": None if shape is None else shape.n_layers,
        "max_context": None if shape is None else shape.max_context,
        "dtype": dtype_name(model.dtype) if hasattr(model, "dtype") else None,
        "device": None if device is None else str(device),
        "device_name": torch.cuda.get_device_name(device) if on_cuda else None,
        "attn": getattr(config, "_attn_implementation", None),
        "stored_bytes": None,
    }
    return facts, told


def reference(device: str) -> dict[str, Any]:
    """The run fact "reference": the memory bandwidth of a device, measured now (about 2 s)."""
    from profiler.worker.reference import measure_bandwidth

    try:
        result = measure_bandwidth(device, None)
    except (RuntimeError, MemoryError, OSError) as error:
        result = {
            "gb_s": None,
            "advertised_gb_s": None,
            "llc_bytes": None,
            "reason": f"the memory bandwidth could not be measured: {error}",
        }
    result.setdefault("source", "measured" if result.get("gb_s") is not None else None)
    return result
