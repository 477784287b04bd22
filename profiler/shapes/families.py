"""What the layers of each model family are made of, read from a Hugging Face config.json.

`shape_from_config` is the door. Known families count exactly (checked against transformers on
the meta device); an unknown one is taken for a Llama and marked `exact=False`. Defaults are
those of the family's config class in transformers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from profiler.errors import ModelError
from profiler.shapes.model import ModelShape
from profiler.shapes.reading import MAX_LAYERS, ConfigReader, flatten
from profiler.shapes.recipe import Latent, Mixture, Recipe, build_shape


def shape_from_config(config: dict[str, Any]) -> ModelShape:
    """The shape of the model that a config.json describes. ModelError when it makes no sense."""
    reader = ConfigReader(flatten(config))
    family = reader.text("model_type", "unknown").removesuffix("_text")
    build = _FAMILIES.get(family)
    if build is None:
        recipe = replace(_guess(reader)(reader, family), exact=False)
    else:
        recipe = build(reader, family)
    if "text_config" in config or reader.raw("quantization_config") is not None:
        # A vision tower or packed weights: the text model's plain count is not the whole story.
        recipe = replace(recipe, exact=False)
    return build_shape(recipe)


def _guess(reader: ConfigReader) -> Callable[[ConfigReader, str], Recipe]:
    """The known family whose pattern an unknown one's keys look like."""
    if "kv_lora_rank" in reader and "n_routed_experts" in reader:
        return _deepseek
    if "moe_intermediate_size" in reader and ("num_experts" in reader or "num_local_experts" in reader):
        return _qwen3_moe
    return _mixtral if "num_local_experts" in reader else _llama_like


