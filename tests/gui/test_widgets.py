"""The small widgets: what they say, how they shrink, what they send."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtTest import QTest

from app.theme import DARK, LIGHT
from app.widgets import (
    Banner,
    Button,
    ElidedLabel,
    IconButton,
    KpiTile,
    Legend,
    LegendItem,
    ProgressSegments,
    SegmentedControl,
    SpinBox,
    StatusMark,
    make_label,
)
from app.widgets.kpi import spark_points


def test_labels_never_take_text_for_markup(qtbot) -> None:
    for label in (make_label("<b>x</b>"), ElidedLabel("<b>x</b>")):
        qtbot.addWidget(label)
        assert label.textFormat() == Qt.TextFormat.PlainText


def test_elided_label_draws_fewer_words_before_it_cuts_any(qtbot) -> None:
    label = ElidedLabel("Random weights: the speed is real, the text is noise.")
    qtbot.addWidget(label)
    label.set_short("Random weights")
    label.resize(900, 20)
    label.show()
    assert label.elided() == "Random weights: the speed is real, the text is noise."
    label.resize(label.fontMetrics().horizontalAdvance("Random weights") + 4, 20)
    assert label.elided() == "Random weights"
    assert "the text is noise" in label.toolTip()


def test_elided_label_has_the_whole_text_in_its_tip_only_while_cut(qtbot) -> None:
    label = ElidedLabel("a <long> name of a model that does not fit here")
    qtbot.addWidget(label)
    label.set_tip("own tip")
    label.resize(60, 20)
    label.show()
    assert label.elided().endswith("…")
    assert "a &lt;long&gt; name" in label.toolTip()
    label.resize(900, 20)
    assert label.elided() == label.text()
    assert label.toolTip() == "<p>own tip</p>"


def test_segments_move_by_mouse_and_key_and_tell_only_the_user_s_choice(qtbot) -> None:
    control = SegmentedControl(["Built-in", "Folder", "GGUF file"], "Source")
    qtbot.addWidget(control)
    control.resize(304, 28)
    taken: list[int] = []
    control.changed.connect(taken.append)
    control.set_index(1)
    assert taken == []
    QTest.mouseClick(control, Qt.MouseButton.LeftButton, pos=QPoint(290, 14))
    QTest.keyClick(control, Qt.Key.Key_Left)
    assert taken == [2, 1]
    assert control.accessibleName() == "Source: Folder"
    control.set_choice_enabled(0, False)
    QTest.keyClick(control, Qt.Key.Key_Left)
    QTest.mouseClick(control, Qt.MouseButton.LeftButton, pos=QPoint(10, 14))
    assert control.index == 1
    with pytest.raises(IndexError):
        control.set_index(3)


def test_status_mark_differs_in_shape(qtbot) -> None:
    pictures = set()
    roles = {
        "ok": "ok",
        "warning": "warning",
        "bad": "bad",
        "ring": "muted",
        "live": "accent",
        "info": "accent",
    }
    for kind, role in roles.items():
        mark = StatusMark(kind, size=42)
        qtbot.addWidget(mark)
        mark.set_kind(kind, f"state {kind}")
        image = mark.grab().toImage()
        pictures.add(tuple(image.pixelColor(x, y) == DARK.color(role) for x in range(42) for y in range(42)))
        assert mark.accessibleName() == f"state {kind}"
    assert len(pictures) == 6
    with pytest.raises(ValueError, match="A mark is one of"):
        mark.set_kind("happy")


def test_kpi_tile_says_value_unit_and_state(qtbot) -> None:
    tile = KpiTile("ITL p99")
    qtbot.addWidget(tile)
    tile.set_value("13.9", "ms")
    tile.set_foot("target ≤ 13.5 ms", "bad")
    tile.set_mark("bad")
    tile.set_spark([1.0, 2.0, float("nan"), 1.5])
    assert tile.accessibleName() == "ITL p99"
    assert tile.accessibleDescription() == "13.9 ms, target ≤ 13.5 ms, target missed"
    tile.resize(124, 86)
    tile.grab()


def test_a_missing_value_is_a_dash_with_its_reason(qtbot) -> None:
    tile = KpiTile("Energy/token")
    qtbot.addWidget(tile)
    tile.set_value("410", "mJ")
    tile.set_missing("Reading the <counter> needs a permission.")
    assert tile.value == "—"
    assert tile.foot == "not available"
    assert tile.toolTip() == "<p>Reading the &lt;counter&gt; needs a permission.</p>"
    tile.set_value("410", "mJ")
    assert tile.value == "410"


def test_kpi_tile_is_clicked_by_mouse_and_key(qtbot) -> None:
    tile = KpiTile("MBU")
    qtbot.addWidget(tile)
    tile.resize(124, 86)
    with qtbot.waitSignal(tile.clicked):
        QTest.mouseClick(tile, Qt.MouseButton.LeftButton)
    with qtbot.waitSignal(tile.clicked):
        QTest.keyClick(tile, Qt.Key.Key_Return)


def test_spark_points_scale_into_the_rectangle() -> None:
    points = spark_points([1.0, 3.0, 2.0], QRectF(0, 0, 20, 10))
    assert [(point.x(), point.y()) for point in points] == [(0, 10), (10, 0), (20, 5)]
    assert spark_points([float("nan")], QRectF(0, 0, 20, 10)).isEmpty()
    flat = spark_points([4.0, 4.0], QRectF(0, 0, 20, 10))
    assert [point.y() for point in flat] == [5, 5]


def test_progress_segments_are_as_wide_as_their_stages(qtbot) -> None:
    bar = ProgressSegments()
    qtbot.addWidget(bar)
    bar.resize(206, 6)
    bar.set_segments([1, 1, 2])
    # 200 px without the two gaps; 6 px for each, the other 182 shared 1 : 1 : 2.
    assert bar.segment_widths() == [51.5, 51.5, 97.0]
    bar.set_progress(1, 0.5)
    assert bar.accessibleDescription() == "1.5 of 3 stages"
    bar.finish()
    assert bar.accessibleDescription() == "3.0 of 3 stages"


def test_progress_shows_where_it_failed(qtbot) -> None:
    bar = ProgressSegments()
    qtbot.addWidget(bar)
    bar.set_theme(LIGHT)
    bar.resize(100, 6)
    bar.set_segments([1])
    bar.set_progress(0, 0.5, failed=True)
    assert bar.grab().toImage().pixelColor(20, 3).name() == LIGHT.bad.lower()


def test_legend_gets_shorter_before_it_loses_words(qtbot) -> None:
    legend = Legend()
    qtbot.addWidget(legend)
    item = LegendItem("rolling median", "text", short="median", tip="a tip")
    legend.set_items([item, LegendItem("trend", "data2", "dashed")])
    words = []
    for width in (400, 150, 60):
        legend.resize(width, 24)
        words.append([place[3] for place in legend.places()])
        legend.grab()
    assert words == [["rolling median", "trend"], ["median", "trend"], ["", ""]]
    assert legend.accessibleName() == "Legend: rolling median, trend"


def test_button_changes_kind_and_keeps_an_icon(qtbot) -> None:
    button = Button("Start", "primary", "play", large=True)
    qtbot.addWidget(button)
    before = button.icon().cacheKey()
    button.set_kind("danger")
    button.set_icon_name("stop")
    button.set_theme(LIGHT)
    assert button.property("kind") == "danger"
    assert button.icon().cacheKey() != before
    button.set_icon_name("")
    assert button.icon().isNull()


def test_icon_button_has_a_name(qtbot) -> None:
    button = IconButton("close", "Close the <card>")
    qtbot.addWidget(button)
    button.set_theme(DARK)
    assert button.accessibleName() == "Close the <card>"
    assert button.toolTip() == "<p>Close the &lt;card&gt;</p>"


def test_banner_shows_its_link_only_when_it_has_one(qtbot) -> None:
    banner = Banner("Nothing to see.")
    qtbot.addWidget(banner)
    banner.show()
    assert banner.accessibleName() == "Nothing to see."
    banner.set_text("No NVIDIA GPU here.", link="Details")
    button = banner.findChild(Button)
    assert button is not None and button.isVisible()
    with qtbot.waitSignal(banner.link_activated):
        button.click()
    banner.set_text("Again.", link="")
    assert not button.isVisible()
    assert banner.text == "Again."


def test_spin_box_shows_unit_and_thousands(qtbot) -> None:
    box = SpinBox(1, 100_000, 1024, "tokens")
    qtbot.addWidget(box)
    box.setLocale(box.locale().c())
    box.setGroupSeparatorShown(True)
    assert box.text().endswith("024 tokens")
    assert box.value() == 1024
