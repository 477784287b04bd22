"""Two runs' manifests, compared: what else was different when a number was.

A manifest is what a run carries of its circumstances: its settings (`config`), the machine and
software (`environment`), and what the worker told once the model was loaded (some `facts`).
Nothing is interpreted but numbers that drift by themselves, which are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from profiler.timeline import Run

MISSING = "(not told)"
"""Stands for a key that one side does not have, so that it is told apart from null."""
TOO_DEEP = "(nested too deep)"
MAX_TEXT = 300
MAX_DEPTH = 16

_FACTS = ("model", "software", "clock")
"""Run facts that describe circumstances. Measured ones (reference, memory, footprint) are results."""

_DRIFTING = (
    "environment.hardware.memory.available_bytes",
    "facts.clock",
    "config.name",
)
"""Different in every run without meaning anything."""

_IMPORTANT = (
    "power_limit_w",
    "power_cap_pct_of_default",
    "driver",
    "torch",
    "torch_cuda",
    "transformers",
    "dtype",
    "device",
    "device_name",
    "threads",
    "interop_threads",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
    "governor",
    "boost",
    "attn",
    "cache",
    "model",
    "usable_cpus",
    "cpu_capability",
    "float32_matmul_precision",
    "prompt_tokens",
    "prompt",
    "output_tokens",
    "temperature",
    "ignore_eos",
    "sample_hz",
    "gc",
)
"""Last parts of paths that change speed, in the order in which an expert would ask."""


def environment_differences(a: Run, b: Run) -> list[dict[str, Any]]:
    """What differs between two runs' manifests: `{path, a, b, important}`, strict JSON.

    `path` has dots between the keys ("environment.hardware.cpu.governor"); `a` and `b` are the
    values (MISSING for a key that is not there; long text is cut, odd bytes are replaced).
    Important ones come first in order of weight, then the rest by path.
    """
    left, right = manifest(a), manifest(b)
    found = []
    for path in left.keys() | right.keys():
        one, two = left.get(path, MISSING), right.get(path, MISSING)
        if not _same(one, two) and not _drifts(path):
            found.append({"path": path, "a": one, "b": two, "important": _rank(path) < len(_IMPORTANT)})
    return sorted(found, key=lambda item: (_rank(str(item["path"])), item["path"]))


def manifest(run: Run) -> dict[str, Any]:
    """All circumstances of a run, flat: path to a plain value. Lists count as one value each."""
    facts = {name: run.facts[name] for name in _FACTS if name in run.facts}
    parts = {"config": run.config, "environment": run.environment, "facts": facts}
    return dict(_flat(parts, "", 0))


def _flat(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and depth < MAX_DEPTH:
        # An empty one says as little as none.
        for key, inner in value.items():
            name = _text(str(key))
            yield from _flat(inner, f"{path}.{name}" if path else name, depth + 1)
    elif isinstance(value, list) and value and depth < MAX_DEPTH and all(isinstance(i, dict) for i in value):
        # GPUs, NUMA nodes: one by one, so that a power limit has a path of its own.
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{path}.{number}", depth + 1)
    else:
        yield path, _plain(value, depth)


def _plain(value: Any, depth: int) -> Any:
    """Strict JSON that can be shown: no NaN, no surrogates, nothing endless."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)) and depth < MAX_DEPTH:
        return [_plain(item, depth + 1) for item in value[:MAX_TEXT]]
    if isinstance(value, (list, tuple, dict)):
        return TOO_DEEP
    return _text(value if isinstance(value, str) else str(value))


def _text(text: str) -> str:
    clean = text.encode("utf-8", "replace").decode("utf-8")
    clean = "".join(char if char.isprintable() else "\ufffd" for char in clean)
    return clean if len(clean) <= MAX_TEXT else clean[: MAX_TEXT - 1] + "…"


def _same(a: Any, b: Any) -> bool:
    """Equal, where True is not 1 but 1 is 1.0, since JSON writers differ in the latter only."""
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def _drifts(path: str) -> bool:
    return any(path == name or path.startswith(name + ".") for name in _DRIFTING)


def _rank(path: str) -> int:
    last = path.rpartition(".")[2]
    try:
        return _IMPORTANT.index(last)
    except ValueError:
        return len(_IMPORTANT)
