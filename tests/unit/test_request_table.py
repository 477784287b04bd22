"""The page's table of requests: every figure in its place, whatever the labels are."""

from __future__ import annotations

import html
import re

import pytest
from odd_session import MS

from profiler import events as ev
from profiler.analysis.run import run_metrics
from profiler.reporting.exports import request_table as module
from profiler.reporting.exports.page_data import figures
from profiler.reporting.exports.request_table import HEADINGS, request_table
from profiler.timeline import Timeline


def timeline_of(*labels: str) -> Timeline:
    """A warm-up of one token, then one answer a label (TTFT 50 ms, gaps 10, 20, 30 ms); one that failed."""
    timeline = Timeline()
    start = [ev.RunStart(1, 0, "r", "m"), ev.RequestStart(1, 1, "w", 0, 16, 1, warmup=True)]
    start += [ev.make_steps(1, 0, [20 * MS], [1], [17]), ev.RequestEnd(1, 20 * MS, "ok", "length")]
    for no, label in enumerate(labels, start=2):
        t0 = 1000 * no * MS
        stamps = [t0 + ms * MS for ms in (50, 60, 80, 110)]
        start += [
            ev.RequestStart(no, 1, f"r{no}", t0, 16, 4, label=label),
            ev.Span(1, "prefill", t0, t0 + 40 * MS, no),
            ev.make_steps(no, 0, stamps, [1] * 4, [17, 18, 19, 20]),
            ev.RequestEnd(no, stamps[-1], "ok", "length"),
        ]
    failed = len(labels) + 2
    start += [
        ev.RequestStart(failed, 1, "bad", 90_000 * MS, None, 4),
        ev.RequestEnd(failed, 90_001 * MS, "error", "error", 'no "model" <b>'),
    ]
    for event in start:
        timeline.apply(event)
    return timeline


def table(timeline: Timeline) -> str:
    run = timeline.runs[1]
    return "".join(request_table(run, run_metrics(timeline, run)["per_request"]))


def cells(text: str) -> list[list[str]]:
    """The body's cells as a reader sees them."""
    body = text[text.index("<tbody>") : text.index("</tbody>")]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [[html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)] for row in rows]


def test_each_request_is_a_row_with_its_figures() -> None:
    text = table(timeline_of("one"))
    assert re.findall(r'<th scope="col">(.*?)</th>', text) == list(HEADINGS)
    # ITL p99 of 10, 20, 30: 20 + 0.98 * 10. TPOT: 60 ms for three tokens.
    assert cells(text) == [
        ["1", "w", "yes", "ok", "16", "1", "20.00", "—", "—", "—", "20.00"],
        ["2", "one", "no", "ok", "16", "4", "50.00", "20.00", "20.00", "29.80", "110.0"],
        ["3", "bad", "no", "failed", "—", "0", "—", "—", "—", "—", "—"],
    ]


def test_labels_and_errors_are_escaped() -> None:
    text = table(timeline_of('<img src="http://127.0.0.1:9/x.png">', "a & b"))
    assert "<img" not in text and "<b>" not in text
    assert 'title="no &quot;model&quot; &lt;b&gt;"' in text
    assert [row[1] for row in cells(text)] == ["w", '<img src="http://127.0.0.1:9/x.png">', "a & b", "bad"]


def test_a_missing_value_tells_its_reason() -> None:
    text = table(timeline_of("one"))
    assert '<td title="one token">—</td>' in text


def test_two_requests_of_one_label_do_not_fall_together() -> None:
    timeline = timeline_of("again", "again")
    assert [row[:2] for row in cells(table(timeline))][1:3] == [["2", "again"], ["3", "again"]]
    by_title = {figure["title"]: figure for figure in figures(timeline, timeline.runs[1])}
    bars = {trace["name"]: trace for trace in by_title["Time to first token"]["data"]}
    assert bars["prefill"]["y"] == ["1 · w", "2 · again", "3 · again"]
    assert bars["prefill"]["x"] == [0.0, 40.0, 40.0]
    assert bars["not told apart"]["x"] == [0.0, 10.0, 10.0]
    names = [trace["name"] for trace in by_title["Inter-token latency"]["data"]]
    assert names == ["2 · again", "3 · again", "rolling median"]


def test_a_long_table_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", 2)
    text = table(timeline_of("one", "two"))
    assert len(cells(text)) == 2
    assert "The first 2 of 4 requests; the JSON export has all of them." in text


def test_a_run_without_requests_has_no_table() -> None:
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0, "r", "m"))
    assert table(timeline) == ""
