"""Setup that helps: words while typing, recent models, drops, the sentence, saved configurations."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.panels.configuration_store import ConfigurationStore, config_text, load_config
from app.panels.run_box import RunBox
from app.panels.setup import SetupPanel
from profiler import events as ev
from profiler.config import RunConfig
from profiler.errors import UsageError


class FakeQuestions:
    """Answers what the test put in."""

    def __init__(self) -> None:
        self.given_name: str | None = "evening"
        self.path: Path | None = None
        self.yes = True
        self.suggested: list[str] = []

    def name(self, parent: QWidget, suggested: str) -> str | None:
        self.suggested.append(suggested)
        return self.given_name

    def replace(self, parent: QWidget, name: str) -> bool:
        return self.yes

    def import_path(self, parent: QWidget) -> Path | None:
        return self.path

    def export_path(self, parent: QWidget, suggested: str) -> Path | None:
        return self.path


class Made:
    """A setup panel with its own folder, dialogs and trash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "configurations"
        self.folder.mkdir()
        self.questions = FakeQuestions()
        self.trashed: list[Path] = []
        self.panel = SetupPanel(
            RunBox(), folder=lambda: self.folder, questions=self.questions, trash=self._trash
        )
        self.panel.set_config(RunConfig())

    def _trash(self, path: Path) -> None:
        self.trashed.append(path)
        path.unlink()

    def entries(self) -> dict[str, Any]:
        """The menu's entries by text."""
        self.panel.menu.fill()
        return {action.text(): action for action in self.panel.menu.actions() if action.text()}

    def submenu(self, title: str) -> QMenu:
        menu = self.entries()[title].menu()
        assert isinstance(menu, QMenu)
        return menu


@pytest.fixture
def made(qtbot: QtBot, tmp_path: Path) -> Iterator[Made]:
    result = Made(tmp_path)
    qtbot.addWidget(result.panel)
    result.panel.resize(306, 800)
    result.panel.show()
    yield result


# -- words while typing --------------------------------------------------------------------------------


def typed(qtbot: QtBot, box: Any, text: str) -> None:
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, text)


def test_a_number_that_cannot_work_is_told_while_it_is_typed(made: Made, qtbot: QtBot) -> None:
    workload = made.panel.workload
    typed(qtbot, workload.repeats, "0")
    field = workload.fields["repeats"]
    assert field.error == "Repeats: 0 cannot work; give a number of at least 1."
    assert field.control.accessibleDescription() == field.error
    typed(qtbot, workload.repeats, "5")
    assert field.error == ""
    assert made.panel.config().repeats == 5


def test_every_field_that_cannot_work_is_marked(made: Made, qtbot: QtBot) -> None:
    workload = made.panel.workload
    typed(qtbot, workload.output_tokens, "99000000")
    typed(qtbot, workload.warmup, "2000")
    assert workload.fields["output_tokens"].error == (
        "Output tokens: 99000000 cannot work; give a number of at most 10000000."
    )
    assert workload.fields["warmup"].error == "Warmup: 2000 cannot work; give a number of at most 1000."
    assert made.panel.checked_config() is None
    assert made.panel.forecast.isHidden()


def test_the_arrows_stay_within_what_works(made: Made) -> None:
    repeats = made.panel.workload.repeats
    repeats.setValue(1)
    repeats.stepBy(-1)
    assert repeats.value() == 1
    made.panel.workload.warmup.setValue(1000)
    made.panel.workload.warmup.stepBy(5)
    assert made.panel.workload.warmup.value() == 1000


def test_an_empty_prompt_is_told_beside_it(made: Made) -> None:
    made.panel.workload.kind.set_value("text")
    assert made.panel.workload.fields["prompt"].error == "The prompt is empty."
    made.panel.workload.text.setPlainText("Hello")
    assert made.panel.workload.fields["prompt"].error == ""


def test_a_file_of_prompts_is_looked_at(made: Made, tmp_path: Path, qtbot: QtBot) -> None:
    workload = made.panel.workload
    workload.kind.set_value("file")
    file = tmp_path / "prompts.jsonl"
    typed(qtbot, workload.path, str(file))
    assert workload.fields["prompts_file"].error == (
        f"The prompts file {file} cannot be read (No such file or directory); check the path."
    )
    file.write_text('{"prompt": "Hello"}\n{"nothing": 1}\n', encoding="utf-8")
    workload.edited.emit()
    assert "line 2" in workload.fields["prompts_file"].error
    typed(qtbot, workload.path, str(tmp_path / "other.jsonl"))
    (tmp_path / "other.jsonl").write_text('{"prompt": "Hello"}\n', encoding="utf-8")
    workload.edited.emit()
    assert workload.fields["prompts_file"].error == ""


