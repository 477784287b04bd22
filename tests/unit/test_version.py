"""`--version` of both programs, installed and not."""

from __future__ import annotations

from importlib import metadata

import pytest

from app.options import parse_options
from profiler.cli.app import run


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", {"decodescope": "1.2.3"}.__getitem__)


@pytest.mark.usefixtures("installed")
def test_the_command_line_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == "dscope 1.2.3\n"


@pytest.mark.usefixtures("installed")
def test_the_window_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_options(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == "decodescope 1.2.3\n"


def test_a_checkout_has_none(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == "dscope unknown\n"
