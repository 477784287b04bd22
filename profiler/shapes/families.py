"""From a config.json to a shape: which family's recipe it is.

Known families count exactly (checked against transformers on the meta device); an unknown one
is taken for the known one that its keys look like, and marked `exact=False`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from profiler.shapes import dense, sparse
from profiler.shapes.model import ModelShape
from profiler.shapes.reading import ConfigReader, flatten
from profiler.shapes.recipe import Recipe, build_shape


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
        return sparse.deepseek
    if "moe_intermediate_size" in reader and ("num_experts" in reader or "num_local_experts" in reader):
        return sparse.qwen3_moe
    return sparse.mixtral if "num_local_experts" in reader else dense.llama_like


_FAMILIES: dict[str, Callable[[ConfigReader, str], Recipe]] = {
    "llama": dense.llama_like,
    "granite": dense.llama_like,
    "mistral": dense.mistral,
    "qwen2": dense.qwen2,
    "qwen3": dense.qwen3,
    "smollm3": dense.smollm3,
    "gemma": dense.gemma,
    "gemma2": dense.gemma,
    "gemma3": dense.gemma3,
    "phi3": dense.phi3,
    "gpt2": dense.gpt2,
    "gpt_neox": dense.gpt_neox,
    "falcon": dense.falcon,
    "olmo": dense.olmo,
    "olmo2": dense.olmo,
    "starcoder2": dense.starcoder2,
    "mixtral": sparse.mixtral,
    "qwen2_moe": sparse.qwen2_moe,
    "qwen3_moe": sparse.qwen3_moe,
    "deepseek_v2": sparse.deepseek,
    "deepseek_v3": sparse.deepseek,
}
