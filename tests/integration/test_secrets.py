"""No secret of the environment in anything that we write or print, and no wall clock in timing."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest
from cli import ROOT, dscope, environment

PLANTED = {
    "HF_TOKEN": "hf_PlantedPlantedPlantedPlanted0001",
    "HUGGING_FACE_HUB_TOKEN": "hf_PlantedPlantedPlantedPlanted0002",
    "OPENAI_API_KEY": "sk-PlantedPlantedPlantedPlanted0003",
    "AWS_SECRET_ACCESS_KEY": "aws/PlantedPlantedPlantedPlanted0004",
}
MARK = "PlantedPlanted"
FAST = ("--prompt-tokens", "16", "--output-tokens", "20", "--repeats", "1")


def check_text(text: str) -> None:
    assert MARK not in text
    # Not the names either: which secrets a person has is nobody's business.
    for name in PLANTED:
        assert name not in text


def check_files(*folders: Path) -> int:
    """Every byte below the folders; how many files there were."""
    count = 0
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
                    assert MARK.encode(encoding) not in data, path
                for name in PLANTED:
                    assert name.encode() not in data, path
                count += 1
    return count


@pytest.mark.parametrize(
    ("model", "code"),
    [
        ("synthetic:ttft_ms=5,itl_ms=1", 0),
        ("synthetic:ttft_ms=1,itl_ms=1,fail_at=3", 4),
        ("synthetic:ttft_ms=1,itl_ms=1,die_at=3", 4),
        ("preset:nano", 0),
    ],
)
def test_a_recording_holds_no_secret(tmp_path: Path, home: Path, model: str, code: int) -> None:
    out, lines = tmp_path / "x.dscope", tmp_path / "x.jsonl"
    extra = ("--no-reference",) if model.startswith("preset") else ()
    recorded = dscope("record", "--model", model, *FAST, *extra, "--out", out, **PLANTED)
    assert recorded.returncode == code, recorded.stderr
    check_text(recorded.stdout + recorded.stderr)
    told = dscope("report", out, "--json", **PLANTED)
    # The environment is told, by its allow-list: an empty record would prove nothing.
    software = json.loads(told.stdout)["runs"][0]["environment"]["software"]
    assert "packages" in software and "environment" in software
    check_text(told.stdout + told.stderr)
    check_text(dscope("report", out, **PLANTED).stdout)
    assert dscope("export", out, "--out", lines, **PLANTED).returncode == 0
    assert check_files(tmp_path, home) >= 2


def test_what_the_machine_tells_holds_no_secret(tmp_path: Path, home: Path) -> None:
    for arguments in (("doctor", "--json"), ("doctor",), ("models", "--json")):
        told = dscope(*arguments, **PLANTED)
        assert told.returncode == 0, told.stderr
        check_text(told.stdout + told.stderr)
    refused = dscope("record", "--model", "nobody/nothing", *FAST, "--out", tmp_path / "y.dscope", **PLANTED)
    assert refused.returncode == 3
    check_text(refused.stdout + refused.stderr)
    check_files(tmp_path, home)


def test_an_allowed_variable_is_told(tmp_path: Path) -> None:
    out = tmp_path / "x.dscope"
    model = "synthetic:ttft_ms=5,itl_ms=1"
    assert dscope("record", "--model", model, *FAST, "--out", out, OMP_NUM_THREADS="1").returncode == 0
    told = json.loads(dscope("report", out, "--json").stdout)["runs"][0]["environment"]["software"]
    assert told["environment"]["OMP_NUM_THREADS"] == "1"


@pytest.mark.skipif(util.find_spec("PySide6") is None, reason="the window needs Qt")
def test_the_window_remembers_no_secret(tmp_path: Path, home: Path) -> None:
    window = subprocess.run(
        [sys.executable, "-m", "app", "--model", "synthetic:ttft_ms=5,itl_ms=1", *FAST,
         "--autostart", "--quit-when-done", "--save", str(tmp_path / "w.dscope")],
        capture_output=True, text=True, env=environment(**PLANTED), timeout=120, check=False,
    )  # fmt: skip
    assert window.returncode == 0, window.stderr
    check_text(window.stdout + window.stderr)
    assert (tmp_path / "w.dscope").is_file()
    assert (home / "window.ini").is_file()  # the settings lie where we look
    assert check_files(tmp_path, home) >= 2


WALL_CLOCKS = {"time", "time_ns"}


def wall_clock_reads(source: str) -> list[int]:
    """Lines that read `time.time`, however it was imported."""
    tree = ast.parse(source)
    modules = {"time"}
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname for alias in node.names if alias.name == "time" and alias.asname}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            lines += [node.lineno for alias in node.names if alias.name in WALL_CLOCKS]
        elif isinstance(node, ast.Attribute) and node.attr in WALL_CLOCKS:
            if isinstance(node.value, ast.Name) and node.value.id in modules:
                lines.append(node.lineno)
    return lines


@pytest.mark.parametrize(
    "source",
    [
        "import time\ntime.time()",
        "import time as t\nt.time_ns()",
        "from time import time",
        "import time\nf = time.time",
    ],
)
def test_the_search_finds_what_it_looks_for(source: str) -> None:
    assert wall_clock_reads(source)
    assert not wall_clock_reads("import time\ntime.perf_counter_ns(), time.monotonic(), clock.time()")


def test_no_wall_clock_in_the_program() -> None:
    files = [path for name in ("profiler", "app") for path in (ROOT / name).rglob("*.py")]
    assert len(files) > 100
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in files
        for line in wall_clock_reads(path.read_text(encoding="utf-8"))
    ]
    assert found == []
