"""Doubts that belong beside the numbers: a figure that cannot be, or hardly can, is shown and said.

Nothing is clamped or hidden here; each function gives sentences. Facts are read as they lie in
the file, so that a missing one means no doubt, not an error.
"""

from __future__ import annotations

from typing import Any

from profiler.analysis.bandwidth import CACHE_FACTOR
from profiler.analysis.energy import model_device
from profiler.timeline import Run, Timeline
from profiler.units import THIN, format_number

LOW_MBU = 0.02
"""Below this share of the reference, memory has nothing to do with the pace."""


def plausibility_notes(timeline: Timeline, run: Run, metrics: dict[str, Any]) -> list[str]:
    """Sentences about `metrics` (of `run_metrics`) that an expert would ask about first."""
    reference = run.facts.get("reference")
    told = reference if isinstance(reference, dict) else {}
    device = model_device(run)
    notes = [
        _above_reference(metrics["mbu"]),
        _below_prompt_floor(metrics),
        _other_device(device, told.get("device")),
        _idle_gpu(timeline, run, device),
        _hardly_any_bandwidth(metrics["mbu"], told.get("llc_bytes")),
    ]
    return [note for note in notes if note is not None]


def _above_reference(mbu: dict[str, Any]) -> str | None:
    if mbu["run"] is None or mbu["run"] <= 1:
        return None
    return (
        "Bandwidth utilisation is above 100 % of the measured reference: caches serve part of "
        "the bytes, or the reference was measured too low."
    )


def _below_prompt_floor(metrics: dict[str, Any]) -> str | None:
    floor, ttft = metrics["mbu"]["ttft_floor_ms"], metrics["ttft_ms"]["p50"]
    if floor is None or ttft is None or ttft >= floor:
        return None
    return (
        f"The median TTFT ({format_number(ttft)}{THIN}ms) is below the compute floor "
        f"({format_number(floor)}{THIN}ms): the reference rate of arithmetic was measured too low."
    )


def _other_device(device: str, measured_on: Any) -> str | None:
    """The ruler and what it measures must be on one device."""
    if not device or not isinstance(measured_on, str) or not measured_on:
        return None
    if _whole(device) == _whole(measured_on):
        return None
    return (
        f"The reference was measured on {measured_on}, but the model ran on {device}: "
        f"floors and utilisation do not belong to it."
    )


def _whole(device: str) -> str:
    """`cuda` is `cuda:0`, as torch reads it."""
    return "cuda:0" if device == "cuda" else device


def _idle_gpu(timeline: Timeline, run: Run, device: str) -> str | None:
    """The model on the CPU beside a GPU, without anyone having asked for it."""
    model = run.facts.get("model")
    if isinstance(model, dict) and model.get("kind") == "synthetic":
        return None
    if not device.startswith("cpu") or run.config.get("device") != "auto":
        return None
    fact = timeline.facts.get("telemetry")
    gpus = fact.get("gpus") if isinstance(fact, dict) else None
    names = [gpu.get("name") for gpu in gpus if isinstance(gpu, dict)] if isinstance(gpus, list) else []
    if not names:
        return None
    return (
        f"The model ran on the CPU although the driver lists a GPU ({names[0] or 'NVIDIA GPU'}): "
        f"this torch cannot use it, or CUDA_VISIBLE_DEVICES hides it."
    )


def _hardly_any_bandwidth(mbu: dict[str, Any], llc_bytes: Any) -> str | None:
    """Weights that must come from memory, at a pace that memory does not explain."""
    run, weights = mbu["run"], mbu["weight_bytes_per_step"]
    cache = llc_bytes if isinstance(llc_bytes, (int, float)) and not isinstance(llc_bytes, bool) else None
    if run is None or run >= LOW_MBU or weights is None or cache is None or weights < CACHE_FACTOR * cache:
        return None
    return (
        f"Bandwidth utilisation is only {run * 100:.1g} % of the reference: the model probably runs on "
        f"another device than meant, or something else than memory takes most of each step "
        f"(the launching of small kernels, a busy machine)."
    )
