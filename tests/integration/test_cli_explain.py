"""`dscope explain`: cards, the list, and names that are not known."""

from __future__ import annotations

import json

import pytest
from cli import dscope, one_sentence

from profiler.analysis.definitions import DEFINITIONS
from profiler.cli.app import run


def test_a_card_as_a_user_sees_it() -> None:
    result = dscope("explain", "itl_ms.p99", COLUMNS="200")
    assert result.returncode == 0 and result.stderr == ""
    assert "ITL (ms)" in result.stdout
    assert "t_i - t_(i-1), i = 2..m" in result.stdout
    for heading in ("counts", "leaves out", "missing when", "source", "In other tools", "aiperf", "llmperf"):
        assert heading in result.stdout
    one_sentence(dscope("explain", "tbot"), 2, "'tbot'", "tpot_ms")


def test_every_definition_has_a_card(capsys: pytest.CaptureFixture[str]) -> None:
    for definition in DEFINITIONS:
        assert run(["explain", definition.name]) == 0
        shown = capsys.readouterr().out
        assert definition.label in shown and "missing when" in shown
        assert run(["explain", definition.name, "--json"]) == 0
        value = json.loads(capsys.readouterr().out)
        assert value["schema"] == "decodescope.definitions/1"
        (card,) = value["metrics"]
        assert card["name"] == definition.name and card["formula"] == definition.formula
        assert all(row["formula"] for row in card["other_tools"])


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain"]) == 0
    shown = capsys.readouterr().out
    assert all(definition.name in shown for definition in DEFINITIONS)
    assert run(["explain", "--json"]) == 0
    cards = json.loads(capsys.readouterr().out)["metrics"]
    assert [card["name"] for card in cards] == [definition.name for definition in DEFINITIONS]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("itlms", "itl_ms"),
        ("jitterms", "jitter_ms"),
        ("Throughputt", "output_tok_s"),
        ("qqqqqq", "lists them all"),
        ("", "lists them all"),
        ("\x1b[31m", "lists them all"),
    ],
)
def test_a_name_that_is_not_known(capsys: pytest.CaptureFixture[str], name: str, words: str) -> None:
    assert run(["explain", name]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert words in captured.err and "\x1b" not in captured.err
