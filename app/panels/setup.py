"""The setup panel: model, workload, generation, device, targets; the run box below it, always in view."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QScrollArea, QWidget

from app.panels.configuration_store import ConfigurationStore, to_trash, write_config
from app.panels.configurations import ConfigurationsMenu, QtQuestions, Questions
from app.panels.drops import dropped_path, read_drop
from app.panels.forecast import Forecast
from app.panels.parts import column, row, set_text
from app.panels.run_box import RunBox
from app.panels.session_line import SessionLine
from app.panels.setup_form import SetupForm
from app.widgets import Button, Divider, IconButton, make_label, set_role
from profiler import events as ev
from profiler.analysis.targets import Targets, targets_report
from profiler.cli.command import command_line, needs_file
from profiler.config import RunConfig
from profiler.errors import UsageError
from profiler.paths import config_dir
from profiler.timeline import Run

WIDTH = 306
STRIP = 40
COPIED = ("copied", "command.json")
"""Folder and file, beside the named configurations, that a copied command names when a shell's
line cannot hold the configuration."""


class SetupPanel(QWidget):
    """What will be run. `edited` is sent with every change, also one that cannot work yet."""

    edited = Signal()
    folded = Signal(bool)
    targets_changed = Signal(object)
    """The `Targets` that the user has set."""
    repeat_asked = Signal()
    """The shown session's settings are in the fields now; run them."""
    learned = Signal(object)
    """Strict JSON for `set_known_runs`: what runs have taught about time."""

    def __init__(
        self,
        run_box: RunBox,
        *,
        folder: Callable[[], Path] = config_dir,
        questions: Questions | None = None,
        trash: Callable[[Path], None] = to_trash,
    ) -> None:
        """`folder`: where named configurations lie; `questions`: the dialogs; `trash`: where a
        deleted one goes (tests have their own)."""
        super().__init__()
        self.setProperty("surface", "window")
        self.setAcceptDrops(True)
        self._folder = folder
        self._run_box = run_box
        self._locked = False
        self.form = SetupForm()
        self.model, self.workload = self.form.model, self.form.workload
        self.generation, self.device = self.form.generation, self.form.device
        self.targets_group, self.advanced = self.form.targets, self.form.advanced
        self._lock_text = Button(self.tr("locked while running"), "plain", "lock", "muted")
        self._lock_text.setEnabled(False)
        self._fold_button = IconButton("sidebar", self.tr("Hide or show the setup (Ctrl+B)"), size=28)
        self._fold_button.clicked.connect(lambda: self.set_folded(not self.is_folded))
        self._title = make_label(self.tr("Setup"), "title")
        self.menu_button = IconButton("more", self.tr("Saved configurations"), size=28)
        store = ConfigurationStore(folder, trash)
        self.menu = ConfigurationsMenu(
            store, questions or QtQuestions(), self.checked_config, self._can_repeat, self
        )
        self._body = QWidget()
        self.notice = make_label("", "muted", wrap=True)
        self.session_line = SessionLine()
        self.forecast = Forecast()
        self._folded = False
        self._lay_out()
        self._connect()
        self.set_locked(False)
        self.set_folded(False)

    def _lay_out(self) -> None:
        header = row(margins=(12, 5, 8, 5), spacing=6)
        header.addWidget(self._title)
        header.addStretch(1)
        header.addWidget(self._lock_text)
        header.addWidget(self.menu_button)
        header.addWidget(self._fold_button)
        scroll = QScrollArea()
        scroll.setWidget(self.form)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # The bar lies beside the fields when it is there: they keep their width.
        self.form.setFixedWidth(WIDTH - 10)
        self._scroll = scroll
        self.notice.setContentsMargins(12, 6, 12, 6)
        self.notice.hide()
        body = column(self._body)
        body.addWidget(Divider())
        body.addWidget(self.notice)
        body.addWidget(self.session_line)
        body.addWidget(scroll, 1)
        body.addWidget(self.forecast)
        box = row(margins=10)
        box.addWidget(self._run_box)
        body.addLayout(box)
        outer = column(self)
        outer.addLayout(header)
        outer.addWidget(self._body, 1)
        outer.addStretch(0)

    def _connect(self) -> None:
        self.form.edited.connect(self._on_edit)
        self.targets_group.changed.connect(self.targets_changed)
        self.menu_button.clicked.connect(self._open_menu)
        self.menu.chosen.connect(self.set_config)
        self.menu.repeat_asked.connect(self._repeat)
        self.menu.copy_asked.connect(self.copy_command)
        self.menu.told.connect(self.tell)
        self.session_line.use_asked.connect(self._use_session)
        self.forecast.learned.connect(self.learned)

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
        self.menu_button.setVisible(not folded)
        self._show_lock()
        self.layout().itemAt(0).layout().setContentsMargins(*((6, 5, 6, 5) if folded else (12, 5, 8, 5)))
        self.setFixedWidth(STRIP if folded else WIDTH)
        if changed:
            self.folded.emit(folded)

    def set_locked(self, locked: bool) -> None:
        """While a run is on, values are readable and cannot be changed. Targets can: they change no run."""
        self._locked = locked
        if locked:
            self.tell("")
        self.form.set_locked(locked)
        self.menu_button.setEnabled(not locked)
        self._show_lock()
        self._show_what_follows(self.form.quiet_config())

    def _show_lock(self) -> None:
        self._lock_text.setVisible(self._locked and not self._folded)

    # -- values -------------------------------------------------------------------------------

    def config(self) -> RunConfig:
        """The configuration that the fields show. UsageError, with its field, when it cannot work."""
        return self.form.config()

    def set_config(self, config: RunConfig) -> None:
        """Show a configuration; sends `edited` once."""
        self.form.set_config(config)

    def checked_config(self) -> RunConfig | None:
        """The configuration, or None with a reason beside every field that cannot work."""
        return self.form.checked_config()

    def show_error(self, message: str, field: str | None) -> bool:
        """Put a sentence beside its field; False when there is no such field."""
        shown = self.form.show_error(message, field)
        if shown is not None:
            self._scroll.ensureWidgetVisible(shown)
        return shown is not None

    def show_inspect(self, reply: ev.Reply) -> None:
        """The engine's answer about the model."""
        field = reply.field or "model"
        if not reply.ok and field != "model" and self.show_error(reply.message or "", field):
            return
        self.model.show_reply(reply)
        value = reply.value if reply.ok and isinstance(reply.value, dict) else {}
        self.forecast.set_facts(self.model.model, value)
        self._show_what_follows(self.form.quiet_config())

    def _on_edit(self) -> None:
        self.tell("")
        self._show_what_follows(self.checked_config())
        self.edited.emit()

    def tell(self, sentence: str, problem: bool = False) -> None:
        """A sentence above the fields, until the next edit; "" takes it away."""
        set_role(self.notice, "bad" if problem else "muted")
        set_text(self.notice, sentence)
        self.notice.setVisible(bool(sentence))

    # -- what follows from the settings -----------------------------------------------------------

    def _show_what_follows(self, config: RunConfig | None) -> None:
        self.forecast.refresh(config, self._locked)
        self._run_box.set_time(self.time_words)
        self.session_line.refresh(config, self._locked)

    @property
    def time_words(self) -> str:
        """About how long Start would take, in words; "" while that is not known."""
        return self.forecast.time_words

    def learn(self, config: RunConfig, run: Run, values: dict[str, Any]) -> None:
        """Learn from a run that has finished here how long such runs take; sends `learned`.

        `values`: the final metrics of the run (`run_metrics`).
        """
        self.forecast.learn(config, run, values)
        self._show_what_follows(self.form.quiet_config())

    def set_known_runs(self, value: Any) -> None:
        """What `learned` gave, in an earlier window; anything else is left out."""
        self.forecast.set_known_runs(value)
        self._show_what_follows(self.form.quiet_config())

    def show_session_config(self, config: RunConfig | None) -> None:
        """The settings of the session that is shown; None: no session, or not known."""
        self.session_line.config = config
        self._show_what_follows(self.form.quiet_config())

    def _use_session(self) -> None:
        if self.session_line.config is not None:
            self.set_config(self.session_line.config)

    def _can_repeat(self) -> bool:
        return self.session_line.config is not None and not self._locked

    def _repeat(self) -> None:
        if self._can_repeat():
            self._use_session()
            self.repeat_asked.emit()

    # -- targets --------------------------------------------------------------------------------

    @property
    def targets(self) -> Targets:
        """The targets that are set."""
        return self.targets_group.targets

    def judge(self, values: dict[str, Any] | None) -> dict[str, Any] | None:
        """A run's values (`run_metrics`) held against the targets, for `KpiStrip.refresh`; says the
        goodput in the group, too. None: no run."""
        if values is None:
            self.targets_group.show_goodput(None)
            return None
        judged = targets_report(values["per_request"], values["metrics"], self.targets)
        self.targets_group.show_goodput(judged["goodput"])
        return judged

    # -- configurations ------------------------------------------------------------------------------

    def _open_menu(self) -> None:
        self.menu.popup(self.menu_button.mapToGlobal(self.menu_button.rect().bottomLeft()))

    def copy_command(self) -> None:
        """Put the `dscope record` line that does the same on the clipboard."""
        config = self.checked_config()
        if config is None:
            return
        file = None
        if needs_file(config):
            try:
                file = self._folder().joinpath(*COPIED)
                file.parent.mkdir(exist_ok=True)
                write_config(file, config)
            except (OSError, UsageError) as error:
                self.tell(str(error), problem=True)
                return
        line = command_line(config, file, windows=sys.platform == "win32")
        QGuiApplication.clipboard().setText(line)
        self.tell(self.tr("Copied: {0}").format(line if len(line) <= 120 else line[:119] + "…"))

    # -- dropping ----------------------------------------------------------------------------------------

    def accepts(self, urls: Sequence[QUrl]) -> Path | None:
        """The folder, .gguf or .json among what is dragged that the setup would take; None: not now,
        or nothing such. Cheap: looks at names only."""
        return None if self._locked else dropped_path(urls)

    def take_drop(self, path: Path) -> None:
        """Choose the model at `path`, or show the configuration in it; else say why not."""
        if self._locked:
            return
        try:
            found = read_drop(path)
        except UsageError as error:
            self.tell(error.message, problem=True)
            return
        if isinstance(found, RunConfig):
            self.set_config(found)
        else:
            self.model.choose(found)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self.accepts(event.mimeData().urls()) is not None:
            event.acceptProposedAction()
            set_text(self._title, self.tr("Drop to use it"))

    def dragLeaveEvent(self, _event: QDragLeaveEvent) -> None:
        set_text(self._title, self.tr("Setup"))

    def dropEvent(self, event: QDropEvent) -> None:
        set_text(self._title, self.tr("Setup"))
        path = self.accepts(event.mimeData().urls())
        if path is not None:
            event.acceptProposedAction()
            self.take_drop(path)
