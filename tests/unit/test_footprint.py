"""Bytes in memory and per step, of models small enough to count by hand; formula = memory."""

from __future__ import annotations

from typing import Any

import pytest
from make_models import tiny_config

from profiler.shapes import kv_bytes_per_token, shape_from_config, weight_bytes, weight_bytes_per_step
from profiler.worker.footprint import cache_footprint, footprint
from profiler.worker.sources.environment import prepare_environment

prepare_environment()
torch = pytest.importorskip("torch")


def tiny_model(model_type: str = "llama", dtype: Any = None, **changes: Any) -> Any:
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(tiny_config(model_type, **changes))
    return model.to(dtype or torch.float32).eval()


def test_an_untied_llama_by_hand() -> None:
    facts = footprint(tiny_model())
    # Tables 2*19200, layers 2*30848, norm 64; RoPE's two tables of 8 floats are buffers.
    assert (facts["parameters"], facts["weight_bytes"], facts["buffer_bytes"]) == (100_160, 400_704, 64)
    assert (facts["embedding_bytes"], facts["tied"]) == (76_800, False)
    # Without the input table but one row of 64 floats.
    assert facts["weight_bytes_per_step"] == 400_704 - 76_800 + 256
    # 2 layers * 2 * 2 heads * 16 * 4 bytes
    assert facts["kv_bytes_per_token"] == 512
    assert facts["devices"] == {"cpu": 400_704} and facts["reason"] is None


def test_a_tied_table_counts_once() -> None:
    facts = footprint(tiny_model(tie_word_embeddings=True, dtype=torch.bfloat16))
    assert (facts["parameters"], facts["tied"]) == (80_960, True)
    assert facts["weight_bytes"] == 2 * 80_960 + facts["buffer_bytes"]
    assert facts["weight_bytes_per_step"] == facts["weight_bytes"]
    assert facts["dtypes"]["bf16"] >= 2 * 80_960


@pytest.mark.parametrize(
    ("model_type", "changes"),
    [
        ("llama", {}),
        ("llama", {"tie_word_embeddings": True}),
        ("mistral", {"sliding_window": 16}),
        ("mixtral", {"num_local_experts": 4, "num_experts_per_tok": 2}),
        ("gemma2", {"sliding_window": 16, "head_dim": 16}),
        ("gpt_neox", {}),
        (
            "deepseek_v3",
            {
                "num_key_value_heads": 4,
                "n_routed_experts": 4,
                "num_experts_per_tok": 2,
                "moe_intermediate_size": 32,
                "n_shared_experts": 1,
                "first_k_dense_replace": 1,
                "kv_lora_rank": 16,
                "q_lora_rank": 24,
                "qk_rope_head_dim": 8,
                "qk_nope_head_dim": 8,
                "v_head_dim": 16,
                "n_group": 1,
                "topk_group": 1,
            },
        ),
    ],
)
def test_formula_memory_and_live_cache_agree(model_type: str, changes: dict[str, Any]) -> None:
    model = tiny_model(model_type, **changes)
    shape = shape_from_config(model.config.to_dict())
    facts = footprint(model)
    assert facts["weight_bytes"] - facts["buffer_bytes"] == weight_bytes(shape, "fp32")
    assert facts["weight_bytes_per_step"] - facts["buffer_bytes"] == weight_bytes_per_step(shape, "fp32")
    with torch.no_grad():
        out = model(torch.arange(1, 11).reshape(1, 10), use_cache=True)
    live = cache_footprint(out.cache)
    assert live["bytes_per_token"] == facts["kv_bytes_per_token"] == kv_bytes_per_token(shape, "fp32")
    assert (live["tokens"], live["static"], live["bytes"]) == (10, False, 10 * live["bytes_per_token"])


def test_experts_that_are_idle_are_not_read() -> None:
    facts = footprint(tiny_model("mixtral", num_local_experts=4, num_experts_per_tok=1))
    # 2 layers * 4 experts * 3*64*96 floats
    assert facts["expert_bytes"] == 4 * 2 * 4 * 18_432
    expected = facts["weight_bytes"] - 76_800 + 256 - 4 * 2 * 3 * 18_432
    assert facts["weight_bytes_per_step"] == expected


class Bag(torch.nn.Module):
    """A model of loose tensors, without a config."""

    def __init__(self, **tensors: Any) -> None:
        super().__init__()
        for name, tensor in tensors.items():
            self.register_buffer(name, tensor)


