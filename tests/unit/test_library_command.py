"""`dscope sessions`, in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from library_files import write

from profiler.cli.app import run
from profiler.paths import library_dir
from profiler.session.labels import set_labels

DASH = "\N{EM DASH}"
SUMMARY = {
    "ttft_ms_p50": 1234.5,
    "itl_ms_p50": 41.254,
    "itl_ms_p99": 60.0,
    "jitter_ms": 2.5,
    "mbu_run": 0.625,
    "itl_trace_ms": [41.0, 99.0],
}


def test_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    set_labels(write(tmp_path / "a.dscope", "mine", summary=SUMMARY), starred=True)
    write(tmp_path / "b.dscope", "[red]\x1b[31mred")
    (tmp_path / "text.dscope").write_text("hello")
    assert run(["sessions", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    lines = [line.split() for line in text.splitlines()]
    assert ["*", "mine", "1,234.50", "41.25", "60.00", "2.50", "62", "%", "finished"] in lines
    assert ["[red][31mred", DASH, DASH, DASH, DASH, DASH, "finished"] in lines
    assert text.count("text.dscope") == 2
    assert "is not a Decodescope session" in text
    assert "\x1b" not in text


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.dscope", "mine", summary=SUMMARY)
    set_labels(path, tags=["x"])
    assert run(["sessions", str(tmp_path), "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["folder"] == str(tmp_path)
    (entry,) = value["sessions"]
    assert (entry["path"], entry["name"], entry["tags"], entry["runs"]) == (str(path), "mine", ["x"], 1)
    assert (entry["ttft_p50_ms"], entry["mbu_pct"], entry["joules_per_token"]) == (1234.5, 62.5, None)
    assert entry["itl_trace"] == [41.0, 99.0]


def test_the_library_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sessions"]) == 0
    assert "holds no sessions; `dscope record` makes one." in capsys.readouterr().out
    write(library_dir() / "a.dscope", "mine")
    assert run(["sessions"]) == 0
    assert "mine" in capsys.readouterr().out


def test_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sessions", str(tmp_path / "missing")]) == 2
    assert "cannot be read (no such file or directory)" in capsys.readouterr().err
