"""Will it fit? Weights as they will lie in memory, KV at the final length, working memory.

Compared with free RAM or VRAM before anything is loaded. The working memory is an estimate on
the safe side; the rest is exact where the shape is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from profiler.shapes.model import DTYPE_BYTES, ModelShape, kv_bytes, resolve_dtype, weight_bytes
from profiler.units import MIB, format_bytes

Verdict = Literal["fits", "tight", "does_not_fit", "unknown"]

TIGHT_SHARE = 0.85
"""Above this share of the free memory a fit is called tight: other programs need some too."""
LIBRARY_BYTES = 300 * MIB
"""What torch keeps for itself: kernels, workspaces, thread buffers."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The answer of the fit check, bytes. `free_bytes` None: not known, verdict `unknown`."""

    verdict: Verdict
    needed_bytes: int
    free_bytes: int | None
    weights_bytes: int
    kv_bytes: int
    working_bytes: int
    message: str


def working_bytes(shape: ModelShape, total_tokens: int, dtype: str) -> int:
    """Memory beside weights and KV, bytes, for a prompt of up to `total_tokens`.

    Activations of one layer at the whole length (the prompt runs through at once), one layer's
    KV once more (a dynamic cache is copied as it grows), logits in fp32 in three copies, the
    library itself.
    """
    element = DTYPE_BYTES[resolve_dtype(shape, dtype)]
    activations = total_tokens * (6 * shape.hidden_size + 3 * shape.intermediate_size) * element
    largest_layer = max(
        (layer.kv_elements_per_token * layer.kept_tokens(total_tokens) for layer in shape.layers), default=0
    )
    logits = 3 * shape.vocab_size * 4
    return activations + largest_layer * element + logits + LIBRARY_BYTES


def fit_check(
    shape: ModelShape, dtype: str, total_tokens: int, free_bytes: int | None, device_label: str
) -> Fit:
    """Does a run of `total_tokens` (prompt and answer) fit into `free_bytes` of `device_label`?"""
    name = resolve_dtype(shape, dtype)
    weights, kv = weight_bytes(shape, name), kv_bytes(shape, total_tokens, name)
    working = working_bytes(shape, total_tokens, name)
    needed = weights + kv + working
    parts = (
        f"{format_bytes(weights)} of weights as {name}, {format_bytes(kv)} of KV cache at "
        f"{total_tokens:,} tokens and about {format_bytes(working)} to work with"
    )
    verdict: Verdict
    if free_bytes is None:
        verdict = "unknown"
        message = (
            f"Needs about {format_bytes(needed)}: {parts}; how much is free on {device_label} is unknown."
        )
    elif needed > free_bytes:
        verdict = "does_not_fit"
        message = (
            f"This model needs about {format_bytes(needed)} ({parts}), but {device_label} has "
            f"{format_bytes(free_bytes)} free; {_advice(shape, name, total_tokens, free_bytes)}."
        )
    elif needed > TIGHT_SHARE * free_bytes:
        verdict = "tight"
        message = (
            f"Tight: needs about {format_bytes(needed)} of the {format_bytes(free_bytes)} free on "
            f"{device_label} ({parts}); close other programs first."
        )
    else:
        verdict = "fits"
        message = (
            f"Needs about {format_bytes(needed)} of the {format_bytes(free_bytes)} free on {device_label}."
        )
    return Fit(verdict, needed, free_bytes, weights, kv, working, message)


def _advice(shape: ModelShape, dtype: str, total_tokens: int, free_bytes: int) -> str:
    """The nearest change that would make it fit."""

    def needed(name: str, tokens: int) -> int:
        return weight_bytes(shape, name) + kv_bytes(shape, tokens, name) + working_bytes(shape, tokens, name)

    if dtype == "fp32" and shape.packed_bytes is None and needed("bf16", total_tokens) <= free_bytes:
        return "choose bf16, which fits"
    if total_tokens > 256 and needed(dtype, 256) <= free_bytes:
        return "choose a shorter prompt and answer"
    return "choose a smaller model or another device"
