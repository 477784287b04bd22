"""Setup, first part: which model, what it is, and whether it fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QFileDialog, QLineEdit, QProgressBar, QWidget

from app.panels.estimate import count_words
from app.panels.fields import Choice, Field, Group
from app.panels.parts import column, row, set_text, tip
from app.widgets import IconButton, make_label, set_role
from profiler import events as ev
from profiler.units import GIB, KIB, THIN, format_bytes, format_number

BUILT_IN = (
    ("preset:nano", "Nano shape, random weights"),
    ("preset:small", "SmolLM2 135M shape, random weights"),
    ("preset:1b", "Llama 3.2 1B shape, random weights"),
    ("preset:3b", "Llama 3.2 3B shape, random weights"),
    ("preset:8b", "Llama 3 8B shape, random weights"),
    ("preset:moe", "Mixture of experts, random weights"),
    ("preset:untied", "Untied embeddings, random weights"),
    ("preset:sliding", "Sliding window, random weights"),
)
"""Shown until the engine has told what there is."""

FOLDER, GGUF, CONFIG, HUB = "?folder", "?gguf", "?config", "?hub"
"""Entries that ask for more; no model is called like that."""


class ModelGroup(Group):
    """The model picker with the line below it. `edited` when another model is chosen."""

    model_chosen = Signal(str)
    forget_asked = Signal(str)
    """A recent model is to be forgotten; it is gone from the list already."""

    def __init__(self) -> None:
        super().__init__(self.tr("Model"))
        self._known: list[tuple[str, str]] = [(name, self.tr(text)) for name, text in BUILT_IN]
        self._notes: dict[str, str] = {}
        self._recent: list[str] = []
        self._model = "preset:small"
        self.picker = Choice()
        self.field = Field(self.tr("Model"), self.picker, "model", hide_name=True)
        self.forget = IconButton("close", self.tr("Forget this recent model"), 28, 14)
        self.hub_id = QLineEdit()
        self.hub_id.setPlaceholderText("HuggingFaceTB/SmolLM2-135M-Instruct")
        self.hub_field = Field(self.tr("Model id on the hub"), self.hub_id, "hub_id")
        self.allow_download = QCheckBox(self.tr("Download it if it is not here"))
        self.trust = QCheckBox(self.tr("Run the model's own code"))
        self.trust_warning = make_label(
            self.tr("Code that came with the model runs on this computer with your rights."),
            "warning",
            wrap=True,
        )
        self.info = make_label("", "field", wrap=True)
        self.note = make_label("", "muted", wrap=True)
        self.fit_text = make_label("", "field")
        self.fit_verdict = make_label("", "ok")
        self.fit_bar = QProgressBar()
        self.fit_bar.setTextVisible(False)
        self.fit_bar.setAccessibleName(self.tr("Memory that the model needs"))
        self.fit_message = make_label("", "bad", wrap=True)
        self._lay_out()
        self._fill()
        self.picker.activated.connect(self._on_picked)
        self.forget.clicked.connect(self._on_forget)
        self.hub_id.editingFinished.connect(self._on_hub_id)
        self.allow_download.toggled.connect(lambda _on: self.edited.emit())
        self.trust.toggled.connect(self._on_trust)
        self.show_reply(None)
        self._show_hub(False)

    def _lay_out(self) -> None:
        fit = row(spacing=6)
        fit.addWidget(self.fit_text, 1)
        fit.addWidget(self.fit_verdict)
        rows = QWidget()
        stack = column(rows, spacing=6)
        picking = row(spacing=4)
        picking.addWidget(self.field, 1)
        picking.addWidget(self.forget, 0, Qt.AlignmentFlag.AlignTop)
        stack.addLayout(picking)
        for part in (self.hub_field, self.allow_download, self.info, self.note):
            stack.addWidget(part)
        stack.addLayout(fit)
        for part in (self.fit_bar, self.fit_message, self.trust, self.trust_warning):
            stack.addWidget(part)
        self.add(rows, 0, 0, 2)

    # -- the value --------------------------------------------------------------------------

    @property
    def model(self) -> str:
        """The chosen model's name, as `--model` takes it."""
        return self._model

    def set_model(self, name: str) -> None:
        """Choose a model by name, known or not."""
        self._model = name
        self._fill()

    def values(self) -> dict[str, Any]:
        """This part's settings of a RunConfig."""
        return {
            "model": self._model,
            "trust_remote_code": self.trust.isChecked(),
            "allow_download": self.allow_download.isChecked() and not self.hub_field.isHidden(),
        }

    def set_known(self, models: list[dict[str, Any]]) -> None:
        """The engine's list: name, label, kind, available, note."""
        if models:
            self._known = [
                (str(m["name"]), self._label_of(m)) for m in models if isinstance(m.get("name"), str)
            ]
            self._notes = {str(m["name"]): str(m.get("note") or "") for m in models if "name" in m}
            self._fill()

    def set_recent(self, names: list[str]) -> None:
        """Models used before, newest first."""
        self._recent = names
        self._fill()

    def _label_of(self, entry: dict[str, Any]) -> str:
        text = str(entry.get("label") or entry["name"])
        return text if entry.get("available", True) else self.tr("{0} (not installed)").format(text)

    def _fill(self) -> None:
        labels = dict(self._known)
        # Used before, newest first; a path is told from another by its end.
        recent = list(dict.fromkeys(self._recent))
        if self._model not in recent and self._model not in labels:
            recent.insert(0, self._model)
        rest = [name for name in labels if name not in recent]
        choices: list[tuple[object, str]] = [(name, labels.get(name) or _short(name)) for name in recent]
        choices += [(name, labels[name]) for name in rest]
        choices += [
            (FOLDER, self.tr("Folder…")),
            (GGUF, self.tr("GGUF file…")),
            (CONFIG, self.tr("Shape of a config.json…")),
            (HUB, self.tr("Model id on the hub…")),
        ]
        blocked = self.picker.blockSignals(True)
        self.picker.set_choices(choices)
        self.picker.set_value(self._model)
        for separator in (len(recent) + len(rest), len(recent)):
            if 0 < separator < self.picker.count() - 1:
                self.picker.insertSeparator(separator)
        self.picker.setCurrentIndex(self.picker.findData(self._model))
        self.picker.blockSignals(blocked)
        tip(self.picker, self._model)
        self.forget.setVisible(self._model in self._recent)
        set_text(self.note, self._notes.get(self._model, ""))
        self.note.setVisible(bool(self.note.text()))

    def _on_forget(self) -> None:
        name = self._model
        self._recent = [other for other in self._recent if other != name]
        self._fill()
        self.forget_asked.emit(name)

    # -- choosing ---------------------------------------------------------------------------

    def _on_picked(self) -> None:
        value = self.picker.value()
        self._show_hub(value == HUB)
        if value == HUB:
            self.hub_id.setFocus()
            return
        if value in (FOLDER, GGUF, CONFIG):
            self._ask(str(value))
        elif isinstance(value, str):
            self._choose(value)

    def _ask(self, kind: str) -> None:
        if kind == FOLDER:
            path = QFileDialog.getExistingDirectory(self, self.tr("Folder of the model"))
        else:
            wanted = self.tr("GGUF models (*.gguf)") if kind == GGUF else self.tr("Configuration (*.json)")
            path, _ = QFileDialog.getOpenFileName(self, self.tr("Model"), "", wanted)
        self._choose(path or self._model)

    def _on_hub_id(self) -> None:
        name = self.hub_id.text().strip()
        if name and not self.hub_field.isHidden():
            self._choose(name)

    def _choose(self, name: str) -> None:
        changed = name != self._model
        self.set_model(name)
        if changed:
            self.model_chosen.emit(name)
            self.edited.emit()

    def choose(self, name: str) -> None:
        """Choose a model as if it had been picked: `edited` and `model_chosen` are sent."""
        self._show_hub(False)
        self._choose(name)

    def _show_hub(self, shown: bool) -> None:
        self.hub_field.setVisible(shown)
        self.allow_download.setVisible(shown)

    def _on_trust(self, on: bool) -> None:
        self.trust_warning.setVisible(on)
        self.edited.emit()

    # -- what the engine says of it -----------------------------------------------------------

    def show_reply(self, reply: ev.Reply | None) -> None:
        """The answer to `inspect`: the info line and the fit check, or why it cannot be used."""
        value = reply.value if reply is not None and reply.ok and isinstance(reply.value, dict) else {}
        self.field.set_error(None if reply is None or reply.ok else reply.message)
        set_text(self.info, info_line(value))
        self.info.setVisible(bool(self.info.text()))
        fit = value.get("fit") if isinstance(value.get("fit"), dict) else {}
        self._show_fit(fit)
        custom = not self._model.startswith(("preset:", "synthetic:", "demo"))
        self.trust.setVisible(custom)
        self.trust_warning.setVisible(custom and self.trust.isChecked())

    def _show_fit(self, fit: dict[str, Any]) -> None:
        needed, free = fit.get("needed_bytes"), fit.get("free_bytes")
        known = isinstance(needed, (int, float)) and isinstance(free, (int, float)) and free > 0
        for widget in (self.fit_text, self.fit_verdict, self.fit_bar):
            widget.setVisible(known)
        verdict = str(fit.get("verdict") or "")
        message = str(fit.get("message") or "") if verdict not in ("fits", "ok", "") else ""
        set_text(self.fit_message, message)
        self.fit_message.setVisible(bool(message))
        if not known:
            return
        text = self.tr("Memory: needs {0} of {1} GiB free").format(
            format_number(needed / GIB, 2), format_number(free / GIB, 3)
        )
        set_text(self.fit_text, text)
        self.fit_bar.setRange(0, 1000)
        self.fit_bar.setValue(min(round(1000 * needed / free), 1000))
        role, word = {
            "fits": ("ok", self.tr("fits")),
            "ok": ("ok", self.tr("fits")),
            "tight": ("warning", self.tr("tight")),
            "warning": ("warning", self.tr("tight")),
        }.get(verdict, ("bad", self.tr("too large")))
        set_role(self.fit_verdict, role)
        set_role(self.fit_message, "warning" if role == "warning" else "bad")
        set_text(self.fit_verdict, word)

    @property
    def random_weights(self) -> bool:
        """Is it known from the name alone that the text will be noise?"""
        return self._model.startswith("preset:") or self._model.endswith(".json")


def info_line(value: dict[str, Any]) -> str:
    """`134.5 M parameters · 269 MB bf16 · KV 23 KiB/token` of an inspect reply; what is known of it."""
    parts: list[str] = []
    parameters = value.get("parameters")
    if isinstance(parameters, (int, float)):
        words = QCoreApplication.translate("ModelGroup", "{0} parameters")
        parts.append(words.format(count_words(parameters)))
    weights = value.get("weight_bytes")
    if isinstance(weights, (int, float)):
        dtype = value.get("dtype")
        parts.append(format_bytes(weights, binary=False) + (f" {dtype}" if isinstance(dtype, str) else ""))
    kv = value.get("kv_bytes_per_token")
    if isinstance(kv, (int, float)) and kv > 0:
        parts.append(f"KV {format_number(kv / KIB, 2)}{THIN}KiB/token")
    return " · ".join(parts)


def _short(name: str) -> str:
    path = Path(name)
    if path.is_absolute() or name.startswith(("./", "../", "~")):
        return f"{path.parent.name}/{path.name}" if path.parent.name else path.name
    return name
