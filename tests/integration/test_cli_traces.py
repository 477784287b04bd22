"""`dscope import`, `export` and `report` on traces: right answers, refusals, and nothing lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli import dscope, one_sentence

from profiler.analysis.run import run_metrics
from profiler.cli.app import run
from profiler.reporting.other_definitions import TOOLS
from profiler.session import trace as trace_module
from profiler.session.lock import SessionLock
from profiler.session.reader import SessionReader

CASES = Path(__file__).parent.parent / "cases"
NAMES = sorted(path.name.removesuffix(".expected.json") for path in CASES.glob("*.expected.json"))
REQUEST = '{"type":"request","id":"r1","t_ns":0,"prompt_tokens":16}'
STEP = '{"type":"step","id":"r1","t_ns":100,"k":1}'
END = '{"type":"end","id":"r1","t_ns":200,"status":"ok"}'

Capture = pytest.CaptureFixture[str]


def trace(folder: Path, *lines: str) -> Path:
    path = folder / "t.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read_report(capsys: Capture, path: Path, *more: str) -> Any:
    """What `dscope report --json` prints, read strictly."""
    capsys.readouterr()
    assert run(["report", str(path), "--json", *more]) == 0
    return json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(name))


def refused(capsys: Capture, *arguments: Any) -> str:
    """Runs a command that must end with one sentence on stderr and exit code 2."""
    capsys.readouterr()
    assert run([str(argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dscope: ") and captured.err.count("\n") == 1
    return captured.err


def look_up(value: Any, path: str) -> Any:
    """The value at `metrics.itl_ms.n` or `per_request[r1].ttft_ms`."""
    for part in path.split("."):
        name, _, picked = part.partition("[")
        value = value[name]
        if picked:
            (value,) = [item for item in value if item["id"] == picked.removesuffix("]")]
    return value


@pytest.mark.parametrize("name", NAMES)
def test_case_through_the_command_line(tmp_path: Path, capsys: Capture, name: str) -> None:
    expected = json.loads((CASES / f"{name}.expected.json").read_text(encoding="utf-8"))["expect"]
    out = tmp_path / "out.dscope"
    if "exit" in expected:
        assert run(["import", str(CASES / f"{name}.jsonl"), "--out", str(out)]) == expected["exit"]
        assert expected["stderr_has"] in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []
        return
    assert run(["import", str(CASES / f"{name}.jsonl"), "--out", str(out)]) == 0
    assert capsys.readouterr().err == ""
    report = read_report(capsys, out)["runs"][0]
    for path, value in expected.items():
        found = look_up(report, path)
        if value is None or isinstance(value, bool):
            assert found is value, path
        else:
            assert found == pytest.approx(value, rel=1e-6), path


def test_as_processes(tmp_path: Path) -> None:
    out = tmp_path / "a b.dscope"
    result = dscope("import", CASES / "speculative_steps.jsonl", "--out", out, "--name", "an import")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.strip() == f"{out}: 1 run, 1 request."
    report = dscope("report", out, "--as", "vllm", "--json")
    assert json.loads(report.stdout)["runs"][0]["figures"]["itl_ms"]["statistics"]["n"] == 3
    bad = tmp_path / "bad.dscope"
    one_sentence(dscope("import", CASES / "bad_line.jsonl", "--out", bad), 2, "line 3", "not JSON")
    assert [path.name for path in tmp_path.iterdir()] == ["a b.dscope"]


def test_a_recorded_session_reports_the_same_after_export_and_import(tmp_path: Path, capsys: Capture) -> None:
    first = tmp_path / "first.dscope"
    model = "synthetic:ttft_ms=8,itl_ms=1,slope_us=20,jitter_ms=0.3,stall_ms=9,stall_every=7,k=2"
    recorded = dscope(
        "record", "--model", model, "--prompt-tokens", 16, "--output-tokens", 40,
        "--repeats", 4, "--warmup", 1, "--name", "one", "--out", first, "-q",
    )  # fmt: skip
    assert recorded.returncode == 0, recorded.stderr
    lines, again, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "second.dscope"
    assert run(["export", str(first), "--format", "jsonl", "--out", str(lines)]) == 0
    assert run(["import", str(lines), "--out", str(second)]) == 0
    assert run(["export", str(second), "--out", str(again)]) == 0
    assert capsys.readouterr().err == ""
    assert lines.read_bytes() == again.read_bytes()

    (before,), (after,) = (read_report(capsys, path)["runs"] for path in (first, second))
    # What the model, the device and the machine told is no part of a trace.
    for metrics in (before["metrics"], after["metrics"]):
        for name in ("mbu", "memory", "energy"):
            del metrics[name]
        del metrics["trend"]["slope_factor"]
    assert before["metrics"]["itl_ms"]["n"] == 4 * 19
    for key in ("name", "model", "status", "config", "requests", "empty_events", "window_ns"):
        assert before[key] == after[key], key
    assert before["metrics"] == after["metrics"]
    assert before["per_request"] == after["per_request"]
    shares = [value["disturbance"]["disturbed_steps_pct"] for value in (before, after)]
    assert shares[0] == shares[1]

    # The live view's numbers come from the same function on the same rows.
    with SessionReader.open(first) as reader:
        timeline = reader.timeline()
        live = run_metrics(timeline, timeline.runs[1], live=True)["metrics"]
    for name, value in before["metrics"].items():
        if name != "trend":  # its interval is left out while live
            assert live[name] == value, name
    for tool in TOOLS:
        assert (
            read_report(capsys, first, "--as", tool)["runs"]
            == read_report(capsys, second, "--as", tool)["runs"]
        )


def test_unknown_keys_are_told_once_on_stderr(tmp_path: Path, capsys: Capture) -> None:
    steps = [STEP.replace("100", str(100 + i))[:-1] + ',"speed":1}' for i in range(50)]
    source = trace(tmp_path, REQUEST, *steps, END.replace("200", "300"))
    assert run(["import", str(source), "--out", str(tmp_path / "o.dscope")]) == 0
    assert capsys.readouterr().err == "dscope: Unknown keys were left out: speed (step).\n"
    assert read_report(capsys, tmp_path / "o.dscope")["session"]["name"] == "t"


def _bytes(text: str, encoding: str) -> bytes:
    return text.encode(encoding)


HOSTILE = {
    "utf-16": (_bytes(f"{REQUEST}\n{END}\n", "utf-16"), "line 1: this is not text in UTF-8"),
    "gzip": (b"\x1f\x8b\x08\x00" + bytes(range(256)), "line 1: this is not text in UTF-8"),
    "zero bytes": (bytes(4096), "line 1: this is not JSON"),
    "two objects in a line": (f"{REQUEST} {END}\n".encode(), "line 1: this is not JSON"),
    "old line ends": (f"{REQUEST}\r{END}\r".encode(), "line 1: this is not JSON"),
    "single quotes": (REQUEST.replace('"', "'").encode(), "line 1: this is not JSON"),
    "a list of lines": (f"[{REQUEST},{END}]".encode(), "line 1: this is no JSON object"),
    "an integer of 5000 digits": (
        f"{REQUEST}\n{STEP.replace('100', '1' * 5000)}\n".encode(),
        "line 2: ",
    ),
    "time as 1e3": (f"{REQUEST}\n\n{STEP.replace('100', '1e3')}\n".encode(), "line 3: t_ns must be"),
    "a second end in another case": (
        f"{REQUEST}\n{END}\n{END.replace('ok', 'error')}\n".encode(),
        "line 3: the request 'r1' has an end already",
    ),
    "a step after the end, in a later run": (
        f'{REQUEST}\n{END}\n{{"type":"run"}}\n{STEP}\n'.encode(),
        "line 4: a step of 'r1' comes after its end",
    ),
    "an id that paints the terminal": (
        STEP.replace("r1", "\\u001b[31m\\u202er1").encode(),
        "comes before the line of its request",
    ),
    "only blanks": (b"\n \n\t\n", "has no request"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_traces_are_one_sentence_and_no_file(tmp_path: Path, capsys: Capture, name: str) -> None:
    data, words = HOSTILE[name]
    source = tmp_path / "t.jsonl"
    source.write_bytes(data)
    said = refused(capsys, "import", source, "--out", tmp_path / "o.dscope")
    assert words in said
    assert "\x1b" not in said and "\u202e" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]


def test_a_line_without_end(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_module, "MAX_LINE_BYTES", 100)
    source = trace(tmp_path, REQUEST, '{"type":"text","id":"r1","text":"' + "x" * 200 + '"}')
    assert "line 2" in refused(capsys, "import", source, "--out", tmp_path / "o.dscope")


def test_a_refused_trace_leaves_the_old_file(tmp_path: Path, capsys: Capture) -> None:
    source = trace(tmp_path, STEP)
    out = tmp_path / "o.dscope"
    out.write_text("mine")
    assert "exists already" in refused(capsys, "import", source, "--out", out)
    assert "line 1" in refused(capsys, "import", source, "--out", out, "--overwrite")
    assert out.read_text() == "mine"
    source = trace(tmp_path, REQUEST, STEP, END)
    assert run(["import", str(source), "--out", str(out), "--overwrite"]) == 0
    assert read_report(capsys, out)["runs"][0]["requests"]["ok"] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.dscope", "t.jsonl"]


def test_targets_that_cannot_be(tmp_path: Path, capsys: Capture) -> None:
    source = trace(tmp_path, REQUEST, STEP, END)
    session = tmp_path / "s.dscope"
    assert run(["import", str(source), "--out", str(session)]) == 0
    text, kept = source.read_bytes(), session.read_bytes()
    assert "file that is read" in refused(capsys, "import", source, "--out", source, "--overwrite")
    assert "file that is read" in refused(capsys, "export", session, "--out", session, "--overwrite")
    assert "cannot be read" in refused(capsys, "import", tmp_path / "no", "--out", tmp_path / "x.dscope")
    assert "does not exist" in refused(capsys, "import", source, "--out", tmp_path / "no" / "x.dscope")
    assert "is a folder" in refused(capsys, "export", session, "--out", tmp_path, "--overwrite")
    assert "choose one of: html" in refused(
        capsys, "export", session, "--format", "xlsx", "--out", tmp_path / "x"
    )
    assert "exists already" in refused(capsys, "export", session, "--out", source)
    assert str(source) in refused(capsys, "export", source, "--out", tmp_path / "x.jsonl")
    assert "vllm, aiperf" in refused(capsys, "report", session, "--as", "nobody")
    lock = SessionLock.acquire(session)
    try:
        assert "being recorded" in refused(capsys, "import", source, "--out", session, "--overwrite")
    finally:
        lock.release()
    assert (source.read_bytes(), session.read_bytes()) == (text, kept)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.dscope", "t.jsonl"]


def test_odd_but_allowed_traces_give_strict_json_everywhere(tmp_path: Path, capsys: Capture) -> None:
    low, high = -(2**63), 2**63 - 1
    source = trace(
        tmp_path,
        '{"type":"run","name":"\\ud800 =1+1","model":"<b>m</b>","config":{"a":[null,1e308]}}',
        f'{{"type":"request","id":"wide","t_ns":{low},"prompt_tokens":0,"max_new_tokens":0}}',
        '{"type":"request","id":"","t_ns":5,"streamed":false,"warmup":null,"batch_id":"b"}',
        '{"type":"request","id":"back","t_ns":50}',
        '{"type":"step","id":"back","t_ns":49,"k":1}',
        f'{{"type":"step","id":"wide","t_ns":{low},"k":2147483647,"kv_len":0}}',
        f'{{"type":"step","id":"wide","t_ns":{high},"k":0,"kv_len":2147483647,"disturbed":true}}',
        f'{{"type":"span","id":"wide","name":"prefill","t_ns":{high},"end_ns":{low}}}',
        '{"type":"step","id":"","t_ns":5,"k":1,"token_ids":[-1]}',
        '{"type":"text","id":"","text":"\\u0000\\ud83d"}',
        '{"type":"sample","t_ns":5,"source":"gpu0","values":{"power_w":1e308,"x":null}}',
        '{"type":"sample","t_ns":5,"source":"gpu0","values":{}}',
        '{"type":"end","id":"","t_ns":5,"status":"ok"}',
        '{"type":"end","id":"back","t_ns":60,"status":"ok"}',
        f'{{"type":"end","id":"wide","t_ns":{high},"status":"ok","stop_reason":"\\u001b[2J"}}',
    )
    out, one, two = tmp_path / "o.dscope", tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    assert run(["import", str(source), "--out", str(out)]) == 0
    report = read_report(capsys, out)["runs"][0]
    assert (report["requests"]["ok"], report["requests"]["invalid"]) == (2, 1)
    assert look_up(report, "per_request[].e2e_ms") == 0.0
    assert look_up(report, "per_request[].output_tok_s") is None
    for tool in TOOLS:
        read_report(capsys, out, "--as", tool)
        assert run(["report", str(out), "--as", tool]) == 0
    assert run(["report", str(out)]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert run(["export", str(out), "--out", str(one)]) == 0
    assert run(["import", str(one), "--out", str(out), "--overwrite"]) == 0
    assert run(["export", str(out), "--out", str(two)]) == 0
    assert one.read_bytes() == two.read_bytes()
