"""The facts about an architecture that decide speed and memory, and the formulas on them.

Source of the formulas: MEASUREMENT section 6. Bytes are plain bytes, tokens are counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from profiler.errors import UsageError

DTYPE_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}
"""Bytes of one element of the dtypes a person can choose."""


@dataclass(frozen=True, slots=True)
class LayerShape:
    """What one layer keeps and does per token.

    `kv_elements_per_token`: elements of K and V (or of the compressed latent, for MLA) that a
    decode step must read per token in the context. `window`: only so many of the newest tokens
    are kept and read. `state_elements`: a constant state (linear attention, SSM, short
    convolution), read and written each step. `flops_per_pair`: FLOPs of attention per (query,
    key) pair.
    """

    kv_elements_per_token: int
    window: int | None = None
    state_elements: int = 0
    flops_per_pair: int = 0

    def kept_tokens(self, n_tokens: int) -> int:
        """How many of `n_tokens` this layer keeps."""
        return n_tokens if self.window is None else min(n_tokens, self.window)


@dataclass(frozen=True, slots=True)
class Experts:
    """The routed experts of all layers together: `params` parameters, `active` of `total` a token."""

    total: int
    active: int
    params: int


@dataclass(frozen=True, slots=True)
class ModelShape:
    """An architecture in numbers. All counts are elements; None: the config does not say.

    `exact`: the parameter count is known to be right (a known family, or file headers);
    otherwise it is an estimate after the pattern of Llama. `packed_bytes`: bytes of weights that
    lie quantised in memory, where dtype says nothing about their size; None for plain weights.
    """

    family: str
    n_params: int
    n_params_active: int
    embedding_params: int
    tied: bool
    n_layers: int
    hidden_size: int
    intermediate_size: int
    vocab_size: int
    max_context: int | None
    stored_dtype: str | None
    layers: tuple[LayerShape, ...]
    experts: Experts | None = None
    exact: bool = True
    packed_bytes: int | None = None


def resolve_dtype(shape: ModelShape, dtype: str) -> str:
    """`auto` becomes the stored dtype (fp32 where unknown). UsageError for an unknown name."""
    if dtype == "auto":
        return shape.stored_dtype or "fp32"
    if dtype not in DTYPE_BYTES:
        raise UsageError(f"dtype: {dtype!r} is not known; choose auto, fp32, bf16 or fp16.", field="dtype")
    return dtype


def _element_bytes(shape: ModelShape, dtype: str) -> int:
    return DTYPE_BYTES[resolve_dtype(shape, dtype)]


def weight_bytes(shape: ModelShape, dtype: str) -> int:
    """Bytes of all parameters as they lie in memory, tied tables counted once."""
    if shape.packed_bytes is not None:
        return shape.packed_bytes
    return shape.n_params * _element_bytes(shape, dtype)


def active_experts(total: int, active: int, batch: int) -> float:
    """Distinct experts that a batch touches, if routing were even: k at 1, E * (1 - (1-k/E)^b)."""
    if batch <= 1:
        return float(active)
    return total * (1.0 - (1.0 - active / total) ** batch)


def weight_bytes_per_step(shape: ModelShape, dtype: str, batch: int = 1) -> float:
    """W of section 6: weight bytes that one decode step of `batch` sequences must read.

    Untied: without the input embedding table but for one row a sequence. Experts: only those
    that the batch touches.
    """
    element = _element_bytes(shape, dtype)
    total = float(weight_bytes(shape, dtype))
    if not shape.tied:
        total += (batch * shape.hidden_size - shape.embedding_params) * element
    if shape.experts is not None:
        experts = shape.experts
        per_param = total_bytes_per_param(shape, dtype)
        idle = 1.0 - active_experts(experts.total, experts.active, batch) / experts.total
        total -= experts.params * per_param * idle
    return total


def total_bytes_per_param(shape: ModelShape, dtype: str) -> float:
    """Bytes per parameter: of the dtype, or on average where the weights lie packed."""
    if shape.packed_bytes is not None:
        return shape.packed_bytes / shape.n_params
    return float(_element_bytes(shape, dtype))


def kv_bytes_per_token(shape: ModelShape, dtype: str) -> int:
    """Bytes that one more token adds, the sum of c_l over layers, windows left out."""
    return sum(layer.kv_elements_per_token for layer in shape.layers) * _element_bytes(shape, dtype)


def kv_bytes(shape: ModelShape, n_tokens: int, dtype: str) -> int:
    """Bytes of KV and state of one sequence at `n_tokens`, with windows."""
    elements = sum(
        layer.kv_elements_per_token * layer.kept_tokens(n_tokens) + layer.state_elements
        for layer in shape.layers
    )
    return elements * _element_bytes(shape, dtype)


def step_bytes(shape: ModelShape, n_tokens: int, dtype: str, batch: int = 1) -> float:
    """B(n): bytes that a decode step with `n_tokens` in each context must move, at least.

    A constant state counts twice, since it is read and written.
    """
    state = sum(layer.state_elements for layer in shape.layers) * _element_bytes(shape, dtype)
    return weight_bytes_per_step(shape, dtype, batch) + batch * (kv_bytes(shape, n_tokens, dtype) + state)
