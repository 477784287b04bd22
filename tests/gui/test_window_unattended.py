"""`python -m app` as a program: real window, engine and worker, exit codes, files."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli import dscope, environment
from processes import all_gone, descendants, wait_until
from PySide6.QtGui import QImage


def start(*arguments: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "app", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(QT_QPA_PLATFORM="offscreen", PYTHONFAULTHANDLER="1"),
    )


def errors_at_the_end(process: subprocess.Popen[str], timeout_s: float) -> str:
    """Standard error of a program that ends by itself; where all its threads are if it does not."""
    try:
        return process.communicate(timeout=timeout_s)[1]
    except subprocess.TimeoutExpired:
        if process.poll() is not None:
            raise AssertionError(
                "the program has ended, but a child of it holds its standard error"
            ) from None
        process.send_signal(signal.SIGABRT)
        raise AssertionError(f"the program hangs:\n{process.communicate(timeout=20)[1]}") from None


def window(*arguments: Any, timeout_s: float = 120) -> tuple[int, str]:
    """Exit code and standard error; no traceback may reach the user."""
    process = start(*arguments)
    errors = errors_at_the_end(process, timeout_s)
    assert "Traceback" not in errors, errors
    return process.returncode, errors


SYNTHETIC = "synthetic:ttft_ms=20,itl_ms=4,jitter_ms=0.2"
QUICK = ("--prompt-tokens", 16, "--output-tokens", 24, "--repeats", 3, "--autostart", "--quit-when-done")


def kpis_equal_the_report(kpi_file: Path, session: Path) -> dict[str, Any]:
    shown = json.loads(kpi_file.read_text())
    report = json.loads(dscope("report", session, "--json").stdout)["runs"][0]
    metrics = report["metrics"]
    assert shown["ttft"]["value"] == metrics["ttft_ms"]["p50"]
    assert shown["itl_p50"]["value"] == metrics["itl_ms"]["p50"]
    assert shown["itl_p99"]["value"] == metrics["itl_ms"]["p99"]
    assert shown["jitter"]["value"] == metrics["jitter"]["jitter_ms"]
    assert shown["tpot"]["value"] == metrics["tpot_ms"]["p50"]
    assert shown["mbu"]["value"] == metrics["mbu"]["run"]
    assert shown["throughput"]["value"] == metrics["decode_tok_s"]["p50"]
    assert shown["energy"]["value"] == metrics["energy"]["joules_per_token"]
    return report


def test_unattended_run_saves_pictures_and_agrees_with_the_report(tmp_path: Path, home: Path) -> None:
    out, png, kpi = tmp_path / "out.dscope", tmp_path / "out.png", tmp_path / "kpi.json"
    files = ("--save", out, "--screenshot", png, "--kpi-json", kpi, "--size", "1440x900")
    code, errors = window("--model", SYNTHETIC, *QUICK, *files)
    assert (code, errors) == (0, "")
    report = kpis_equal_the_report(kpi, out)
    assert report["requests"]["ok"] == 3
    assert [request["output_tokens"] for request in report["per_request"]] == [24] * 4
    picture = QImage(str(png))
    assert (picture.width(), picture.height()) == (1440, 900)
    assert list((home / "sessions").glob("*.dscope")) == []

    again = tmp_path / "again.png"
    assert window(out, "--quit-when-done", "--screenshot", again) == (0, "")
    assert QImage(str(again)).width() > 0


@pytest.mark.slow
def test_unattended_run_of_a_real_model(tmp_path: Path) -> None:
    out, kpi = tmp_path / "out.dscope", tmp_path / "kpi.json"
    code, errors = window(
        "--model", "preset:nano", *QUICK, "--save", out, "--kpi-json", kpi, "--threads", 1, timeout_s=170
    )
    assert (code, errors) == (0, "")
    assert kpis_equal_the_report(kpi, out)["requests"]["ok"] == 3


def test_a_wrong_model_exits_with_3_and_leaves_no_file(tmp_path: Path, home: Path) -> None:
    out = tmp_path / "out.dscope"
    code, errors = window("--model", tmp_path / "none", *QUICK, "--save", out)
    assert code == 3
    assert errors.startswith("decodescope: ") and errors.count("\n") == 1
    assert not out.exists()
    assert list((home / "sessions").glob("*")) == []


def test_a_failed_request_exits_with_4_and_keeps_the_session(tmp_path: Path) -> None:
    out = tmp_path / "out.dscope"
    code, errors = window("--model", f"{SYNTHETIC},fail_at=9", *QUICK, "--save", out)
    assert code == 4
    assert errors.startswith("decodescope: ")
    assert out.exists()


def test_a_worker_that_dies_exits_with_4_and_keeps_the_session(tmp_path: Path) -> None:
    out = tmp_path / "out.dscope"
    code, errors = window("--model", f"{SYNTHETIC},die_at=9", *QUICK, "--save", out)
    assert code == 4
    assert "worker process ended" in errors
    assert dscope("verify", out).returncode == 0


def test_bad_input_exits_with_2_before_there_is_a_window(tmp_path: Path) -> None:
    code, errors = window("--output-tokens", 0)
    assert code == 2
    assert errors == "decodescope: output tokens: 0 cannot work; give a number of at least 1.\n"


def test_a_text_file_named_dscope_exits_with_2(tmp_path: Path) -> None:
    path = tmp_path / "text.dscope"
    path.write_text("no session at all\n" * 40)
    code, errors = window(path, "--quit-when-done")
    assert code == 2
    assert str(path) in errors


def test_interrupt_keeps_the_session_and_exits_with_130(tmp_path: Path, home: Path) -> None:
    out = tmp_path / "out.dscope"
    process = start("--model", f"{SYNTHETIC},rate=20", "--output-tokens", 4000, *QUICK[4:], "--save", out)
    try:
        wait_until(lambda: list((home / "sessions").glob("*.dscope")), 60, "the recording")
        children = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        errors = errors_at_the_end(process, 60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in errors
    report = json.loads(dscope("report", out, "--json").stdout)["runs"][0]
    assert report["status"] == "stopped"
    assert all_gone(children, 20)


def test_terminate_closes_the_file_and_leaves_no_process(tmp_path: Path, home: Path) -> None:
    process = start("--model", f"{SYNTHETIC},rate=20", "--output-tokens", 4000, "--autostart")
    try:
        wait_until(lambda: list((home / "sessions").glob("*.dscope")), 60, "the recording")
        children = descendants(process.pid)
        process.send_signal(signal.SIGTERM)
        errors_at_the_end(process, 60)
    finally:
        process.kill()
        process.communicate()
    (recording,) = (home / "sessions").glob("*.dscope")
    assert dscope("verify", recording).returncode == 0
    report = json.loads(dscope("report", recording, "--json").stdout)["runs"][0]
    assert report["status"] == "stopped"
    assert all_gone(children, 20)


TERMINATED_WITHIN_A_WRITE = """
import os, signal, sys
from profiler.engine.client import EngineClient

write, asked = EngineClient._write, []

def write_and_terminate(self, command):
    if command["verb"] == "redraw" and not asked:
        asked.append(True)
        os.kill(os.getpid(), signal.SIGTERM)
        sum(range(100_000))  # Python may run its handlers between any two of these
    write(self, command)

if __name__ == "__main__":
    EngineClient._write = write_and_terminate
    from app.__main__ import main
    sys.exit(main())
"""


def test_terminate_while_the_lock_of_the_pipe_is_held(tmp_path: Path, home: Path) -> None:
    script = tmp_path / "window.py"
    script.write_text(TERMINATED_WITHIN_A_WRITE)
    process = subprocess.Popen(
        [
            sys.executable,
            str(script),
            "--model",
            f"{SYNTHETIC},rate=20",
            "--output-tokens",
            "4000",
            "--autostart",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(QT_QPA_PLATFORM="offscreen", PYTHONFAULTHANDLER="1"),
    )
    try:
        errors_at_the_end(process, 60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert all(dscope("verify", path).returncode == 0 for path in (home / "sessions").glob("*.dscope"))
