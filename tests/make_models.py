"""Small real models for tests, made on the spot: a Llama of about 100,000 parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TINY = {
    "vocab_size": 300,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "bos_token_id": 256,
    "eos_token_id": 257,
    "pad_token_id": 258,
}


def tiny_config(model_type: str = "llama", **changes: Any) -> Any:
    """A transformers config of about 100,000 parameters."""
    from transformers import AutoConfig

    return AutoConfig.for_model(model_type, **{**TINY, **changes})


def save_tiny_llama(folder: Path, with_tokenizer: bool = True, **changes: Any) -> Path:
    """Write a tiny Llama with random weights in Hugging Face layout, fp32; the folder.

    `changes` go into the config. Speaks noise; its tokenizer has one token a byte.
    """
    import torch
    from transformers import AutoModelForCausalLM

    from profiler.worker.sources.tokenizer import byte_tokenizer

    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(tiny_config(**changes))
    model.save_pretrained(folder)
    if with_tokenizer:
        byte_tokenizer(model.config.vocab_size, 512).save_pretrained(folder)
    return folder
