"""One run in the window, from Start to the end, on a scripted engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_client import MS
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot
from window_parts import Bench, bench

from app.run_state import RunState
from profiler import events as ev
from profiler.analysis.run import run_metrics
from profiler.timeline import Timeline


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[Bench]:
    with bench(qtbot, tmp_path) as made:
        yield made


def click(made: Bench, button) -> None:  # type: ignore[no-untyped-def]
    made.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def start(made: Bench) -> None:
    click(made, made.page.run_box.button)
    made.client.loading()
    made.settle(lambda: made.controller._stage is not None)


def test_empty_state_says_what_start_does(window: Bench) -> None:
    assert window.page.welcome.isVisible()
    assert not window.page.kpis.isVisible()
    assert all(chart.ghost_shown for chart in window.page.charts)
    assert window.page.run_box.title.text() == "Ready"
    assert window.page.run_box.detail.text() == "4 requests of 128 tokens"


def test_model_is_inspected_and_shown(window: Bench) -> None:
    window.now_ns = window.clock_ns() + 1_000 * MS
    window.settle(lambda: window.page.setup.model.info.text())
    assert window.page.setup.model.info.text() == (
        "134.5\u2009M parameters · 269\u2009MB bf16 · KV 22\u2009KiB/token"
    )
    assert window.page.setup.model.fit_verdict.text() == "fits"
    assert window.client.sent[-2] == (
        "inspect",
        {
            "model": "preset:small",
            "dtype": "auto",
            "total_tokens": 256,
            "device": "auto",
            "trust_remote_code": False,
        },
    )
    verb, args = window.client.sent[-1]
    assert verb == "warm" and args["config"]["model"] == "preset:small"


def test_states_of_a_run_that_finishes(window: Bench) -> None:
    start(window)
    assert window.controller.state is RunState.LOADING
    assert window.page.run_box.title.text() == "Loading model, 0.10 of 0.30 GB"
    assert window.page.run_box.button.text() == "Stop"
    assert not window.page.setup.model.picker.isEnabled()

    window.client.begin()
    window.client.request(warmup=True)
    window.client.request(tokens=64, end=False)
    window.settle(lambda: len(window.controller.timeline.requests.get(1, ())) == 64)
    window.page._on_tick()
    window.controller.draw()
    assert window.controller.state is RunState.RUNNING
    assert window.page.run_box.title.text() == "Decoding repeat 1 of 3"
    assert window.page.run_box.detail.text() == "64/128 tokens"
    assert window.window.top_bar.state.text() == "recording"
    assert not any(chart.ghost_shown for chart in window.page.charts)
    assert window.page.tabs.output.toPlainText() != ""

    window.client.finish()
    window.settle(lambda: window.controller.values_final)
    assert window.controller.state is RunState.FINISHED
    assert window.page.run_box.button.text() == "Start again"
    assert window.window.top_bar.state.text() == "recorded"
    assert window.page.setup.model.picker.isEnabled()


def test_kpis_equal_the_report_of_the_same_events(window: Bench) -> None:
    heard: list[ev.Event] = []
    drain = window.link.drain

    def listen() -> list[ev.Event]:
        events = drain()
        heard.extend(events)
        return events

    window.link.drain = listen  # type: ignore[method-assign]
    start(window)
    window.client.whole_run()
    window.settle(lambda: window.controller.values_final)

    timeline = Timeline()
    timeline.apply_all(heard)
    metrics = run_metrics(timeline, timeline.runs[1])["metrics"]
    shown = window.page.kpis.to_json()
    assert shown["ttft"]["value"] == metrics["ttft_ms"]["p50"]
    assert shown["itl_p50"]["value"] == metrics["itl_ms"]["p50"]
    assert shown["itl_p99"]["value"] == metrics["itl_ms"]["p99"]
    assert shown["jitter"]["value"] == metrics["jitter"]["jitter_ms"]
    assert shown["tpot"]["value"] == metrics["tpot_ms"]["p50"]
    assert shown["mbu"]["value"] == metrics["mbu"]["run"]
    assert shown["throughput"]["value"] == metrics["decode_tok_s"]["p50"]
    assert shown["energy"]["value"] is None


def test_kpis_of_a_run_worked_out_by_hand(window: Bench) -> None:
    # Prefill 200 ms, every gap 10 ms: TTFT 200, ITL 10, TPOT 10, 100 tokens a second.
    start(window)
    window.client.begin()
    window.client.request(warmup=True, prefill_ms=900.0, gap_ms=50.0, noise=False)
    for _ in range(3):
        window.client.request(prefill_ms=200.0, gap_ms=10.0, noise=False)
    window.client.finish()
    window.settle(lambda: window.controller.values_final)
    tiles = window.page.kpis.tiles
    assert tiles["ttft"].value == "200"
    assert tiles["itl_p50"].value == "10.00"
    assert tiles["itl_p99"].value == "10.0"
    assert tiles["tpot"].value == "10.00"
    assert tiles["throughput"].value == "100"
    assert tiles["energy"].value == "\u2014"
    assert "energy counter" in tiles["energy"].toolTip()


def test_stop_then_stop_now(window: Bench) -> None:
    start(window)
    window.client.begin()
    window.client.request(tokens=8, end=False)
    window.settle(lambda: window.controller.state is RunState.RUNNING)
    click(window, window.page.run_box.button)
    assert window.client.verbs[-1] == "stop"
    assert window.page.run_box.button.text() == "Stopping after this token"
    assert not window.page.run_box.button.isEnabled()
    window.controller.tick()
    assert not window.page.run_box.kill_button.isVisible()

    window.now_ns = window.clock_ns() + 2_100 * MS
    window.controller.tick()
    assert window.page.run_box.kill_button.isVisible()
    click(window, window.page.run_box.kill_button)
    assert window.client.verbs[-1] == "kill"

    window.client.finish("stopped", "the worker was killed on request")
    window.settle(lambda: window.controller.state is RunState.FINISHED)
    assert window.page.run_box.title.text() == "Stopped"
    assert window.window.top_bar.state.text() == "recorded, partial"


def test_stop_while_loading(window: Bench) -> None:
    start(window)
    window.controller.stop()
    assert window.client.run_id is not None
    reply = ev.Reply(window.client.run_id, False, "cancelled", "Stopped before the run had begun.")
    window.client.feed([ev.State("idle", 0), reply])
    window.settle(lambda: window.controller.state is RunState.IDLE)
    assert window.page.welcome.isVisible()
    assert not window.page.failure.isVisible()
    assert window.page.run_box.button.text() == "Start"


def test_failed_run_has_cause_note_and_details(window: Bench) -> None:
    start(window)
    window.client.begin()
    window.client.request(warmup=True)
    window.client.request(tokens=40, end=False)
    sentence = "The worker process ended by itself during the run (killed by signal 9)."
    window.client.feed([ev.Failure("worker", window.clock_ns(), sentence, "Traceback: <b>deep</b>")])
    window.client.finish("failed", sentence)
    window.settle(lambda: window.controller.state is RunState.FAILED)
    card = window.page.failure
    assert card.isVisible()
    assert card.message.text() == sentence
    assert "partial" in card.note.text()
    assert str(window.client.path) in card.note.text()
    card.copy_button.click()
    assert "Traceback: <b>deep</b>" in QGuiApplication.clipboard().text()
    assert window.page.run_box.title.text() == "Failed"
    window.settle(lambda: window.controller.values_final)
    assert window.page.kpis.tiles["itl_p50"].value == "\u2014"  # the only repeat has not ended


def test_refused_model_is_said_beside_its_field(window: Bench) -> None:
    sentence = "There is no folder /models/none; check the path."
    window.client.refuse["run"] = ev.Reply(0, False, None, sentence, None, "model", 3)
    click(window, window.page.run_box.button)
    window.settle(lambda: window.controller.state is RunState.FAILED)
    assert window.page.setup.model.field.error == sentence
    assert window.page.failure.message.text() == sentence
    assert window.controller.problem is not None
    assert window.controller.problem.exit_code == 3


def test_engine_gone_in_mid_run_says_where_the_recording_is(window: Bench) -> None:
    start(window)
    window.client.begin()
    window.client.request(tokens=20, end=False)
    window.settle(lambda: window.controller.state is RunState.RUNNING)
    path = window.client.path
    window.client.die()
    window.settle(lambda: window.controller.state is RunState.FAILED)
    card = window.page.failure
    assert card.message.text() == (f"The engine ended unexpectedly. What was recorded is kept in {path}.")
    assert window.controller.run is not None
    assert window.controller.run.status == "interrupted"
    assert window.window.status.state.text() == "Engine not running"

    click(window, card.action)
    assert len(window.clients) == 2
    window.controller._timer.stop()
    assert not card.isVisible()
    assert window.controller.engine_alive
    window.controller.tick()
    click(window, window.page.run_box.button)
    assert window.client.verbs.count("run") == 1


def test_redraws_of_a_run_are_reported(window: Bench) -> None:
    start(window)
    window.client.begin()
    window.client.request(tokens=20, end=False)
    window.settle(lambda: window.controller.state is RunState.RUNNING)
    window.now_ns = window.clock_ns() + 2_100 * MS
    window.controller.tick()
    window.controller._redraw.flush()
    assert window.client.redraws
    assert all(begin <= end for begin, end in window.client.redraws)


def test_pace_is_budgeted_on_the_cpu_and_free_on_a_gpu(window: Bench) -> None:
    start(window)
    window.client.begin(gpu=False)
    window.settle(lambda: window.controller.state is RunState.RUNNING)
    assert window.controller.on_cpu
    assert window.controller.pace.budgeted
    window.client.finish()
    window.settle(lambda: window.controller.state is RunState.FINISHED)
    assert not window.controller.pace.budgeted
    start(window)
    window.client.begin(gpu=True)
    window.settle(lambda: window.controller.state is RunState.RUNNING)
    assert not window.controller.on_cpu
    assert not window.controller.pace.budgeted


def test_closing_in_mid_run_asks(window: Bench) -> None:
    start(window)
    window.dialogs.yes = False
    assert not window.window.close()
    assert window.window.isVisible()
    window.dialogs.yes = True
    assert window.window.close()
    assert window.client.closed
    assert window.dialogs.asked == ["close", "close"]


def test_keys(window: Bench) -> None:
    window.qtbot.keyClick(window.window, Qt.Key.Key_F5)
    assert window.controller.state is RunState.LOADING
    window.qtbot.keyClick(window.window, Qt.Key.Key_Escape)
    assert window.controller.state is RunState.STOPPING
    window.qtbot.keyClick(window.window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    assert window.page.setup.is_folded


def test_model_text_is_never_markup(window: Bench) -> None:
    start(window)
    window.client.begin()
    window.client.request(tokens=1, end=False)
    window.client.feed([ev.Text(0, ["<b>bold</b> & <img src=x>"])])
    window.settle(lambda: "img" in window.page.tabs.output.toPlainText())
    assert "<b>bold</b> & <img src=x>" in window.page.tabs.output.toPlainText()


def test_log_shows_lines_and_tracebacks(window: Bench) -> None:
    start(window)
    window.client.feed([ev.Log("warning", window.clock_ns(), "worker", "slow disk", "line one\nline two")])
    window.settle(lambda: "slow disk" in window.page.tabs.log.toPlainText())
    assert "line two" in window.page.tabs.log.toPlainText()


def test_trouble_with_the_disk_is_told_and_stays(window: Bench) -> None:
    start(window)
    window.client.begin()
    for index in range(4):
        window.client.request(warmup=index == 0)
    sentence = "No space is left for the recording; free some and start again."
    window.client.feed([ev.Failure("disk", window.clock_ns(), sentence, None, exit_code=2)])
    window.client.finish()
    window.settle(lambda: window.controller.values_final)
    assert window.controller.state is RunState.FINISHED
    assert window.page.failure.isVisible()
    assert window.page.failure.title.text() == "The recording has a problem"
    assert window.page.failure.message.text() == sentence
