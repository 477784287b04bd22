"""The families whose layers are all alike inside: one function from config to recipe each.

Defaults are those of the family's config class in transformers.
"""

from __future__ import annotations

from dataclasses import replace

from profiler.shapes.base import base_recipe, layer_windows, one_window
from profiler.shapes.reading import ConfigReader
from profiler.shapes.recipe import Recipe


def llama_like(reader: ConfigReader, family: str) -> Recipe:
    """Llama and all that share its layers; also what an unknown family is taken for."""
    bias = reader.flag("attention_bias", default=False)
    return base_recipe(
        reader, family, qkv_bias=bias, out_bias=bias, mlp_bias=reader.flag("mlp_bias", default=False)
    )


def mistral(reader: ConfigReader, family: str) -> Recipe:
    """A window in all layers: 4096 unless the config says otherwise."""
    recipe = base_recipe(reader, family, kv_heads=reader.count("num_key_value_heads", default=8))
    default = 4096 if family == "mistral" else None
    # A key that is there and null means: no window.
    has_key = reader.has_key("sliding_window")
    window = one_window(reader) if has_key else default
    return replace(recipe, windows=layer_windows(reader, recipe.layers, window))


def qwen2(reader: ConfigReader, family: str) -> Recipe:
    """Biases in q, k and v only."""
    recipe = base_recipe(reader, family, qkv_bias=True)
    return replace(recipe, windows=_late_windows(reader, recipe.layers))


def qwen3(reader: ConfigReader, family: str) -> Recipe:
    """Norms of queries and keys, by head."""
    head_dim = reader.count("head_dim", default=128)
    bias = reader.flag("attention_bias", default=False)
    recipe = base_recipe(
        reader, family, head_dim=head_dim, qkv_bias=bias, out_bias=bias, attention_norms=2 * head_dim
    )
    return replace(recipe, windows=_late_windows(reader, recipe.layers))


def _late_windows(reader: ConfigReader, layers: int) -> tuple[int | None, ...]:
    """Qwen: with `use_sliding_window`, the layers from `max_window_layers` on have the window."""
    if not reader.flag("use_sliding_window", default=False):
        return ()
    if reader.layer_kinds(layers) is not None:
        return layer_windows(reader, layers)
    size = reader.count("sliding_window", default=4096)
    first = reader.count("max_window_layers", default=28, least=0)
    return tuple(size if index >= first else None for index in range(layers))


def smollm3(reader: ConfigReader, family: str) -> Recipe:
    """Llama with tied tables by default."""
    tied = reader.flag("tie_word_embeddings", default=True)
    kv_heads = reader.count("num_key_value_heads", default=4)
    recipe = replace(llama_like(reader, family), tied=tied, kv_heads=kv_heads)
    if not reader.flag("use_sliding_window", default=False):
        return replace(recipe, windows=())
    return recipe


def gemma(reader: ConfigReader, family: str) -> Recipe:
    """Gemma 1 to 3: wide heads, from 2 on two norms more and windows in some layers."""
    bias = reader.flag("attention_bias", default=False)
    tied = reader.flag("tie_word_embeddings", default=True)
    head_dim = reader.count("head_dim", default=256)
    kv_default = {"gemma": 16, "gemma2": 4, "gemma3": 4}[family]
    kv_heads = reader.count("num_key_value_heads", default=kv_default)
    recipe = base_recipe(
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


def gemma3(reader: ConfigReader, family: str) -> Recipe:
    """Gemma 3, whose published configs are sparse."""
    # The published multimodal configs leave out what equals the class's defaults.
    defaults = {"num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 262_208}
    return gemma(reader.with_defaults(defaults), family)


def phi3(reader: ConfigReader, family: str) -> Recipe:
    """Fused projections, counted as Llama's."""
    recipe = base_recipe(reader, family)
    return replace(recipe, windows=layer_windows(reader, recipe.layers, one_window(reader)))


def gpt2(reader: ConfigReader, family: str) -> Recipe:
    """Learned positions, biases everywhere, a two-matrix MLP."""
    hidden = reader.count("n_embd", "hidden_size")
    context = reader.count("n_positions", "max_position_embeddings", default=1024)
    inner = reader.count("n_inner", default=4 * hidden)
    return base_recipe(
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


def gpt_neox(reader: ConfigReader, family: str) -> Recipe:
    """Pythia: no grouped heads."""
    hidden = reader.count("hidden_size")
    bias = reader.flag("attention_bias", default=True)
    return base_recipe(
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


def falcon(reader: ConfigReader, family: str) -> Recipe:
    """Three layouts, by `new_decoder_architecture` and `parallel_attn`."""
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
    return base_recipe(
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


def olmo(reader: ConfigReader, family: str) -> Recipe:
    """OLMo (norms without parameters) and OLMo 2 (norms of whole queries and keys)."""
    recipe = llama_like(reader, family)
    if family == "olmo":  # its norms have no parameters
        return replace(recipe, layer_norms=0, final_norm=0)
    return replace(recipe, attention_norms=(recipe.heads + recipe.kv_heads) * recipe.head_dim)


def starcoder2(reader: ConfigReader, family: str) -> Recipe:
    """Biases everywhere, a two-matrix MLP."""
    bias = reader.flag("use_bias", default=True)
    hidden = reader.count("hidden_size")
    recipe = base_recipe(
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
    return replace(recipe, windows=layer_windows(reader, recipe.layers, one_window(reader)))
