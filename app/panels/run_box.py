"""The box that is always in view: one button, the progress, two lines."""

from __future__ import annotations

from PySide6.QtCore import Signal

from app.panels.parts import row, set_text
from app.progress import RunProgress
from app.run_controller import RunController
from app.run_state import RunState
from app.widgets import Button, Card, ElidedLabel, ProgressSegments, StatusMark, make_label
from profiler.config import RunConfig
from profiler.units import format_duration_s


class RunBox(Card):
    """Start, Stop or "Stop now", by the controller's state (VISUAL.md section 6)."""

    start_asked = Signal()
    stop_asked = Signal()
    kill_asked = Signal()

    def __init__(self) -> None:
        super().__init__((10, 10, 10, 10))
        self.body.setSpacing(7)
        self.button = Button(self.tr("Start"), "primary", "play", large=True)
        self.button.setFixedHeight(40)
        self.button.setObjectName("run-button")
        self.kill_button = Button(self.tr("Stop now"), "danger")
        self.kill_button.setObjectName("kill-button")
        self.progress = ProgressSegments()
        self._mark = StatusMark("none")
        self.title = ElidedLabel(role="strong")
        self.right = make_label("F5", "muted")
        self.detail = ElidedLabel(role="secondary")
        self.detail_right = make_label("", "muted")
        first = row(spacing=6)
        first.addWidget(self._mark)
        first.addWidget(self.title, 1)
        first.addWidget(self.right)
        second = row(spacing=6)
        second.addWidget(self.detail, 1)
        second.addWidget(self.detail_right)
        self.body.addWidget(self.button)
        self.body.addWidget(self.kill_button)
        self.body.addWidget(self.progress)
        self.body.addLayout(first)
        self.body.addLayout(second)
        self.button.clicked.connect(self._on_click)
        self.kill_button.clicked.connect(self.kill_asked)
        self._stops = False
        self._time = ""
        self.kill_button.hide()
        self.progress.hide()

    def _on_click(self) -> None:
        if self._stops:
            self.stop_asked.emit()
        else:
            self.start_asked.emit()

    def set_time(self, words: str) -> None:
        """About how long the run would take, for the line below "Ready" (at the next `refresh`)."""
        self._time = words

    def refresh(self, controller: RunController, config: RunConfig | None) -> None:
        """Show where the run is. `config` is what Start would run, None when it cannot."""
        state = controller.state
        self._show_button(state, config is not None)
        self.kill_button.setVisible(controller.stop_offered)
        shown = controller.active or (
            state in (RunState.FINISHED, RunState.FAILED) and not controller.document.saved
        )
        self.progress.setVisible(shown)
        if shown:
            self._show_progress(controller, controller.progress())
        else:
            self._show_ready(config)

    def _show_button(self, state: RunState, can_start: bool) -> None:
        self._stops = state in (RunState.LOADING, RunState.RUNNING)
        if self._stops:
            text, kind, icon = self.tr("Stop"), "danger", "stop"
        elif state is RunState.STOPPING:
            text, kind, icon = self.tr("Stopping after this token"), "danger", ""
        elif state in (RunState.FINISHED, RunState.FAILED):
            text, kind, icon = self.tr("Start again"), "primary", "play"
        else:
            text, kind, icon = self.tr("Start"), "primary", "play"
        if self.button.text() != text:
            self.button.setText(text)
            self.button.setAccessibleName(text)
            self.button.set_kind(kind)
            self.button.set_icon_name(icon)
        self.button.setEnabled(state is not RunState.STOPPING and (self._stops or can_start))

    def _show_ready(self, config: RunConfig | None) -> None:
        self._mark.set_kind("none")
        self._mark.hide()
        set_text(self.detail_right, "")
        set_text(self.right, "F5")
        if config is None:
            set_text(self.title, self.tr("Not ready"))
            set_text(self.detail, self.tr("see the field marked above"))
            return
        set_text(self.title, self.tr("Ready"))
        text = self.tr("{0} requests of {1} tokens").format(
            config.total_requests, f"{config.output_tokens:,}"
        )
        set_text(self.detail, f"{text}, {self._time}" if self._time else text)

    def _show_progress(self, controller: RunController, progress: RunProgress) -> None:
        state = controller.state
        self.progress.set_segments([segment.weight for segment in progress.segments])
        index = next((i for i, s in enumerate(progress.segments) if s.done < 1.0), len(progress.segments))
        share = progress.segments[index].done if index < len(progress.segments) else 0.0
        failed = state is RunState.FAILED
        elapsed = format_duration_s(progress.elapsed_s)
        left, right, title = "", "", progress.title
        mark = "none"
        if state is RunState.FINISHED:
            run = controller.run
            stopped = run is not None and run.status != "finished"
            title = self.tr("Stopped") if stopped else self.tr("Finished")
            mark, right = ("ring" if stopped else "ok"), elapsed
            detail = _finished_words(self, controller)
        elif failed:
            title, mark, right = self.tr("Failed"), "bad", elapsed
            detail = progress.title
        else:
            detail = progress.detail
            left = self.tr("{0} elapsed").format(elapsed)
            if state is RunState.STOPPING:
                title = self.tr("Stopping")
            elif progress.left_s is not None:
                right = self.tr("{0} left").format(format_duration_s(progress.left_s))
        self.progress.set_progress(index, share, failed)
        self._mark.set_kind(mark)
        self._mark.setVisible(mark != "none")
        set_text(self.title, title)
        set_text(self.right, right)
        set_text(self.detail, detail)
        set_text(self.detail_right, left)


def _finished_words(box: RunBox, controller: RunController) -> str:
    run, config = controller.run, controller.config
    if run is None or config is None:
        return ""
    done = [request for request in run.measured if request.end_status == "ok"]
    tokens = sum(len(request.ids) or len(request) for request in done)
    return box.tr("{0} of {1} repeats, {2} tokens measured").format(len(done), config.repeats, f"{tokens:,}")
