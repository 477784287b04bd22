"""Targets and goodput: literal rows in, verdicts worked out by hand out."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pytest
from analysis_streams import add_request, empty_timeline
from rich.console import Console

from profiler.analysis.targets import Targets, goodput, judge, parse_targets, targets_report
from profiler.errors import UsageError
from profiler.reporting.report import report
from profiler.reporting.text import report_text


def row(
    ttft_ms: float | None,
    fluctuation: float | None = 0.0,
    p99_ms: float | None = 10.0,
    e2e_ms: float | None = 1000.0,
    status: str = "ok",
    warmup: bool = False,
) -> dict[str, Any]:
    return {
        "status": status,
        "warmup": warmup,
        "ttft_ms": ttft_ms,
        "fluctuation": fluctuation,
        "e2e_ms": e2e_ms,
        "itl_p99_ms": p99_ms,
    }


def metrics(ttft: float | None = 400.0, fluctuation: float | None = 0.1, **more: Any) -> dict[str, Any]:
    return {
        "ttft_ms": {"p50": ttft},
        "fluctuation": {"p50": fluctuation},
        "itl_ms": {"p99": 12.0},
        "e2e_ms": {"p50": 1000.0},
        "requests_per_s": 0.5,
        "reasons": {},
        **more,
    }


def failed() -> dict[str, Any]:
    return row(None, None, None, None, status="failed")


# -- Targets ---------------------------------------------------------------------------------


def test_defaults() -> None:
    assert Targets().to_json() == {
        "ttft_ms": 500.0,
        "fluctuation": 0.20,
        "itl_p99_ms": None,
        "e2e_ms": None,
    }


@pytest.mark.parametrize("targets", [Targets(), Targets(300, None, 50.5, 1e4), Targets(None, None)])
def test_json_round_trip(targets: Targets) -> None:
    assert Targets.from_json(json.loads(json.dumps(targets.to_json()))) == targets


def test_an_absent_name_keeps_its_default() -> None:
    assert Targets.from_json({"e2e_ms": 2000}) == Targets(500.0, 0.20, None, 2000)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"ttft": 5},
        {"ttft_ms": 0},
        {"ttft_ms": -1},
        {"e2e_ms": "5"},
        {"e2e_ms": math.nan},
        {"e2e_ms": True},
    ],
)
def test_what_is_no_target_is_refused(value: Any) -> None:
    with pytest.raises(UsageError):
        Targets.from_json(value)


def test_words_of_the_command_line() -> None:
    assert parse_targets([]) == Targets()
    assert parse_targets(["ttft_ms=300", "fluctuation=15%", "e2e_ms = 9000"]) == Targets(
        300, 0.15, None, 9000
    )
    assert parse_targets(["ttft_ms=off"], Targets(itl_p99_ms=40)) == Targets(None, 0.20, 40)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("ttft_ms", "target 'ttft_ms': write it as NAME=VALUE, for example ttft_ms=500."),
        ("ttft_ms=fast", "target ttft_ms: 'fast' is no number; give one above 0, or off."),
        ("ttft_ms=50%", "target ttft_ms: '50%' is no number; give one above 0, or off."),
        ("ttft_ms=0", "target ttft_ms: 0.0 cannot work; give a number above 0, or off."),
        ("ttft=5", "target ttft: no such target; there are ttft_ms, fluctuation, itl_p99_ms, e2e_ms."),
    ],
)
def test_wrong_words_get_a_sentence(word: str, sentence: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_targets([word])
    assert told.value.message == sentence


# -- judging ---------------------------------------------------------------------------------


def test_three_of_five_meet_the_first_token() -> None:
    rows = [row(499.0), row(500.0), row(500.1), row(900.0), row(100.0), row(9999.0, warmup=True)]
    judged = judge(rows, metrics(ttft=500.0), Targets())
    # The limit itself is met; the warm-up counts for nothing.
    assert judged["ttft_ms"] == {
        "target": 500.0,
        "value": 500.0,
        "pass": True,
        "met": 3,
        "of": 5,
        "share": 0.6,
        "reason": None,
    }


def test_the_run_misses_where_its_value_is_above() -> None:
    judged = judge([row(600.0, 0.3)], metrics(ttft=600.0, fluctuation=0.3), Targets(itl_p99_ms=12.5))
    assert [judged[name]["pass"] for name in ("ttft_ms", "fluctuation", "itl_p99_ms")] == [False, False, True]
    assert judged["ttft_ms"]["share"] == 0.0


def test_no_target_is_neither_met_nor_missed() -> None:
    judged = judge([row(600.0)], metrics(), Targets(None, None))
    assert judged["e2e_ms"] == {
        "target": None,
        "value": 1000.0,
        "pass": None,
        "met": 0,
        "of": 0,
        "share": None,
        "reason": "no target is set",
    }


def test_a_missing_value_is_neither_met_nor_missed() -> None:
    told = metrics(fluctuation=None, reasons={"fluctuation": "one token"})
    judged = judge([row(100.0, fluctuation=None)], told, Targets())
    assert judged["fluctuation"]["pass"] is None
    assert judged["fluctuation"]["share"] is None
    assert judged["fluctuation"]["reason"] == "one token"


def test_a_failed_request_does_not_meet_a_target_and_others_do_not_count() -> None:
    rows = [row(100.0), failed(), row(100.0, status="cancelled"), row(1.0, status="running")]
    assert judge(rows, metrics(), Targets())["ttft_ms"]["share"] == 0.5


def test_an_old_row_without_p99_says_nothing_about_it() -> None:
    old = row(100.0)
    del old["itl_p99_ms"]
    assert judge([old], metrics(), Targets(itl_p99_ms=50))["itl_p99_ms"]["of"] == 0


# -- goodput ---------------------------------------------------------------------------------


def test_goodput_needs_all_targets() -> None:
    rows = [row(100.0, 0.1), row(100.0, 0.3), row(900.0, 0.1), row(400.0, 0.2)]
    # Four ok requests at 0.5 a second are 8 s; two meet both targets: 0.25 a second.
    assert goodput(rows, metrics(), Targets()) == {
        "share": 0.5,
        "met": 2,
        "of": 4,
        "undecided": 0,
        "requests_per_s": 0.25,
        "reason": None,
    }


def test_goodput_divides_by_finished_requests_failed_ones_included() -> None:
    good = goodput([row(100.0), failed(), failed(), row(1.0, status="cancelled")], metrics(), Targets())
    # One ok request at 0.5 a second: 2 s; it meets all: still 0.5 a second.
    assert (good["share"], good["met"], good["of"], good["requests_per_s"]) == (1 / 3, 1, 3, 0.5)


def test_a_request_that_cannot_be_judged_is_in_neither_number() -> None:
    rows = [row(100.0, None), row(900.0, None), row(100.0, 0.1)]
    good = goodput(rows, metrics(), Targets())
    # The second misses its first token whatever its fluctuation; the first stays open.
    assert (good["met"], good["of"], good["undecided"], good["share"]) == (1, 2, 1, 0.5)


@pytest.mark.parametrize(
    ("rows", "targets", "reason"),
    [
        ([row(100.0)], Targets(None, None), "no target is set"),
        ([], Targets(), "no request has finished"),
        ([row(100.0, None)], Targets(), "the requests lack the values to judge them by"),
    ],
)
def test_no_goodput_has_its_reason(rows: list[dict[str, Any]], targets: Targets, reason: str) -> None:
    good = goodput(rows, metrics(), targets)
    assert good["share"] is None
    assert good["requests_per_s"] is None
    assert good["reason"] == reason


# -- the report --------------------------------------------------------------------------------


def timeline_of_two() -> Any:
    """Two requests in 1 s: TTFT 100 and 600 ms, gaps of 100 ms each (no fluctuation)."""
    timeline = empty_timeline()
    add_request(timeline, 1, [100, 200, 300])
    add_request(timeline, 2, [900, 950, 1000], t0_ms=300)
    return timeline


def test_the_report_holds_both() -> None:
    run = report(timeline_of_two())["runs"][0]
    judged = run["targets"]["metrics"]["ttft_ms"]
    assert (judged["value"], judged["pass"], judged["met"], judged["of"]) == (350.0, True, 1, 2)
    # One of two requests in 1 s.
    assert run["targets"]["goodput"]["requests_per_s"] == 1.0
    assert [entry["itl_p99_ms"] for entry in run["per_request"]] == [100.0, 50.0]


def test_other_targets_give_another_verdict() -> None:
    run = report(timeline_of_two(), targets=Targets(ttft_ms=50.0, itl_p99_ms=60.0))["runs"][0]
    assert run["targets"]["metrics"]["ttft_ms"]["pass"] is False
    assert run["targets"]["goodput"]["share"] == 0.0
    assert run["targets"] == targets_report(
        run["per_request"], run["metrics"], Targets(50.0, itl_p99_ms=60.0)
    )


def test_the_text_says_it_in_words() -> None:
    file = io.StringIO()
    console = Console(file=file, width=120, no_color=True, highlight=False)
    for part in report_text(report(timeline_of_two(), targets=Targets(ttft_ms=300.0))):
        console.print(part)
    text = " ".join(file.getvalue().replace("\u2009", " ").split())
    assert "TTFT p50 target ≤ 300 ms 350 ms missed 1 of 2 requests meet it" in text
    assert "Fluctuation p50 target ≤ 20.0 % 0 % met 2 of 2 requests meet it" in text
    assert "Goodput 50.0 % 1 of 2 requests meet all targets; 1.00 of them a second" in text


def test_no_target_no_lines() -> None:
    file = io.StringIO()
    console = Console(file=file, width=120, no_color=True, highlight=False)
    for part in report_text(report(timeline_of_two(), targets=Targets(None, None))):
        console.print(part)
    assert "Goodput" not in file.getvalue()
