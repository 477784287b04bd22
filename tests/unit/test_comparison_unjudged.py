"""Rows that show a difference without a verdict: energy, and the slope of the gaps."""

from __future__ import annotations

from profiler import events as ev
from profiler.analysis.comparison import noise_floor
from profiler.analysis.comparison_unjudged import (
    ENERGY,
    NO_RATIO,
    ONE_A_RUN,
    SLOPE,
    RunFigures,
    unjudged_rows,
)
from profiler.reporting.comparison import compare_many, compare_runs
from profiler.reporting.comparison_sides import Recording, side_of
from profiler.timeline import Timeline

MS, S = 1_000_000, 1_000_000_000
COUNTER = "energy counter"


def test_energy_has_a_ratio_but_no_verdict() -> None:
    (row,) = unjudged_rows(RunFigures(6, 2.0, COUNTER), RunFigures(6, 3.0, COUNTER), None)
    assert (row["metric"], row["a"], row["b"], row["difference"], row["ratio"]) == (
        ENERGY,
        2.0,
        3.0,
        1.0,
        1.5,
    )
    assert (row["ci95"], row["p_value"], row["verdict"], row["reason"]) == (None, None, None, ONE_A_RUN)
    assert noise_floor([row]) == {}


def test_other_ways_of_measuring_are_said() -> None:
    (row,) = unjudged_rows(RunFigures(6, 2.0, COUNTER), RunFigures(6, 3.0, None), None)
    assert row["reason"] == f"{ONE_A_RUN}; A by energy counter, B by what was not told"


def test_a_slope_has_a_difference_and_no_ratio() -> None:
    a, b = RunFigures(6, None, None, 1.5, True), RunFigures(6, None, None, -0.5, False)
    (row,) = unjudged_rows(a, b, None)
    assert (row["metric"], row["difference"], row["ratio"], row["verdict"]) == (SLOPE, -2.0, None, None)
    assert row["reason"] == f"{NO_RATIO}; that of B cannot be told from 0"


def test_what_one_side_lacks_is_no_row() -> None:
    assert unjudged_rows(RunFigures(6, 2.0, COUNTER), RunFigures(6, None, None, 1.0, True), None) == []


def test_what_cannot_be_compared_is_called_so_here_too() -> None:
    a, b = RunFigures(4, 2.0, COUNTER, 1.0, True), RunFigures(6, 3.0, COUNTER, 2.0, True)
    for row in unjudged_rows(a, b, None):
        assert (row["verdict"], row["reason"]) == ("not_comparable", "needs 5 ok requests a side; A has 4")
    for row in unjudged_rows(a, b, "different workloads: output tokens 8 and 9"):
        assert row["reason"] == "different workloads: output tokens 8 and 9"


# -- from a recording --------------------------------------------------------------------------


def recording(growth_ms: float, watts: float, requests: int = 6) -> Recording:
    """Requests of 11 tokens, a second apart: first token after 100 ms, gaps 10, 10 + growth, ... ms."""
    timeline = Timeline()
    timeline.facts["anchor"] = {"wall": "2026-12-01T08:00:00+00:00", "t_ns": 0}
    timeline.apply(ev.RunStart(1, 0, "same", "m"))
    for no in range(1, requests + 1):
        stamps = [no * S + 100 * MS]
        for step in range(10):
            stamps.append(stamps[-1] + round((10 + growth_ms * step) * MS))
        timeline.apply(ev.RequestStart(no, 1, f"r{no}", no * S, 16, 11))
        timeline.apply(ev.make_steps(no, 0, stamps, kv_len=[17 + i for i in range(11)]))
        timeline.apply(ev.RequestEnd(no, stamps[-1], "ok", "length"))
    for second in range(requests + 3):
        timeline.apply(ev.Sample(second * S, "gpu0", {"power_w": watts}))
    return Recording(timeline.runs[1], timeline, "2026-12-01T09:00:00+00:00")


def test_rows_of_recordings() -> None:
    value = compare_runs(recording(0.001, 33.0), recording(0.003, 66.0))
    rows = {row["metric"]: row for row in value["rows"]}
    assert round(rows[SLOPE]["a"], 6) == 1.0 and round(rows[SLOPE]["b"], 6) == 3.0
    # First t0 at 1 s; the last token at 6 s + 100 ms + 100 ms and ten small growths (45 times 1 us).
    window_s = 5.2 + 45e-6
    assert round(rows[ENERGY]["a"] - 33 * window_s / 66, 9) == 0
    assert rows[ENERGY]["verdict"] is None
    assert value["a"]["started"] == "2026-12-01T08:00:00.000+00:00"
    assert value["a"]["created"] == "2026-12-01T09:00:00+00:00"


def test_a_run_without_its_session_tells_no_energy() -> None:
    a = recording(0.001, 33.0)
    rows = compare_runs(Recording(a.run), a)["rows"]
    assert ENERGY not in [row["metric"] for row in rows]


def test_the_floor_is_the_largest_of_several_pairs() -> None:
    """Gaps of 10 ms against a pair that is 1 % and one that is 20 % apart."""

    def flat(scale: float) -> Recording:
        timeline = Timeline()
        timeline.apply(ev.RunStart(1, 0, "same", "m"))
        for no in range(1, 7):
            stamps = [no * S + 100 * MS + round(step * 10 * scale * MS) for step in range(5)]
            timeline.apply(ev.RequestStart(no, 1, f"r{no}", no * S, 16, 5))
            timeline.apply(ev.make_steps(no, 0, stamps))
            timeline.apply(ev.RequestEnd(no, stamps[-1], "ok", "length"))
        return Recording(timeline.runs[1], timeline)

    a, b = flat(1.0), flat(1.1)
    (plain,) = compare_many(a, [b])
    (near,) = compare_many(a, [b], noise=[(a, flat(1.01))])
    (wide,) = compare_many(a, [b], noise=[(a, flat(1.01)), (a, flat(1.2)), (a, a)])
    verdicts = [value["rows"][1]["verdict"] for value in (plain, near, wide)]
    assert verdicts == ["slower", "slower", "no_difference"]
    assert wide["rows"][1]["reason"] == "within the noise floor: an A/A pair differed by 20.0 %"
    assert round(wide["noise_floor"]["itl_ms.p50"], 9) == 0.2
    assert "The noise floor of a metric is the largest difference of 3 A/A pairs." in wide["notes"]


def test_totals_that_only_the_server_told_count_as_in_the_report() -> None:
    """Two chunks 100 ms apart, 11 tokens in all: TPOT is 100 / 10 ms."""
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0, "r", "m"))
    timeline.apply(ev.RequestStart(1, 1, "r1", 0, 4, 11))
    timeline.apply(ev.make_steps(1, 0, [50 * MS, 150 * MS], [-1, -1]))
    timeline.apply(ev.RequestEnd(1, 150 * MS, "ok", "stop"))
    timeline.apply(ev.Fact("usage", {"r1": 11}, 1))
    assert side_of(Recording(timeline.runs[1])).scalars["tpot_ms"].tolist() == [10.0]
