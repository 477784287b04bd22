"""Definition cards, other tools' figures and our own cost, in the window."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_client import MS
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from window_parts import Bench, bench

from app.own_cost import own_cost_config, own_cost_words, with_window_rows
from app.pages.chart_data import forward_ms
from app.panels.definition_facts import METRICS, card_facts, definition_of
from app.panels.other_tools_dialog import OtherToolsDialog
from app.run_state import RunState
from profiler import events as ev
from profiler.analysis.steps import step_view
from profiler.config import RunConfig
from profiler.engine.own_cost import read_own_cost
from profiler.timeline import Timeline
from profiler.units import MINUS, THIN

ROW = {
    "variant": "window",
    "itl_mean_ratio": 1.004,
    "itl_mean_ratio_ci95": [0.997, 1.011],
    "itl_p50_ratio": 1.002,
    "itl_p99_ratio": 1.01,
    "blocks": 24,
    "reason": None,
    "others_cpu_pct": 1.2,
}


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[Bench]:
    with bench(qtbot, tmp_path) as made:
        yield made


def run_by_hand(made: Bench, gpu: bool = False) -> None:
    """2 repeats of 11 tokens: TTFT 200 ms, gaps of exactly 10 ms."""
    made.window.set_config(RunConfig(prompt_tokens=16, output_tokens=11, repeats=2, warmup=0))
    made.window.start()
    made.client.begin(gpu)
    for _ in range(2):
        made.client.request(gap_ms=10.0, noise=False, gpu=gpu)
    made.client.finish()
    made.settle(lambda: made.controller.values_final)


def open_card(made: Bench, key: str) -> None:
    made.qtbot.mouseClick(made.page.kpis.tiles[key], Qt.MouseButton.LeftButton)


# -- definition cards -----------------------------------------------------------------------


def test_every_tile_has_a_definition() -> None:
    for key, metric in METRICS.items():
        definition = definition_of(key)
        assert definition.name == metric
        facts = card_facts(key, "Name", None, None, None)
        assert facts.formula == f"Name = {definition.formula}"
        assert facts.worked == ""
        assert [heading for heading, _ in facts.rows][:2] == ["Unit", "Counts"]


def test_the_formula_with_the_numbers_of_the_run(window: Bench) -> None:
    run_by_hand(window)
    for key, worked in {
        "ttft": f"median of 200.0, 200.0 ms = 200.0{THIN}ms",
        "tpot": f"100.0{THIN}ms ÷ 10 = 10.00{THIN}ms (the middle one of 2)",
        "throughput": f"10 ÷ 0.1000{THIN}s = 100.0{THIN}tok/s (the middle one of 2)",
        "itl_p50": "median of 20 gaps = 10.00 ms",
        # 269 MB of weights and 23,040 B a token at 18 to 27 tokens: 269.52 MB in 10 ms at 50 GB/s.
        "mbu": f"270{THIN}MB ÷ (10.00{THIN}ms × 50.0{THIN}GB/s) = 53.9{THIN}%",
        "energy": "",
    }.items():
        open_card(window, key)
        assert window.page.definitions.card.isVisible()
        assert window.page.definitions.card.worked.text() == worked


def test_other_tools_stand_on_the_card_with_their_value(window: Bench) -> None:
    run_by_hand(window)
    open_card(window, "tpot")
    facts = window.page.definitions.card.facts
    assert facts is not None
    assert "vLLM" in [tag.text for tag in facts.tags]  # no value yet: it is being worked out
    window.settle(lambda: window.controller.known_as_others() is not None)
    facts = window.page.definitions.card.facts
    assert facts is not None
    texts = [tag.text for tag in facts.tags]
    assert f"vLLM 10.0{THIN}ms" in texts
    # LLMPerf counts TTFT in: (200 + 10 * 10) / 11.
    assert f"LLMPerf 27.3{THIN}ms" in texts
    assert "llama-bench n/a" in texts
    open_card(window, "mbu")
    facts = window.page.definitions.card.facts
    assert facts is not None
    assert {tag.text.removesuffix(" n/a") for tag in facts.tags} >= {"vLLM", "AIPerf", "GuideLLM"}
    assert not any(tag.known for tag in facts.tags)


def test_one_card_at_a_time_closed_by_escape_the_x_and_its_tile(window: Bench) -> None:
    run_by_hand(window)
    definitions, tiles = window.page.definitions, window.page.kpis.tiles
    open_card(window, "mbu")
    open_card(window, "ttft")
    assert definitions.key == "ttft"
    assert definitions.card.isVisible()
    QTest.keyClick(window.window, Qt.Key.Key_Escape)
    assert not definitions.card.isVisible()
    open_card(window, "ttft")
    window.qtbot.mouseClick(definitions.card.close_button, Qt.MouseButton.LeftButton)
    assert not definitions.card.isVisible()
    QTest.keyClick(tiles["ttft"], Qt.Key.Key_Return)
    assert definitions.key == "ttft"
    open_card(window, "ttft")
    assert definitions.key is None


def test_escape_closes_the_card_and_does_not_stop_the_run(window: Bench) -> None:
    window.window.start()
    window.client.begin()
    window.client.request(end=False, tokens=8)
    window.settle(lambda: window.controller.state is RunState.RUNNING)
    open_card(window, "itl_p50")
    window.qtbot.waitUntil(lambda: QApplication.focusWidget() is window.page.definitions.card)
    QTest.keyClick(window.page.definitions.card, Qt.Key.Key_Escape)
    assert not window.page.definitions.card.isVisible()
    assert window.controller.state is RunState.RUNNING
    QTest.keyClick(window.window, Qt.Key.Key_Escape)
    assert window.controller.state is RunState.STOPPING


def test_the_card_stays_inside_the_page(window: Bench) -> None:
    run_by_hand(window)
    window.window.resize(1280, 800)
    for key in ("ttft", "energy"):
        open_card(window, key)
        card = window.page.definitions.card
        assert window.page.rect().contains(card.geometry())
        assert card.width() == 384 + 28


def test_a_definition_is_copied_as_text(window: Bench) -> None:
    run_by_hand(window)
    open_card(window, "ttft")
    window.qtbot.mouseClick(window.page.definitions.card.copy_button, Qt.MouseButton.LeftButton)
    text = QGuiApplication.clipboard().text()
    assert text.startswith("TTFT (time to first token)\nTTFT = t_1 - t0\nmedian of 200.0, 200.0 ms")
    assert "Leaves out: Loading the model." in text


# -- other tools ------------------------------------------------------------------------------


def test_figures_of_other_tools_in_a_table_to_copy(window: Bench) -> None:
    assert not window.window.top_bar.export_button.isEnabled()
    run_by_hand(window)
    window.controller.draw()
    assert window.window.top_bar.export_button.isEnabled()
    window.window.actions_.as_others.trigger()
    window.settle(lambda: window.window.findChildren(OtherToolsDialog))
    (dialog,) = window.window.findChildren(OtherToolsDialog)
    by_name = {(line.tool, line.figure): line for line in dialog.lines}
    assert by_name["vLLM bench serve", "TTFT"].mean == f"200.0{THIN}ms"
    assert by_name["vLLM bench serve", "TPOT"].p50 == f"10.00{THIN}ms"
    missing = by_name["llama-bench", "tg (text generation)"]
    assert missing.mean == "n/a"
    assert missing.reason in missing.tip and missing.reason
    assert dialog.table.rowCount() == len(dialog.lines)
    dialog.copy()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].split("\t")[:3] == ["Tool", "Figure", "Mean"]
    assert len(lines) == 1 + len(dialog.lines)
    dialog.close()


def test_key_figures_are_copied_as_shown(window: Bench) -> None:
    run_by_hand(window)
    window.window.actions_.copy_figures.trigger()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0] == f"TTFT\t200{THIN}ms"
    assert lines[-1] == "Energy/token\t—"


# -- bandwidth, notes, forward time -----------------------------------------------------------


def test_busy_time_is_explained_or_withheld(window: Bench) -> None:
    window.window.set_config(RunConfig(prompt_tokens=16, output_tokens=101, repeats=2, warmup=0))
    window.window.start()
    window.client.begin(gpu=True)
    # 100 gaps of 10 ms: four windows of 250 ms.
    window.client.request(gap_ms=10.0, noise=False, gpu=True)
    window.settle(lambda: window.controller.state is RunState.RUNNING and window.controller.run)
    window.settle(lambda: window.controller.run.requests[0].end_ns is not None)  # type: ignore[union-attr]
    window.controller.draw()
    explanation = window.page.bandwidth.explanation
    said = f"Busy time is the share of time memory was touched in the last 0.25{THIN}s, not bandwidth."
    assert explanation.text() == said
    # The next one decodes for 190 ms: less than three windows.
    window.client.request(gap_ms=10.0, noise=False, gpu=True, tokens=20)
    window.client.finish()
    window.settle(lambda: window.controller.values_final)
    window.controller.draw()
    assert explanation.text().startswith("Busy time is withheld: too short for this counter")


def test_utilisation_above_the_reference_is_marked_and_noted(window: Bench) -> None:
    window.window.set_config(RunConfig(prompt_tokens=16, output_tokens=11, repeats=1, warmup=0))
    window.window.start()
    window.client.begin()
    window.client.feed([ev.Fact("reference", {"gb_s": 10.0, "source": "measured"}, 1)])
    window.client.request(gap_ms=10.0, noise=False)
    window.client.finish()
    window.settle(lambda: window.controller.values_final)
    window.controller.draw()
    kpi = window.page.kpis.shown["mbu"]
    assert kpi.value is not None and kpi.value > 1
    assert (kpi.mark, kpi.foot) == ("warning", "above 100 %")
    tabs = window.page.tabs
    assert "above 100 % of the measured reference" in tabs.notes.toPlainText()
    assert tabs.bar.tabText(2) == f"Notes  {len(tabs.notes.toPlainText().splitlines())}"


def test_forward_time_of_each_gap() -> None:
    timeline = Timeline()
    timeline.apply(ev.RequestStart(0, 1, "r1", 0, 4, 4, True, False, None, ""))
    timeline.apply(ev.make_steps(0, 0, [10 * MS, 20 * MS, 32 * MS], ids=[1, 2, 3]))
    request = timeline.requests[0]
    assert forward_ms(request, step_view(request)) is None
    timeline.apply(ev.Busy(0, 0, [9_000, 8_000]))  # the third is not told yet
    known = forward_ms(request, step_view(request))
    assert known is not None
    assert known[0] == 8.0
    assert math.isnan(known[1])


# -- our own cost -------------------------------------------------------------------------------


def test_own_cost_in_words() -> None:
    text, tip = own_cost_words({"model": "preset:small", "variants": [ROW]})
    assert text == f"own cost: ITL +0.4{THIN}% (measured)"
    assert f"95 % interval {MINUS}0.3{THIN}% to +1.1{THIN}%; 24 blocks" in tip
    noisy = {**ROW, "itl_mean_ratio": 0.87, "itl_mean_ratio_ci95": [0.46, 1.45]}
    assert own_cost_words({"variants": [noisy]})[0] == "own cost: lost in noise (measured)"
    for nothing in (None, {"variants": []}, {"variants": [{**ROW, "itl_mean_ratio": None}]}):
        assert own_cost_words(nothing)[0] == "own cost: not measured"


def test_rows_of_an_earlier_measurement_stay_only_for_the_same_model() -> None:
    full = {"variant": "full", "itl_mean_ratio": 1.01}
    before = {"model": "demo", "variants": [full, {**ROW, "itl_mean_ratio": 2.0}]}
    assert with_window_rows(before, "demo", [ROW])["variants"] == [full, ROW]
    assert with_window_rows(before, "preset:nano", [ROW])["variants"] == [ROW]


def test_own_cost_is_measured_and_shown_and_the_run_comes_back(window: Bench) -> None:
    run_by_hand(window)
    run, document = window.controller.run, window.controller.document
    assert window.window.status.own_cost.text() == "own cost: not measured"
    window.window.actions_.own_cost.trigger()
    verb, args = window.client.sent[-1]
    assert verb == "overhead"
    assert args["variants"] == ["bare", "window"]
    assert args["budget_s"] == 90
    assert args["config"]["prompt_tokens"] == 16
    assert not window.page.setup.model.picker.isEnabled()
    assert not window.window.actions_.own_cost.isEnabled()

    window.client.begin(reply=False)
    window.settle(lambda: window.controller.state is RunState.RUNNING)
    window.client.clock_ns += 30_000 * MS
    window.page._on_tick()
    assert window.page.run_box.title.text() == "Measuring own cost"
    left_s = window.controller.progress().left_s
    assert left_s is not None and 55 < left_s <= 60

    window.client.own_cost_measured([ROW])
    window.settle(lambda: not window.controller.active)
    assert window.window.status.own_cost.text() == f"own cost: ITL +0.4{THIN}% (measured)"
    assert window.controller.run is run
    assert window.controller.document == document
    assert window.controller.state is RunState.FINISHED
    assert run is not None and run.status == "finished"
    assert window.page.kpis.shown["tpot"].value == 10.0
    window.settle(lambda: not window.background.busy)
    kept = read_own_cost()
    assert kept is not None and kept["variants"] == [ROW]


def test_a_measurement_of_own_cost_can_be_stopped(window: Bench) -> None:
    window.window.actions_.own_cost.trigger()
    window.client.begin(reply=False)
    window.settle(lambda: window.controller.state is RunState.RUNNING)
    window.window.actions_.stop.trigger()
    assert window.client.verbs[-1] == "stop"
    window.client.own_cost_measured(None)
    window.settle(lambda: not window.controller.active)
    assert window.controller.state is RunState.IDLE
    assert window.page.welcome.isVisible()
    assert not window.page.failure.isVisible()
    assert window.window.status.own_cost.text() == "own cost: not measured"


def test_the_measurement_takes_model_and_device_of_the_setup() -> None:
    config = RunConfig(model="demo", device="cpu", threads=2, prompt="Hello", output_tokens=7, repeats=9)
    measured = own_cost_config(config)
    assert (measured.model, measured.device, measured.threads) == ("demo", "cpu", 2)
    assert (measured.prompt, measured.prompt_tokens, measured.repeats, measured.warmup) == (None, 16, 1, 0)
