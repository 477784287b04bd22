"""Setup, second part: the prompt, the lengths, how often."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QCheckBox, QFileDialog, QLineEdit, QPlainTextEdit, QWidget

from app.panels.fields import Choice, Field, Group, number
from app.panels.parts import row
from app.widgets import IconButton
from profiler.errors import UsageError
from profiler.worker.prompts import read_prompts

SYNTHETIC, TEXT, FILE = "synthetic", "text", "file"
READ_WHILE_TYPING = 4 << 20
"""Bytes of a file of prompts that are read at once to say whether it works."""


class WorkloadGroup(Group):
    """Prompt as tokens, text or file; output length, repeats, warm-ups."""

    def __init__(self) -> None:
        super().__init__(self.tr("Workload"))
        tokens = self.tr(" tokens")
        self.kind = Choice(
            [
                (SYNTHETIC, self.tr("Synthetic, exact length")),
                (TEXT, self.tr("Text")),
                (FILE, self.tr("JSONL file of prompts")),
            ]
        )
        self.prompt_tokens = number(1, 10_000_000, 128, tokens)
        self.text = QPlainTextEdit()
        self.text.setFixedHeight(84)
        self.text.setTabChangesFocus(True)
        self.text.setPlaceholderText(self.tr("What the model is asked"))
        self.path = QLineEdit()
        self.path.setPlaceholderText("prompts.jsonl")
        self.chat_template = QCheckBox(self.tr("Use the model's chat template"))
        self.chat_template.setChecked(True)
        self.output_tokens = number(1, 10_000_000, 128, tokens)
        self.repeats = number(1, 100_000, 3)
        self.warmup = number(0, 1_000, 1)
        self.ignore_eos = QCheckBox(self.tr("Ignore end of text (equal lengths)"))
        self.ignore_eos.setChecked(True)
        self.fields = {
            "kind": Field(self.tr("Prompt"), self.kind, "kind"),
            "prompt": Field(self.tr("Prompt text"), self.text, "prompt"),
            "prompts_file": Field(self.tr("File"), self.path, "prompts_file"),
            "prompt_tokens": Field(self.tr("Prompt length"), self.prompt_tokens, "prompt_tokens"),
            "output_tokens": Field(self.tr("Output length"), self.output_tokens, "output_tokens"),
            "repeats": Field(self.tr("Repeats"), self.repeats, "repeats"),
            "warmup": Field(self.tr("Warm-ups"), self.warmup, "warmup"),
        }
        self._checked: tuple[str, int, UsageError | None] | None = None
        self._file_row = QWidget()
        self._lay_out()
        self._connect()
        self._show_kind()

    def _lay_out(self) -> None:
        browse = IconButton("folder", self.tr("Choose a file of prompts"), size=28)
        browse.clicked.connect(self._browse)
        files = row(self._file_row, spacing=6)
        files.addWidget(self.fields["prompts_file"], 1)
        files.addWidget(browse)
        self.add(self.fields["kind"], 0, 0, 2)
        self.add(self.fields["prompt"], 1, 0, 2)
        self.add(self._file_row, 2, 0, 2)
        self.add(self.chat_template, 3, 0, 2)
        self.add(self.fields["prompt_tokens"], 4, 0)
        self.add(self.fields["output_tokens"], 4, 1)
        self.add(self.fields["repeats"], 5, 0)
        self.add(self.fields["warmup"], 5, 1)
        self.add(self.ignore_eos, 6, 0, 2)

    def _connect(self) -> None:
        self.kind.currentIndexChanged.connect(self._on_kind)
        self.text.textChanged.connect(self.edited)
        self.path.textEdited.connect(lambda _text: self.edited.emit())
        for box in (self.prompt_tokens, self.output_tokens, self.repeats, self.warmup):
            box.valueChanged.connect(lambda _value: self.edited.emit())
        for check in (self.chat_template, self.ignore_eos):
            check.toggled.connect(lambda _on: self.edited.emit())

    def _on_kind(self) -> None:
        self._show_kind()
        self.edited.emit()

    def _show_kind(self) -> None:
        kind = self.kind.value()
        self.fields["prompt"].setVisible(kind == TEXT)
        self._file_row.setVisible(kind == FILE)
        self.chat_template.setVisible(kind != SYNTHETIC)
        synthetic = kind == SYNTHETIC
        self.fields["prompt_tokens"].setVisible(synthetic)
        output = self.fields["output_tokens"]
        self.grid.removeWidget(output)
        self.add(output, 4, 1 if synthetic else 0, 1 if synthetic else 2)

    def _browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(
            self, self.tr("File of prompts"), "", self.tr("Prompts (*.jsonl *.json);;All files (*)")
        )
        if path:
            self.path.setText(path)
            self.edited.emit()

    def file_problem(self) -> UsageError | None:
        """Why the file of prompts cannot be used, in the engine's own words; None: it can, or is
        not asked for. The file is read again only when it has changed."""
        if self.kind.value() != FILE:
            return None
        path = self.path.text().strip()
        if not path:
            return UsageError(self.tr("Choose a file of prompts."), field="prompts_file")
        stamp = _stamp(path)
        if self._checked is None or self._checked[:2] != (path, stamp):
            self._checked = (path, stamp, _read_problem(path))
        return self._checked[2]

    def values(self) -> dict[str, Any]:
        """This part's settings of a RunConfig."""
        prompt: dict[str, Any]
        kind = self.kind.value()
        if kind == TEXT:
            prompt = {"prompt": self.text.toPlainText()}
        elif kind == FILE:
            prompt = {"prompts_file": self.path.text().strip()}
        else:
            prompt = {"prompt_tokens": self.prompt_tokens.value()}
        return prompt | {
            "output_tokens": self.output_tokens.value(),
            "repeats": self.repeats.value(),
            "warmup": self.warmup.value(),
            "ignore_eos": self.ignore_eos.isChecked(),
            "chat_template": self.chat_template.isChecked(),
        }

    def set_values(self, values: dict[str, Any]) -> None:
        """Show the settings of a RunConfig."""
        if values.get("prompt") is not None:
            self.kind.set_value(TEXT)
            self.text.setPlainText(values["prompt"])
        elif values.get("prompts_file") is not None:
            self.kind.set_value(FILE)
            self.path.setText(values["prompts_file"])
        else:
            self.kind.set_value(SYNTHETIC)
            self.prompt_tokens.setValue(values.get("prompt_tokens") or 128)
        for name, box in (
            ("output_tokens", self.output_tokens),
            ("repeats", self.repeats),
            ("warmup", self.warmup),
        ):
            box.setValue(values[name])
        self.ignore_eos.setChecked(values["ignore_eos"])
        self.chat_template.setChecked(values["chat_template"])
        self._show_kind()


def _stamp(path: str) -> int:
    """When the file was changed, ns; 0 where there is none."""
    try:
        return Path(path).stat().st_mtime_ns
    except (OSError, ValueError):
        return 0


def _read_problem(path: str) -> UsageError | None:
    try:
        too_long = Path(path).stat().st_size > READ_WHILE_TYPING
    except (OSError, ValueError):
        too_long = False
    if too_long:
        return None  # the engine looks at it when the run starts
    try:
        read_prompts(path)
    except UsageError as error:
        return error
    except ValueError:  # a null sign in the path
        return UsageError(f"{path!r} is no path; choose a file of prompts.", field="prompts_file")
    return None
