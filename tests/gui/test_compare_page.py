"""The Compare page on recorded session files: sessions in and out, verdicts, reports."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clipping import cut_texts, overlapping_texts
from compare_sessions import gaps, run_events, write_session
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTableWidgetItem, QWidget

from app.background import Background
from app.pages.compare import ComparePage
from app.pages.compare_data import Pair, load_session, ok_gaps, run_curves
from app.pages.compare_view import pair_reports
from app.panels.compare_export import PairReport, as_csv, as_markdown
from app.panels.compare_interval import axis_x, clipped
from app.panels.compare_words import (
    confounded,
    difference_words,
    interval_words,
    knobs,
    power_warning,
    reason_in_letters,
    row_tip,
    setting_name,
    verdict_words,
)
from app.theme import DARK, LIGHT, apply_theme
from profiler import events as ev
from profiler.analysis.manifest import environment_differences
from profiler.errors import SessionError
from profiler.reporting.comparison_sides import Recording

REQUESTS, TOKENS = 12, 48


class FakeDialogs:
    """Answers what the test put in."""

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self.report: Path | None = None
        self.asked: list[str] = []

    def open_paths(self, parent: QWidget, folder: str) -> list[Path]:
        self.asked.append(folder)
        return self.paths

    def report_path(self, parent: QWidget, suggested: Path, kind: str) -> Path | None:
        self.asked.append(suggested.name)
        return self.report


class Bench:
    """A page, and the means to move it on."""

    def __init__(self, qtbot, folder: Path, compare: Any = None) -> None:
        self.qtbot, self.folder = qtbot, folder
        self.background = Background()
        self.dialogs = FakeDialogs()
        more = {} if compare is None else {"compare": compare}
        self.page = ComparePage(self.background, self.dialogs, **more)
        qtbot.addWidget(self.page)
        self.page.resize(1194, 773)
        apply_theme(self.page, DARK)
        self.page.show()
        self.told: list[str] = []
        self.page.reported.connect(self.told.append)

    def session(self, name: str, centre_ms: float = 13.0, seed: int = 1, **more: Any) -> Path:
        each = gaps(REQUESTS, TOKENS, centre_ms, seed)
        return write_session(self.folder / f"{name}.dscope", run_events(1, each, **more), name=name)

    def settle(self) -> None:
        def done() -> bool:
            self.background.poll()
            return not self.background.busy and not self.page.state.computing

        self.qtbot.waitUntil(done, timeout=60_000)

    def compare(self, *paths: Path) -> None:
        self.page.set_sessions(paths)
        self.settle()

    def verdicts(self) -> dict[str, str]:
        table = self.page.differences.texts()
        return {cells[0]: cells[6] for cells in table}


def not_judged(a: Recording, b: Recording, floor: object) -> Pair:
    """A judgement that costs nothing, where a test is not about it."""
    rows = [verdict(metric, "slower") for metric in ("ttft_ms.p50", "itl_ms.p50", "output_tok_s.p50")]
    who = [{"id": side.run.no, "name": side.run.name, "created": side.created} for side in (a, b)]
    differences = environment_differences(a.run, b.run)
    return Pair({"a": who[0], "b": who[1], "rows": rows, "environment_differences": differences}, None)


@pytest.fixture
def quick(qtbot, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(qtbot, tmp_path, not_judged)
    yield made
    made.background.close()


@pytest.fixture
def bench(qtbot, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(qtbot, tmp_path)
    yield made
    made.background.close()


# -- empty, adding, taking out ---------------------------------------------------------------


def test_an_empty_page_says_what_it_does_and_offers_two_ways(quick: Bench) -> None:
    page = quick.page
    assert page.empty.isVisible()
    assert not page.report.isEnabled()
    with quick.qtbot.waitSignal(page.choose_sessions_asked):
        QTest.mouseClick(page.empty.list, Qt.MouseButton.LeftButton)
    quick.dialogs.paths = [quick.session("one")]
    page.set_folder("/some/folder")
    QTest.mouseClick(page.empty.files, Qt.MouseButton.LeftButton)
    assert quick.dialogs.asked == ["/some/folder"]
    quick.settle()
    assert not page.empty.isVisible()
    assert page.bar.about.text() == "1 session"
    assert page.differences.state.text() == "Add a second session to see what differs."
    assert "A " in page.latency.summary()


def test_files_can_be_dropped_and_others_cannot(quick: Bench) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(quick.session("dropped")))])
    action, button, key = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    quick.page.dropEvent(QDropEvent(QPointF(5, 5), action, data, button, key))
    quick.settle()
    assert [member.letter for member in quick.page.state.ready] == ["A"]
    data.setUrls([QUrl.fromLocalFile("/x/picture.png")])
    quick.page.dropEvent(QDropEvent(QPointF(5, 5), action, data, button, key))
    assert len(quick.page.state.members) == 1


def test_six_sessions_at_most_and_a_letter_is_given_again(quick: Bench) -> None:
    paths = [quick.session(f"s{number}", seed=number) for number in range(7)]
    page = quick.page
    page.set_sessions(paths[:6])
    assert not page.cards.add_button.isEnabled()
    page.add_session(paths[6])
    assert quick.told == ["Six sessions are compared already; take one out first."]
    quick.settle()
    assert list(page.cards.cards) == list("ABCDEF")
    QTest.keyClick(page.cards.cards["B"], Qt.Key.Key_Delete)
    assert [member.letter for member in page.state.members] == list("ACDEF")
    page.add_session(paths[6])
    quick.settle()
    assert page.state.member("B").path == paths[6]  # type: ignore[union-attr]
    page.add_session(paths[0])
    assert quick.told[-1] == "Six sessions are compared already; take one out first."


def test_a_session_is_not_taken_twice(quick: Bench) -> None:
    path = quick.session("same")
    quick.compare(path)
    quick.page.add_session(path)
    assert quick.told == ["same.dscope is compared already."]


def test_a_file_of_several_runs_offers_the_run(bench: Bench) -> None:
    path = bench.folder / "two.dscope"
    write_session(
        path,
        run_events(1, gaps(6, 32, 20.0, 1), name="slow"),
        run_events(2, gaps(6, 32, 10.0, 2), name="quick", first_request=50),
    )
    bench.compare(path)
    card = bench.page.cards.cards["A"]
    assert card.facts.run == 2
    assert card.facts.runs == ((1, "1: slow"), (2, "2: quick"))
    # Added again, its other run is taken: two runs of one file are compared.
    bench.page.add_session(path)
    bench.settle()
    assert [member.run_no for member in bench.page.state.members] == [2, 1]
    assert bench.verdicts()["ITL p50"] == "slower"
    card.run_chosen.emit("A", 1)
    bench.settle()
    assert bench.page.state.member("A").run_no == 1  # type: ignore[union-attr]
    assert bench.verdicts()["ITL p50"] == "equivalent"


def test_what_is_wrong_with_a_file_is_a_sentence_on_its_card(bench: Bench) -> None:
    damaged = bench.folder / "damaged.dscope"
    damaged.write_bytes(b"no session at all" * 100)
    few = write_session(bench.folder / "few.dscope", run_events(1, gaps(3, TOKENS, 13.0, 1)))
    bench.compare(bench.folder / "gone.dscope", damaged, few, bench.session("good"))
    page = bench.page
    said = {letter: card.detail.text() for letter, card in page.cards.cards.items()}
    assert said["A"] == "The file is not there; check the path."
    assert "not a Decodescope session" in said["B"]
    assert said["C"] == "3 answered requests: a verdict needs 5."
    assert page.state.baseline == "C"
    assert [member.letter for member in page.state.ready] == ["C", "D"]
    assert set(bench.verdicts().values()) == {"not comparable"}
    tip = page.differences.table.item(0, 6).toolTip()
    assert "C has 3" in tip


def test_a_job_that_fails_is_said_and_nothing_hangs(qtbot, tmp_path: Path) -> None:
    def broken(a: Recording, b: Recording, floor: object) -> Pair:
        raise SessionError("The disk went away; plug it in again.")

    bench = Bench(qtbot, tmp_path, broken)
    bench.compare(bench.session("a"), bench.session("b", seed=2))
    assert bench.page.differences.state.text() == "The disk went away; plug it in again."
    bench.background.close()


def test_taken_out_while_it_loads_changes_nothing(quick: Bench) -> None:
    quick.page.set_sessions([quick.session("a"), quick.session("b", seed=2)])
    quick.page.state.remove("A")
    quick.settle()
    assert [member.letter for member in quick.page.state.ready] == ["B"]
    assert quick.page.state.baseline == "B"


def test_a_page_that_is_gone_is_not_called_back(qtbot, tmp_path: Path) -> None:
    background = Background()
    page = ComparePage(background, FakeDialogs())
    page.set_sessions([write_session(tmp_path / "a.dscope", run_events(1, gaps(5, 8, 10.0, 1)))])
    gone: list[bool] = []
    page.destroyed.connect(lambda: gone.append(True))
    page.deleteLater()
    qtbot.waitUntil(lambda: bool(gone), timeout=20_000)
    qtbot.waitUntil(lambda: background.poll() or not background.busy, timeout=20_000)
    background.close()


# -- verdicts --------------------------------------------------------------------------------


def test_verdicts_in_words(bench: Bench) -> None:
    slow = bench.session("slow", 13.65, seed=2, ttft_ms=20.0)
    bench.compare(bench.session("base", 13.0, ttft_ms=20.0), slow)
    verdicts = bench.verdicts()
    assert list(verdicts)[:3] == ["TTFT p50", "TTFT p95", "ITL p50"]
    assert verdicts["ITL p50"] == verdicts["TPOT p50"] == verdicts["End to end p50"] == "slower"
    assert verdicts["Throughput p50"] == verdicts["MBU"] == "lower"
    assert verdicts["TTFT p50"] in ("equivalent", "no difference shown")
    assert bench.page.differences.foot.text().startswith("Bootstrap over 12 and 12 requests.")


def test_another_baseline_turns_the_verdict(bench: Bench) -> None:
    bench.compare(bench.session("base", 13.0), bench.session("slow", 13.65, seed=2))
    page = bench.page
    QTest.keyClick(page.cards.cards["B"], Qt.Key.Key_Return)
    bench.settle()
    assert page.state.baseline == "B"
    assert page.bar.about.text() == "2 sessions, baseline B"
    verdicts = bench.verdicts()
    assert verdicts["ITL p50"] == "faster"
    assert verdicts["Throughput p50"] == "higher"
    assert page.differences.table.horizontalHeaderItem(3).text() == "A − B"
    assert page.cards.cards["B"].facts.baseline
    assert not page.cards.cards["A"].facts.baseline
    readout = page.latency.readout(20)
    assert [percent is None for _, _, percent in readout] == [False, True]


def test_the_pair_is_chosen_by_segments(bench: Bench) -> None:
    bench.compare(bench.session("a"), bench.session("b", 13.7, seed=2), bench.session("c", 12.0, seed=3))
    page = bench.page
    chooser = page.differences.chooser
    assert chooser is not None
    assert page.state.chosen == "B"
    assert bench.verdicts()["ITL p50"] == "slower"
    QTest.keyClick(chooser, Qt.Key.Key_Right)
    assert page.state.chosen == "C"
    assert bench.verdicts()["ITL p50"] == "faster"
    QTest.mouseClick(page.cards.cards["C"], Qt.MouseButton.LeftButton)
    bench.settle()
    assert page.state.baseline == "C"
    assert page.state.others == ["A", "B"]


def test_the_noise_floor_takes_claims_back(bench: Bench) -> None:
    a, b = bench.session("a", 13.0), bench.session("b", 13.65, seed=2)
    # C and D ran alike and still differ by 8 %: this machine cannot show 5 %.
    c, d = bench.session("c", 13.0, seed=3), bench.session("d", 14.04, seed=4)
    bench.compare(a, b, c, d)
    page = bench.page
    assert bench.verdicts()["ITL p50"] == "slower"
    words = [action.text() for action in page.cards.cards["C"].menu.actions()]
    assert "Use C and D as noise floor" in words
    action = next(a for a in page.cards.cards["C"].menu.actions() if a.text() == "Use C and D as noise floor")
    action.trigger()
    bench.settle()
    floor = page.state.noise_floor()
    assert floor is not None
    assert floor["itl_ms.p50"] == pytest.approx(0.08, abs=0.01)
    assert bench.verdicts()["ITL p50"] == "no difference shown"
    assert page.differences.foot.text().startswith("Noise floor from C and D (ITL p50 ")
    assert "Within the noise floor" in page.differences.table.item(2, 6).toolTip()
    assert page.cards.cards["D"].facts.floor == "C, D"
    page.state.remove("D")
    bench.settle()
    assert page.state.floor is None
    assert bench.verdicts()["ITL p50"] == "slower"


def test_another_workload_is_said_once_for_all_rows(bench: Bench) -> None:
    other = write_session(bench.folder / "other.dscope", run_events(1, gaps(REQUESTS, 96, 13.0, 2)))
    bench.compare(bench.session("a"), other)
    assert set(bench.verdicts().values()) == {"not comparable"}
    assert bench.page.differences.state.text().startswith("Different workloads: ")


def test_slope_and_energy_are_told_without_a_verdict(bench: Bench) -> None:
    """Gaps that grow by 10 and by 20 us a token; 25 W over the whole run."""
    paths = []
    for name, us in (("flat", 10.0), ("steep", 20.0)):
        each = [13.0 + us / 1000 * np.arange(TOKENS - 1) for _ in range(REQUESTS)]
        run = run_events(1, each, ttft_ms=20.0, facts={"model": {"device": "cuda:0"}})
        end = run[-1].t_ns
        samples = [ev.Sample(t, "gpu0", {"power_w": 25.0}) for t in range(10**12, end + 10**9, 10**9)]
        paths.append(write_session(bench.folder / f"{name}.dscope", [*run, *samples], name=name))
    bench.compare(*paths)
    page = bench.page
    cells = {row[0]: row for row in page.differences.texts()}
    assert cells["ITL slope"][1:] == ["10.0", "20.0", "+10 µs/token", "—", "—", "no verdict"]
    assert cells["Energy"][6] == "no verdict"
    rows = {row["metric"]: row for row in page.state.pair("B").rows}  # type: ignore[union-attr]
    window_s = {side: page.state.member(side).run.requests[-1].t_ns[-1] / 1e9 - 1000 for side in "AB"}
    for key, side in (("a", "A"), ("b", "B")):
        tokens = REQUESTS * TOKENS
        assert rows["energy.joules_per_token"][key] == pytest.approx(25 * window_s[side] / tokens, rel=1e-3)
    last = page.differences.table.rowCount() - 1
    assert "Energy is one figure a run" in page.differences.table.item(last, 6).toolTip()
    assert page.state.noise_floor() is None
    assert bench.verdicts()["ITL p50"] != "no verdict"
    assert page.differences.state.text() == ""
    page.report_menu.copy_markdown()
    text = QGuiApplication.clipboard().text()
    assert "| ITL slope (µs/token) | 10.0 | 20.0 | +10 µs/token | — | no verdict: a slope may be 0," in text


def test_runs_of_one_name_are_told_apart_in_reports(quick: Bench) -> None:
    quick.compare(quick.session("a"), quick.session("b", seed=2))
    names = {pair.b: (pair.name_a, pair.name_b) for pair in pair_reports(quick.page.state)}
    assert names == {"B": ("a", "b")}
    each = gaps(REQUESTS, TOKENS, 13.0, 1)
    paths = [quick.folder / f"{stem}.dscope" for stem in ("one", "two")]
    for number, path in enumerate(paths, start=1):
        write_session(path, run_events(number, each), name="same")
    quick.compare(*paths)
    ((a, b),) = [(pair.name_a, pair.name_b) for pair in pair_reports(quick.page.state)]
    assert a != b
    assert a.startswith("same · ") and b.startswith("same · ")


# -- charts ----------------------------------------------------------------------------------


def test_one_crosshair_through_both_charts_over_the_output(quick: Bench) -> None:
    quick.compare(quick.session("a", 13.0), quick.session("b", 12.35, seed=2))
    page = quick.page
    page.latency.hovered.emit(20.0)
    assert page.latency.crosshair == page.bandwidth.crosshair == 20.0
    (_, first, none), (_, second, percent) = page.latency.readout(20.0)
    assert none is None
    assert percent == pytest.approx(100 * (second / first - 1))
    assert percent == pytest.approx(-5.0, abs=1.0)
    page.bandwidth.hovered.emit(None)
    assert page.latency.crosshair is None


def test_alignment_by_time_ends_where_the_run_ends(quick: Bench) -> None:
    quick.compare(quick.session("a", 13.0), quick.session("b", 26.0, seed=2))
    page = quick.page
    assert page.latency.canvas.ranges[0] == (0.0, float(TOKENS))
    page.set_crosshair(10.0)
    QTest.keyClick(page.align, Qt.Key.Key_Right)
    # 47 gaps of 26 ms are 1.22 s; a token's number is no time, so the mark is gone.
    assert page.latency.canvas.ranges[0][1] == pytest.approx(47 * 0.026, rel=0.03)
    assert page.latency.crosshair is None
    assert [letter for letter, _, _ in page.latency.readout(0.3)] == ["A", "B"]
    assert [letter for letter, _, _ in page.latency.readout(1.0)] == ["B"]
    QTest.keyClick(page.align, Qt.Key.Key_Left)
    assert page.latency.canvas.ranges[0] == (0.0, float(TOKENS))


def test_the_curves_are_numpys_on_the_recorded_gaps(quick: Bench) -> None:
    each = gaps(REQUESTS, TOKENS, 13.0, 1)
    quick.compare(quick.session("a", 13.0), quick.session("b", 12.0, seed=2))
    pool = np.sort(np.round(np.concatenate(each) * 1e6) / 1e6)
    curves = quick.page.state.members[0].curves
    assert curves is not None
    assert curves.sorted_gaps_ms == pytest.approx(pool, abs=1e-6)
    assert quick.page.distribution.marks("A") == pytest.approx(
        np.quantile(pool, (0.5, 0.95, 0.99)).tolist(), abs=1e-6
    )
    stages = dict(curves.stages_ms)
    assert list(stages) == ["tokenize", "prefill", "sample"]
    assert stages["prefill"] == pytest.approx(0.8 * curves.ttft_ms, rel=0.01)


def test_the_quantile_plot_is_the_difference_of_numpys_quantiles(bench: Bench) -> None:
    bench.compare(bench.session("a", 13.0), bench.session("b", 12.0, seed=2))
    page = bench.page
    a, b = (np.concatenate(ok_gaps(member.run)) for member in page.state.members)  # type: ignore[arg-type]
    x, y = page.quantiles._curves["B"].getData()
    assert len(x) >= 20
    assert y == pytest.approx(np.quantile(b, x / 100) - np.quantile(a, x / 100), abs=1e-9)
    assert "B − A" in page.quantiles.summary()


def test_no_bandwidth_says_why(quick: Bench) -> None:
    facts = {"reference": {"gb_s": None, "reason": "the buffer did not fit"}}
    quick.compare(quick.session("a", facts=facts))
    assert quick.page.bandwidth._y is None
    assert quick.page.bandwidth.summary() == "Memory bandwidth: A: the buffer did not fit"


def test_a_missing_request_counts_for_nothing(tmp_path: Path) -> None:
    events = run_events(1, gaps(5, 16, 10.0, 1))
    broken = [
        ev.RequestEnd(e.no, e.t_ns, "error", "error", "out of memory")
        if isinstance(e, ev.RequestEnd) and e.no == 3
        else e
        for e in events
    ]
    loaded = load_session(write_session(tmp_path / "x.dscope", broken))
    curves = run_curves(loaded.runs[0])
    assert (curves.requests, curves.tokens) == (4, 60)


# -- what differs ----------------------------------------------------------------------------


def machine(cap_w: float, torch: str) -> dict[str, Any]:
    return {
        "gpus": [{"name": "L4", "limits": {"power_limit_w": cap_w}}],
        "driver": "570.86",
        "software": {"torch": torch, "packages": {"torch": torch}},
    }


def test_a_forgotten_power_cap_is_the_first_thing_seen(quick: Bench) -> None:
    a = quick.session("a", environment=machine(72.0, "2.9.1"))
    b = quick.session("b", seed=2, environment=machine(72.0, "2.10.0"))
    c = quick.session("c", seed=3, environment=machine(50.0, "2.9.1"))
    quick.compare(a, b, c)
    page = quick.page
    assert page.power.isVisible()
    assert page.power.text.startswith("Other power caps: A ran at 72 W, C at 50 W.")
    assert page.power.y() < page.left.y()
    rows = page.settings.shown
    assert [setting_name(entry.path) for entry in rows] == ["Power cap (W)", "torch"]
    assert rows[0].differs == ("C",)
    assert rows[1].differs == ("B",)
    assert page.settings.count.text().startswith("2 of ")
    page.settings.show_all.click()
    assert len(page.settings.shown) > 2
    names = [page.settings.table.item(row, 0).text() for row in range(page.settings.table.rowCount())]
    assert "GPU name" in names
    # One setting changed each: the difference may be put down to it.
    assert not page.settings.warning.isVisible()


def test_two_settings_at_once_are_said(quick: Bench) -> None:
    fp16 = {"model": {"dtype": "fp16", "device": "cpu", "device_name": "L4"}}
    a = quick.session("a", environment=machine(72.0, "2.9.1"))
    b = quick.session("b", seed=2, environment=machine(72.0, "2.10.0"), facts=fp16)
    quick.compare(a, b)
    assert quick.page.settings.warning.isVisible()
    assert quick.page.settings.warning.text == (
        "A and B differ in 2 settings (torch and precision). The difference cannot be put down to one of "
        "them. Run a session that changes only one."
    )
    assert not quick.page.power.isVisible()


def test_text_from_files_stays_text(quick: Bench) -> None:
    quick.compare(quick.session("a"), quick.session("b", seed=2, config={"attn": "<img src=x>"}))
    item = next(
        quick.page.settings.table.item(row, 2)
        for row in range(quick.page.settings.table.rowCount())
        if quick.page.settings.table.item(row, 0).text() == "Attention"
    )
    assert isinstance(item, QTableWidgetItem)
    assert item.text() == "<img src=x>"
    assert item.toolTip() == "<p>B: &lt;img src=x&gt;</p>"


# -- reports ---------------------------------------------------------------------------------


def test_reports_are_read_back(bench: Bench, tmp_path: Path) -> None:
    bench.compare(bench.session("a", 13.0), bench.session('b, "x" | =1', 13.65, seed=2))
    page = bench.page
    menu = page.report_menu
    menu.copy_markdown()
    text = QGuiApplication.clipboard().text()
    assert "| ITL p50 (ms) |" in text
    assert "| slower |" in text
    assert 'b, "x" \\| =1' in text
    for kind in ("csv", "json", "png"):
        bench.dialogs.report = tmp_path / f"out.{kind}"
        menu.save(kind)
        assert bench.told[-1] == f"Saved as {tmp_path / f'out.{kind}'}."
    bench.dialogs.report = tmp_path / "chart.png"
    page.latency.save_picture_asked.emit("png")
    assert (tmp_path / "chart.png").read_bytes()[:4] == b"\x89PNG"
    bench.dialogs.report = tmp_path / "chart.bmp"
    page.latency.save_picture_asked.emit("svg")
    assert bench.told[-1] == "chart.bmp is neither a PNG nor an SVG file: end its name in .png or .svg."
    rows = page.state.pair("B").rows  # type: ignore[union-attr]
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["metric"] for line in lines] == [row["metric"] for row in rows]
    assert float(lines[1]["ratio"]) == rows[1]["ratio"]
    assert lines[0]["session_name"] == 'b, "x" | =1'
    value = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert value["pairs"][0]["rows"] == rows
    assert (tmp_path / "out.png").read_bytes()[:4] == b"\x89PNG"


def test_a_report_that_cannot_be_written_is_said(quick: Bench, tmp_path: Path) -> None:
    quick.compare(quick.session("a"), quick.session("b", seed=2))
    quick.dialogs.report = tmp_path / "no folder" / "out.csv"
    quick.page.report_menu.save("csv")
    assert "cannot be written" in quick.told[-1]
    quick.dialogs.report = None
    quick.page.report_menu.save("json")
    assert len(quick.told) == 1


def test_cells_that_a_spreadsheet_would_run_are_quoted() -> None:
    row = {"metric": "itl_ms.p50", "a": 1.0, "b": 2.0, "difference": 1.0, "ratio": 2.0, "ci95": None}
    row |= {"p_value": None, "verdict": "not_comparable", "reason": "=HYPERLINK(1)"}
    pair = PairReport("A", "B", "+a", "b", {"rows": [row], "environment_differences": []})
    cells = next(csv.reader(as_csv([pair]).splitlines()[1:]))
    assert cells[2] == "'+a"
    assert cells[-1] == "'=HYPERLINK(1)"
    assert "<b>" not in as_markdown([PairReport("A", "B", "<b>", "b", pair.values)], "").replace(
        "\\<b\\>", ""
    )


# -- words -----------------------------------------------------------------------------------


def verdict(metric: str, word: str | None, **more: Any) -> dict[str, Any]:
    base = {"metric": metric, "a": 10.0, "b": 11.0, "difference": 1.0, "ratio": 1.1, "ci95": [1.05, 1.15]}
    return base | {"p_value": 0.0004, "verdict": word, "reason": None, "n_a": 40, "n_b": 39} | more


@pytest.mark.parametrize(
    ("metric", "word", "shown", "mark"),
    [
        ("itl_ms.p50", "slower", "slower", "worse"),
        ("itl_ms.p50", "faster", "faster", "better"),
        ("mbu.run", "faster", "higher", "better"),
        ("mbu.run", "slower", "lower", "worse"),
        ("output_tok_s.p50", "slower", "lower", "worse"),
        ("jitter.jitter_ms", "faster", "lower", "better"),
        ("itl_ms.p99", "no_difference", "no difference shown", "same"),
        ("itl_ms.p99", "equivalent", "equivalent", "equal"),
        ("itl_ms.p99", "not_comparable", "not comparable", "none"),
        ("energy.joules_per_token", None, "no verdict", "none"),
    ],
)
def test_each_verdict_has_a_word_and_a_mark(metric: str, word: str | None, shown: str, mark: str) -> None:
    words = verdict_words(verdict(metric, word))
    assert (words.text, words.mark) == (shown, mark)


def test_numbers_of_a_row_in_words() -> None:
    row = verdict("itl_ms.p50", "slower")
    assert difference_words(row) == "+1.0 ms"
    assert interval_words(row) == "+5.0 to +15 %"
    share = verdict("mbu.run", "slower", a=0.075, b=0.079, difference=0.004)
    assert difference_words(share) == "+0.40 points"
    assert row_tip(row, "A", "C") == (
        "ITL p50: slower. Mann–Whitney p below 0.001. 40 requests of A, 39 of C."
    )
    assert interval_words(verdict("itl_ms.p50", "not_comparable", ci95=None)) == "—"
    assert reason_in_letters("B: no memory; A has 3", "A", "D") == "D: no memory; A has 3"
    assert reason_in_letters("an A/A pair differed", "B", "C") == "an A/A pair differed"


def test_an_interval_is_clipped_at_a_fifth() -> None:
    from PySide6.QtCore import QRectF

    assert clipped(35.0) == (20.0, True)
    assert clipped(-21.0) == (-20.0, True)
    assert clipped(-19.9) == (-19.9, False)
    rect = QRectF(0, 0, 220, 28)
    assert (axis_x(rect, -20.0), axis_x(rect, 0.0), axis_x(rect, 20.0)) == (10.0, 110.0, 210.0)


def test_settings_that_go_together_are_one() -> None:
    def differs(path: str, important: bool = True) -> dict[str, Any]:
        return {"path": path, "a": 1, "b": 2, "important": important}

    cap = [
        differs("environment.gpus.0.power_limit_w"),
        differs("environment.gpus.0.power_cap_pct_of_default"),
    ]
    torch = [differs("environment.software.torch"), differs("facts.software.torch_cuda")]
    assert knobs(cap) == ["Power cap (W)"]
    assert knobs([*cap, *torch, differs("config.seed", important=False)]) == ["Power cap (W)", "torch"]
    assert confounded("A", "B", cap) == ""
    assert "2 settings (power cap (W) and torch)" in confounded("A", "B", [*cap, *torch])
    assert power_warning("A", "B", torch) == ""
    assert power_warning("A", "C", cap[1:]).startswith(
        "Other power caps: A ran at 1 % of the default, C at 2"
    )
    assert setting_name("environment.hardware.cpu.model") == "Processor"
    assert setting_name("environment.gpus.0.name") == "GPU name"


# -- looks and manners -----------------------------------------------------------------------


def test_everything_has_a_name_and_can_be_reached(quick: Bench) -> None:
    quick.compare(quick.session("a"), quick.session("b", seed=2))
    page = quick.page
    card = page.cards.cards["A"]
    assert card.accessibleName() == f"Session A: a, {card.detail.text()}, baseline"
    for widget in (card, card.more, page.align, page.latency, page.differences.table, page.settings.table):
        assert widget.accessibleName()
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    for bar in (*page.left.bars, *page.right.bars):
        assert bar.accessibleName()
    with quick.qtbot.waitSignal(page.open_asked) as asked:
        card.open_asked.emit("A")
    assert asked.args == [quick.folder / "a.dscope"]


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda palette: palette.name)
@pytest.mark.parametrize("size", [(768, 455), (1094, 645), (1194, 773), (1834, 1053)])
def test_the_page_fits(quick: Bench, palette, size) -> None:
    quick.compare(*(quick.session(f"a long name of session {n}", seed=n) for n in range(3)))
    page = quick.page
    apply_theme(page, palette)
    page.resize(*size)
    quick.qtbot.wait(10)  # posted layouts
    assert not page.grab().isNull()
    assert cut_texts(page) == []
    assert overlapping_texts(page) == []
    assert page.minimumSizeHint().width() <= size[0]
    assert page.minimumSizeHint().height() <= size[1]
    for column in range(page.differences.table.columnCount()):
        assert page.differences.table.columnWidth(column) >= 50
