"""The pages together: from a recorded session to the library, a comparison, an export and back."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from cli import dscope
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot
from window_parts import bench

from app.run_state import RunState
from app.sharing import recorded_config
from profiler.errors import UsageError
from profiler.paths import library_dir


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two real recordings: 6 requests of 24 tokens, the second 20 % slower."""
    folder = tmp_path_factory.mktemp("recorded")
    paths = []
    for name, itl_ms in (("fast", 2.0), ("slow", 2.4)):
        path = folder / f"{name}.dscope"
        model = f"synthetic:ttft_ms=5,itl_ms={itl_ms},jitter_ms=0.02,stamps=exact"
        done = dscope(
            "record", "--model", model, "--output-tokens", 24, "--repeats", 6, "--name", name, "--out", path
        )
        assert done.returncode == 0, done.stderr
        paths.append(path)
    return paths


def into_library(recorded: list[Path]) -> list[Path]:
    paths = [library_dir() / path.name for path in recorded]
    for source, target in zip(recorded, paths, strict=True):
        target.write_bytes(source.read_bytes())
    return paths


def test_a_session_goes_round_all_pages(qtbot: QtBot, tmp_path: Path, recorded: list[Path]) -> None:
    fast, slow = into_library(recorded)
    with bench(qtbot, tmp_path) as b:
        qtbot.keyClick(b.window, Qt.Key.Key_3, Qt.KeyboardModifier.ControlModifier)
        assert b.window.pages.current == "sessions"
        page = b.window.pages.page("sessions")
        b.settle(lambda: page.table.model().rowCount() == 2)

        page.compare_asked.emit([fast, slow])
        assert b.window.pages.current == "compare"
        compare = b.window.pages.page("compare")
        b.settle(lambda: compare.state.pair("B") is not None)
        pair = compare.state.pair("B")
        rows = {row["metric"]: row for row in pair.rows}
        assert rows["itl_ms.p50"]["verdict"] == "slower"
        assert rows["itl_ms.p50"]["ratio"] == pytest.approx(1.2, abs=0.02)

        compare.open_asked.emit(slow)
        assert b.window.pages.current == "profile"
        b.settle(lambda: b.controller.document.path == slow and b.controller.values_final)
        assert b.controller.state is RunState.FINISHED

        b.window.actions_.export.trigger()
        dialog = b.window.share_dialog
        assert dialog is not None and dialog.isVisible()
        dialog.choices["csv"].setChecked(True)
        target = tmp_path / "all tokens.csv"
        dialog.path.setText(str(target))
        qtbot.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        b.settle(target.exists)
        b.settle(lambda: "Written" in dialog.status.text())
        with target.open(encoding="utf-8", newline="") as file:
            measured = [row for row in csv.DictReader(file) if row["warmup"] == "0"]
        assert len(measured) == 6 * 24

        qtbot.mouseClick(dialog.copy, Qt.MouseButton.LeftButton)
        b.settle(lambda: "Copied" in dialog.status.text())
        assert QGuiApplication.clipboard().text().startswith("# ")
        dialog.close()


def test_an_existing_file_is_replaced_only_when_the_user_agrees(
    qtbot: QtBot, tmp_path: Path, recorded: list[Path]
) -> None:
    (fast, _) = into_library(recorded)
    target = tmp_path / "mine.json"
    target.write_text("mine")
    with bench(qtbot, tmp_path) as b:
        b.window.export(fast)
        dialog = b.window.share_dialog
        assert dialog is not None
        dialog.choices["json"].setChecked(True)
        dialog.path.setText(str(target))
        b.dialogs.yes = False
        dialog.save.click()
        assert target.read_text() == "mine"
        b.dialogs.yes = True
        dialog.save.click()
        b.settle(lambda: "Written" in dialog.status.text())
        assert json.loads(target.read_text(encoding="utf-8"))["schema"] == "decodescope.report/1"
        dialog.path.setText(str(tmp_path / "no" / "such.json"))
        dialog.save.click()
        b.settle(lambda: dialog.save.isEnabled())
        assert "no" in dialog.status.text() and "Written" not in dialog.status.text()
        dialog.close()


def test_repeating_a_session_starts_its_settings(qtbot: QtBot, tmp_path: Path, recorded: list[Path]) -> None:
    fast, _ = into_library(recorded)
    assert recorded_config(fast).repeats == 6
    with bench(qtbot, tmp_path) as b:
        b.window.repeat(fast)
        b.settle(lambda: "run" in b.client.verbs)
        assert b.window.pages.current == "profile"
        assert b.controller.config is not None
        assert b.controller.config.output_tokens == 24


def test_a_trace_has_nothing_to_repeat(tmp_path: Path) -> None:
    trace = Path(__file__).parent.parent / "cases" / "warmup_apart.jsonl"
    out = tmp_path / "t.dscope"
    assert dscope("import", trace, "--out", out).returncode == 0
    with pytest.raises(UsageError, match="holds no settings"):
        recorded_config(out)


def test_a_session_without_its_prompt_is_not_repeated(tmp_path: Path) -> None:
    """Else the words that stand for the prompt would be run as one."""
    out = tmp_path / "t.dscope"
    options = ("--prompt", "a prompt", "--output-tokens", 4, "--repeats", 1, "--no-keep-text")
    assert dscope("record", "--model", "synthetic:itl_ms=1", *options, "--out", out).returncode == 0
    with pytest.raises(UsageError, match="without its prompt"):
        recorded_config(out)


def test_a_recovered_recording_is_offered_once(qtbot: QtBot, tmp_path: Path, recorded: list[Path]) -> None:
    fast, _ = into_library(recorded)
    with bench(qtbot, tmp_path) as b:
        b.window.offers.look_for_recovered(lambda: [fast])
        b.settle(lambda: b.window.offer.isVisible())
        assert "“fast” ended unexpectedly" in b.window.offer.words.text()
        (button,) = b.window.offer.choices
        button.click()
        b.settle(lambda: b.controller.document.path == fast)
        # What may be offered now is the hint for newcomers, not the recording again.
        assert "ended unexpectedly" not in b.window.offer.words.text()


def test_the_hint_for_newcomers_goes_away_for_good(qtbot: QtBot, tmp_path: Path) -> None:
    with bench(qtbot, tmp_path) as b:
        b.run_to_end()
        assert b.window.offer.isVisible()
        (button,) = b.window.offer.choices
        button.click()
        assert not b.window.offer.isVisible()
        b.run_to_end()
        assert not b.window.offer.isVisible()
    with bench(qtbot, tmp_path) as again:
        again.run_to_end()
        assert not again.window.offer.isVisible()


def test_settings_are_kept(qtbot: QtBot, tmp_path: Path) -> None:
    with bench(qtbot, tmp_path) as b:
        b.window.show_settings()
        from app.panels.settings_dialog import SettingsDialog

        (dialog,) = b.window.findChildren(SettingsDialog)
        dialog.theme.setCurrentIndex(dialog.theme.findData("light"))
        assert b.theme.palette.name == "light"
        dialog.quota.setValue(7)
        dialog.age.setValue(0)
        dialog.text_scale.setCurrentIndex(dialog.text_scale.findData(1.3))
        dialog.accept()
        assert b.settings.quota_gb() == 7
        assert b.settings.max_age_days() == 0
        assert b.settings.text_scale() == 1.3
        assert b.settings.theme() == "light"
