"""The exported page in a real browser: it draws, and neither complains nor asks the network."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import BROWSER, NO_BROWSER, page_requests, visit
from odd_session import odd_timeline

from profiler.reporting.exports import export

IMAGE = '<img src="http://127.0.0.1:9/x.png">'
LOADING = frozenset(
    {"src", "srcset", "href", "xlink:href", "poster", "data", "action", "background", "style"}
)
REMOTE = re.compile(r"(?:^|[\s,(\"'=])(?:(?:https?|wss?|ftp):)?//", re.IGNORECASE)


@pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)
def test_the_page_draws_without_a_word_on_the_console_or_to_the_network(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    timeline = odd_timeline()
    for request in timeline.runs[1].requests:
        request.label = IMAGE
    export(timeline, page, "html", name=f"<script>alert(1)</script>{IMAGE}")
    seen = visit(page, tmp_path)
    assert seen.console == []
    assert seen.requested == []
    assert seen.dom.count('class="main-svg"') >= 3, seen.log[-2000:]
    assert "<title>&lt;script&gt;alert(1)" in seen.dom
    # Two answers have one label: two rows, two bars.
    assert [bar for bar in ("1 · ‹img", "2 · ‹img") if bar in seen.dom] == ["1 · ‹img", "2 · ‹img"]
    assert seen.dom.count("<td>yes</td>") + seen.dom.count("<td>no</td>") == 3


@pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)
def test_a_page_that_asks_the_network_is_caught(tmp_path: Path) -> None:
    """Else the test above could not fail."""
    page = tmp_path / "report.html"
    page.write_text(f"<!DOCTYPE html><title>x</title>{IMAGE}", encoding="utf-8")
    seen = visit(page, tmp_path)
    assert seen.requested == ["http://127.0.0.1:9/x.png"]
    assert remote_addresses(page.read_text(encoding="utf-8")) == ["img src=http://127.0.0.1:9/x.png"]


def test_the_browsers_own_requests_are_not_the_pages() -> None:
    def job(url: str, initiator: str | None) -> dict[str, object]:
        params = {"url": url} if initiator is None else {"url": url, "initiator": initiator}
        return {"type": 7, "params": params}

    log = {
        "constants": {"logEventTypes": {"URL_REQUEST_START_JOB": 7, "OTHER": 8}},
        "events": [
            job("https://update.example/x", "not an origin"),
            job("http://127.0.0.1:9/x.png", "null"),
            job("wss://127.0.0.1:9/y", "file://"),
            job("http://127.0.0.1:9/nobody-told", None),
            job("data:image/png;base64,", "null"),
            {"type": 8, "params": {"url": "http://127.0.0.1:9/z", "initiator": "null"}},
            {"type": 7},
        ],
    }
    assert page_requests(log) == [
        "http://127.0.0.1:9/x.png",
        "wss://127.0.0.1:9/y",
        "http://127.0.0.1:9/nobody-told",
    ]


# -- without a browser -------------------------------------------------------------------------


class _Addresses(HTMLParser):
    """Collects what a browser would load from elsewhere: attributes, and addresses in style sheets."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._within = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within = tag
        for name, value in attrs:
            if name in LOADING and value is not None and REMOTE.search(value):
                self.found.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within == "style":
            self.found += [f"style {match}" for match in re.findall(r"url\([^)]*\)|@import[^;]*", data)]


def remote_addresses(page: str) -> list[str]:
    """What a browser would load from elsewhere, by the markup and the style sheets alone."""
    parser = _Addresses()
    parser.feed(page)
    parser.close()
    return parser.found


def test_the_markup_names_nothing_that_a_browser_would_load(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    timeline = odd_timeline()
    timeline.runs[1].requests[1].label = f'{IMAGE}<link href="https://example.org/a.css" rel="stylesheet">'
    timeline.runs[1].notes.append('<style>@import "https://example.org/b.css";</style>')
    export(timeline, page, "html", name=IMAGE)
    assert remote_addresses(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "markup",
    [
        IMAGE,
        '<link rel="stylesheet" href="https://example.org/a.css">',
        '<script src="//example.org/a.js"></script>',
        '<p style="background: url(http://example.org/a.png)">',
        "<style>p { background: url(https://example.org/a.png) }</style>",
        '<img srcset="a.png 1x, https://example.org/b.png 2x">',
        "<style>@import 'https://example.org/b.css';</style>",
    ],
)
def test_markup_that_would_load_something_is_found(markup: str) -> None:
    assert len(remote_addresses(f"<!DOCTYPE html><title>x</title>{markup}")) == 1
