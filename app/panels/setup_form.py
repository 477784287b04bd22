"""The fields of the setup: values to a configuration and back, words beside what cannot work."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QWidget

from app.panels.advanced_group import AdvancedGroup
from app.panels.device_group import DeviceGroup
from app.panels.fields import Field, Group
from app.panels.generation_group import GenerationGroup
from app.panels.model_group import ModelGroup
from app.panels.parts import column
from app.panels.targets import TargetsGroup
from app.panels.workload_group import WorkloadGroup
from app.widgets import Divider
from profiler.config import RunConfig, make_config
from profiler.errors import UsageError


class SetupForm(QWidget):
    """All groups, one below the other. `edited` is sent with every change, also one that cannot
    work yet. The targets are among them and no part of the configuration."""

    edited = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.model = ModelGroup()
        self.workload = WorkloadGroup()
        self.generation = GenerationGroup()
        self.device = DeviceGroup()
        self.targets = TargetsGroup()
        self.advanced = AdvancedGroup()
        self._groups = (self.model, self.workload, self.generation, self.device, self.advanced)
        self._fields: dict[str, Field] = {
            "model": self.model.field,
            **self.workload.fields,
            **self.generation.fields,
            **self.device.fields,
            **self.advanced.fields,
        }
        self._group_of: dict[str, Group] = {
            name: group for group in self._groups[1:] for name in group.fields
        } | {"model": self.model}
        stack = column(self)
        for group in (*self._groups[:4], self.targets, self.advanced):
            stack.addWidget(group)
            stack.addWidget(Divider())
        stack.addStretch(1)
        for group in self._groups:
            group.edited.connect(self.edited)

    def set_locked(self, locked: bool) -> None:
        """Values are readable and cannot be changed. Targets can: they change no run."""
        for group in self._groups:
            group.body.setEnabled(not locked)

    def config(self) -> RunConfig:
        """The configuration that the fields show. UsageError, with its field, when it cannot work."""
        values = self._values()
        if values.get("prompts_file") == "":
            raise UsageError(self.tr("Choose a file of prompts."), field="prompts_file")
        return make_config(values)

    def _values(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for group in self._groups:
            values |= group.values()
        return values

    def set_config(self, config: RunConfig) -> None:
        """Show a configuration; sends `edited` once."""
        values = config.to_dict()
        blockers = [QSignalBlocker(group) for group in self._groups]
        self.model.set_model(config.model)
        self.model.trust.setChecked(config.trust_remote_code)
        self.model.allow_download.setChecked(config.allow_download)
        self.workload.set_values(values)
        self.generation.set_values(values)
        self.device.set_values(values)
        self.advanced.set_values(values)
        for blocker in blockers:
            blocker.unblock()
        self.edited.emit()

    def checked_config(self) -> RunConfig | None:
        """The configuration, or None with a reason beside every field that cannot work."""
        problems = self._problems()
        for name, field in self._fields.items():
            if name == "model":
                if name in problems:
                    field.set_error(problems[name])
            else:
                field.set_error(problems.get(name))
            if name in problems:
                self._group_of[name].set_folded(False)
        if problems:
            return None
        return self.config()

    def _problems(self) -> dict[str, str]:
        """By field, why it cannot work: the first reason of each, in `make_config`'s words."""
        values, found = self._values(), {}
        about_file = self.workload.file_problem()
        if about_file is not None:
            found["prompts_file"] = about_file.message
            values.pop("prompts_file", None)
        while True:
            try:
                make_config(values)
            except UsageError as error:
                # About the configuration as a whole: a prompt without a word is the one a form can make.
                name = error.field or "prompt"
                if name not in values:
                    found.setdefault(name, error.message)
                    return found
                found[name] = error.message
                del values[name]
            else:
                return found

    def quiet_config(self) -> RunConfig | None:
        """The configuration without a word beside the fields."""
        try:
            return None if self.workload.file_problem() is not None else self.config()
        except UsageError:
            return None

    def show_error(self, message: str, field: str | None) -> Field | None:
        """Put a sentence beside its field, in sight; None when there is no such field."""
        target = self._fields.get(field or "")
        if target is not None:
            target.set_error(message)
            self._group_of[target.key].set_folded(False)
        return target
