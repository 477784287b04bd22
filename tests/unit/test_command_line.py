"""Copy as command: the line, read by the command line's own parser, makes the same configuration."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.cli import record
from profiler.cli.app import make_app
from profiler.cli.command import command_arguments, command_line, needs_file
from profiler.config import FIELDS, RunConfig


def parsed(line: str, monkeypatch: pytest.MonkeyPatch) -> RunConfig:
    """The configuration that `dscope` would run for a POSIX shell's line."""
    words = shlex.split(line)
    assert words[0] == "dscope"
    taken: list[RunConfig] = []

    def run(config: RunConfig, *_args: Any, **_kwargs: Any) -> int:
        taken.append(config)
        return 0

    with monkeypatch.context() as patch:
        patch.setattr(record, "run_in_foreground", run)
        typer.main.get_command(make_app()).main(words[1:], prog_name="dscope", standalone_mode=False)
    return taken[0]


EVERYTHING = RunConfig(
    model="/models/my model",
    name="it's -- mine",
    prompt="--say $HOME `ls` \"quotes\" and 'more'",
    chat_template=False,
    output_tokens=7,
    ignore_eos=False,
    repeats=2,
    warmup=0,
    temperature=0.75,
    seed=2**63 - 1,
    cache="static",
    dtype="bf16",
    device="cuda:1",
    attn="eager",
    threads=3,
    trust_remote_code=True,
    allow_download=True,
    sample_hz=0.5,
    measure_reference=False,
    keep_text=False,
)


@pytest.mark.parametrize(
    "config",
    [
        RunConfig(),
        EVERYTHING,
        RunConfig(prompts_file="my prompts.jsonl"),
        RunConfig(prompt_tokens=5),
        RunConfig(prompt="-x", name="-"),
        RunConfig(prompt="Was heißt das? 何 \U0001f600"),
    ],
)
def test_round_trip(config: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parsed(command_line(config), monkeypatch) == config


def test_every_setting_is_in_the_round_trip() -> None:
    usual = RunConfig()
    same = [name for name in FIELDS if getattr(EVERYTHING, name) == getattr(usual, name)]
    assert same == ["prompts_file"]  # it excludes a prompt


printable = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), min_size=1).filter(
    lambda text: text.strip() and text.isprintable()
)


@settings(max_examples=30, deadline=None)
@given(prompt=printable, name=printable)
def test_any_text_survives(prompt: str, name: str) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        config = RunConfig(prompt=prompt, name=name)
        assert parsed(command_line(config), monkeypatch) == config


def test_only_what_is_not_usual_is_said() -> None:
    assert command_line(RunConfig()) == "dscope record --model preset:small"
    assert command_line(RunConfig(model="demo", repeats=5, ignore_eos=False)) == (
        "dscope record --model demo --repeats=5 --respect-eos"
    )


def test_a_line_break_goes_through_a_file(tmp_path: Path) -> None:
    assert needs_file(RunConfig(prompt="two\nlines"))
    assert not needs_file(EVERYTHING)
    file = tmp_path / "my run.json"
    assert command_line(RunConfig(prompt="two\nlines"), file) == f"dscope record --config '{file}'"


def test_windows_quotes_with_double_quotes() -> None:
    line = command_line(RunConfig(model=r"C:\my models\x", prompt='say "hi"'), windows=True)
    assert line == r'dscope record --model "C:\my models\x" "--prompt=say \"hi\""'


def test_arguments_are_words() -> None:
    assert command_arguments(RunConfig(threads=2)) == ["record", "--model", "preset:small", "--threads=2"]
