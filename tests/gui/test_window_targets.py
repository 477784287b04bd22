"""Targets in the window: the tiles' marks and words, the group that sets them, the selection cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.panels.kpi_strip import KpiStrip
from app.panels.kpi_values import kpi_values
from app.panels.targets import TargetsGroup
from app.theme import DARK, LIGHT, apply_theme
from profiler.analysis.targets import Targets, targets_report

METRICS: dict[str, Any] = {
    "ttft_ms": {"p50": 480.0, "n": 5, "std": 10.0},
    "itl_ms": {"p50": 20.0, "p95": 30.0, "p99": 40.0, "max": 41.0, "n": 500, "low_n": False},
    "fluctuation": {"p50": 0.25},
    "jitter": {"jitter_ms": 1.5},
    "tpot_ms": {"p50": 21.0, "n": 5, "std": 0.5},
    "e2e_ms": {"p50": 3000.0},
    "mbu": {"run": 0.5, "reference_gb_s": 100.0},
    "decode_tok_s": {"p50": 47.0},
    "output_tok_s": {"p50": 40.0},
    "energy": {"reason": "no counter"},
    "requests_per_s": 0.5,
    "reasons": {},
}


def row(ttft_ms: float, fluctuation: float) -> dict[str, Any]:
    return {
        "status": "ok",
        "warmup": False,
        "ttft_ms": ttft_ms,
        "fluctuation": fluctuation,
        "itl_p99_ms": 40.0,
        "e2e_ms": 3000.0,
    }


ROWS = [row(460, 0.1), row(470, 0.25), row(480, 0.3), row(510, 0.15), row(520, 0.35)]


def judged(targets: Targets) -> dict[str, Any]:
    return targets_report(ROWS, METRICS, targets)


@pytest.fixture
def strip(qtbot: QtBot) -> KpiStrip:
    made = KpiStrip()
    qtbot.addWidget(made)
    made.resize(1040, 86)
    made.show()
    return made


# -- tiles -----------------------------------------------------------------------------------------


def test_a_met_and_a_missed_target(strip: KpiStrip) -> None:
    strip.refresh(METRICS, {}, judged(Targets()))
    ttft, jitter = strip.tiles["ttft"], strip.tiles["jitter"]
    assert (ttft.mark, ttft.foot) == ("ok", "3 of 5 ≤ 500\u2009ms")
    assert ttft.accessibleDescription() == "480 ms, 3 of 5 ≤ 500\u2009ms, meets its target: 3 of 5 requests"
    assert "Meets its target of 500\u2009ms: 3 of 5 requests meet it." in ttft.toolTip()
    assert "1 of 5 requests meet all targets (goodput 20\u202f%)." in ttft.toolTip()
    assert (jitter.mark, jitter.foot) == ("bad", "fluct. 25\u2009% ≤ 20\u2009%")
    assert "misses its target: 2 of 5 requests" in jitter.accessibleDescription()


def test_a_target_that_is_off_leaves_the_tile_alone(strip: KpiStrip) -> None:
    strip.refresh(METRICS, {}, judged(Targets(None, None)))
    assert {tile.mark for tile in strip.tiles.values()} == {"none"}
    assert strip.tiles["ttft"].foot == "± 10, n = 5"
    assert strip.tiles["jitter"].foot == "fluct. 25 %"


def test_all_requests_meet_it_the_foot_is_the_target(strip: KpiStrip) -> None:
    strip.refresh(METRICS, {}, judged(Targets(600, None, 39.5, 3500)))
    assert strip.tiles["ttft"].foot == "target ≤ 600\u2009ms"
    assert (strip.tiles["itl_p99"].mark, strip.tiles["itl_p99"].foot) == ("bad", "target ≤ 39.5\u2009ms")
    assert (strip.tiles["throughput"].mark, strip.tiles["throughput"].foot) == (
        "ok",
        "answer 3.00 ≤ 3.5\u2009s",
    )


def test_without_a_value_there_is_no_verdict(strip: KpiStrip) -> None:
    metrics = METRICS | {"ttft_ms": {"p50": None}, "reasons": {"ttft_ms": "not streamed"}}
    strip.refresh(metrics, {}, targets_report([], metrics, Targets()))
    assert strip.tiles["ttft"].mark == "none"
    assert strip.tiles["ttft"].value == "\u2014"


def test_the_values_of_the_report_stay_what_they_are() -> None:
    plain, with_targets = kpi_values(METRICS), kpi_values(METRICS, judged(Targets()))
    assert [kpi.value for kpi in plain.values()] == [kpi.value for kpi in with_targets.values()]


def test_a_narrow_tile_is_drawn_without_an_error(strip: KpiStrip) -> None:
    strip.refresh(METRICS, {"itl_p50": [1.0, 2.0]}, judged(Targets(300, 0.2, 20, 1000)))
    for width, palette in ((1040, DARK), (700, LIGHT)):
        strip.resize(width, 86)
        apply_theme(strip, palette)
        assert not strip.grab().isNull()


# -- selection ---------------------------------------------------------------------------------------


@dataclass
class Range:
    """As `profiler.analysis.selection.SelectionValues`, made of literals."""

    first: int = 120
    last: int = 260
    requests: int = 5
    metrics: dict[str, Any] = field(
        default_factory=lambda: {
            "itl_ms": {"p50": 19.0, "p95": 20.0, "p99": 22.0, "max": 23.0, "n": 705, "low_n": False},
            "fluctuation": {"p50": 0.05},
            "jitter": {"jitter_ms": 0.03},
            "tpot_ms": {"p50": 19.1, "n": 5},
            "decode_tok_s": {"p50": 52.4},
            "mbu": {"run": 0.548, "reference_gb_s": 100.0},
        }
    )


def test_a_range_has_its_own_figures_and_the_runs_below(strip: KpiStrip) -> None:
    strip.refresh(METRICS, {"itl_p50": [1.0, 2.0]}, judged(Targets()))
    strip.refresh_selection(Range())
    cell = strip.selection_cell
    assert cell.isVisible()
    assert cell.width() == 128
    assert cell.accessibleDescription() == "tokens 120–260, 5 × 141 tokens"
    assert (strip.tiles["itl_p50"].value, strip.tiles["itl_p50"].foot) == ("19.00", "whole run 20.00")
    assert (strip.tiles["mbu"].value, strip.tiles["mbu"].foot) == ("54.8", "whole run 50.0")
    # Another unit than the run's is said.
    assert (strip.tiles["jitter"].value, strip.tiles["jitter"].foot) == ("30", "whole run 1.50\u2009ms")
    # The first token is the whole run's, and says so; the range is held against its own target.
    assert (strip.tiles["ttft"].value, strip.tiles["ttft"].foot) == ("480", "whole run")
    assert strip.tiles["jitter"].mark == "ok"
    assert len(strip.tiles["itl_p50"]._spark) == 0


def test_clearing_brings_the_run_back(strip: KpiStrip, qtbot: QtBot) -> None:
    strip.refresh(METRICS, {"itl_p50": [1.0, 2.0]}, judged(Targets()))
    strip.refresh_selection(Range())
    with qtbot.waitSignal(strip.selection_cleared):
        qtbot.mouseClick(strip.selection_cell.close_button, Qt.MouseButton.LeftButton)
    strip.refresh_selection(None)
    assert not strip.selection_cell.isVisible()
    assert strip.tiles["itl_p50"].value == "20.00"
    assert list(strip.tiles["itl_p50"]._spark) == [1.0, 2.0]


def test_a_range_stays_while_the_run_grows(strip: KpiStrip) -> None:
    strip.refresh_selection(Range())
    strip.refresh(METRICS, {}, None)
    assert strip.tiles["itl_p50"].foot == "whole run 20.00"
    assert strip.to_json()["itl_p50"]["value"] == 19.0


def test_a_range_that_says_nothing_is_a_dash(strip: KpiStrip) -> None:
    strip.refresh(METRICS, {}, None)
    strip.refresh_selection(Range(1, 1, 0, {"itl_ms": {"p50": None}}))
    assert strip.tiles["itl_p50"].value == "\u2014"
    assert strip.tiles["itl_p50"].foot == "whole run 20.00\u2009ms"


# -- the group --------------------------------------------------------------------------------------


@pytest.fixture
def group(qtbot: QtBot) -> Iterator[TargetsGroup]:
    made = TargetsGroup()
    qtbot.addWidget(made)
    made.set_folded(False)
    made.show()
    yield made


def test_defaults_and_summary(group: TargetsGroup) -> None:
    assert group.targets == Targets()
    assert group.summary == "2 set"
    assert not group.limits["e2e_ms"].isEnabled()


@pytest.mark.parametrize("targets", [Targets(), Targets(None, None), Targets(123.5, 0.155, 50.25, 12_000)])
def test_targets_survive_the_group(group: TargetsGroup, targets: Targets) -> None:
    group.set_targets(targets)
    shown = group.targets.to_json()
    for name, value in targets.to_json().items():
        assert shown[name] == (None if value is None else pytest.approx(value))


def test_switching_and_typing_tell_the_new_targets(group: TargetsGroup, qtbot: QtBot) -> None:
    with qtbot.waitSignal(group.changed) as told:
        group.switches["e2e_ms"].click()
    assert told.args == [Targets(e2e_ms=10_000.0)]
    box = group.limits["ttft_ms"]
    box.setFocus()
    box.selectAll()
    with qtbot.waitSignal(group.changed):
        qtbot.keyClicks(box, "250")
    assert group.targets.ttft_ms == 250.0


def test_setting_from_outside_sends_nothing(group: TargetsGroup, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(group.changed):
        group.set_json({"ttft_ms": 300, "fluctuation": None})
        assert group.targets == Targets(300, None)
        group.set_json({"ttft_ms": "no"})
    assert group.targets == Targets()


def test_goodput_in_words(group: TargetsGroup) -> None:
    group.show_goodput({"share": 0.6, "met": 3, "of": 5})
    assert group.verdict.text() == "This run: 3 of 5 requests meet all targets (goodput 60\u202f%)."
    group.show_goodput(None)
    assert group.verdict.isHidden()