def test_a_wrong_seed_opens_its_folded_group(made: Made, qtbot: QtBot) -> None:
    advanced = made.panel.advanced
    assert advanced.is_folded
    advanced.seed.setText("x")
    advanced.edited.emit()
    assert not advanced.is_folded
    assert advanced.fields["seed"].error.startswith("Seed: 'x' is not valid")


@pytest.mark.parametrize(
    "config",
    [
        RunConfig(seed=2**63 - 1, keep_text=False, name="first try"),
        RunConfig(seed=5),
        RunConfig(temperature=0.125 * 4, seed=7),
    ],
)
def test_the_rest_of_the_settings_has_a_place(made: Made, config: RunConfig) -> None:
    made.panel.set_config(config)
    assert made.panel.config() == config


def test_a_folded_group_says_what_is_not_as_usual(made: Made) -> None:
    made.panel.set_config(RunConfig(seed=7, keep_text=False))
    assert made.panel.advanced.summary == "seed 7, no text kept"
    made.panel.set_config(RunConfig())
    assert made.panel.advanced.summary == ""


# -- recent models ---------------------------------------------------------------------------------------


def picker_names(made: Made) -> list[str]:
    picker = made.panel.model.picker
    return [picker.itemData(i) for i in range(picker.count()) if picker.itemData(i) is not None]


def test_recent_models_come_first(made: Made) -> None:
    made.panel.model.set_recent(["/models/Qwen", "preset:1b"])
    assert picker_names(made)[:3] == ["/models/Qwen", "preset:1b", "preset:nano"]
    assert picker_names(made).count("preset:1b") == 1


def test_a_recent_model_can_be_forgotten(made: Made, qtbot: QtBot) -> None:
    model = made.panel.model
    model.set_recent(["/models/Qwen", "preset:1b"])
    assert not model.forget.isVisible()  # preset:small is chosen, and is none of them
    made.panel.set_config(RunConfig(model="preset:1b"))
    assert model.forget.isVisible()
    with qtbot.waitSignal(model.forget_asked) as told:
        qtbot.mouseClick(model.forget, Qt.MouseButton.LeftButton)
    assert told.args == ["preset:1b"]
    assert picker_names(made)[:2] == ["/models/Qwen", "preset:nano"]
    assert model.model == "preset:1b"


# -- dropping -----------------------------------------------------------------------------------------------


def test_what_can_be_dropped(made: Made, tmp_path: Path) -> None:
    def accepts(*paths: Path) -> Path | None:
        return made.panel.accepts([QUrl.fromLocalFile(str(path)) for path in paths])

    assert accepts(tmp_path) == tmp_path
    assert accepts(tmp_path / "model.GGUF") == tmp_path / "model.GGUF"
    assert accepts(tmp_path / "config.json") == tmp_path / "config.json"
    assert accepts(tmp_path / "session.dscope") is None
    assert accepts(tmp_path, tmp_path) is None
    assert made.panel.accepts([QUrl("https://example.org/model.gguf")]) is None
    made.panel.set_locked(True)
    assert accepts(tmp_path) is None


def test_a_dropped_model_is_chosen(made: Made, tmp_path: Path, qtbot: QtBot) -> None:
    shape = tmp_path / "config.json"
    shape.write_text('{"model_type": "llama"}', encoding="utf-8")
    with qtbot.waitSignal(made.panel.edited):
        made.panel.take_drop(shape)
    assert made.panel.config().model == str(shape)
    made.panel.take_drop(tmp_path)
    assert made.panel.config().model == str(tmp_path)


