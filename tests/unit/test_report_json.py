"""The shape of the report and its text form."""

from __future__ import annotations

import io
import json

from analysis_streams import MS, add_request, empty_timeline
from rich.console import Console

from profiler import events as ev
from profiler.reporting.report import exit_code, report
from profiler.reporting.text import report_text
from profiler.timeline import Timeline

RUN_KEYS = {
    "id",
    "name",
    "status",
    "config",
    "environment",
    "requests",
    "empty_events",
    "metrics",
    "telemetry",
    "disturbance",
    "per_request",
    "notes",
}
METRICS = {
    "ttft_ms",
    "itl_ms",
    "itl_per_token_ms",
    "itl_request_mean_ms",
    "tpot_ms",
    "e2e_ms",
    "decode_tok_s",
    "output_tok_s",
    "effective_tok_s",
    "fluctuation",
    "output_tokens",
    "run_tok_s",
    "requests_per_s",
    "jitter",
    "trend",
    "mbu",
    "memory",
    "energy",
}


def shown(timeline: Timeline, width: int = 110) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, no_color=True, highlight=False)
    for part in report_text(report(timeline, session_name="evening \x1b[31mred")):
        console.print(part)
    return file.getvalue()


def test_the_keys_that_scripts_rely_on() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [100, 110, 120], prompt=16, asked=3)
    timeline.apply(ev.Text(1, ["a", "b", "c"]))
    timeline.apply(ev.Span(1, "prefill", 0, 90 * MS, 1))
    timeline.apply(ev.Fact("memory", {"weights_bytes": 5, "peak_bytes": 9, "source": "RSS"}, 1))
    value = report(timeline, session_name="s", path="s.dscope")
    assert value["schema"] == "decodescope.report/1"
    assert value["session"] == {"name": "s", "path": "s.dscope"}
    (run,) = value["runs"]
    assert set(run) >= RUN_KEYS
    assert set(run["metrics"]) >= METRICS
    assert set(run["metrics"]["trend"]) == {
        "intercept_ms",
        "slope_us_per_token",
        "slope_ci95_us_per_token",
        "identifiable",
        "slope_factor",
        "reason",
    }
    assert run["metrics"]["memory"]["weights_bytes"] == 5
    (row,) = run["per_request"]
    assert row["id"] == "r1" and row["text"] == "abc" and row["spans_ms"] == {"prefill": 90.0}
    assert row["prompt_tok_s"] == 16 / 0.09
    assert row["itl"] == {"n": 2, "mean": 10.0, "p50": 10.0, "max": 10.0}
    json.dumps(value, allow_nan=False)
    assert exit_code(value) == 0


def test_foreign_numbers_that_are_none() -> None:
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0, config={"x": float("nan")}, environment={"y": [float("inf")]}))
    timeline.apply(ev.Sample(1, "gpu0", {"power_w": float("inf")}))
    timeline.apply(ev.Fact("memory", {"peak_bytes": float("nan")}, 1))
    timeline.apply(ev.Fact("overhead", {"itl_mean_ratio": float("nan")}, 1))
    (run,) = report(timeline)["runs"]
    assert run["config"] == {"x": None} and run["environment"] == {"y": [None]}


def test_a_failed_request_is_exit_code_4_a_failed_warm_up_is_not() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [], end="error", warmup=True)
    assert exit_code(report(timeline)) == 0
    add_request(timeline, 2, [], end="ok", end_ms=50)
    assert exit_code(report(timeline)) == 4


def test_text_of_a_full_run() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [100 + 10 * i for i in range(30)], prompt=16)
    add_request(timeline, 2, [5000], t0_ms=4000, end="error")
    text = shown(timeline)
    assert "\x1b" not in text
    assert "1 ok, 1 failed requests; 30 output tokens" in text
    assert "TTFT (ms)" in text and "100.0" in text
    assert "the bytes of the model are not known" in text
    assert "Request r2: failed" in text


def test_text_without_values_gives_reasons() -> None:
    timeline = empty_timeline()
    add_request(timeline, 1, [100])
    text = shown(timeline)
    assert "—" in text and "one token" in text
    assert "holds no run" in shown(Timeline())


def test_hostile_text_stays_text() -> None:
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0, "[red]x[/red]\x1b]0;title\x07", "m\u202eodel"))
    timeline.apply(ev.Note(1, "note [/bold] \x1b[2J"))
    text = shown(timeline)
    assert "[red]x[/red]" in text and "[/bold]" in text
    assert not any(char in text for char in ("\x1b", "\x07", "\u202e"))