def _base(reader: ConfigReader, family: str, **known: Any) -> Recipe:
    """The dimensions that nearly all families name alike. `known` overrides recipe fields."""
    hidden = reader.count("hidden_size", "n_embd", "d_model")
    layers = reader.count("num_hidden_layers", "n_layer", "n_layers", most=MAX_LAYERS)
    heads = reader.count("num_attention_heads", "n_head", "n_heads")
    kv_heads = known.pop("kv_heads", None) or reader.count(
        "num_key_value_heads", "num_kv_heads", default=heads
    )
    if heads % kv_heads:
        raise ModelError(
            f"The model's config.json shares {kv_heads} key-value heads among {heads} attention heads, "
            f"which does not divide; use the config.json that came with the model."
        )
    head_dim = known.pop("head_dim", None)
    if head_dim is None:
        if "head_dim" not in reader and hidden < heads:
            raise ModelError(
                f"The model's config.json has a hidden size of {hidden} for {heads} attention heads; "
                f"use the config.json that came with the model."
            )
        head_dim = reader.count("head_dim", default=max(hidden // heads, 1))
    values: dict[str, Any] = {
        "family": family,
        "hidden": hidden,
        "layers": layers,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": head_dim,
        "intermediate": known.pop("intermediate", None)
        or reader.count("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim"),
        "vocab": reader.count("vocab_size"),
        "context": reader.optional("max_position_embeddings", "n_positions", "max_sequence_length"),
        "dtype": reader.dtype(),
        "tied": reader.flag("tie_word_embeddings", default=False),
        "layer_norms": 2 * hidden,
        "final_norm": hidden,
        "windows": _windows(reader, layers),
        "states": _states(reader, layers, hidden),
    }
    return Recipe(**{**values, **known})


def _windows(reader: ConfigReader, layers: int, always: int | None = None) -> tuple[int | None, ...]:
    """The window of each layer: of all (`always`), or of those that `layer_types` calls sliding."""
    kinds = reader.layer_kinds(layers)
    if kinds is not None and always is None:
        size = reader.optional("sliding_window", "attention_chunk_size", least=0) or None
        local = ("sliding_attention", "chunked_attention")
        return tuple(size if kind in local else None for kind in kinds)
    return (always,) * layers if always is not None else ()


def _window(reader: ConfigReader) -> int | None:
    """`sliding_window`, where null and 0 mean none."""
    return reader.optional("sliding_window", least=0) or None


def _states(reader: ConfigReader, layers: int, hidden: int) -> tuple[int | None, ...]:
    """Constant state of the layers that `layer_types` says have no attention; empty: all attend."""
    kinds = reader.layer_kinds(layers)
    if kinds is None:
        return ()
    sizes: dict[str, int | None] = {}
    for kind in set(kinds):
        if kind == "linear_attention":
            key_dim = reader.count("linear_key_head_dim", default=128)
            value_dim = reader.count("linear_value_head_dim", default=128)
            value_heads = reader.count("linear_num_value_heads", default=32)
            key_heads = reader.count("linear_num_key_heads", default=value_heads)
            mixed = 2 * key_heads * key_dim + value_heads * value_dim
            kernel = reader.count("linear_conv_kernel_dim", default=4)
            sizes[kind] = value_heads * key_dim * value_dim + mixed * kernel
        elif kind in ("mamba", "mamba2"):
            inner = reader.count("mamba_expand", default=2) * hidden
            kernel = reader.count("mamba_d_conv", default=4)
            sizes[kind] = inner * (reader.count("mamba_d_state", default=16) + kernel)
        elif kind == "conv":
            sizes[kind] = hidden * reader.count("conv_L_cache", default=3)
        else:
            sizes[kind] = None
    if all(size is None for size in sizes.values()):
        return ()
    return tuple(sizes[kind] for kind in kinds)


def _llama_like(reader: ConfigReader, family: str) -> Recipe:
    bias = reader.flag("attention_bias", default=False)
    return _base(
        reader, family, qkv_bias=bias, out_bias=bias, mlp_bias=reader.flag("mlp_bias", default=False)
    )


def _mistral(reader: ConfigReader, family: str) -> Recipe:
    recipe = _base(reader, family, kv_heads=reader.count("num_key_value_heads", default=8))
    default = 4096 if family == "mistral" else None
    # A key that is there and null means: no window.
    has_key = reader.has_key("sliding_window")
    window = _window(reader) if has_key else default
    return replace(recipe, windows=_windows(reader, recipe.layers, window))


def _qwen2(reader: ConfigReader, family: str) -> Recipe:
    recipe = _base(reader, family, qkv_bias=True)
    return replace(recipe, windows=_late_windows(reader, recipe.layers))


def _qwen3(reader: ConfigReader, family: str) -> Recipe:
    head_dim = reader.count("head_dim", default=128)
    bias = reader.flag("attention_bias", default=False)
    recipe = _base(
        reader, family, head_dim=head_dim, qkv_bias=bias, out_bias=bias, attention_norms=2 * head_dim
    )
    return replace(recipe, windows=_late_windows(reader, recipe.layers))


def _late_windows(reader: ConfigReader, layers: int) -> tuple[int | None, ...]:
    """Qwen: with `use_sliding_window`, the layers from `max_window_layers` on have the window."""
    if not reader.flag("use_sliding_window", default=False):
        return ()
    if reader.layer_kinds(layers) is not None:
        return _windows(reader, layers)
    size = reader.count("sliding_window", default=4096)
    first = reader.count("max_window_layers", default=28, least=0)
    return tuple(size if index >= first else None for index in range(layers))


def _smollm3(reader: ConfigReader, family: str) -> Recipe:
    tied = reader.flag("tie_word_embeddings", default=True)
    kv_heads = reader.count("num_key_value_heads", default=4)
    recipe = replace(_llama_like(reader, family), tied=tied, kv_heads=kv_heads)
    if not reader.flag("use_sliding_window", default=False):
        return replace(recipe, windows=())
    return recipe


def _gemma(reader: ConfigReader, family: str) -> Recipe:
    bias = reader.flag("attention_bias", default=False)
    tied = reader.flag("tie_word_embeddings", default=True)
    head_dim = reader.count("head_dim", default=256)
    kv_default = {"gemma": 16, "gemma2": 4, "gemma3": 4}[family]
    kv_heads = reader.count("num_key_value_heads", default=kv_default)
    recipe = _base(
        reader, family, head_dim=head_dim, kv_heads=kv_heads, qkv_bias=bias, out_bias=bias, tied=tied
    )
    if family == "gemma":
        return recipe
    layers, size = recipe.layers, reader.count("sliding_window", default=4096)
    if reader.layer_kinds(layers) is None:
        every = 2 if family == "gemma2" else reader.count("sliding_window_pattern", default=6)
        windows = tuple(size if (index + 1) % every else None for index in range(layers))
        recipe = replace(recipe, windows=windows)
    norms = 2 * head_dim if family == "gemma3" else 0
    return replace(recipe, layer_norms=4 * recipe.hidden, attention_norms=norms)


def _gemma3(reader: ConfigReader, family: str) -> Recipe:
    # The published multimodal configs leave out what equals the class's defaults.
    defaults = {"num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 262_208}
    return _gemma(reader.with_defaults(defaults), family)


def _phi3(reader: ConfigReader, family: str) -> Recipe:
    recipe = _base(reader, family)
    return replace(recipe, windows=_windows(reader, recipe.layers, _window(reader)))


def _gpt2(reader: ConfigReader, family: str) -> Recipe:
    hidden = reader.count("n_embd", "hidden_size")
    context = reader.count("n_positions", "max_position_embeddings", default=1024)
    inner = reader.count("n_inner", default=4 * hidden)
    return _base(
        reader,
        family,
        intermediate=inner,
        context=context,
        tied=reader.flag("tie_word_embeddings", default=True),
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        gated=False,
        layer_norms=4 * hidden,
        final_norm=2 * hidden,
        extra=context * hidden,
    )


def _gpt_neox(reader: ConfigReader, family: str) -> Recipe:
    hidden = reader.count("hidden_size")
    bias = reader.flag("attention_bias", default=True)
    return _base(
        reader,
        family,
        kv_heads=reader.count("num_attention_heads"),
        qkv_bias=bias,
        out_bias=bias,
        mlp_bias=True,
        gated=False,
        layer_norms=4 * hidden,
        final_norm=2 * hidden,
    )


def _falcon(reader: ConfigReader, family: str) -> Recipe:
    hidden = reader.count("hidden_size")
    heads = reader.count("num_attention_heads", "n_head")
    bias = reader.flag("bias", default=False)
    new = reader.flag("new_decoder_architecture", default=False)
    if new:
        kv_heads, two = reader.count("num_kv_heads", "n_head_kv", default=heads), True
        norms = reader.count("num_ln_in_parallel_attn", default=2)
    else:
        kv_heads = 1 if reader.flag("multi_query", default=True) else heads
        two = not reader.flag("parallel_attn", default=True)
        norms = 2 if two else 1
    return _base(
        reader,
        family,
        kv_heads=kv_heads,
        intermediate=reader.count("ffn_hidden_size", default=4 * hidden),
        context=reader.count("max_position_embeddings", default=2048),
        tied=reader.flag("tie_word_embeddings", default=True),
        qkv_bias=bias,
        out_bias=bias,
        mlp_bias=bias,
        gated=False,
        layer_norms=2 * hidden * norms,
        final_norm=2 * hidden,
    )


def _olmo(reader: ConfigReader, family: str) -> Recipe:
    recipe = _llama_like(reader, family)
    if family == "olmo":  # its norms have no parameters
        return replace(recipe, layer_norms=0, final_norm=0)
    return replace(recipe, attention_norms=(recipe.heads + recipe.kv_heads) * recipe.head_dim)


def _starcoder2(reader: ConfigReader, family: str) -> Recipe:
    bias = reader.flag("use_bias", default=True)
    hidden = reader.count("hidden_size")
    recipe = _base(
        reader,
        family,
        kv_heads=reader.count("num_key_value_heads", default=2),
        tied=reader.flag("tie_word_embeddings", default=True),
        qkv_bias=bias,
        out_bias=bias,
        mlp_bias=bias,
        gated=False,
        layer_norms=4 * hidden,
        final_norm=2 * hidden,
    )
    return replace(recipe, windows=_windows(reader, recipe.layers, _window(reader)))


def _experts(reader: ConfigReader, *keys: str, default_active: int) -> tuple[int, int]:
    total = reader.count(*keys)
    active = reader.count("num_experts_per_tok", "moe_top_k", default=default_active)
    if active > total:
        raise ModelError(
            f"The model's config.json routes each token to {active} of {total} experts; "
            f"use the config.json that came with the model."
        )
    return total, active


def _mixtral(reader: ConfigReader, family: str) -> Recipe:
    recipe = _mistral(reader, family)
    total, active = _experts(reader, "num_local_experts", default_active=2)
    sparse = frozenset(range(recipe.layers))
    return replace(recipe, mixture=Mixture(sparse, total, active, recipe.intermediate))


def _sparse_layers(reader: ConfigReader, layers: int) -> frozenset[int]:
    """Qwen's rule: every `decoder_sparse_step`-th layer, but for `mlp_only_layers`."""
    step = reader.count("decoder_sparse_step", default=1)
    dense = reader.indices("mlp_only_layers")
    return frozenset(index for index in range(layers) if index not in dense and (index + 1) % step == 0)


def _qwen2_moe(reader: ConfigReader, family: str) -> Recipe:
    bias = reader.flag("qkv_bias", default=True)
    recipe = _base(reader, family, qkv_bias=bias)
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


def _qwen3_moe(reader: ConfigReader, family: str) -> Recipe:
    bias = reader.flag("attention_bias", default=False)
    hidden, heads = reader.count("hidden_size"), reader.count("num_attention_heads")
    head_dim = reader.count("head_dim", default=max(hidden // heads, 1))
    recipe = _base(
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
    return replace(recipe, windows=_windows(reader, recipe.layers, window), mixture=mixture)


def _deepseek(reader: ConfigReader, family: str) -> Recipe:
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
    recipe = _base(
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


_FAMILIES: dict[str, Callable[[ConfigReader, str], Recipe]] = {
    "llama": _llama_like,
    "granite": _llama_like,
    "mistral": _mistral,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "smollm3": _smollm3,
    "gemma": _gemma,
    "gemma2": _gemma,
    "gemma3": _gemma3,
    "phi3": _phi3,
    "gpt2": _gpt2,
    "gpt_neox": _gpt_neox,
    "falcon": _falcon,
    "olmo": _olmo,
    "olmo2": _olmo,
    "starcoder2": _starcoder2,
    "mixtral": _mixtral,
    "qwen2_moe": _qwen2_moe,
    "qwen3_moe": _qwen3_moe,
    "deepseek_v2": _deepseek,
    "deepseek_v3": _deepseek,
}
