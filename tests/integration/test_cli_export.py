"""`dscope export` in every format: what comes out is read again, and what cannot be is one sentence."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli import dscope, one_sentence
from odd_session import ANSWER, SECRET_PROMPT, odd_events, odd_timeline

from profiler.cli.app import run
from profiler.reporting.exports import FORMATS
from profiler.reporting.report import report
from profiler.session.lock import SessionLock
from profiler.session.reader import SessionReader
from profiler.session.store import SessionWriter
from profiler.session.trace import read_trace

Capture = pytest.CaptureFixture[str]
NAME = "jane's run, <b>1</b>"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "s.dscope"
    with SessionWriter.create(path, {"os": "Linux"}, name=NAME) as writer:
        writer.write(odd_events())
    return path


def exported(capsys: Capture, session: Path, name: str, *more: str) -> Path:
    """Writes a format beside the session; what is said is one line."""
    target = session.parent / f"out{FORMATS[name].suffix}"
    capsys.readouterr()
    assert run(["export", str(session), "--format", name, "--out", str(target), *more]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (f"{target}: written.\n", "")
    return target


def refused(capsys: Capture, *arguments: Any) -> str:
    """An export that must end with one sentence on stderr and exit code 2."""
    capsys.readouterr()
    assert run(["export", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dscope: ") and captured.err.count("\n") == 1, captured.err
    assert captured.err.rstrip().endswith("."), captured.err
    return captured.err


def strict(text: str) -> Any:
    return json.loads(text, parse_constant=lambda name: pytest.fail(name))


# -- every format, read again ------------------------------------------------------------------


def _html(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n")
    assert "<title>jane&#x27;s run, &lt;b&gt;1&lt;/b&gt;</title>" in text
    assert '<table class="requests">' in text


def _markdown(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# jane's run, &lt;b&gt;1&lt;/b&gt;\n")


def _csv(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        assert [row["gap_ms"] for row in csv.DictReader(file)][2:] == ["10.0", "20.0", "30.0", "40.0", "50.0"]


def _json(path: Path) -> None:
    value = strict(path.read_text(encoding="utf-8"))
    assert value["session"]["name"] == NAME
    assert value["runs"] == report(odd_timeline())["runs"]


def _parquet(path: Path) -> None:
    table = pytest.importorskip("pyarrow.parquet").read_table(path)
    assert [row["text"] for row in table.to_pylist()] == ["", *ANSWER]


def _chrome_trace(path: Path) -> None:
    value = strict(path.read_text(encoding="utf-8"))
    assert value["otherData"]["session"] == NAME
    assert sum(event.get("cat") == "step" for event in value["traceEvents"]) == 7


def _dscope(path: Path) -> None:
    with SessionReader.open(path) as reader:
        assert reader.name == NAME
        assert report(reader.timeline())["runs"] == report(odd_timeline())["runs"]


def _jsonl(path: Path) -> None:
    assert sum(line.startswith('{"type":"step"') for line in path.read_text("utf-8").splitlines()) == 7
    assert len(read_trace(path).events) > 5


CHECKS: dict[str, Callable[[Path], None]] = {
    "html": _html,
    "markdown": _markdown,
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
    "chrome-trace": _chrome_trace,
    "dscope": _dscope,
    "jsonl": _jsonl,
}


def test_no_format_is_forgotten_here() -> None:
    assert set(CHECKS) == set(FORMATS)


@pytest.mark.parametrize("name", list(CHECKS))
def test_a_format_is_written_whole_and_only_it(session: Path, capsys: Capture, name: str) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    before = session.read_bytes()
    target = exported(capsys, session, name)
    CHECKS[name](target)
    assert session.read_bytes() == before
    assert sorted(path.name for path in session.parent.iterdir()) == sorted([target.name, session.name])


@pytest.mark.parametrize("name", list(CHECKS))
def test_private_leaves_out_who_and_what(session: Path, capsys: Capture, name: str) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    data = exported(capsys, session, name, "--private").read_bytes()
    for secret in (SECRET_PROMPT, "jane", ANSWER[1]):
        if secret == ANSWER[1] and name == "html":
            continue  # two letters with a comma stand in plotly's script
        assert secret.encode() not in data, secret


def test_as_a_process(session: Path) -> None:
    target = session.parent / "all tokens.csv"
    done = dscope("export", session, "--format", "CSV", "--out", target)
    assert (done.returncode, done.stderr) == (0, "")
    _csv(target)
    one_sentence(dscope("export", session, "--format", "pdf", "--out", target), 2, "pdf", "html, markdown")


# -- what cannot be ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(CHECKS))
def test_what_cannot_be_written_is_one_sentence_and_nothing_is_lost(
    session: Path, capsys: Capture, name: str
) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    folder, before = session.parent, session.read_bytes()
    there = folder / "there"
    there.write_text("mine")
    asked = (session, "--format", name)
    assert "exists already; choose another name" in refused(capsys, *asked, "--out", there)
    assert "does not exist; create it first" in refused(capsys, *asked, "--out", folder / "no" / "x")
    assert "is a folder; give the name of a file" in refused(capsys, *asked, "--out", folder, "--overwrite")
    assert "file that is read" in refused(capsys, *asked, "--out", session, "--overwrite")
    assert "cannot be written" in refused(capsys, *asked, "--out", folder / ("x" * 300))
    assert "absent.dscope" in refused(
        capsys, folder / "absent.dscope", "--format", name, "--out", folder / "x"
    )
    foreign = refused(capsys, there, "--format", name, "--out", folder / "x")
    assert str(there) in foreign
    with_run = refused(capsys, *asked, "--run", "7", "--out", folder / "x")
    assert "leave out --run" in with_run if name == "dscope" else "has no run 7; it has 1" in with_run
    assert there.read_text() == "mine"
    assert session.read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["s.dscope", "there"]


def test_a_session_that_is_being_recorded_is_not_replaced(session: Path, capsys: Capture) -> None:
    other = session.parent / "other.dscope"
    other.write_bytes(session.read_bytes())
    lock = SessionLock.acquire(other)
    try:
        arguments = (session, "--format", "dscope", "--out", other, "--overwrite")
        assert "being recorded right now" in refused(capsys, *arguments)
    finally:
        lock.release()
    assert other.read_bytes() == session.read_bytes()


def test_an_unknown_format_names_those_that_there_are(session: Path, capsys: Capture) -> None:
    # Told before anything is read: the file need not even be there.
    said = refused(capsys, session.parent / "absent", "--format", "pdf", "--out", session.parent / "x")
    assert "--format pdf is not known; choose one of: " + ", ".join(FORMATS) in said
    assert "Missing option '--out'" in refused(capsys, session, "--format", "csv")


@pytest.mark.parametrize(
    ("name", "package", "install"),
    [("parquet", "pyarrow", '"decodescope[parquet]"'), ("html", "plotly", "plotly")],
)
def test_a_format_without_its_library_says_how_to_get_it(
    session: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, name: str, package: str, install: str
) -> None:
    there = session.parent / "there"
    there.write_text("mine")
    monkeypatch.setitem(sys.modules, package, None)
    said = refused(capsys, session, "--format", name, "--out", there, "--overwrite")
    assert f"needs {package}; install it with: python -m pip install {install}." in said
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    said = refused(capsys, session, "--format", name, "--out", there, "--overwrite")
    assert f"needs {package}, which this build does not have; choose another format." in said
    assert there.read_text() == "mine"
    assert sorted(path.name for path in session.parent.iterdir()) == ["s.dscope", "there"]


def test_a_library_that_is_broken_is_the_same_sentence(
    session: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)  # there, yet it cannot be imported
    said = refused(capsys, session, "--format", "html", "--out", session.parent / "x.html")
    assert "The web page needs plotly" in said
    assert [path.name for path in session.parent.iterdir()] == ["s.dscope"]
