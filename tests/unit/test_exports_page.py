"""plotly draws some HTML in its texts, links too: names from outside stay text there."""

from __future__ import annotations

from odd_session import MS

from profiler import events as ev
from profiler.reporting.exports.page_data import figures
from profiler.timeline import Timeline


def test_a_stage_named_like_a_link_is_text_in_legend_and_readout() -> None:
    timeline = Timeline()
    for event in (
        ev.RunStart(1, 0, "r", "m", {}, {}),
        ev.RequestStart(1, 1, "r1", 0, 4, 1),
        ev.Span(1, '<a href="http://example.org">x</a>', 0, 5 * MS, 1),
        ev.make_steps(1, 0, [5 * MS], [1], [5], [7]),
        ev.RequestEnd(1, 6 * MS, "ok", "length"),
    ):
        timeline.apply(event)
    first = next(f for f in figures(timeline, timeline.runs[1]) if f["title"] == "Time to first token")
    (bar,) = first["data"]
    assert bar["name"] == '‹a href="http://example.org"›x‹/a›'
    assert bar["hovertemplate"] == ('%{y}: %{x:.4g} ms<extra>‹a href="http://example.org"›x‹/a›</extra>')
    assert bar["x"] == [5.0]