def test_views_of_one_storage_count_once() -> None:
    base = torch.zeros(100)
    facts = footprint(Bag(whole=base, part=base[10:20], other=torch.zeros(5)))
    assert facts["weight_bytes"] == 420
    # Two overlapping parts: elements 0 to 59 and 40 to 99.
    assert footprint(Bag(a=base[:60], b=base[40:]))["weight_bytes"] == 400
    # A slice of a larger storage counts its own bytes only.
    assert footprint(Bag(a=base[:10]))["weight_bytes"] == 40
    assert facts["kv_bytes_per_token"] is None and facts["kv_reason"]


def test_dtypes_are_told_apart() -> None:
    facts = footprint(
        Bag(a=torch.zeros(10), b=torch.zeros(10, dtype=torch.bfloat16), c=torch.zeros(3).byte())
    )
    assert facts["dtypes"] == {"fp32": 40, "bf16": 20, "uint8": 3}


class Packed:
    """Like a torchao tensor: its logical size says nothing, its parts say all."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)
        self._names = list(parts)

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return self._names, None


class FakeModel:
    """The interface that footprint reads."""

    config = None
    dtype = torch.bfloat16

    def __init__(self, **parameters: Any) -> None:
        self._parameters = parameters

    def parameters(self) -> list[Any]:
        return [value for value in self._parameters.values() if hasattr(value, "numel")]

    def named_parameters(self) -> list[tuple[str, Any]]:
        return list(self._parameters.items())

    def named_buffers(self) -> list[tuple[str, Any]]:
        return []

    def get_input_embeddings(self) -> Any:
        return None

    get_output_embeddings = get_input_embeddings


def test_tensor_subclasses_are_counted_by_their_parts() -> None:
    packed = Packed(data4=torch.zeros(50, dtype=torch.uint8), scale=Packed(inner=torch.zeros(4)))
    assert footprint(FakeModel(w=packed))["weight_bytes"] == 50 + 16


def test_the_scales_of_bitsandbytes_are_counted() -> None:
    class State:
        absmax = torch.zeros(8)
        code = torch.zeros(16)
        state2 = None

    class Nested(State):
        state2 = State()
        absmax = torch.zeros(8, dtype=torch.uint8)
        code = torch.zeros(16)

    weight = torch.nn.Parameter(torch.zeros(64, dtype=torch.uint8), requires_grad=False)
    weight.quant_state = Nested()  # type: ignore[attr-defined]
    # 64 + 8 + 64 + (32 + 64)
    assert footprint(FakeModel(w=weight))["weight_bytes"] == 232


class Opaque:
    device = "cpu"

    def untyped_storage(self) -> Any:
        raise RuntimeError("no storage")


def test_an_unknown_packing_takes_the_files_size() -> None:
    facts = footprint(FakeModel(w=Opaque()), stored_bytes=1000)
    assert (facts["weight_bytes"], facts["weight_source"]) == (1000, "from file size")
    assert footprint(FakeModel(w=Opaque()))["reason"]


def test_weights_in_several_places_have_no_one_bandwidth() -> None:
    facts = footprint(Bag(a=torch.zeros(4), b=torch.zeros(4, device="meta")))
    assert facts["weight_bytes_per_step"] is None
    assert "several places (cpu, disk)" in facts["reason"]


def test_a_window_bounds_the_live_cache() -> None:
    model = tiny_model("mistral", sliding_window=16)
    with torch.no_grad():
        out = model(torch.ones(1, 40, dtype=torch.long), use_cache=True)
    # transformers keeps window - 1: the step's own token is the 16th that is read.
    assert cache_footprint(out.cache)["tokens"] == 15
    assert cache_footprint(out.cache)["bytes_per_token"] == 512


def test_a_static_cache_says_so() -> None:
    from transformers import StaticCache

    model = tiny_model()
    cache = StaticCache(config=model.config, max_cache_len=32)
    with torch.no_grad():
        model(torch.ones(1, 10, dtype=torch.long), cache=cache, use_cache=True)
    facts = cache_footprint(cache)
    assert (facts["static"], facts["bytes"], facts["tokens"]) == (True, 32 * 512, 32)


def test_no_cache_is_empty() -> None:
    assert cache_footprint(None) == {
        "bytes": 0,
        "bytes_per_token": 0,
        "tokens": 0,
        "state_bytes": 0,
        "static": False,
    }
