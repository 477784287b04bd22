"""The Profile page's charts together: one cursor in every direction, one range, one request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot
from window_parts import Bench, bench

from app.pages.chart_data import Cache
from app.pages.cursor import Place, place_at, place_of_request, place_of_token, stepped
from app.pages.spike_data import find_spikes
from profiler import events as ev
from profiler.analysis.selection import TokenRange, selection_values
from profiler.analysis.steps import step_view
from profiler.timeline import Run, Timeline

MS = 1_000_000


@pytest.fixture
def finished(qtbot: QtBot, tmp_path: Path) -> Iterator[Bench]:
    """A window with a run that has ended: warm-ups and repeats of equal length."""
    with bench(qtbot, tmp_path) as made:
        made.page.start()
        made.client.whole_run()
        made.settle(lambda: made.controller.values_final)
        made.page.refresh()
        yield made


def run_of(made: Bench) -> Run:
    run = made.controller.run
    assert run is not None
    return run


def timeline_of() -> Timeline:
    """Two requests at 1 s and 2 s: first token after 100 ms, then one each 10 ms, 11 tokens each."""
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0, "m", "m", {}, {}))
    for no in (0, 1):
        t0 = (no + 1) * 1000 * MS
        stamps = t0 + 100 * MS + 10 * MS * np.arange(11, dtype=np.int64)
        timeline.apply(ev.RequestStart(no, 1, f"r{no}", t0, 16, 11, True, no == 0, None, None))
        timeline.apply(ev.make_steps(no, 0, stamps, kv_len=[17 + at for at in range(11)]))
        timeline.apply(ev.RequestEnd(no, int(stamps[-1]), "ok", "length"))
    timeline.apply(ev.RunEnd(1, 3000 * MS, "finished", None))
    return timeline


class TestPlaces:
    def test_a_token_has_a_time(self) -> None:
        run, cache = timeline_of().runs[1], Cache()
        assert place_of_token(run, cache, run.requests[1], 3) == Place(1, 3, pytest.approx(2.120))
        assert place_of_token(run, cache, run.requests[1], 12) == Place(1, 12, None)
        assert place_of_request(run, cache, run.requests[0]) == Place(0, 1, pytest.approx(1.100))

    @pytest.mark.parametrize(
        ("t_s", "request_no", "token"),
        [
            (0.5, None, None),
            (1.05, 0, 1),  # the prompt is being read: token 1 is on its way
            (1.105, 0, 2),
            (1.110, 0, 2),
            (1.1101, 0, 3),
            (1.5, None, None),  # between two requests
            (2.199, 1, 11),
            (2.5, None, None),
        ],
    )
    def test_a_time_has_the_token_that_was_being_made(
        self, t_s: float, request_no: int | None, token: int | None
    ) -> None:
        run = timeline_of().runs[1]
        assert place_at(run, Cache(), t_s) == Place(request_no, token, t_s)

    def test_steps_stay_inside_the_answer(self) -> None:
        run, cache = timeline_of().runs[1], Cache()
        request = run.requests[1]
        assert stepped(None, request, cache, 1) == 1
        assert stepped(None, request, cache, -1) == 11
        assert stepped(Place(1, 5, None), request, cache, 16) == 11
        assert stepped(Place(1, 5, None), request, cache, -1) == 4


def test_spikes_name_what_overlapped_them() -> None:
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0, "m", "m", {}, {}))
    gaps = np.full(60, 10.0) + 0.01 * (np.arange(60) % 5)
    gaps[[10, 30, 50]] = 20.0
    stamps = 100 * MS + np.concatenate(([0], np.cumsum(gaps * MS))).astype(np.int64)
    timeline.apply(ev.RequestStart(0, 1, "r0", 0, 16, 61, True, False, None, None))
    timeline.apply(ev.make_steps(0, 0, stamps, kv_len=[17 + at for at in range(61)]))
    inside = int(stamps[10]) + MS
    timeline.apply(ev.Interval("gc", inside, inside + MS))
    timeline.apply(ev.Interval("redraw", inside, inside + MS))
    timeline.apply(ev.Interval("redraw", int(stamps[30]) + MS, int(stamps[30]) + 2 * MS))
    found = find_spikes(timeline, step_view(timeline.requests[0]), "Repeat 1")
    assert [(spike.token, spike.cause) for spike in found] == [(12, "gc"), (32, "window"), (52, "unknown")]
    assert found[0].gap_ms == pytest.approx(20.0)


class TestCursor:
    def test_from_the_latency_chart_to_all(self, finished: Bench) -> None:
        page, run = finished.page, run_of(finished)
        page.token_latency.hovered.emit(40)
        last = run.requests[-1]
        assert page.bandwidth.crosshair == 40
        assert page.telemetry.crosshair == pytest.approx((int(last.t_ns[39]) - run.t_ns) / 1e9)
        assert page.first_token.crosshair == len(run.requests) - 1
        assert page.tabs.output.text.token == 40
        page.token_latency.hovered.emit(None)
        for chart in page.charts:
            assert chart.crosshair is None
        assert page.tabs.output.text.token is None

    def test_from_the_bandwidth_chart(self, finished: Bench) -> None:
        page = finished.page
        page.bandwidth.hovered.emit(17)
        assert page.token_latency.crosshair == 17
        assert page.tabs.output.text.token == 17

    def test_from_telemetry_to_the_token_of_that_time(self, finished: Bench) -> None:
        page, run = finished.page, run_of(finished)
        earlier = run.requests[1]
        t_s = (int(earlier.t_ns[20]) - run.t_ns) / 1e9 - 0.001
        page.telemetry.hovered.emit(t_s)
        assert page.telemetry.crosshair == t_s
        assert page.token_latency.crosshair == page.bandwidth.crosshair == 21
        assert page.first_token.crosshair == 1
        # The text is of another request: nothing is marked there, and the readout says whose it is.
        assert page.tabs.output.text.token is None
        words = "".join(part.text for part in page.token_latency.readout(21)[0])
        assert words.startswith("Token 21 · Repeat 1  ")
        assert page.token_latency.gap_at(21) == pytest.approx(
            (int(earlier.t_ns[20]) - int(earlier.t_ns[19])) / 1e6
        )

    def test_from_a_row_of_the_first_tokens(self, finished: Bench) -> None:
        page, run = finished.page, run_of(finished)
        page.first_token.hovered.emit(0)
        first = run.requests[0]
        assert page.token_latency.crosshair == 1
        assert page.telemetry.crosshair == pytest.approx((int(first.t_ns[0]) - run.t_ns) / 1e9)

    def test_from_the_text(self, finished: Bench) -> None:
        page = finished.page
        page.tabs.output.token_hovered.emit(33)
        assert page.token_latency.crosshair == page.bandwidth.crosshair == 33
        page.tabs.output.token_hovered.emit(None)
        assert page.token_latency.crosshair is None
        page.tabs.output.token_chosen.emit(35)
        assert page.links.pinned and page.token_latency.crosshair == 35

    def test_a_click_pins_and_arrows_move(self, finished: Bench) -> None:
        page = finished.page
        page.token_latency.chosen.emit(40)
        page.token_latency.hovered.emit(90)
        page.token_latency.hovered.emit(None)
        assert page.bandwidth.crosshair == 40
        QTest.keyClick(page.token_latency, Qt.Key.Key_Right)
        QTest.keyClick(page.bandwidth, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
        QTest.keyClick(page.telemetry, Qt.Key.Key_Left)
        assert page.token_latency.crosshair == page.bandwidth.crosshair == 40 + 1 + 16 - 1
        assert page.telemetry.crosshair is not None
        QTest.keyClick(page.token_latency, Qt.Key.Key_Escape)
        assert not page.links.pinned and page.token_latency.crosshair is None

    def test_a_click_on_a_row_brings_its_request_to_the_front(self, finished: Bench) -> None:
        page, run = finished.page, run_of(finished)
        page.first_token.chosen.emit(1)
        assert page.links.focus(run) is run.requests[1]
        assert page.tabs.output.chosen == run.requests[1].no
        expected = step_view(run.requests[1]).gaps_ms
        assert page.token_latency._current.getData()[1].tolist() == expected.tolist()

    def test_esc_is_the_window_s_unless_there_is_something_to_release(self, finished: Bench) -> None:
        page = finished.page
        assert not page.token_latency.escapable
        page.token_latency.chosen.emit(40)
        assert all(chart.escapable for chart in page.charts)
        page.links.release()
        assert not page.token_latency.escapable


class TestView:
    def test_the_token_charts_zoom_together(self, finished: Bench) -> None:
        page = finished.page
        page.token_latency._show((20.0, 60.0))
        assert page.bandwidth.view == (20.0, 60.0)
        assert page.bandwidth._plot.ranges[0] == page.token_latency._plot.ranges[0] == (20, 60)
        QTest.keyClick(page.bandwidth, Qt.Key.Key_Home)
        assert page.token_latency.view is None and page.bandwidth.view is None

    def test_the_cursor_takes_a_zoomed_view_along(self, finished: Bench) -> None:
        page = finished.page
        page.token_latency._show((20.0, 40.0))
        page.token_latency.chosen.emit(40)
        QTest.keyClick(page.token_latency, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
        view = page.token_latency.view
        assert view is not None and view[0] <= 56 <= view[1]
        assert page.bandwidth.view == view

    def test_follow_is_one_choice_for_both(self, finished: Bench) -> None:
        page = finished.page
        page.token_latency._choose_follow(128)
        assert page.bandwidth._follow == 128


class TestRange:
    def test_the_figures_are_numpy_s_on_the_slice(self, finished: Bench) -> None:
        page, run = finished.page, run_of(finished)
        seen: list[object] = []
        page.selection_changed.connect(seen.append)
        page.token_latency.range_dragged.emit(TokenRange(12, 60), True)
        assert seen == [TokenRange(12, 60)]
        measured = [r for r in run.requests if not r.warmup]
        gaps = np.concatenate([np.diff(r.t_ns)[10:59] / 1e6 for r in measured])
        assert page.kpis.shown["itl_p50"].value == pytest.approx(np.percentile(gaps, 50))
        assert page.kpis.shown["itl_p99"].value == pytest.approx(np.percentile(gaps, 99))
        values = page.links.selection.values
        assert values is not None
        assert (values.requests, values.gaps) == (len(measured), 49 * len(measured))
        # The time to first token is the whole run's.
        whole = (finished.controller.values or {})["metrics"]["ttft_ms"]["p50"]
        assert page.kpis.shown["ttft"].value == whole
        assert page.bandwidth._range == page.token_latency._range == TokenRange(12, 60)
        assert page.tabs.output.text.range == (12, 60)

    def test_esc_and_the_x_clear_it(self, finished: Bench) -> None:
        page = finished.page
        whole = page.kpis.shown["itl_p99"].value
        for clear in (
            lambda: QTest.keyClick(page.bandwidth, Qt.Key.Key_Escape),
            lambda: page.kpis.selection_cell.close_button.click(),
        ):
            page.bandwidth.range_dragged.emit(TokenRange(2, 9), True)
            assert page.kpis.shown["itl_p99"].value != whole
            clear()
            assert page.links.selection.tokens is None
            assert page.token_latency._range is None
            assert page.tabs.output.text.range is None
            assert page.kpis.shown["itl_p99"].value == whole

    def test_by_keyboard(self, finished: Bench) -> None:
        page = finished.page
        seen: list[object] = []
        page.selection_changed.connect(seen.append)
        page.token_latency.chosen.emit(20)
        QTest.keyClick(page.token_latency, Qt.Key.Key_S)
        for _ in range(3):
            QTest.keyClick(page.token_latency, Qt.Key.Key_Right)
        QTest.keyClick(page.token_latency, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
        assert page.bandwidth._range == TokenRange(20, 39) and seen == []
        QTest.keyClick(page.token_latency, Qt.Key.Key_Return)
        assert seen == [TokenRange(20, 39)]
        QTest.keyClick(page.token_latency, Qt.Key.Key_Right)
        assert page.links.selection.tokens == TokenRange(20, 39)

    def test_a_drag_in_progress_computes_nothing(self, finished: Bench) -> None:
        page = finished.page
        page.token_latency.range_dragged.emit(TokenRange(12, 60), False)
        assert page.bandwidth._range == TokenRange(12, 60)
        assert page.links.selection.values is None


class TestRequests:
    def test_one_request_alone_and_all_again(self, finished: Bench) -> None:
        page, run = finished.page, run_of(finished)
        assert page.token_latency.request_labels[0] == "Warm-up 1"
        page.token_latency.range_dragged.emit(TokenRange(5, 30), True)
        page.token_latency.request_picked.emit("Repeat 1")
        second = run.requests[1]
        assert [entry.label for entry in page.token_latency._series] == ["Repeat 1"]
        assert [entry.label for entry in page.bandwidth._series] == ["Repeat 1"]
        assert page.token_latency.request_shown == page.bandwidth.request_shown == "Repeat 1"
        values = page.links.selection.values
        assert values is not None and values.requests == 1
        assert values == selection_values(run, TokenRange(5, 30), only=second.no)
        assert page.tabs.output.chosen == second.no
        page.bandwidth.request_picked.emit(None)
        assert len(page.token_latency._series) == len(run.requests)
        assert page.token_latency.request_shown is None

    def test_the_menu_offers_them(self, finished: Bench) -> None:
        chart = finished.page.token_latency
        chart.fill_menu()
        entry = next(action for action in chart.menu.actions() if action.text() == "Requests")
        menu = entry.menu()
        words = [action.text() for action in menu.actions()]  # type: ignore[attr-defined]
        assert words[0] == "All requests" and "Repeat 1" in words


def test_space_freezes_the_view_while_running(qtbot: QtBot, tmp_path: Path) -> None:
    with bench(qtbot, tmp_path) as made:
        page = made.page
        made.page.start()
        made.client.loading()
        made.client.begin()
        made.client.request(warmup=True)
        made.client.request(tokens=40, end=False)
        made.settle(lambda: len(made.controller.timeline.requests.get(1, ())) == 40)
        page.refresh()
        QTest.keyClick(page.token_latency, Qt.Key.Key_Space)
        assert page.links.frozen and page.token_latency._frozen
        before = len(page.token_latency._current.getData()[0])
        made.client.request(tokens=20, end=False)
        made.settle(lambda: len(made.controller.timeline.requests.get(2, ())) == 20)
        page.refresh()
        assert len(page.token_latency._current.getData()[0]) == before == 39
        QTest.keyClick(page.token_latency, Qt.Key.Key_Space)
        assert not page.token_latency._frozen
        assert len(page.token_latency._current.getData()[0]) == 19
        QTest.keyClick(page.token_latency, Qt.Key.Key_Space)
        made.client.finish()
        made.settle(lambda: made.controller.values_final)
        page.refresh()
        assert not page.links.frozen


def test_another_run_begins_without_cursor_and_range(finished: Bench) -> None:
    page = finished.page
    page.token_latency.chosen.emit(40)
    page.links.selection.settle(TokenRange(3, 9))
    page.token_latency._show((20.0, 60.0))
    page.start()
    finished.client.loading()
    finished.settle(lambda: page.links.place is None)
    assert not page.links.pinned and page.links.selection.tokens is None
    assert page.token_latency.view is None and page.bandwidth.view is None


def test_a_picture_is_saved_where_the_user_says(finished: Bench, tmp_path: Path) -> None:
    page = finished.page
    asked: list[tuple[str, str]] = []

    def ask(_parent: object, suggested: str, kind: str) -> Path | None:
        asked.append((suggested, kind))
        return tmp_path / "mine" if kind == "svg" else None

    page.ask_path = ask
    page.token_latency.save_picture_asked.emit("png")
    page.token_latency.save_picture_asked.emit("svg")
    assert asked == [("inter-token-latency.png", "png"), ("inter-token-latency.svg", "svg")]
    assert (tmp_path / "mine.svg").read_text().lstrip().startswith("<?xml")
    page.ask_path = lambda *_: tmp_path / "nowhere" / "chart.png"
    page.telemetry.save_picture_asked.emit("png")
    assert not page.failure.isHidden()
