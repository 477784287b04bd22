"""Parameters, bytes, KV, FLOPs and fit: worked out by hand from the papers' own formulas."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from profiler.errors import ModelError, UsageError
from profiler.paths import resource_dir
from profiler.shapes import (
    Checkpoint,
    active_experts,
    fit_check,
    kv_bytes,
    kv_bytes_per_token,
    prompt_flops,
    read_safetensors_header,
    refine_from_safetensors,
    resolve_dtype,
    scan_safetensors,
    shape_from_config,
    step_bytes,
    weight_bytes,
    weight_bytes_per_step,
)

# One layer: q 8*8, k and v 8*4 each, o 8*8, gate/up/down 3*8*16, norms 2*8 = 592.
# Two layers 1184, tables 2*10*8 = 160, final norm 8: 1352.
TINY = {
    "model_type": "llama",
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 16,
    "vocab_size": 10,
    "max_position_embeddings": 64,
    "dtype": "bfloat16",
}


def tiny(**changes: object):
    return shape_from_config({**TINY, **changes})


def preset(name: str):
    return shape_from_config(json.loads((resource_dir() / "presets" / f"{name}.json").read_text()))


def test_a_tiny_llama_by_hand() -> None:
    shape = tiny()
    assert (shape.n_params, shape.n_params_active, shape.embedding_params) == (1352, 1352, 80)
    assert (shape.tied, shape.n_layers, shape.max_context, shape.stored_dtype) == (False, 2, 64, "bf16")
    assert shape.exact
    assert tiny(tie_word_embeddings=True).n_params == 1272


def test_biases_are_counted() -> None:
    # q 8, k 4, v 4, o 8 = 24; gate 16, up 16, down 8 = 40; two layers: 128 more.
    assert tiny(attention_bias=True, mlp_bias=True).n_params == 1352 + 128


@pytest.mark.parametrize(
    ("name", "params", "kv_per_token_bf16"),
    [
        # small: 28,311,552 + 30 * (884,736 + 2,654,208 + 1,152) + 576; KV 30 * 2*3*64 * 2
        ("small", 134_515_008, 23_040),
        # The published counts of Llama-3.2-1B, Llama-3.2-3B and Llama-3-8B.
        ("1b", 1_235_814_400, 32_768),
        ("3b", 3_212_749_824, 114_688),
        ("8b", 8_030_261_248, 131_072),
        # nano: 2,359,296 + 8 * (393,216 + 1,179,648 + 768) + 384
        ("nano", 14_948_736, 4_096),
        ("sliding", 14_948_736, 4_096),
        # untied: 2 * 6,291,456 + 8 * 1,573,632 + 384
        ("untied", 25_172_352, 4_096),
        # moe: 2 * 3,145,728 + 8 * (393,216 + 8 * 884,736 + 8 * 384 + 768) + 384
        ("moe", 66_091_392, 4_096),
    ],
)
def test_presets_have_their_published_size(name: str, params: int, kv_per_token_bf16: int) -> None:
    shape = preset(name)
    assert shape.n_params == params
    assert kv_bytes_per_token(shape, "bf16") == kv_per_token_bf16
    assert shape.max_context is not None and shape.max_context >= 8192
    assert shape.exact


def test_weights_and_kv_in_bytes() -> None:
    shape = tiny()
    assert weight_bytes(shape, "auto") == 2704
    assert weight_bytes(shape, "fp32") == 5408
    # Two layers of K and V, 2 heads of 2: 16 elements a token.
    assert kv_bytes_per_token(shape, "fp16") == 32
    assert kv_bytes(shape, 10, "fp32") == 640


def test_a_step_reads_one_row_of_an_untied_table_and_all_of_a_tied_one() -> None:
    # 1352 - 80 + 8 = 1280 elements; 10 tokens of 16.
    assert step_bytes(tiny(), 10, "bf16") == 2 * 1280 + 10 * 32
    assert step_bytes(tiny(), 10, "bf16", batch=3) == 2 * 1296 + 3 * 10 * 32
    assert step_bytes(tiny(tie_word_embeddings=True), 0, "bf16") == 2 * 1272


def test_llama_2_7b_moves_what_the_contract_says() -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "intermediate_size": 11008,
        "vocab_size": 32000,
        "dtype": "float16",
    }
    shape = shape_from_config(config)
    assert shape.n_params == 6_738_415_616
    # MEASUREMENT section 6: 13.231 GB at 32 tokens, 13.483 GB at 512.
    assert step_bytes(shape, 32, "fp16") / 1e9 == pytest.approx(13.231, abs=0.001)
    assert step_bytes(shape, 512, "fp16") / 1e9 == pytest.approx(13.483, abs=0.001)


def test_a_window_ends_the_growth() -> None:
    shape = preset("sliding")
    # 8 layers * 256 elements * 2 bytes = 4096 a token.
    assert kv_bytes(shape, 512, "bf16") == 512 * 4096
    assert kv_bytes(shape, 5000, "bf16") == 512 * 4096
    assert kv_bytes(shape, 511, "bf16") == 511 * 4096


def test_mistral_has_a_window_unless_it_says_null() -> None:
    assert tiny(model_type="mistral").layers[0].window == 4096
    assert tiny(model_type="mistral", sliding_window=None).layers[0].window is None
    assert tiny(model_type="qwen2", sliding_window=32, use_sliding_window=False).layers[0].window is None


def test_gemma_2_slides_in_every_other_layer() -> None:
    windows = [layer.window for layer in tiny(model_type="gemma2", sliding_window=7).layers]
    assert windows == [7, None]


def test_experts() -> None:
    shape = preset("moe")
    assert shape.experts is not None
    # 8 layers * 8 experts * 3*384*768
    assert (shape.experts.total, shape.experts.active, shape.experts.params) == (8, 2, 56_623_104)
    # Six of eight idle: 42,467,328 less.
    assert shape.n_params_active == 23_624_064
    assert weight_bytes_per_step(shape, "bf16") == 2 * (23_624_064 - 8192 * 384 + 384)


def test_a_batch_touches_more_experts() -> None:
    assert active_experts(8, 2, 1) == 2
    assert active_experts(8, 2, 2) == 3.5  # 8 * (1 - 0.75^2)


def test_latent_attention_keeps_the_latent() -> None:
    config = {
        **TINY,
        "model_type": "deepseek_v3",
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "v_head_dim": 128,
        "q_lora_rank": None,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 8,
        "n_shared_experts": 1,
        "first_k_dense_replace": 1,
    }
    shape = shape_from_config(config)
    assert shape.layers[0].kv_elements_per_token == 576
    assert kv_bytes_per_token(shape, "bf16") == 2 * 576 * 2


def test_constant_state_is_read_and_written() -> None:
    config = {
        **TINY,
        "model_type": "qwen3_next",
        "layer_types": ["linear_attention", "full_attention"],
        "linear_num_value_heads": 2,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 4,
        "linear_value_head_dim": 4,
        "linear_conv_kernel_dim": 4,
    }
    shape = shape_from_config(config)
    # State 2*4*4 = 32, convolution (8 + 8 + 8) * 4 = 96.
    assert (shape.layers[0].state_elements, shape.layers[0].kv_elements_per_token) == (128, 0)
    assert kv_bytes(shape, 10, "bf16") == 2 * (128 + 10 * 8)
    extra = step_bytes(shape, 10, "bf16") - weight_bytes_per_step(shape, "bf16")
    assert extra == 2 * (2 * 128 + 10 * 8)
    assert not shape.exact


def test_flops_of_a_prompt() -> None:
    # Body 1352 - 160 = 1192 a token; head 80, once; attention 4 * 8 per pair, 6 pairs, 2 layers.
    assert prompt_flops(tiny(), 3) == 2 * 1192 * 3 + 2 * 80 + 2 * 32 * 6
    # Tied: the one table is the head.
    assert prompt_flops(tiny(tie_word_embeddings=True), 3) == 2 * 1192 * 3 + 2 * 80 + 2 * 32 * 6
    # A window of 2: pairs 1 + 2 + 2.
    windowed = tiny(model_type="mistral", sliding_window=2)
    assert prompt_flops(windowed, 3) == 2 * 1192 * 3 + 2 * 80 + 2 * 32 * 5
    assert prompt_flops(tiny(), 0) == 0


def test_a_nested_text_config_counts_the_text_model() -> None:
    shape = shape_from_config({"model_type": "some_vlm", "dtype": "float16", "text_config": TINY})
    assert (shape.n_params, shape.stored_dtype, shape.exact) == (1352, "bf16", False)


def test_an_unknown_family_is_taken_for_a_llama() -> None:
    shape = tiny(model_type="brand_new")
    assert (shape.n_params, shape.exact, shape.family) == (1352, False, "brand_new")


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_a_missing_key_is_named(key: str) -> None:
    with pytest.raises(ModelError, match=f'no "{key}"'):
        shape_from_config({name: value for name, value in TINY.items() if name != key})


@pytest.mark.parametrize("value", [-1, 0, "8", True, 1.5, [8], 2**40])
def test_a_senseless_size_is_an_error(value: object) -> None:
    with pytest.raises(ModelError, match="hidden_size"):
        tiny(hidden_size=value)


@pytest.mark.parametrize(
    "changes",
    [
        {"num_key_value_heads": 3},
        {"tie_word_embeddings": "yes"},
        {"num_hidden_layers": 10**9},
        {"hidden_size": 2},
        {"layer_types": ["full_attention"]},
        {"layer_types": "full"},
        {"model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 3},
    ],
)
def test_what_does_not_fit_together_is_an_error(changes: dict[str, object]) -> None:
    with pytest.raises(ModelError):
        tiny(**changes)


def test_a_config_that_is_no_object_is_an_error() -> None:
    with pytest.raises(ModelError):
        shape_from_config([1])  # type: ignore[arg-type]


def test_dtype_names() -> None:
    assert resolve_dtype(tiny(), "auto") == "bf16"
    assert resolve_dtype(tiny(dtype="torch.float16"), "auto") == "fp16"
    assert resolve_dtype(tiny(dtype=None), "auto") == "fp32"
    with pytest.raises(UsageError):
        resolve_dtype(tiny(), "int3")


# -- safetensors headers --------------------------------------------------------------------


def write_safetensors(path: Path, tensors: dict[str, tuple[str, list[int], int]], cut: int = 0) -> Path:
    header, at = {}, 0
    for name, (dtype, dims, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": dims, "data_offsets": [at, at + size]}
        at += size
    raw = json.dumps(header).encode()
    data = struct.pack("<Q", len(raw)) + raw + bytes(at)
    path.write_bytes(data[: len(data) - cut])
    return path


def test_a_header_tells_the_tensors(tmp_path: Path) -> None:
    path = write_safetensors(tmp_path / "a.safetensors", {"w": ("BF16", [3, 4], 24), "b": ("F32", [2], 8)})
    assert read_safetensors_header(path) == {"w": ("BF16", 12, 24), "b": ("F32", 2, 8)}


def test_a_file_cut_short_says_how_much_is_there(tmp_path: Path) -> None:
    path = write_safetensors(tmp_path / "a.safetensors", {"w": ("BF16", [3, 4], 24)}, cut=5)
    with pytest.raises(ModelError, match="cut short"):
        read_safetensors_header(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"abc",
        b"\xff" * 64,
        struct.pack("<Q", 4) + b"nope",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 10) + b'{"w": "x"}',
    ],
)
def test_garbage_is_an_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(data)
    with pytest.raises(ModelError):
        read_safetensors_header(path)


def test_missing_shards_are_counted(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model-1.safetensors", {"a": ("F32", [1], 4)})
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match=r"lacks 1 of its 2 weight files \(model-2.safetensors\)"):
        scan_safetensors(tmp_path)


def test_the_checkpoint_corrects_the_count() -> None:
    tensors = {"model.embed_tokens.weight": ("F16", 80, 160), "rest": ("F16", 1282, 2564)}
    shape = refine_from_safetensors(tiny(), Checkpoint((), tensors))
    assert (shape.n_params, shape.stored_dtype) == (1362, "fp16")


def test_tied_tables_stored_twice_count_once() -> None:
    tensors = {
        "model.embed_tokens.weight": ("F32", 80, 320),
        "lm_head.weight": ("F32", 80, 320),
        "rest": ("F32", 1192, 4768),
    }
    shape = refine_from_safetensors(tiny(tie_word_embeddings=True), Checkpoint((), tensors))
    assert shape.n_params == 1272


def test_packed_weights_have_the_size_of_the_files() -> None:
    tensors = {"layer.qweight": ("I32", 100, 400), "layer.scales": ("F16", 10, 20)}
    shape = refine_from_safetensors(tiny(), Checkpoint((), tensors))
    assert weight_bytes(shape, "bf16") == 420


# -- fit ------------------------------------------------------------------------------------

GIB = 1 << 30


def test_fit_adds_up() -> None:
    fit = fit_check(preset("8b"), "bf16", 1024, 80 * GIB, "GPU 0")
    assert (fit.verdict, fit.weights_bytes, fit.kv_bytes) == ("fits", 16_060_522_496, 1024 * 131_072)
    assert fit.needed_bytes == fit.weights_bytes + fit.kv_bytes + fit.working_bytes


def test_what_does_not_fit_says_by_how_much_and_what_to_do() -> None:
    fit = fit_check(preset("8b"), "auto", 1024, 8 * GIB, "the RAM")
    assert fit.verdict == "does_not_fit"
    assert "the RAM has 8.00" in fit.message and "choose a smaller model" in fit.message
    assert fit.message.count(".\n") == 0 and fit.message.endswith(".")


def test_the_advice_is_one_that_works() -> None:
    assert "choose bf16" in fit_check(preset("8b"), "fp32", 128, 20 * GIB, "GPU 0").message
    assert "shorter" in fit_check(preset("1b"), "bf16", 100_000, 4 * GIB, "GPU 0").message


def test_near_the_limit_is_tight_and_without_a_limit_unknown() -> None:
    shape = replace(preset("nano"))
    needed = fit_check(shape, "fp32", 100, None, "mps").needed_bytes
    assert fit_check(shape, "fp32", 100, needed, "cpu").verdict == "tight"
    assert fit_check(shape, "fp32", 100, needed - 1, "cpu").verdict == "does_not_fit"
    assert fit_check(shape, "fp32", 100, needed * 2, "cpu").verdict == "fits"
    assert fit_check(shape, "fp32", 100, None, "mps").verdict == "unknown"
