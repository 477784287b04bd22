"""Counting the parameters of a decoder from a short recipe of its parts.

A family (families.py) says what its layers are made of; the arithmetic is here, once.
All counts are parameters (elements), not bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from profiler.shapes.model import Experts, LayerShape, ModelShape


@dataclass(frozen=True, slots=True)
class Mixture:
    """The experts of the layers in `layers`. `shared` is dense, in each of these layers."""

    layers: frozenset[int]
    total: int
    active: int
    intermediate: int
    shared_intermediate: int = 0
    shared_gate: bool = False
    router_bias: bool = False


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention (DeepSeek): what is cached is `kv_rank + rope_dim` a token."""

    q_rank: int | None
    kv_rank: int
    rope_dim: int
    nope_dim: int
    v_dim: int


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parts of a decoder. Norm counts are parameters, of one layer or of the whole model."""

    family: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    context: int | None
    dtype: str | None
    tied: bool
    layer_norms: int
    final_norm: int
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    gated: bool = True
    attention_norms: int = 0
    """Parameters of the query and key norms of one layer."""
    extra: int = 0
    """Anything else, once: learned positions, a bias of the head."""
    windows: tuple[int | None, ...] = ()
    """The window of each layer; empty: none has one."""
    states: tuple[int | None, ...] = ()
    """Elements of constant state of each layer that has no attention, else None; empty: none."""
    mixture: Mixture | None = None
    latent: Latent | None = None
    exact: bool = True


def build_shape(recipe: Recipe) -> ModelShape:
    """The shape that a recipe gives."""
    attention = _latent_attention(recipe, recipe.latent) if recipe.latent else _attention(recipe)
    table = recipe.vocab * recipe.hidden
    total = table * (1 if recipe.tied else 2) + recipe.final_norm + recipe.extra
    total += recipe.layers * (attention + recipe.layer_norms)
    experts, idle = None, 0
    sparse = recipe.mixture.layers if recipe.mixture else frozenset[int]()
    dense = recipe.layers - len(sparse)
    total += dense * _mlp(recipe, recipe.intermediate)
    if recipe.mixture is not None:
        mixture = recipe.mixture
        routed = mixture.total * _mlp(recipe, mixture.intermediate, bias=False)
        router = mixture.total * recipe.hidden + (mixture.total if mixture.router_bias else 0)
        shared = _mlp(recipe, mixture.shared_intermediate) if mixture.shared_intermediate else 0
        gate = recipe.hidden if mixture.shared_gate else 0
        total += len(sparse) * (routed + router + shared + gate)
        experts = Experts(mixture.total, mixture.active, len(sparse) * routed)
        idle = experts.params * (mixture.total - mixture.active) // mixture.total
    widest = recipe.intermediate
    if recipe.mixture is not None:
        active = recipe.mixture.active * recipe.mixture.intermediate + recipe.mixture.shared_intermediate
        widest = max(widest if dense else 0, active)
    return ModelShape(
        family=recipe.family,
        n_params=total,
        n_params_active=total - idle,
        embedding_params=table,
        tied=recipe.tied,
        n_layers=recipe.layers,
        hidden_size=recipe.hidden,
        intermediate_size=widest,
        vocab_size=recipe.vocab,
        max_context=recipe.context,
        stored_dtype=recipe.dtype,
        layers=tuple(_layer(recipe, index) for index in range(recipe.layers)),
        experts=experts,
        exact=recipe.exact,
    )


def _linear(n_in: int, n_out: int, bias: bool) -> int:
    return n_in * n_out + (n_out if bias else 0)


def _attention(recipe: Recipe) -> int:
    width = recipe.heads * recipe.head_dim
    kv_width = recipe.kv_heads * recipe.head_dim
    return (
        _linear(recipe.hidden, width, recipe.qkv_bias)
        + 2 * _linear(recipe.hidden, kv_width, recipe.qkv_bias)
        + _linear(width, recipe.hidden, recipe.out_bias)
        + recipe.attention_norms
    )


def _latent_attention(recipe: Recipe, latent: Latent) -> int:
    hidden, heads = recipe.hidden, recipe.heads
    q_width = heads * (latent.nope_dim + latent.rope_dim)
    if latent.q_rank is None:
        query = hidden * q_width
    else:
        query = _linear(hidden, latent.q_rank, recipe.qkv_bias) + latent.q_rank + latent.q_rank * q_width
    return (
        query
        + _linear(hidden, latent.kv_rank + latent.rope_dim, recipe.qkv_bias)
        + latent.kv_rank  # the norm of the latent
        + latent.kv_rank * heads * (latent.nope_dim + latent.v_dim)
        + _linear(heads * latent.v_dim, hidden, recipe.out_bias)
    )


def _mlp(recipe: Recipe, intermediate: int, bias: bool = True) -> int:
    with_bias = recipe.mlp_bias and bias
    up = _linear(recipe.hidden, intermediate, with_bias)
    return (2 if recipe.gated else 1) * up + _linear(intermediate, recipe.hidden, with_bias)


def _layer(recipe: Recipe, index: int) -> LayerShape:
    state = recipe.states[index] if recipe.states else None
    if state is not None:
        return LayerShape(0, state_elements=state)
    window = recipe.windows[index] if recipe.windows else None
    latent = recipe.latent
    if latent is not None:
        per_pair = 2 * recipe.heads * (latent.nope_dim + latent.rope_dim + latent.v_dim)
        return LayerShape(latent.kv_rank + latent.rope_dim, window, flops_per_pair=per_pair)
    per_token = 2 * recipe.kv_heads * recipe.head_dim
    return LayerShape(per_token, window, flops_per_pair=4 * recipe.heads * recipe.head_dim)
