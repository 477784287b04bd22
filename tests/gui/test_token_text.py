"""The answer's text: colours by gap, readout, choice of token and request, keys, odd pieces."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.panels.output import OutputPanel
from app.panels.tabs import BottomTabs
from app.theme import DARK, LIGHT, Palette, apply_theme
from app.widgets.heat import heat_levels, heat_steps
from app.widgets.token_text import TokenText
from profiler import events as ev
from profiler.analysis.steps import step_view
from profiler.timeline import Request, Timeline

MS = 1_000_000
GAPS_MS = [10.0, 10.0, 10.2, 10.3, 10.5, 10.6, 11.5, 11.6, 10.0, 10.0, 10.0, 10.0, 10.0, 9.0]
"""Median 10.0 ms or near: see the test."""


def make_request(
    pieces: list[str],
    gaps_ms: list[float] | None = None,
    k: list[int] | None = None,
    ended: bool = True,
    busy_us: list[int] | None = None,
    label: str = "Repeat 1",
) -> tuple[Timeline, Request]:
    """A request whose first token came after 50 ms, prompt of 100 tokens."""
    gaps = [10.0] * (len(pieces) - 1) if gaps_ms is None else gaps_ms
    timeline = Timeline()
    timeline.apply(ev.RequestStart(0, 1, "r1", 0, 100, 64, True, False, None, label))
    t_ns = (50 * MS + np.concatenate(([0.0], np.cumsum(gaps))) * MS).astype(np.int64)
    counts = [1] * len(t_ns) if k is None else k
    kv_len = (100 + np.cumsum(np.maximum(counts, 0))).tolist()
    timeline.apply(ev.make_steps(0, 0, t_ns, k=counts, kv_len=kv_len))
    if pieces:
        timeline.apply(ev.Text(0, pieces, 0))
    if busy_us is not None:
        timeline.apply(ev.Busy(0, 0, busy_us))
    if ended:
        timeline.apply(ev.RequestEnd(0, int(t_ns[-1]) + MS, "ok", "length"))
    return timeline, timeline.requests[0]


@pytest.fixture
def panel(qtbot: QtBot) -> OutputPanel:
    widget = OutputPanel()
    qtbot.addWidget(widget)
    widget.resize(600, 120)
    apply_theme(widget, DARK)
    widget.show()
    return widget


def point_of(panel: OutputPanel, number: int) -> QPoint:
    return panel.text.token_rect(number).center()


class TestColours:
    def test_levels_are_shares_above_the_median(self) -> None:
        gaps = np.array([90.0, 100.0, 102.0, 102.5, 105.0, 105.5, 114.9, 115.1, np.nan])
        assert heat_levels(gaps, 100.0).tolist() == [0, 0, 0, 1, 1, 2, 2, 3, 0]
        assert heat_levels(gaps, None).tolist() == [0] * 9
        assert heat_levels(gaps, 0.0).tolist() == [0] * 9

    def test_each_token_has_the_level_of_its_own_gap(self, panel: OutputPanel) -> None:
        panel.refresh(make_request([f" w{i}" for i in range(15)], GAPS_MS)[1])
        assert panel.text.median_ms == pytest.approx(10.0)
        # Token 1 has no gap; gap i is the wait for token i + 2.
        assert [panel.text.level(n) for n in range(1, 16)] == [0, 0, 0, 0, 1, 1, 2, 2, 3, 0, 0, 0, 0, 0, 0]
        assert panel.text.level(0) == panel.text.level(99) == 0

    def test_a_median_may_be_given(self, panel: OutputPanel) -> None:
        _, request = make_request(["a", "b", "c"], [10.0, 11.0])
        panel.refresh(request, step_view(request), median_ms=20.0)
        assert [panel.text.level(n) for n in (2, 3)] == [0, 0]
        panel.refresh(request, step_view(request), median_ms=8.0)
        assert [panel.text.level(n) for n in (2, 3)] == [3, 3]

    @pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda palette: palette.name)
    def test_the_colours_are_painted(self, panel: OutputPanel, palette: Palette) -> None:
        apply_theme(panel, palette)
        panel.refresh(make_request([" aa"] * 15, GAPS_MS)[1])
        image = panel.text.viewport().grab().toImage()

        def colour(number: int) -> str:
            rect = panel.text.token_rect(number)
            return image.pixelColor(rect.left() + 2, rect.center().y()).name()

        fills = [step.fill for step in heat_steps(palette)]
        assert colour(4) == palette.surface.lower()
        assert colour(5) == str(fills[1]).lower()
        assert colour(7) == str(fills[2]).lower()
        assert colour(9) == str(fills[3]).lower()
        panel.set_token(7)
        image = panel.text.viewport().grab().toImage()
        assert colour(7) == palette.text.lower()


class TestReadout:
    def test_pointing_at_a_token_tells_what_is_known(self, panel: OutputPanel, qtbot: QtBot) -> None:
        _, request = make_request(["One", " nest", "."], [12.0, 10.0], busy_us=[40_000, 9_000, 8_500])
        panel.refresh(request)
        seen: list[object] = []
        panel.token_hovered.connect(seen.append)
        qtbot.mouseMove(panel.text.viewport(), point_of(panel, 2))
        qtbot.waitUntil(lambda: seen == [2])
        assert panel.readout == (
            "Token 2\u2009·\u2009Repeat 1",
            "“·nest”",
            "Gap 12.00 ms, +9.1 % against the median 11.00 ms",
            "Forward pass 9.00 ms, host 3.00 ms",
            "KV length 102 tokens",
        )
        panel.text._set_hover(None)
        assert seen == [2, None]
        assert panel.readout == ()

    def test_the_first_token_has_no_gap(self, panel: OutputPanel) -> None:
        panel.refresh(make_request(["One", "two"])[1])
        panel._hovered(1)
        assert "50.00 ms after the start (time to first token)" in panel.readout
        assert not any("Gap" in line for line in panel.readout)

    def test_a_step_of_several_tokens_says_so(self, panel: OutputPanel) -> None:
        panel.refresh(make_request(["a", "b c d", "e"], k=[1, 3, 1])[1])
        panel._hovered(2)
        assert panel.readout[0] == "Step 2, output tokens 2–4\u2009·\u2009Repeat 1"
        assert "3 tokens came in this step and share its gap" in panel.readout
        panel._hovered(3)
        assert panel.readout[0] == "Step 3, output tokens 5\u2009·\u2009Repeat 1"

    def test_a_server_that_does_not_count_tokens(self, panel: OutputPanel) -> None:
        panel.refresh(make_request(["a", "b"], k=[ev.UNKNOWN, ev.UNKNOWN])[1])
        panel._hovered(2)
        assert panel.readout[0] == "Step 2\u2009·\u2009Repeat 1"
        assert "How many tokens came at once is not told" in panel.readout

    def test_a_piece_that_was_held_back(self, panel: OutputPanel) -> None:
        panel.refresh(make_request(["a", "", "é"])[1])
        panel._hovered(2)
        assert "No text of its own: it comes with a later token" in panel.readout

    def test_a_clock_that_went_backwards_gives_no_gap(self, panel: OutputPanel) -> None:
        panel.refresh(make_request(["a", "b"], [-10.0])[1])
        assert panel.text.level(2) == 0
        panel._hovered(2)
        assert "No gap: the clock of this request went backwards." in panel.readout

    def test_it_goes_with_the_panel(self, panel: OutputPanel) -> None:
        panel.refresh(make_request(["a", "b"])[1])
        panel._hovered(2)
        panel.hide()
        assert panel.readout == ()


class TestText:
    def test_events_of_no_token_take_no_number(self, panel: OutputPanel) -> None:
        panel.refresh(make_request(["", "a", "", "b"], [1.0, 1.0, 1.0], k=[0, 1, 0, 1])[1])
        assert panel.text.token_count == 2
        assert panel.text.piece(2) == "b"

    def test_what_was_held_back_at_the_end_is_text_without_a_number(self, panel: OutputPanel) -> None:
        timeline, request = make_request(["a", ""], ended=False)
        timeline.apply(ev.Text(0, ["\ufffd"], 2))
        timeline.apply(ev.RequestEnd(0, 99 * MS, "ok", "length"))
        panel.refresh(request)
        assert panel.text.cell_count == 3 and panel.text.token_count == 2
        assert panel.toPlainText() == "a\ufffd"

    def test_only_what_is_new_is_laid_out(self, panel: OutputPanel) -> None:
        timeline, request = make_request(["a", "b"], ended=False)
        panel.refresh(request)
        panel.set_token(2)
        timeline.apply(ev.make_steps(0, 2, [90 * MS], kv_len=[103]))
        panel.refresh(request)  # the stamp came before its text
        assert panel.text.token_count == 2
        timeline.apply(ev.Text(0, ["c"], 2))
        panel.refresh(request)
        assert panel.text.token_count == 3 and panel.text.piece(3) == "c"
        assert panel.text.token == 2
        assert len(panel.text.gaps_ms) == 2

    def test_text_that_is_told_as_a_whole_has_no_colours(self, panel: OutputPanel) -> None:
        timeline, request = make_request([], [10.0, 30.0], ended=False)
        timeline.apply(ev.Text(0, ["all of the answer"]))
        timeline.apply(ev.RequestEnd(0, 99 * MS, "ok", "length"))
        panel.refresh(request)
        assert panel.text.token_count == 0 and panel.text.cell_count == 1

    def test_without_text_the_tokens_are_there(self, panel: OutputPanel) -> None:
        panel.refresh(make_request([], [10.0, 10.0, 30.0])[1])
        assert panel.text.token_count == 4
        assert panel.text.level(4) == 3
        assert panel.toPlainText() == ""

    def test_nothing_is_laid_out_while_hidden(self, panel: OutputPanel) -> None:
        panel.hide()
        _, request = make_request(["a", "b"])
        panel.refresh(request)
        assert panel.text.cell_count == 0
        panel.show()
        assert panel.text.cell_count == 2

    def test_another_request_begins_anew(self, panel: OutputPanel) -> None:
        panel.refresh(make_request(["a", "b"])[1])
        panel.set_token(2)
        panel.set_range((1, 2))
        panel.refresh(make_request(["c"], [])[1])
        assert panel.text.token_count == 1
        assert panel.text.token is None and panel.text.range is None
        panel.refresh(None)
        assert panel.text.cell_count == 0

    def test_any_script_is_painted(self, panel: OutputPanel) -> None:
        odd = ["👍", "👨\u200d👩\u200d👧", "\u0301", "שלום", " مرحبا", "\u202e", "\ud800", "\x00", "日本語"]
        odd += ["Z" + "\u0311" * 300, "\u200d", "\u2028", "‹50001›", "\x9b", "x" * 5000, "ﷺ" * 40]
        panel.refresh(make_request(odd * 3)[1])
        for number in range(1, panel.text.token_count + 1):
            panel.set_token(number)
            rect = panel.text.token_rect(number)
            assert rect.height() == panel.text.line_px
            assert rect.left() >= 0 and rect.width() > 0
            panel._hovered(number)
            assert panel.readout
        panel.text.viewport().grab()

    def test_a_wide_sign_does_not_push_the_others_out_of_place(self, panel: OutputPanel) -> None:
        panel.refresh(make_request(["ab", "日本", "cd"])[1])
        first, second, third = (panel.text.token_rect(n) for n in (1, 2, 3))
        assert abs(first.right() - second.left()) <= 2
        assert abs(second.right() - third.left()) <= 2


class TestScrolling:
    def test_the_end_is_followed_until_the_reader_scrolls(self, panel: OutputPanel) -> None:
        timeline, request = make_request([f" word{i}" for i in range(400)], ended=False)
        panel.refresh(request)
        bar = panel.text.verticalScrollBar()
        assert bar.value() == bar.maximum() > 0
        bar.setValue(0)
        at = len(request)
        timeline.apply(ev.make_steps(0, at, [10_000 * MS + i for i in range(100)], kv_len=[1] * 100))
        timeline.apply(ev.Text(0, [" more"] * 100, at))
        panel.refresh(request)
        assert bar.value() == 0
        bar.setValue(bar.maximum())
        at = len(request)
        timeline.apply(ev.make_steps(0, at, [20_000 * MS + i for i in range(100)], kv_len=[1] * 100))
        timeline.apply(ev.Text(0, [" more"] * 100, at))
        panel.refresh(request)
        assert bar.value() == bar.maximum()

    def test_a_marked_token_comes_into_view_and_the_end_comes_back(self, panel: OutputPanel) -> None:
        panel.refresh(make_request([f" word{i}" for i in range(400)], ended=False)[1])
        view = panel.text.viewport().rect()
        bar = panel.text.verticalScrollBar()
        assert not view.intersects(panel.text.token_rect(3))
        panel.set_token(3)
        assert view.contains(panel.text.token_rect(3))
        panel.set_token(None)
        assert bar.value() == bar.maximum()

    def test_a_token_in_view_stays_where_it_is(self, panel: OutputPanel) -> None:
        panel.refresh(make_request([f" word{i}" for i in range(400)])[1])
        before = panel.text.verticalScrollBar().value()
        number = panel.text.token_at(QPoint(40, 50))
        panel.set_token(number)
        assert panel.text.verticalScrollBar().value() == before

    def test_another_width_keeps_what_was_being_read(self, panel: OutputPanel) -> None:
        panel.refresh(make_request([f" word{i}" for i in range(400)])[1])
        panel.text.verticalScrollBar().setValue(10 * panel.text.line_px)
        number = panel.text.token_at(QPoint(20, panel.text.line_px))
        assert number is not None
        panel.resize(380, 120)
        assert panel.text.viewport().rect().intersects(panel.text.token_rect(number))

    def test_fifty_thousand_tokens(self, panel: OutputPanel, qtbot: QtBot) -> None:
        """They are laid out in slices; a token that is marked before it is there is marked then."""
        panel.refresh(make_request([" token"] * 50_000)[1])
        assert panel.text.token_count < 50_000
        panel.set_token(40_000)
        qtbot.waitUntil(lambda: panel.text.token_count == 50_000)
        assert panel.text.token == 40_000
        for number in (1, 25_000, 50_000):
            panel.set_token(number)
            assert panel.text.viewport().rect().contains(panel.text.token_rect(number))
            assert panel.text.token_at(point_of(panel, number)) == number


class TestChoosing:
    def test_a_click_chooses(self, panel: OutputPanel, qtbot: QtBot) -> None:
        panel.refresh(make_request(["one", " two", " three"])[1])
        with qtbot.waitSignal(panel.token_chosen) as chosen:
            qtbot.mouseClick(panel.text.viewport(), Qt.MouseButton.LeftButton, pos=point_of(panel, 3))
        assert chosen.args == [3]
        assert panel.text.token == 3
        assert panel.text.accessibleDescription().startswith("Token 3")

    def test_keys(self, panel: OutputPanel, qtbot: QtBot) -> None:
        panel.refresh(make_request(["aaaaaaaaa "] * 15, GAPS_MS)[1])
        seen: list[int] = []
        panel.token_chosen.connect(seen.append)
        none, shift, control = (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.ShiftModifier,
            Qt.KeyboardModifier.ControlModifier,
        )
        key = Qt.Key
        for pressed, modifier in (
            (key.Key_Right, none),
            (key.Key_Right, none),
            (key.Key_Left, none),
            (key.Key_Left, none),  # the first stays
            (key.Key_Right, shift),
            (key.Key_Home, none),
            (key.Key_Down, none),
            (key.Key_Up, none),
            (key.Key_End, none),
            (key.Key_Left, control),
            (key.Key_Right, control),  # no slower one after it
        ):
            qtbot.keyClick(panel.text, pressed, modifier)
        columns = panel.text._layout.columns
        below = columns // 10 + 1
        assert seen == [1, 2, 1, 15, 1, below, 1, 15, 9]
        assert panel.readout[0].startswith("Token 9")

    def test_a_range_is_underlined(self, panel: OutputPanel) -> None:
        panel.refresh(make_request(["aa", "bb", "cc"])[1])
        panel.set_range((2, 3))
        image = panel.text.viewport().grab().toImage()

        def under(number: int) -> str:
            rect = panel.text.token_rect(number)
            return image.pixelColor(rect.center().x(), rect.bottom()).name()

        assert [under(n) for n in (1, 2, 3)] == [DARK.surface.lower(), *[DARK.accent.lower()] * 2]

    def test_copying(self, panel: OutputPanel) -> None:
        panel.refresh(make_request(["one", " <b>", " three"])[1])
        panel.set_token(2)
        panel.set_range((2, 3))
        menu = panel.context_menu()
        texts = []
        for action in menu.actions():
            action.trigger()
            texts.append(QGuiApplication.clipboard().text())
        menu.close()
        menu.deleteLater()
        assert texts[0] == "one <b> three"
        assert texts[1].startswith("Token 2") and "“·<b>”" in texts[1]
        assert texts[2] == " <b> three"

    def test_the_newest_request_is_followed_until_another_is_chosen(
        self, panel: OutputPanel, qtbot: QtBot
    ) -> None:
        panel.set_requests([(0, "Warm-up 1")])
        assert panel.picker.isHidden() and panel.chosen is None
        panel.set_requests([(0, "Warm-up 1"), (1, "Repeat 1")])
        assert not panel.picker.isHidden()
        assert panel.picker.currentText() == "Repeat 1"
        with qtbot.waitSignal(panel.request_chosen) as chosen:
            panel.picker.setCurrentIndex(0)
            panel.picker.activated.emit(0)
        assert chosen.args == [0] and panel.chosen == 0
        panel.set_requests([(0, "Warm-up 1"), (1, "Repeat 1"), (2, "Repeat 2")])
        assert panel.chosen == 0 and panel.picker.currentText() == "Warm-up 1"
        panel.picker.activated.emit(2)
        assert panel.chosen is None
        panel.choose_request(1)
        assert panel.picker.currentText() == "Repeat 1"
        panel.set_requests([(7, "Repeat 1")])  # another run
        assert panel.chosen is None


def test_the_legend_is_there_with_the_text_only(qtbot: QtBot) -> None:
    tabs = BottomTabs()
    qtbot.addWidget(tabs)
    tabs.resize(900, 164)
    tabs.show()
    assert tabs.output.tools.isVisible()
    assert "+5 to 15 %" in tabs.output.legend.accessibleName()
    tabs.bar.setCurrentIndex(1)
    assert not tabs.output.tools.isVisible()
    assert tabs.log.isVisible()


def test_every_control_has_a_name(panel: OutputPanel) -> None:
    assert panel.text.accessibleName() == "Text of the answer"
    assert panel.picker.accessibleName() == "Request whose text is shown"


def test_a_view_without_a_panel(qtbot: QtBot) -> None:
    view = TokenText()
    qtbot.addWidget(view)
    view.set_placeholder("Nothing yet.")
    view.show()
    view.grab()
    assert view.token_rect(1).isEmpty()
    view.set_token(5)
    assert view.token_at(QPoint(5, 5)) is None
