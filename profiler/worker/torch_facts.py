"""What the numbers owe to torch's build and settings: the worker's part of a run's manifest.

Reads torch's own description; no environment variable and no path of the build goes in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MAX_BUILD_LINES = 24
MAX_LINE_CHARS = 120


def torch_facts() -> dict[str, Any]:
    """Versions, threads and what torch was built with, strict JSON; null: this torch does not tell.

    Thread: that of the model, once it is loaded (thread counts are final then). Costs a millisecond.
    """
    import torch
    import transformers

    return {
        "torch": torch.__version__,
        "torch_cuda": torch.version.cuda,
        "torch_git": (torch.version.git_version or "")[:12] or None,
        "torch_cudnn": _quiet(torch.backends.cudnn.version) if torch.version.cuda else None,
        "transformers": transformers.__version__,
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "cpu_capability": _quiet(torch.backends.cpu.get_cpu_capability),
        "parallel_backend": parallel_backend(_quiet(torch.__config__.parallel_info) or ""),
        "torch_build": build_lines(_quiet(torch.__config__.show) or ""),
        "onednn": _quiet(torch.backends.mkldnn.is_available),
        "mkl": _quiet(torch.backends.mkl.is_available),
        "float32_matmul_precision": _quiet(torch.get_float32_matmul_precision),
        "deterministic": _quiet(torch.are_deterministic_algorithms_enabled),
    }


def build_lines(text: str) -> list[str]:
    """The lines of `torch.__config__.show()` that name a library or a compiler, without the flags
    and paths of the build."""
    lines = [line.strip().removeprefix("- ") for line in text.splitlines()[1:]]
    kept = [line[:MAX_LINE_CHARS] for line in lines if line and not line.startswith("Build settings")]
    return kept[:MAX_BUILD_LINES]


def parallel_backend(text: str) -> str | None:
    """ "OpenMP" or the like, of `torch.__config__.parallel_info()`."""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "ATen parallel backend":
            return value.strip() or None
    return None


def _quiet(read: Callable[[], Any]) -> Any:
    """What `read` gives, None where this torch has no such thing."""
    try:
        return read()
    except (RuntimeError, AttributeError, OSError, AssertionError):
        return None
