"""The families with mixtures of experts, and DeepSeek's latent attention.

Defaults are those of the family's config class in transformers.
"""

from __future__ import annotations

from dataclasses import replace

from profiler.errors import ModelError
from profiler.shapes.base import base_recipe, layer_windows
from profiler.shapes.dense import mistral
from profiler.shapes.reading import ConfigReader
from profiler.shapes.recipe import Latent, Mixture, Recipe


def _experts(reader: ConfigReader, *keys: str, default_active: int) -> tuple[int, int]:
    total = reader.count(*keys)
    active = reader.count("num_experts_per_tok", "moe_top_k", default=default_active)
    if active > total:
        raise ModelError(
            f"The model's config.json routes each token to {active} of {total} experts; "
            f"use the config.json that came with the model."
        )
    return total, active


def mixtral(reader: ConfigReader, family: str) -> Recipe:
    """Mistral with experts in every layer."""
    recipe = mistral(reader, family)
    total, active = _experts(reader, "num_local_experts", default_active=2)
    sparse = frozenset(range(recipe.layers))
    return replace(recipe, mixture=Mixture(sparse, total, active, recipe.intermediate))


def _sparse_layers(reader: ConfigReader, layers: int) -> frozenset[int]:
    """Qwen's rule: every `decoder_sparse_step`-th layer, but for `mlp_only_layers`."""
    step = reader.count("decoder_sparse_step", default=1)
    dense = reader.indices("mlp_only_layers")
    return frozenset(index for index in range(layers) if index not in dense and (index + 1) % step == 0)


def qwen2_moe(reader: ConfigReader, family: str) -> Recipe:
    """Routed experts and a shared one with a gate."""
    bias = reader.flag("qkv_bias", default=True)
    recipe = base_recipe(reader, family, qkv_bias=bias)
    if not reader.flag("use_sliding_window", default=False):
        recipe = replace(recipe, windows=())
    total, active = _experts(reader, "num_experts", default_active=4)
    mixture = Mixture(
        _sparse_layers(reader, recipe.layers),
        total,
        active,
        reader.count("moe_intermediate_size", default=1408),
        shared_intermediate=reader.count("shared_expert_intermediate_size", default=5632),
        shared_gate=True,
    )
    return replace(recipe, mixture=mixture)


def qwen3_moe(reader: ConfigReader, family: str) -> Recipe:
    """Routed experts only, norms of queries and keys."""
    bias = reader.flag("attention_bias", default=False)
    hidden, heads = reader.count("hidden_size"), reader.count("num_attention_heads")
    head_dim = reader.count("head_dim", default=max(hidden // heads, 1))
    recipe = base_recipe(
        reader, family, head_dim=head_dim, qkv_bias=bias, out_bias=bias, attention_norms=2 * head_dim
    )
    window = None
    if reader.flag("use_sliding_window", default=False):
        window = reader.count("sliding_window", default=4096)
    total, active = _experts(reader, "num_experts", "num_local_experts", default_active=8)
    mixture = Mixture(
        _sparse_layers(reader, recipe.layers),
        total,
        active,
        reader.count("moe_intermediate_size", default=768),
    )
    return replace(recipe, windows=layer_windows(reader, recipe.layers, window), mixture=mixture)


def deepseek(reader: ConfigReader, family: str) -> Recipe:
    """DeepSeek V2 and V3: latent attention, the first layers dense."""
    bias = reader.flag("attention_bias", default=False)
    mlp_bias = reader.flag("mlp_bias", default=False) if family == "deepseek_v2" else False
    latent = Latent(
        q_rank=reader.optional("q_lora_rank"),
        kv_rank=reader.count("kv_lora_rank"),
        rope_dim=reader.count("qk_rope_head_dim"),
        nope_dim=reader.count("qk_nope_head_dim"),
        v_dim=reader.count("v_head_dim"),
    )
    heads = reader.count("num_attention_heads")
    recipe = base_recipe(
        reader, family, kv_heads=heads, qkv_bias=bias, out_bias=bias, mlp_bias=mlp_bias, latent=latent
    )
    total, active = _experts(reader, "n_routed_experts", "num_local_experts", default_active=8)
    first = reader.count("first_k_dense_replace", default=0, least=0)
    inner = reader.count("moe_intermediate_size")
    mixture = Mixture(
        frozenset(range(first, recipe.layers)),
        total,
        active,
        inner,
        shared_intermediate=inner * reader.count("n_shared_experts", default=0, least=0),
    )
    return replace(recipe, mixture=mixture)
