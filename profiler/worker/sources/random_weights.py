"""A model with random weights, straight on its device: real speed, made-up text.

The usual way (`from_config` on the device) draws every weight from a slow generator and
minutes go by for 8 billion of them. Here the model is built on the meta device, each tensor is
allocated once where it belongs, matrices are filled by copying from one pool of random values,
and all that is small (norms, biases, RoPE tables) is left to transformers' own initialisation,
which knows that Gemma's norms start at 0 and how each RoPE is scaled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from profiler.worker.sources.source import LoadCancelled, Progress

POOL_ELEMENTS = 4_194_301
"""Prime, so that no row of a matrix falls on the same place of the pool as its neighbour."""
EMBEDDING_STD = 0.02
"""Small beside what the layers add, else a model with tied tables repeats its input for ever."""
SMALLEST = 0.05
"""Least magnitude in the pool (of std 1): scaled by 1/sqrt(16384) it is still above the
denormals of fp16 (6e-5)."""


def build_random(
    config: Any,
    *,
    device: Any,
    dtype: Any,
    attn: str | None,
    trust_remote_code: bool,
    progress: Progress,
    cancelled: Callable[[], bool],
    seed: int = 0,
) -> Any:
    """A transformers model in eval mode on `device` (torch.device) in `dtype` (torch.dtype).

    `config` is a transformers config. Raises LoadCancelled between tensors, and whatever
    transformers raises for an architecture it cannot build.
    """
    import torch
    from transformers import AutoModelForCausalLM

    options: dict[str, Any] = {"dtype": dtype, "trust_remote_code": trust_remote_code}
    if attn is not None:
        options["attn_implementation"] = attn
    progress("build", 0, None, "")
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, **options)
    if cancelled():
        raise LoadCancelled("The load was cancelled.")
    with torch.no_grad():
        pool = _make_pool(torch, device, dtype, seed)
        _materialise(torch, model, device, pool, progress, cancelled)
        model.tie_weights()
        # Fills what is not marked as done: norms, biases, buffers.
        model.initialize_weights()
    return model.eval()


def _make_pool(torch: Any, device: Any, dtype: Any, seed: int) -> Any:
    """Normal values of std 1 with none near 0, made on the CPU: the same on every device."""
    generator = torch.Generator().manual_seed(seed)
    pool = torch.empty(POOL_ELEMENTS).normal_(0.0, 1.0, generator=generator)
    signs = torch.where(pool < 0, -1.0, 1.0)
    pool = pool.abs().clamp_(min=SMALLEST).mul_(signs)
    return pool.to(device=device, dtype=dtype)


def _scale(torch: Any, module: Any, shape: Any) -> float:
    """The std of a matrix: 1/sqrt(inputs) keeps activations near 1 at any width and depth."""
    if isinstance(module, torch.nn.Embedding):
        return EMBEDDING_STD
    return float(1.0 / math.sqrt(shape[-1]))


def _materialise(
    torch: Any,
    model: Any,
    device: Any,
    pool: Any,
    progress: Progress,
    cancelled: Callable[[], bool],
) -> None:
    """Put every parameter and buffer on `device`, shared ones once, and fill the matrices."""
    total = sum(parameter.numel() for parameter in model.parameters())
    done, offset = 0, 0
    made: dict[int, Any] = {}
    for module in model.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is None:
                continue
            if id(parameter) not in made:
                if cancelled():
                    raise LoadCancelled("The load was cancelled.")
                data = torch.empty(parameter.shape, dtype=parameter.dtype, device=device)
                new = torch.nn.Parameter(data, requires_grad=False)
                if data.dim() >= 2 and data.dtype == pool.dtype:
                    offset = _fill(torch, data.view(-1), pool, offset, _scale(torch, module, data.shape))
                    new._is_hf_initialized = True
                else:
                    # In case transformers knows no rule for it.
                    data.fill_(0.0 if "bias" in name else 1.0)
                # Keeping the old one alive keeps its id from being used again.
                made[id(parameter)] = (new, parameter)
                done += data.numel()
                progress("build", done, total, "parameters")
            module._parameters[name] = made[id(parameter)][0]
        for name, buffer in list(module._buffers.items()):
            if buffer is not None and buffer.is_meta:
                module._buffers[name] = torch.zeros(buffer.shape, dtype=buffer.dtype, device=device)


def _fill(torch: Any, flat: Any, pool: Any, offset: int, scale: float) -> int:
    """Write the scaled pool over `flat`, going on where the last tensor ended; the new offset."""
    size, done, length = flat.numel(), 0, pool.numel()
    while done < size:
        count = min(size - done, length - offset)
        torch.mul(pool[offset : offset + count], scale, out=flat[done : done + count])
        done += count
        offset = (offset + count) % length
    return offset
