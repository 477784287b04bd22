"""The key figures at every width that the window gives them: one line or two, no words cut."""

from __future__ import annotations

from typing import Any

import pytest
from pytestqt.qtbot import QtBot
from test_window_targets import METRICS, Range, judged, row

from app.panels.kpi_strip import KpiStrip
from app.theme import DARK, LIGHT, apply_theme
from app.widgets import KpiTile
from profiler.analysis.targets import Targets, targets_report

WIDTHS = {"1280x800": 867, "with a scroll bar": 857, "1920x1080": 1507, "150 %": 696, "least": 681}
"""Of the strip, px, by the size of the window."""

GPU = METRICS | {
    "mbu": {"run": 0.726, "reference_gb_s": 300.0},
    "energy": {"joules_per_token": 0.41, "source": "GPU counter"},
}
LONG: dict[str, Any] = {
    "ttft_ms": {"p50": 12_345.6, "n": 25, "std": 1234.0},
    "itl_ms": {"p50": 1234.5, "p95": 2345.6, "p99": 12_345.6, "max": 23_456.7, "n": 50_000, "low_n": False},
    "fluctuation": {"p50": 1.234},
    "jitter": {"jitter_ms": 123.4},
    "tpot_ms": {"p50": 1234.5, "n": 25, "std": 123.4},
    "e2e_ms": {"p50": 234_567.0},
    "mbu": {"run": 0.9876, "reference_gb_s": 8123.0},
    "decode_tok_s": {"p50": 1234.5},
    "output_tok_s": {"p50": 1234.5},
    "energy": {"joules_per_token": 1234.5, "source": "processor package"},
    "reasons": {},
}
LONG_ROWS = [row(12_000 + n, 1.2) | {"e2e_ms": 234_567.0, "itl_p99_ms": 12_345.6} for n in range(25)]
LONG_ROWS[0] = row(100, 0.1)
LONG_RANGE = Range(
    123_456,
    234_567,
    25,
    {name: LONG[name] for name in ("itl_ms", "fluctuation", "jitter", "tpot_ms", "decode_tok_s", "mbu")},
)
ALL_TARGETS = Targets(500, 0.2, 20, 1000)
CASES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, Range]] = {
    "a CPU": (METRICS, judged(Targets()), Range()),
    "a GPU": (GPU, None, Range()),
    "a GPU with all targets": (GPU, judged(ALL_TARGETS), Range()),
    "long values": (LONG, None, LONG_RANGE),
    "long values and targets": (
        LONG,
        targets_report(LONG_ROWS, LONG, Targets(12_000, 0.2, 12_000, 100_000)),
        LONG_RANGE,
    ),
}


@pytest.fixture
def strip(qtbot: QtBot) -> KpiStrip:
    made = KpiStrip()
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize(
    "palette", [pytest.param(DARK, id="dark"), pytest.param(LIGHT, id="light", marks=pytest.mark.slow)]
)
def test_no_tile_cuts_its_words(strip: KpiStrip, case, width: int, palette) -> None:  # type: ignore[no-untyped-def]
    metrics, verdicts, selected = case
    apply_theme(strip, palette)
    strip.resize(width, strip.height())
    strip.refresh(metrics, {}, verdicts)
    for pointed_at in (False, True):
        for tile in strip.tiles.values():
            tile.set_open(pointed_at)
        strip.refresh_selection(None)
        assert strip.cut_words() == []
        strip.refresh_selection(selected)
        assert strip.cut_words() == []


def test_eight_tiles_stand_in_one_line_and_in_a_narrow_strip_in_two(strip: KpiStrip) -> None:
    def lines() -> list[list[str]]:
        tops = sorted({tile.y() for tile in strip.tiles.values()})
        return [[key for key, tile in strip.tiles.items() if tile.y() == top] for top in tops]

    strip.resize(867, 86)
    assert (strip.lines, strip.height()) == (1, 86)
    assert len(lines()) == 1
    strip.resize(696, 86)
    assert (strip.lines, strip.height()) == (2, 157)
    assert lines() == [["ttft", "itl_p50", "itl_p99", "jitter"], ["tpot", "mbu", "throughput", "energy"]]
    # The columns of both lines stand one below the other.
    assert strip.tiles["ttft"].x() == strip.tiles["tpot"].x()
    assert strip.tiles["jitter"].geometry().right() == strip.tiles["energy"].geometry().right()
    strip.resize(1507, 157)
    assert (strip.lines, strip.height()) == (1, 86)
    assert len(lines()) == 1


def test_neither_a_selection_nor_long_values_move_what_is_below(strip: KpiStrip) -> None:
    for width in (857, 696):
        strip.resize(width, strip.height())
        strip.refresh(METRICS)
        strip.refresh_selection(None)
        before = strip.height()
        strip.refresh(LONG)
        strip.refresh_selection(LONG_RANGE)
        assert strip.height() == before


def test_dividers_stand_between_tiles_only(strip: KpiStrip) -> None:
    strip.resize(867, 86)
    assert [divider.isVisible() for divider in strip._dividers] == [True] * 7
    assert not strip._line.isVisible()
    strip.resize(696, 86)
    # None before the first tile of the second line; a line between the two instead.
    assert [divider.isVisible() for divider in strip._dividers] == [True, True, True, False, True, True, True]
    assert strip._line.isVisible()
    strip.refresh(METRICS)
    strip.refresh_selection(Range())
    assert strip.selection_cell.height() >= 150


def test_a_tile_tells_what_it_would_cut(qtbot: QtBot) -> None:
    tile = KpiTile("Energy/token", short_name="Energy")
    qtbot.addWidget(tile)
    tile.set_value("1,234,567", "tok/s")
    tile.set_value_px(20)
    tile.set_foot("target of the whole answer", "bad", "target")
    tile.resize(80, 86)
    # 60 px: room for both short forms, not for the value.
    assert tile.cut_words() == ["1,234,567 tok/s"]
    tile.resize(400, 86)
    assert tile.cut_words() == []
    tile.resize(40, 86)
    assert tile.cut_words() == ["Energy/token", "1,234,567 tok/s", "target of the whole answer"]


def test_a_selection_s_words_get_shorter_before_they_are_cut(strip: KpiStrip) -> None:
    cell = strip.selection_cell
    strip.refresh(METRICS)
    strip.refresh_selection(Range())
    assert cell._range.text() == "tokens 120–260"
    strip.refresh_selection(LONG_RANGE)
    assert (cell._range.text(), cell._count.text()) == ("123,456–234,567", "25 × 111,112")
    assert cell.accessibleDescription() == "tokens 123,456–234,567, 25 × 111,112 tokens"
    assert cell.cut_words() == []
