"""What nearly all families name alike in their config.json, and the windows and states of layers."""

from __future__ import annotations

from typing import Any

from profiler.errors import ModelError
from profiler.shapes.reading import MAX_LAYERS, ConfigReader
from profiler.shapes.recipe import Recipe


def base_recipe(reader: ConfigReader, family: str, **known: Any) -> Recipe:
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
        "windows": layer_windows(reader, layers),
        "states": layer_states(reader, layers, hidden),
    }
    return Recipe(**{**values, **known})


def layer_windows(reader: ConfigReader, layers: int, always: int | None = None) -> tuple[int | None, ...]:
    """The window of each layer: of all (`always`), or of those that `layer_types` calls sliding."""
    kinds = reader.layer_kinds(layers)
    if kinds is not None and always is None:
        size = reader.optional("sliding_window", "attention_chunk_size", least=0) or None
        local = ("sliding_attention", "chunked_attention")
        return tuple(size if kind in local else None for kind in kinds)
    return (always,) * layers if always is not None else ()


def one_window(reader: ConfigReader) -> int | None:
    """`sliding_window`, where null and 0 mean none."""
    return reader.optional("sliding_window", least=0) or None


def layer_states(reader: ConfigReader, layers: int, hidden: int) -> tuple[int | None, ...]:
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