def test_a_dropped_configuration_is_shown(made: Made, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text('{"model": "demo", "repeats": 9}', encoding="utf-8")
    made.panel.take_drop(file)
    assert made.panel.config() == RunConfig(model="demo", repeats=9)


def test_a_json_file_that_is_neither_is_told(made: Made, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text('{"colour": "red"}', encoding="utf-8")
    made.panel.take_drop(file)
    assert made.panel.notice.text().startswith("colour: no such setting")
    made.panel.workload.repeats.setValue(4)
    assert made.panel.notice.isHidden()


def test_the_mouse_drops(made: Made, tmp_path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    actions, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(5, 5), actions, data, button, none)
    made.panel.dragEnterEvent(enter)
    assert enter.isAccepted()
    made.panel.dropEvent(QDropEvent(QPointF(5, 5), actions, data, button, none))
    assert made.panel.config().model == str(tmp_path)


# -- what this run will do ---------------------------------------------------------------------------------


INSPECTED = {
    "label": "SmolLM2 shape",
    "parameters": 134_515_008,
    "dtype": "fp32",
    "weight_bytes": 540_000_000,
}


def test_the_sentence_before_the_first_run(made: Made) -> None:
    made.panel.show_inspect(ev.Reply(1, True, INSPECTED))
    assert made.panel.forecast.sentence.text() == (
        "Loads SmolLM2 shape (134.5\u2009M, fp32) and answers a 128-token prompt 4 times (1 to warm up), "
        "128 tokens each: time unknown before the first run."
    )
    assert made.panel.time_words == ""


def test_the_sentence_after_a_run_of_the_model(made: Made) -> None:
    known = {
        "model": "preset:small",
        "dtype": "auto",
        "device_asked": "auto",
        "prompt_tokens": 128,
        "ttft_ms": 155.0,
        "tpot_ms": 75.0,
        "load_s": 4.0,
        "reference_gb_s": 20.0,
    }
    made.panel.set_known_runs([known, "rubbish", None])
    # 4 s and 4 * (155 + 127 * 75) ms = 42.72 s.
    assert made.panel.forecast.sentence.text().endswith("128 tokens each: about 45\u2009s.")
    assert made.panel.time_words == "about 45\u2009s"
    made.panel.set_config(RunConfig(prompt="Hello", warmup=0, repeats=1, ignore_eos=False, output_tokens=1))
    assert made.panel.forecast.sentence.text() == (
        "Loads small and answers your prompt once, up to 1 tokens each: about 4\u2009s."
    )


def test_another_model_on_the_same_memory_takes_at_least(made: Made) -> None:
    made.panel.set_known_runs(
        [
            {
                "model": "demo",
                "dtype": "auto",
                "device_asked": "auto",
                "prompt_tokens": 128,
                "ttft_ms": 155.0,
                "tpot_ms": 75.0,
                "load_s": 4.0,
                "reference_gb_s": 20.0,
            }
        ]
    )
    made.panel.show_inspect(ev.Reply(1, True, INSPECTED))
    # 512 tokens of 540 MB at 20 GB/s: 13.8 s.
    assert made.panel.forecast.sentence.text().endswith("each: at least 15\u2009s, by the memory's speed.")


def test_no_sentence_while_a_run_is_on(made: Made) -> None:
    assert made.panel.forecast.sentence.isVisible()
    made.panel.set_locked(True)
    assert not made.panel.forecast.sentence.isVisible()
    assert not made.panel.workload.repeats.isEnabled()
    assert made.panel.targets_group.switches["ttft_ms"].isEnabled()


# -- the shown session's settings ----------------------------------------------------------------------------


def test_the_sessions_settings_and_taking_them(made: Made, qtbot: QtBot) -> None:
    session = RunConfig(model="demo", output_tokens=512, repeats=5, dtype="bf16", threads=2)
    made.panel.show_session_config(session)
    assert made.panel.session_line.isVisible()
    assert made.panel.session_line.text.text() == (
        "This session ran with: demo · 128 → 512 tokens · 5 repeats · bf16 · 2 threads"
    )
    qtbot.mouseClick(made.panel.session_line.use_button, Qt.MouseButton.LeftButton)
    assert made.panel.config() == session
    assert not made.panel.session_line.isVisible()  # they are in the fields now
    made.panel.show_session_config(None)
    assert not made.panel.session_line.isVisible()


def test_repeat_this_run(made: Made, qtbot: QtBot) -> None:
    assert not made.entries()["Repeat this run"].isEnabled()
    session = RunConfig(model="demo", repeats=5)
    made.panel.show_session_config(session)
    with qtbot.waitSignal(made.panel.repeat_asked):
        made.entries()["Repeat this run"].trigger()
    assert made.panel.config() == session


# -- named configurations ------------------------------------------------------------------------------------


def test_save_load_delete_and_bring_back(made: Made) -> None:
    config = RunConfig(model="demo", repeats=7, prompt="Grüße, \n and so on")
    made.panel.set_config(config)
    made.entries()["Save as…"].trigger()
    file = made.folder / "evening.json"
    assert json.loads(file.read_text(encoding="utf-8"))["repeats"] == 7
    assert made.panel.notice.text() == "Saved as evening."

    made.panel.set_config(RunConfig())
    load = made.submenu("Load").actions()
    assert [action.text() for action in load] == ["evening"]
    load[0].trigger()
    assert made.panel.config() == config

    made.submenu("Move to trash").actions()[0].trigger()
    assert made.trashed == [file]
    assert not made.entries()["Load"].menu().isEnabled()
    made.entries()["Bring back evening"].trigger()
    assert ConfigurationStore(lambda: made.folder).load("evening") == config
    assert "Bring back evening" not in made.entries()


def test_replacing_is_asked(made: Made) -> None:
    made.entries()["Save as…"].trigger()
    made.panel.workload.repeats.setValue(9)
    made.questions.yes = False
    made.entries()["Save as…"].trigger()
    store = ConfigurationStore(lambda: made.folder)
    assert store.load("evening").repeats == 3
    assert made.questions.suggested == ["", "evening"]
    made.questions.yes = True
    made.entries()["Save as…"].trigger()
    assert store.load("evening").repeats == 9


def test_a_name_that_is_no_file_name_is_told(made: Made) -> None:
    made.questions.given_name = "../outside"
    made.entries()["Save as…"].trigger()
    assert made.panel.notice.text().startswith("The name cannot begin or end with a point")
    assert list(made.folder.parent.glob("*.json")) == []


def test_a_damaged_file_is_told_and_changes_nothing(made: Made) -> None:
    (made.folder / "bad.json").write_text("{", encoding="utf-8")
    made.submenu("Load").actions()[0].trigger()
    assert "is not JSON" in made.panel.notice.text()
    assert made.panel.config() == RunConfig()


def test_import_and_export(made: Made, tmp_path: Path) -> None:
    made.panel.set_config(RunConfig(repeats=8))
    made.questions.path = tmp_path / "mine"
    made.entries()["Export JSON…"].trigger()
    assert (tmp_path / "mine.json").read_text(encoding="utf-8") == config_text(RunConfig(repeats=8))
    made.panel.set_config(RunConfig())
    made.questions.path = tmp_path / "mine.json"
    made.entries()["Import JSON…"].trigger()
    assert made.panel.config().repeats == 8


def test_the_trash_may_refuse(tmp_path: Path) -> None:
    def refuse(path: Path) -> None:
        raise UsageError(f"{path.name} could not be moved to the trash; delete it in its folder.")

    store = ConfigurationStore(lambda: tmp_path, refuse)
    store.save("kept", RunConfig())
    with pytest.raises(UsageError, match="could not be moved"):
        store.delete("kept")
    assert store.names() == ["kept"]


def test_names_are_sorted_and_a_missing_folder_is_empty(tmp_path: Path) -> None:
    store = ConfigurationStore(lambda: tmp_path)
    for name in ("b", "A", "c d"):
        store.save(name, RunConfig())
    assert store.names() == ["A", "b", "c d"]
    assert ConfigurationStore(lambda: tmp_path / "none").names() == []


def test_a_name_with_an_ampersand_is_shown_as_it_is(made: Made) -> None:
    made.questions.given_name = "A & B"
    made.entries()["Save as…"].trigger()
    assert made.submenu("Load").actions()[0].text() == "A && B"


# -- copy as command ------------------------------------------------------------------------------------------


def test_copy_as_command(made: Made) -> None:
    made.panel.set_config(RunConfig(model="demo", repeats=5))
    made.entries()["Copy as command"].trigger()
    assert QGuiApplication.clipboard().text() == "dscope record --model demo --repeats=5"
    assert made.panel.notice.text() == "Copied: dscope record --model demo --repeats=5"


def test_a_prompt_of_two_lines_goes_through_a_file(made: Made) -> None:
    config = RunConfig(prompt="one\ntwo")
    made.panel.set_config(config)
    made.panel.copy_command()
    words = shlex.split(QGuiApplication.clipboard().text())
    assert words[:3] == ["dscope", "record", "--config"]
    assert load_config(Path(words[3])) == config
    assert ConfigurationStore(lambda: made.folder).names() == []
