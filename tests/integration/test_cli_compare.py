"""`dscope compare` on imported traces: values of the report, verdicts, refusals, hostile names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from profiler.cli.app import run

Capture = pytest.CaptureFixture[str]
MS = 1_000_000


def session(folder: Path, name: str, gap_ms: float, requests: int = 6, **config: Any) -> Path:
    """A session of requests with a first token after 100 ms and three gaps of `gap_ms` each."""
    lines: list[dict[str, Any]] = [{"type": "run", "name": name, "model": "m", "config": config}]
    for number in range(requests):
        start, request = number * 1_000 * MS, f"r{number}"
        lines.append({"type": "request", "id": request, "t_ns": start, "prompt_tokens": 16})
        times = [start + round((100 + gap_ms * step) * MS) for step in range(4)]
        lines += [{"type": "step", "id": request, "t_ns": t_ns, "k": 1} for t_ns in times]
        lines.append({"type": "end", "id": request, "t_ns": times[-1], "status": "ok"})
    stem = f"s{len(list(folder.iterdir()))}"
    trace = folder / f"{stem}.jsonl"
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert run(["import", str(trace), "--out", str(folder / f"{stem}.dscope")]) == 0
    return folder / f"{stem}.dscope"


def compared(capsys: Capture, *arguments: Any) -> str:
    capsys.readouterr()
    assert run(["compare", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def refused(capsys: Capture, *arguments: Any) -> str:
    capsys.readouterr()
    assert run(["compare", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dscope: ") and captured.err.count("\n") == 1
    return captured.err


def rows_of(text: str) -> dict[str, dict[str, Any]]:
    value = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert value["schema"] == "decodescope.compare/1"
    return {row["metric"]: row for row in value["rows"]}


def test_rows_say_what_was_measured(tmp_path: Path, capsys: Capture) -> None:
    a, b = session(tmp_path, "a", 10), session(tmp_path, "b", 20)
    rows = rows_of(compared(capsys, a, b, "--json"))
    assert list(rows)[:8] == [
        "ttft_ms.p50",
        "itl_ms.p50",
        "itl_ms.p95",
        "itl_ms.p99",
        "tpot_ms.p50",
        "e2e_ms.p50",
        "output_tok_s.p50",
        "mbu.run",
    ]
    itl = rows["itl_ms.p50"]
    assert (itl["a"], itl["b"], itl["difference"], itl["ratio"]) == (10, 20, 10, 2)
    assert itl["ci95"] == pytest.approx([2, 2])
    assert itl["verdict"] == "slower"
    assert rows["ttft_ms.p50"]["verdict"] == "equivalent"
    # 100 + 3 * 10 and 100 + 3 * 20 ms for 4 tokens.
    assert (rows["e2e_ms.p50"]["a"], rows["e2e_ms.p50"]["b"]) == (130, 160)
    assert rows["output_tok_s.p50"]["b"] == pytest.approx(25)
    assert rows["output_tok_s.p50"]["verdict"] == "slower"
    assert rows["mbu.run"]["verdict"] == "not_comparable"


def test_what_differs_comes_before_the_figures(tmp_path: Path, capsys: Capture) -> None:
    a, b = session(tmp_path, "a", 10, threads=1), session(tmp_path, "b", 10, threads=2)
    text = compared(capsys, a, b)
    assert text.index("config.threads") < text.index("itl_ms.p50")


def test_an_a_a_pair_takes_a_claim_back(tmp_path: Path, capsys: Capture) -> None:
    a, b, other = session(tmp_path, "a", 10), session(tmp_path, "b", 10.5), session(tmp_path, "c", 11)
    assert rows_of(compared(capsys, a, b, "--json"))["itl_ms.p50"]["verdict"] == "slower"
    row = rows_of(compared(capsys, a, b, "--noise", a, other, "--json"))["itl_ms.p50"]
    assert row["verdict"] == "no_difference"
    assert row["reason"] == "within the noise floor: an A/A pair differed by 10.0 %"


def test_names_from_files_stay_text(tmp_path: Path, capsys: Capture) -> None:
    name = "\x1b[31mred [bold]x[/bold] <b>|"
    a, b = (
        session(tmp_path, name, 10, output_tokens="\x1b[2J"),
        session(tmp_path, name, 10, output_tokens="y"),
    )
    text = compared(capsys, a, b)
    assert "\x1b" not in text
    assert "[bold]x[/bold]" in text
    markdown = compared(capsys, a, b, "--markdown")
    assert "<b>" not in markdown and "&lt;b&gt;\\|" in markdown and "\x1b" not in markdown


def test_several_others_are_each_held_against_the_first(tmp_path: Path, capsys: Capture) -> None:
    a, b, c = session(tmp_path, "a", 10), session(tmp_path, "b", 20), session(tmp_path, "c", 5)
    value = json.loads(compared(capsys, a, b, c, "--json"))
    verdicts = [each["rows"][1]["verdict"] for each in value["comparisons"]]
    assert verdicts == ["slower", "faster"]


def test_what_cannot_be_compared_is_told_in_one_sentence(tmp_path: Path, capsys: Capture) -> None:
    a, b = session(tmp_path, "a", 10), session(tmp_path, "b", 10)
    assert "Name 2 to 6 session files" in refused(capsys, a)
    assert "not both" in refused(capsys, a, b, "--json", "--markdown")
    assert "has no run 7; it has 1" in refused(capsys, a, b, "--run", "7")
    assert "--run once, or once for each" in refused(capsys, a, b, a, "--run", "1", "--run", "1")
    assert "absent.dscope" in refused(capsys, a, tmp_path / "absent.dscope")


def test_noise_is_given_for_several_pairs(tmp_path: Path, capsys: Capture) -> None:
    a, b, near, far = (session(tmp_path, str(gap), gap) for gap in (10, 10.5, 10.1, 11))
    arguments = (a, b, "--noise", a, near, "--json", "--noise", a, far)
    value = json.loads(compared(capsys, *arguments))
    assert value["noise_floor"]["itl_ms.p50"] == pytest.approx(0.1)
    assert {row["metric"]: row for row in value["rows"]}["itl_ms.p50"]["verdict"] == "no_difference"
    # The order of the options is no matter, nor an equals sign.
    assert json.loads(compared(capsys, f"--noise={a}", far, a, b, "--noise", a, near, "--json")) == value
    for wrong in (("--noise", a), ("--noise", a, "--json"), ("--noise", a, near, "--noise", a)):
        assert "two session files: --noise A1 A2" in refused(capsys, a, b, *wrong)
    assert "absent" in refused(capsys, a, b, "--noise", a, near, "--noise", a, tmp_path / "absent")


def test_slope_and_energy_stand_in_every_form_without_a_verdict(tmp_path: Path, capsys: Capture) -> None:
    paths = []
    for number, watts in enumerate((50.0, 75.0)):
        path = session(tmp_path, f"n{number}", 10)
        trace = path.with_suffix(".jsonl")
        with trace.open("a", encoding="utf-8") as file:
            for second in range(8):
                values = {"power_w": watts}
                line = {"type": "sample", "t_ns": second * 1_000 * MS, "source": "gpu0", "values": values}
                file.write(json.dumps(line) + "\n")
        assert run(["import", str(trace), "--out", str(path), "--overwrite"]) == 0
        paths.append(path)
    rows = rows_of(compared(capsys, *paths, "--json"))
    energy = rows["energy.joules_per_token"]
    # 5.13 s (first t0 to last token) at 50 and 75 W, for 24 tokens.
    assert (energy["a"], energy["b"]) == (pytest.approx(50 * 5.13 / 24), pytest.approx(75 * 5.13 / 24))
    assert energy["ratio"] == pytest.approx(1.5)
    assert (energy["verdict"], energy["ci95"]) == (None, None)
    slope = rows["trend.slope_us_per_token"]
    assert (slope["a"], slope["b"], slope["ratio"], slope["verdict"]) == (0, 0, None, None)
    markdown = compared(capsys, *paths, "--markdown")
    assert "| energy.joules\\_per\\_token (J/token) | 10.69 | 16.03 | +5.344 | +50.0 % | — | — |" in markdown
    assert "| — no verdict: energy is one figure a run, which gives no interval |" in markdown
    text = " ".join(compared(capsys, *paths).split())
    assert "trend.slope_us_per_token 0 0 — — — no verdict" in text
    assert (
        "No verdict (energy.joules_per_token): energy is one figure a run, which gives no interval." in text
    )


def test_runs_of_one_name_are_told_apart(tmp_path: Path, capsys: Capture) -> None:
    a, b, other = (session(tmp_path, name, 10) for name in ("same", "same", "other"))
    value = json.loads(compared(capsys, a, b, other, "--json"))
    for each in value["comparisons"]:
        assert each["a"]["created"] and each["a"]["started"] is None
    lines = compared(capsys, a, b, other).splitlines()
    first, second, third = [line for line in lines if "same" in line][:3]
    assert all(line.startswith(("A: same · 2", "B: same · 2")) for line in (first, second))
    assert third.startswith("A: same · m")


def test_reasons_name_the_letter_that_is_shown(tmp_path: Path, capsys: Capture) -> None:
    a, b, few = session(tmp_path, "a", 10), session(tmp_path, "b", 10), session(tmp_path, "c", 10, requests=3)
    text = " ".join(compared(capsys, a, b, few, "--markdown").split())
    assert "C has 3" in text and "B has 3" not in text
    text = " ".join(compared(capsys, a, few).split())
    assert text.count("needs 5 ok requests a side; B has 3.") == 1
