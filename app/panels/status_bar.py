"""The line at the foot: what is going on at the left, where it runs at the right."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QWidget

from app.own_cost import own_cost_words
from app.panels.parts import row, set_text, tip
from app.run_controller import RunController
from app.run_state import RunState
from app.widgets import Button, Divider, ElidedLabel, StatusMark, make_label
from profiler.units import format_duration_s, format_number

HEIGHT = 26


class StatusBar(QWidget):
    """State, sampler rate, the window's own pace and cost; environment."""

    own_cost_asked = Signal(QPoint)
    """The words about our own cost were clicked; where a menu may appear (global)."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(HEIGHT)
        self.setProperty("surface", "rail")
        self._mark = StatusMark("ring", 12)
        self.state = make_label("", "secondary")
        self.pace = ElidedLabel(role="secondary")
        self._layout = row(self, (14, 0, 12, 0), 8)
        self._layout.addWidget(self._mark)
        self._layout.addWidget(self.state)
        self._layout.addSpacing(8)
        self.own_cost = Button("", "quiet")
        self.own_cost.clicked.connect(
            lambda: self.own_cost_asked.emit(self.own_cost.mapToGlobal(QPoint(0, 0)))
        )
        self._layout.addWidget(self.own_cost)
        self._layout.addWidget(self.pace, 1)
        self._right = [make_label("", "secondary") for _ in range(4)]
        self._dividers: list[Divider] = []
        for index, part in enumerate(self._right):
            if index:
                divider = Divider(vertical=True)
                divider.setFixedHeight(12)
                divider.hide()
                self._layout.addWidget(divider)
                self._dividers.append(divider)
            self._layout.addWidget(part)

    def refresh(self, controller: RunController) -> None:
        """Show the controller's state."""
        kind, words = self._state(controller)
        self._mark.set_kind(kind, words)
        set_text(self.state, words)
        words, sentence = own_cost_words(controller.own_cost)
        if self.own_cost.text() != words:
            self.own_cost.setText(words)
        tip(self.own_cost, sentence)
        set_text(self.pace, self._pace(controller))
        why = self.tr(
            "While the model computes on the CPU, the window draws only as often as costs 0.5 % of the machine."
        )
        self.pace.set_tip(why if controller.pace.budgeted else "")
        for part, text in zip(self._right, environment_words(controller), strict=True):
            set_text(part, text)
        for divider, part in zip(self._dividers, self._right[1:], strict=True):
            divider.setVisible(bool(part.text()))
        reason = controller.machine.get("gpu_reason")
        tip(self._right[-1], str(reason) if reason else "")

    def _state(self, controller: RunController) -> tuple[str, str]:
        if not controller.engine_alive and controller.started:
            return "bad", self.tr("Engine not running")
        state = controller.state
        if state is RunState.FINISHED and not controller.document.saved:
            run = controller.run
            if run is not None and run.status != "finished":
                return "ring", self.tr("Stopped")
            elapsed = format_duration_s(controller.progress().elapsed_s)
            return "ok", self.tr("Finished in {0}").format(elapsed)
        return {
            RunState.IDLE: ("ring", self.tr("Ready")),
            RunState.LOADING: ("live", self.tr("Loading")),
            RunState.RUNNING: ("live", self.tr("Running")),
            RunState.STOPPING: ("live", self.tr("Stopping")),
            RunState.FINISHED: ("ring", self.tr("Ready")),
            RunState.FAILED: ("bad", self.tr("Failed")),
        }[state]

    def _pace(self, controller: RunController) -> str:
        if not controller.active:
            return ""
        parts: list[str] = []
        if controller.config is not None:
            hz = controller.config.sample_hz
            parts.append(self.tr("Sampler {0} Hz").format(f"{hz:g}") if hz else self.tr("Sampler off"))
        pace = controller.pace
        if pace.cost_s:
            text = self.tr("drawing {0} Hz, {1} % of the machine")
            text = text.format(format_number(pace.hz, 2), format_number(100 * pace.share, 2))
            if controller.priority.lowered:
                text += self.tr(", lower priority")
            parts.append(text)
        return " · ".join(parts)


def environment_words(controller: RunController) -> tuple[str, str, str, str]:
    """Privacy, torch, threads or CUDA, device: what is known of each."""
    tr = controller.tr
    machine: dict[str, Any] = controller.machine
    config = controller.config
    online = config is not None and config.allow_download
    privacy = tr("Downloads from the hub when needed") if online else tr("Nothing leaves this computer")
    torch = machine.get("torch")
    version = torch.get("version") if isinstance(torch, dict) else torch
    software = f"torch {version}" if version else ""
    cpus = machine.get("usable_cpus")
    threads = tr("{0} CPUs").format(cpus) if cpus else ""
    cuda = torch.get("cuda") if isinstance(torch, dict) else None
    if cuda:
        threads = f"CUDA {cuda}"
    gpus = [d for d in machine.get("devices") or [] if isinstance(d, dict) and d.get("name") != "cpu"]
    device = str(gpus[0].get("label") or gpus[0].get("name")) if gpus else tr("no NVIDIA GPU")
    return privacy, software, threads, device if machine else ""
