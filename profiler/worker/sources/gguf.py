"""GGUF files as model sources. transformers unpacks them, so sizes are of the unpacked model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from profiler.errors import ModelError
from profiler.shapes import ModelShape, shape_from_config
from profiler.units import format_bytes
from profiler.worker.sources.gguf_file import GgufHeader, read_gguf_header
from profiler.worker.sources.source import Kind, ModelSource

# general.architecture -> model_type, for those that transformers unpacks
ARCHITECTURES = {
    "llama": "llama",
    "mistral": "mistral",
    "qwen2": "qwen2",
    "qwen2moe": "qwen2_moe",
    "qwen3": "qwen3",
    "qwen3moe": "qwen3_moe",
    "phi3": "phi3",
    "gemma2": "gemma2",
    "gemma3": "gemma3_text",
    "gpt2": "gpt2",
    "falcon": "falcon",
    "starcoder2": "starcoder2",
    "stablelm": "stablelm",
    "bloom": "bloom",
    "mamba": "mamba",
    "nemotron": "nemotron",
    "lfm2": "lfm2",
    "gpt-oss": "gpt_oss",
}

_KEYS = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.sliding_window": "sliding_window",
    "context_length": "max_position_embeddings",
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_feed_forward_length": "shared_expert_intermediate_size",
    "vocab_size": "vocab_size",
}


def gguf_source(name: str, path: Path, kind: Kind = "gguf", label: str | None = None) -> ModelSource:
    """A GGUF file. ModelError when it is damaged or of an architecture that cannot be unpacked."""
    header = read_gguf_header(path)
    config = gguf_config(header, path)
    shape = _shape(config, header)
    title = header.keys.get("general.name")
    return ModelSource(
        name=name,
        kind=kind,
        label=label or (title if isinstance(title, str) and title else path.stem),
        path=path,
        config=config,
        shape=shape,
        stored_bytes=header.file_bytes,
        has_tokenizer=any(key.startswith("tokenizer.ggml.tokens") for key in header.keys),
        notes=(
            f"The file has {format_bytes(header.file_bytes)}; transformers unpacks it, so the weights "
            f"in memory are larger.",
        ),
    )


def gguf_config(header: GgufHeader, path: Path) -> dict[str, Any]:
    """A Hugging Face config made from the header's keys, as far as sizes go."""
    architecture = header.keys.get("general.architecture")
    if not isinstance(architecture, str):
        raise ModelError(f"{path} does not say its architecture; download or copy it again.")
    if architecture not in ARCHITECTURES:
        raise ModelError(
            f"{path} has the architecture {architecture!r}, which transformers cannot unpack from GGUF; "
            f"use the model's safetensors version."
        )
    if not header.tensors:
        raise ModelError(f"{path} holds no weights (only a vocabulary); use a complete model.")
    names = {tensor.name for tensor in header.tensors}
    config: dict[str, Any] = {
        "model_type": ARCHITECTURES[architecture],
        "tie_word_embeddings": "output.weight" not in names,
        "dtype": "float32",
    }
    for key, renamed in _KEYS.items():
        value = header.keys.get(f"{architecture}.{key}")
        if isinstance(value, list) and value:
            value = max(item for item in value)
        if isinstance(value, int):
            config[renamed] = value
    config.setdefault("vocab_size", _vocab_size(header, config))
    if config.get("sliding_window") == 0 or config["model_type"] == "mistral":
        config.setdefault("sliding_window", None)
    if config["model_type"] == "llama" and "num_experts" in config:
        config["model_type"] = "mixtral"
        config["num_local_experts"] = config.pop("num_experts")
    return config


def _vocab_size(header: GgufHeader, config: dict[str, Any]) -> int | None:
    """Rows of the embedding table: its elements by the width; else the length of the token list."""
    hidden = config.get("hidden_size")
    for tensor in header.tensors:
        if tensor.name == "token_embd.weight" and hidden:
            return tensor.elements // int(hidden)
    tokens = header.keys.get("tokenizer.ggml.tokens", header.keys.get("tokenizer.ggml.tokens#"))
    return len(tokens) if isinstance(tokens, list) else tokens


def _shape(config: dict[str, Any], header: GgufHeader) -> ModelShape:
    """The config's shape with the file's true parameter count."""
    shape = shape_from_config(config)
    # RoPE factors are a table of the file that becomes no parameter.
    count = sum(tensor.elements for tensor in header.tensors if not tensor.name.startswith("rope_"))
    difference = count - shape.n_params
    return replace(shape, n_params=count, n_params_active=max(shape.n_params_active + difference, 1))
