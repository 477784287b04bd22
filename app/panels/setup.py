"""The setup panel: model, workload, generation, device; the run box below it, always in view."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QScrollArea, QWidget

from app.panels.device_group import DeviceGroup
from app.panels.fields import Field
from app.panels.generation_group import GenerationGroup
from app.panels.model_group import ModelGroup
from app.panels.parts import column, row
from app.panels.workload_group import WorkloadGroup
from app.widgets import Button, Divider, IconButton, make_label
from profiler import events as ev
from profiler.config import RunConfig, make_config
from profiler.errors import UsageError

WIDTH = 306
STRIP = 40


class SetupPanel(QWidget):
    """What will be run. `edited` is sent with every change, also one that cannot work yet."""

    edited = Signal()
    folded = Signal(bool)

    def __init__(self, run_box: QWidget) -> None:
        super().__init__()
        self.setProperty("surface", "window")
        self._name = ""
        self._keep_text = True
        self.model = ModelGroup()
        self.workload = WorkloadGroup()
        self.generation = GenerationGroup()
        self.device = DeviceGroup()
        self._groups = (self.model, self.workload, self.generation, self.device)
        self._fields: dict[str, Field] = {
            "model": self.model.field,
            **self.workload.fields,
            **self.generation.fields,
            **self.device.fields,
        }
        self._lock_text = Button(self.tr("locked while running"), "plain", "lock", "muted")
        self._lock_text.setEnabled(False)
        self._fold_button = IconButton("sidebar", self.tr("Hide or show the setup (Ctrl+B)"), size=28)
        self._fold_button.clicked.connect(lambda: self.set_folded(not self.is_folded))
        self._title = make_label(self.tr("Setup"), "title")
        self._body = QWidget()
        self._folded = False
        self._lay_out(run_box)
        for group in self._groups:
            group.edited.connect(self._on_edit)
        self.set_locked(False)
        self.set_folded(False)

    def _lay_out(self, run_box: QWidget) -> None:
        header = row(margins=(12, 5, 8, 5), spacing=6)
        header.addWidget(self._title)
        header.addStretch(1)
        header.addWidget(self._lock_text)
        header.addWidget(self._fold_button)
        groups = QWidget()
        stack = column(groups)
        for group in self._groups:
            stack.addWidget(group)
            stack.addWidget(Divider())
        stack.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidget(groups)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # The bar lies beside the fields when it is there: they keep their width.
        groups.setFixedWidth(WIDTH - 10)
        self._content = groups
        body = column(self._body)
        body.addWidget(Divider())
        body.addWidget(scroll, 1)
        box = row(margins=10)
        box.addWidget(run_box)
        body.addLayout(box)
        outer = column(self)
        outer.addLayout(header)
        outer.addWidget(self._body, 1)
        outer.addStretch(0)

    # -- folding and locking ------------------------------------------------------------------

    @property
    def is_folded(self) -> bool:
        """Is only the strip of 40 px shown?"""
        return self._folded

    def set_folded(self, folded: bool) -> None:
        """Fold the panel away, or bring it back."""
        changed = folded != self._folded
        self._folded = folded
        self._body.setVisible(not folded)
        self._title.setVisible(not folded)
        self._show_lock(not self._content.isEnabled())
        self.layout().itemAt(0).layout().setContentsMargins(*((6, 5, 6, 5) if folded else (12, 5, 8, 5)))
        self.setFixedWidth(STRIP if folded else WIDTH)
        if changed:
            self.folded.emit(folded)

    def set_locked(self, locked: bool) -> None:
        """While a run is on, values are readable and cannot be changed."""
        self._content.setEnabled(not locked)
        self._show_lock(locked)

    def _show_lock(self, locked: bool) -> None:
        self._lock_text.setVisible(locked and not self._folded)

    # -- values -------------------------------------------------------------------------------

    def config(self) -> RunConfig:
        """The configuration that the fields show. UsageError, with its field, when it cannot work."""
        values: dict[str, Any] = {"name": self._name, "keep_text": self._keep_text}
        for group in self._groups:
            values |= group.values()
        if values.get("prompts_file") == "":
            raise UsageError(self.tr("Choose a file of prompts."), field="prompts_file")
        return make_config(values)

    def set_config(self, config: RunConfig) -> None:
        """Show a configuration; sends `edited` once."""
        values = config.model_dump(mode="json")
        self._name, self._keep_text = config.name, config.keep_text
        blockers = [QSignalBlocker(group) for group in self._groups]
        self.model.set_model(config.model)
        self.model.trust.setChecked(config.trust_remote_code)
        self.model.allow_download.setChecked(config.allow_download)
        self.workload.set_values(values)
        self.generation.set_values(values)
        self.device.set_values(values)
        for blocker in blockers:
            blocker.unblock()
        self._on_edit()

    def checked_config(self) -> RunConfig | None:
        """The configuration, or None with the reason beside the field it is about."""
        for field in self._fields.values():
            if field.key != "model":
                field.set_error(None)
        try:
            return self.config()
        except UsageError as error:
            self.show_error(error.message, error.field)
            return None

    def show_error(self, message: str, field: str | None) -> bool:
        """Put a sentence beside its field; False when there is no such field."""
        target = self._fields.get(field or "")
        if target is None:
            return False
        target.set_error(message)
        return True

    def show_inspect(self, reply: ev.Reply) -> None:
        """The engine's answer about the model."""
        field = reply.field or "model"
        if not reply.ok and field != "model" and self.show_error(reply.message or "", field):
            return
        self.model.show_reply(reply)

    def _on_edit(self) -> None:
        self.checked_config()
        self.edited.emit()
