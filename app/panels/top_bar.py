"""The bar above the page: its title, the session that is shown, what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from app.panels.parts import row, set_text
from app.run_controller import RunController
from app.run_state import RunState
from app.widgets import Button, Divider, ElidedLabel, StatusMark, make_label, set_role

HEIGHT = 48


class TopBar(QWidget):
    """Page title, session name and state, Open, Save as and Export."""

    def __init__(
        self, open_action: QAction, save_action: QAction, export_actions: Sequence[QAction] = ()
    ) -> None:
        super().__init__()
        self.setFixedHeight(HEIGHT)
        self.setProperty("surface", "window")
        self._save_action = save_action
        self._mark = StatusMark("none")
        self.name = ElidedLabel(self.tr("No session yet"), "secondary")
        self.state = make_label("", "secondary")
        divider = Divider(vertical=True)
        divider.setFixedHeight(20)
        self.open_button = _action_button(open_action, "import")
        self.save_button = _action_button(save_action, "save")
        layout = row(self, (16, 0, 12, 0), 10)
        layout.addWidget(make_label(self.tr("Profile"), "page"))
        layout.addWidget(divider)
        layout.addWidget(self._mark)
        layout.addWidget(self.name)
        layout.addWidget(self.state)
        layout.addStretch(1)
        layout.addWidget(self.open_button)
        layout.addWidget(self.save_button)
        self.export_button = Button(self.tr("Export"), "", "export")
        self.export_button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._export_actions = list(export_actions)
        menu = QMenu(self.export_button)
        menu.addActions(self._export_actions)
        self.export_button.setMenu(menu)
        self.export_button.setVisible(bool(export_actions))
        layout.addWidget(self.export_button)
        self._mark.hide()

    def refresh(self, controller: RunController) -> None:
        """Show the document that the controller holds."""
        document, run = controller.document, controller.run
        over = run is not None and controller.values is not None and controller.values_final
        for action in self._export_actions:
            action.setEnabled(over)
        self.export_button.setEnabled(over)
        if run is None and not controller.active:
            set_role(self.name, "secondary")
            set_text(self.name, self.tr("No session yet"))
            set_text(self.state, "")
            self._mark.hide()
            self._save_action.setEnabled(False)
            return
        name = session_title(controller)
        set_role(self.name, "title")
        set_text(self.name, name)
        kind, meaning = _MARKS[controller.state]
        if controller.state is RunState.FINISHED and run is not None and run.status != "finished":
            kind, meaning = "ring", run.status
        self._mark.set_kind(kind, meaning)
        self._mark.setVisible(kind != "none")
        set_text(self.state, self._words(controller))
        if document.path is not None:
            self.name.set_tip(str(document.path))
        self._save_action.setEnabled(document.path is not None)

    def _words(self, controller: RunController) -> str:
        document = controller.document
        if document.note:
            return document.note
        if document.saved:
            return self.tr("saved session")
        if controller.active:
            return self.tr("recording") if document.recording else self.tr("not recording yet")
        if document.path is None:
            return self.tr("nothing recorded")
        run = controller.run
        if run is not None and run.status not in ("running", "finished"):
            return self.tr("recorded, partial")
        return self.tr("recorded")


def session_title(controller: RunController) -> str:
    """`SmolLM2 135M · cpu · 128 → 128` of the session that is shown."""
    run, config = controller.run, controller.config
    if run is not None and run.name and run.name != run.model:
        return run.name
    parts = [run.model if run is not None and run.model else _model_label(controller)]
    if config is not None:
        device = controller.device_label()
        if device:
            parts.append(device)
        prompt = f"{config.prompt_tokens:,}" if config.prompt_tokens is not None else "text"
        parts.append(f"{prompt} → {config.output_tokens:,}")
    return " · ".join(part for part in parts if part)


def _model_label(controller: RunController) -> str:
    model = controller.config.model if controller.config is not None else ""
    labels = {str(entry.get("name")): str(entry.get("label") or model) for entry in controller.models}
    return labels.get(model, model)


_MARKS = {
    RunState.IDLE: ("none", ""),
    RunState.LOADING: ("live", "loading"),
    RunState.RUNNING: ("live", "running"),
    RunState.STOPPING: ("live", "stopping"),
    RunState.FINISHED: ("ok", "finished"),
    RunState.FAILED: ("bad", "failed"),
}


def _action_button(action: QAction, icon_name: str) -> Button:
    button = Button(action.text(), "", icon_name)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    button.setToolTip(f"{action.text()} ({action.shortcut().toString()})")
    button.clicked.connect(action.trigger)
    action.changed.connect(lambda: button.setEnabled(action.isEnabled()))
    button.setEnabled(action.isEnabled())
    return button
