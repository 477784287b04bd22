"""What is going on: the timeline, the state of the run, the one live timer.

The controller takes events from the link at every tick, keeps the state that panels show,
decides when to redraw (`app.pace`) and tells the engine when the window drew. Panels and
charts are told by a handful of signals, none of them per token.

Thread: GUI.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, QTimer, Signal

from app.background import Background
from app.engine_link import EngineLink
from app.pace import Pace, Priority, usable_cpus
from app.progress import RunProgress, run_progress
from profiler import events as ev
from profiler.config import RunConfig
from profiler.timeline import Run, Timeline
from profiler.units import NS_PER_S

LOG = logging.getLogger(__name__)

IDLE_TICK_S = 0.1
METRICS_EVERY_S = 0.5
KILL_OFFER_S = 2.0
"""A stop that took longer than this offers "Stop now"."""
INSPECT_DELAY_S = 0.3
"""The model is inspected when nothing was typed for this long."""


class RunState(StrEnum):
    """What the window shows of a run. `ready`: a model is loaded, nothing runs."""

    IDLE = "idle"
    LOADING = "loading"
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"


ACTIVE = (RunState.LOADING, RunState.RUNNING, RunState.STOPPING)


@dataclass(frozen=True)
class Problem:
    """Something failed: one sentence for the user, the whole story for the log."""

    message: str
    detail: str | None = None
    field: str | None = None
    where: str = "run"
    exit_code: int = 4


@dataclass(frozen=True)
class Document:
    """The session that is shown. `saved`: opened from a file rather than recorded here."""

    path: Path | None = None
    name: str = ""
    recording: bool = False
    saved: bool = False
    note: str = ""


class RunController(QObject):
    """One run at a time, live or opened from a file."""

    state_changed = Signal()
    document_changed = Signal()
    refreshed = Signal()
    """Draw now: sent at the pace in force, and once after every change of state."""
    metrics_changed = Signal()
    inspected = Signal(object)
    """The Reply to `inspect` for the newest configuration."""
    failed = Signal(object)
    """A Problem with the run."""
    engine_gone = Signal(str)
    ticked = Signal()

    def __init__(
        self,
        link: EngineLink,
        background: Background,
        *,
        clock_ns: Callable[[], int] = time.perf_counter_ns,
        cpus: int | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._link = link
        self._background = background
        self._clock_ns = clock_ns
        self.pace = Pace(cpus or usable_cpus())
        self.priority = Priority()
        self.timeline = Timeline()
        self.state = RunState.IDLE
        self.config: RunConfig | None = None
        self.document = Document()
        self.metrics: dict[str, Any] | None = None
        self.metrics_final = False
        self.problem: Problem | None = None
        self.machine: dict[str, Any] = {}
        self.models: list[dict[str, Any]] = []
        self._stage: ev.Progress | None = None
        self._run_no: int | None = None
        self._started_ns = 0
        self._ended_ns: int | None = None
        self._stop_asked_ns: int | None = None
        self._drawn_revision = -1
        self._drawn_ns = 0
        self._metrics_ns = 0
        self._redraws: list[tuple[int, int]] = []
        self._inspect_due_ns: int | None = None
        self._inspect_config: RunConfig | None = None
        self._inspect_no = 0
        self._ticking = False
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.tick)

    # -- life -----------------------------------------------------------------------------

    def start_engine(self) -> None:
        """Spawn the engine and ask what there is; the answers come with later ticks."""
        self._link.start()
        self._link.send("machine", self._on_machine)
        self._link.send("models", self._on_models)
        if self._inspect_config is not None:
            self._inspect_due_ns = self._clock_ns()
        self._timer.start(round(IDLE_TICK_S * 1000))

    def restart_engine(self) -> None:
        """A fresh engine after one was lost."""
        self.start_engine()
        self._become(RunState.IDLE if self.run is None else RunState.FINISHED)

    def close(self) -> None:
        """Stop ticking and let the engine close the session file."""
        self._timer.stop()
        self.priority.restore()
        self._background.close()
        self._link.close()

    @property
    def engine_alive(self) -> bool:
        return self._link.alive

    # -- what is shown --------------------------------------------------------------------

    @property
    def run(self) -> Run | None:
        """The run that is shown: the live one, or the last of the opened file."""
        if self._run_no is not None:
            return self.timeline.runs.get(self._run_no)
        return None

    @property
    def active(self) -> bool:
        """Is a run being loaded, measured or stopped?"""
        return self.state in ACTIVE

    @property
    def stop_offered(self) -> bool:
        """Has a stop taken so long that "Stop now" should be offered?"""
        return (
            self.state is RunState.STOPPING
            and self._stop_asked_ns is not None
            and self._clock_ns() - self._stop_asked_ns > KILL_OFFER_S * NS_PER_S
        )

    def progress(self) -> RunProgress:
        """How far the run is."""
        if self.config is None:
            return RunProgress()
        now_ns = self._ended_ns if self._ended_ns is not None else self._clock_ns()
        return run_progress(self.config, self.run, self._stage, self._started_ns, now_ns)

    @property
    def on_cpu(self) -> bool:
        """Does the model of this run compute on the CPU, as far as is known?"""
        device = str(self._device() or "cpu")
        return not device.startswith(("cuda", "mps", "xpu"))

    def _device(self) -> Any:
        run = self.run
        if run is not None:
            for source in (run.facts.get("footprint"), run.facts, run.environment):
                if isinstance(source, dict) and isinstance(source.get("device"), str):
                    return source["device"]
        asked = self.config.device if self.config is not None else "auto"
        if asked != "auto":
            return asked
        devices = self.machine.get("devices") or []
        names = [d.get("name") for d in devices if isinstance(d, dict)]
        return next((name for name in names if isinstance(name, str) and name != "cpu"), "cpu")

    # -- verbs ----------------------------------------------------------------------------

    def start_run(self, config: RunConfig) -> None:
        """Load if needed, and run. No effect while a run is on."""
        if self.active:
            return
        self.config = config
        self._new_timeline()
        self.problem = None
        self.metrics, self.metrics_final = None, False
        self._stage, self._run_no = None, None
        self._started_ns, self._ended_ns, self._stop_asked_ns = self._clock_ns(), None, None
        self.document = Document(name=config.name)
        self._warm_analysis()
        self._become(RunState.LOADING)
        self.document_changed.emit()
        self.metrics_changed.emit()
        sent = self._link.send(
            "run", self._on_run_reply, config=config.model_dump(mode="json"), name=config.name
        )
        if not sent:
            self._fail(Problem(_no_engine(), where="engine"))

    def stop(self) -> None:
        """Ask the run to end after the token at work."""
        if self.state in (RunState.LOADING, RunState.RUNNING):
            self._stop_asked_ns = self._clock_ns()
            self._become(RunState.STOPPING)
            self._link.send("stop")

    def kill(self) -> None:
        """End the worker at once; what was recorded stays."""
        if self.active:
            self._stop_asked_ns = self._stop_asked_ns or self._clock_ns()
            self._become(RunState.STOPPING)
            self._link.send("kill")

    def save_as(self, path: Path, overwrite: bool, done: Callable[[ev.Reply], None]) -> None:
        """Name the file of the session recorded here; takes effect when the run is over."""
        sent = self._link.send("save_as", done, path=str(path), overwrite=overwrite)
        if not sent:
            done(ev.Reply(id=-1, ok=False, message=_no_engine(), exit_code=2))

    def inspect(self, config: RunConfig) -> None:
        """Look at the model of a configuration soon (debounced); `inspected` brings the answer."""
        self._inspect_config = config
        self._inspect_due_ns = self._clock_ns() + round(INSPECT_DELAY_S * NS_PER_S)

    def show_saved(self, timeline: Timeline, path: Path, metrics: dict[str, Any] | None) -> None:
        """Show an opened session through the same charts. No effect while a run is on."""
        if self.active:
            return
        run = timeline.last_run
        self.timeline = timeline
        self._run_no = None if run is None else run.no
        self.config = _config_of(run)
        self.problem = None
        self._stage = None
        self._started_ns = 0 if run is None else run.t_ns
        self._ended_ns = None if run is None else run.end_ns
        self.metrics, self.metrics_final = metrics, True
        self.document = Document(
            path=path, name=(run.name if run is not None else "") or path.stem, saved=True
        )
        self._become(RunState.FINISHED)
        self.document_changed.emit()
        self.metrics_changed.emit()

    # -- the one timer --------------------------------------------------------------------

    def tick(self) -> None:
        """Take in what came, and draw if it is time."""
        if self._ticking:  # a dialog's own event loop, or the flush below
            return
        self._ticking = True
        try:
            self._take_events()
            self._background.poll()
            self._send_inspect()
            self.ticked.emit()
            self._draw_if_due()
        finally:
            self._ticking = False
        self._keep_pace()

    def _take_events(self) -> None:
        for event in self._link.drain():
            self.timeline.apply(event)
            handler = _HANDLERS.get(type(event))
            if handler is not None:
                handler(self, event)
        gone = self._link.take_gone()
        if gone is not None:
            self._on_gone(gone)

    def _keep_pace(self) -> None:
        measuring = self.active and self.on_cpu
        self.pace.budgeted = measuring
        if measuring:
            self.priority.lower()
        else:
            self.priority.restore()
        interval_s = self.pace.interval_s if self.active else IDLE_TICK_S
        interval_ms = max(round(interval_s * 1000), 1)
        if self._timer.isActive() and self._timer.interval() != interval_ms:
            self._timer.setInterval(interval_ms)

    def _draw_if_due(self) -> None:
        if self.timeline.revision == self._drawn_revision and not self.active:
            return
        now_ns = self._clock_ns()
        # A timer may be a little early; a frame's tenth is no reason to skip a redraw.
        if self.active and now_ns - self._drawn_ns < 0.9 * self.pace.interval_s * NS_PER_S:
            return
        self.draw()

    def draw(self) -> None:
        """Draw now and measure what it cost, painting included."""
        begin_ns = self._clock_ns()
        self._drawn_revision = self.timeline.revision
        if self.active and begin_ns - self._metrics_ns >= METRICS_EVERY_S * NS_PER_S:
            self._metrics_ns = begin_ns
            self._live_metrics()
        self.refreshed.emit()
        # Painting is an event that Qt posts; deliver it here, so that its time is known.
        QCoreApplication.sendPostedEvents()
        end_ns = self._clock_ns()
        self._drawn_ns = end_ns
        self.pace.add_cost((end_ns - begin_ns) / NS_PER_S)
        if self.active:
            self._redraws.append((begin_ns, end_ns))
            self._report_redraws()

    def _report_redraws(self, everything: bool = False) -> None:
        if self._redraws and (everything or len(self._redraws) >= 8 or self.pace.hz < 5):
            self._link.report_redraws(self._redraws)
            self._redraws = []

    # -- metrics --------------------------------------------------------------------------

    def _warm_analysis(self) -> None:
        """Import what the metrics need (scipy takes a second) while the model loads."""
        self._background.submit(_import_analysis, lambda _: None, _log_error)

    def _live_metrics(self) -> None:
        run = self.run
        if run is None or not any(len(request) for request in run.measured):
            return
        from profiler.analysis.run import run_metrics

        self.metrics = run_metrics(self.timeline, run, live=True)
        self.metrics_final = False
        self.metrics_changed.emit()

    def _final_metrics(self) -> None:
        run, timeline = self.run, self.timeline
        if run is None:
            return

        def take(metrics: dict[str, Any]) -> None:
            if timeline is self.timeline:
                self.metrics, self.metrics_final = metrics, True
                self.metrics_changed.emit()
                self._drawn_revision = -1

        def job() -> dict[str, Any]:
            from profiler.analysis.run import run_metrics

            return run_metrics(timeline, run)

        self._background.submit(job, take, _log_error)

    # -- one method an event --------------------------------------------------------------

    def _on_state(self, event: ev.State) -> None:
        if not self.active:
            return
        if event.state == "loading" and self.state is not RunState.STOPPING:
            self._become(RunState.LOADING)
        elif event.state == "running" and self.state is not RunState.STOPPING:
            self._become(RunState.RUNNING)
        elif event.state == "stopping":
            self._stop_asked_ns = self._stop_asked_ns or self._clock_ns()
            self._become(RunState.STOPPING)
        elif event.state in ("idle", "ready") and self._run_no is None and self._stop_asked_ns:
            self._end(RunState.IDLE)  # stopped while the model was loading

    def _on_progress(self, event: ev.Progress) -> None:
        self._stage = event

    def _on_run(self, event: ev.RunStart) -> None:
        if self.active and self._run_no is None:
            self._run_no = event.run

    def _on_run_end(self, event: ev.RunEnd) -> None:
        if event.run != self._run_no or not self.active:
            return
        if event.status == "failed":
            self._fail(self.problem or Problem(event.reason or _unknown_failure()))
        else:
            self._end(RunState.FINISHED)

    def _on_failure(self, event: ev.Failure) -> None:
        problem = Problem(event.message, event.detail, event.field, event.where, event.exit_code)
        if event.where == "inspect":
            return
        if self.problem is None:
            self.problem = problem
        if self.active and self._run_no is None:
            self._fail(problem)  # no run began, so no RunEnd will say it

    def _on_recording(self, event: ev.Recording) -> None:
        recording = event.state == "recording"
        path = None if event.state == "discarded" else Path(event.path)
        self.document = Document(
            path=path,
            name=event.name or self.document.name,
            recording=recording,
            note=event.message or "",
        )
        self.document_changed.emit()

    def _on_resync(self, event: ev.Resync) -> None:
        from profiler.session.reader import SessionReader

        logs = self.timeline.logs
        self.timeline = SessionReader.open(Path(event.path)).timeline()
        self.timeline.logs.extend(logs)
        run = self.timeline.last_run
        if self.active and run is not None:
            self._run_no = run.no

    def _on_reply(self, event: ev.Reply) -> None:
        self._link.resolve(event)

    def _on_run_reply(self, reply: ev.Reply) -> None:
        if reply.ok or not self.active:
            return
        if self._stop_asked_ns is not None and self._run_no is None:
            self._end(RunState.IDLE)
            return
        self._fail(
            Problem(reply.message or _unknown_failure(), reply.detail, reply.field, "run", reply.exit_code or 4)
        )

    def _on_machine(self, reply: ev.Reply) -> None:
        if reply.ok and isinstance(reply.value, dict):
            self.machine = reply.value
            self.document_changed.emit()

    def _on_models(self, reply: ev.Reply) -> None:
        if reply.ok and isinstance(reply.value, list):
            self.models = [entry for entry in reply.value if isinstance(entry, dict)]
            self.document_changed.emit()

    def _on_gone(self, text: str) -> None:
        run = self.run
        LOG.error("the engine ended: %s", text)
        path = self.document.path
        kept = _gone_message(path if self.document.recording or self.active else None)
        if self.active:
            if run is not None:
                end = ev.RunEnd(run.no, self._clock_ns(), "interrupted", kept)
                self.timeline.apply(end)
            self._fail(Problem(kept, text, where="engine"))
        self.document = Document(path, self.document.name, saved=self.document.saved)
        self.document_changed.emit()
        self.engine_gone.emit(kept)

    # -- state ----------------------------------------------------------------------------

    def _become(self, state: RunState) -> None:
        if state is not self.state:
            self.state = state
            self._drawn_revision = -1
            self.state_changed.emit()
            self._keep_pace()

    def _end(self, state: RunState) -> None:
        self._ended_ns = self._clock_ns()
        self._report_redraws(everything=True)
        self._become(state)
        self._final_metrics()

    def _fail(self, problem: Problem) -> None:
        self.problem = problem
        self._end(RunState.FAILED)
        self.failed.emit(problem)

    def _new_timeline(self) -> None:
        # Facts of the session (machine, engine) and the log outlive a run.
        before, self.timeline = self.timeline, Timeline()
        if not self.document.saved:
            self.timeline.facts.update(before.facts)
        self.timeline.logs.extend(before.logs)
        self._drawn_revision = -1

    def _send_inspect(self) -> None:
        due = self._inspect_due_ns
        if due is None or self._inspect_config is None or self._clock_ns() < due or not self._link.alive:
            return
        self._inspect_due_ns = None
        self._inspect_no += 1
        number, config = self._inspect_no, self._inspect_config

        def answer(reply: ev.Reply) -> None:
            if number == self._inspect_no:
                self.inspected.emit(reply)

        self._link.send(
            "inspect",
            answer,
            model=config.model,
            dtype=config.dtype,
            total_tokens=(config.prompt_tokens or 0) + config.output_tokens,
            device=config.device,
            trust_remote_code=config.trust_remote_code,
        )


def _import_analysis() -> None:
    import scipy.stats  # noqa: F401, TID253 - in the background, on purpose

    import profiler.analysis.run  # noqa: F401


def _log_error(error: Exception) -> None:
    LOG.error("background work failed", exc_info=error)


def _config_of(run: Run | None) -> RunConfig | None:
    from pydantic import ValidationError

    if run is None:
        return None
    known = {name: value for name, value in run.config.items() if name in RunConfig.model_fields}
    try:
        return RunConfig(**known)
    except ValidationError:
        return None  # an imported trace may carry anything


def _no_engine() -> str:
    return QCoreApplication.translate("RunController", "The engine is not running; restart it and try again.")


def _unknown_failure() -> str:
    return QCoreApplication.translate("RunController", "The run failed; the log says more.")


def _gone_message(path: Path | None) -> str:
    text = QCoreApplication.translate("RunController", "The engine ended unexpectedly.")
    if path is None:
        return text
    kept = QCoreApplication.translate("RunController", "What was recorded is kept in {0}.")
    return f"{text} {kept.format(path)}"


_HANDLERS: dict[type, Callable[[RunController, Any], None]] = {
    ev.State: RunController._on_state,
    ev.Progress: RunController._on_progress,
    ev.RunStart: RunController._on_run,
    ev.RunEnd: RunController._on_run_end,
    ev.Failure: RunController._on_failure,
    ev.Recording: RunController._on_recording,
    ev.Resync: RunController._on_resync,
    ev.Reply: RunController._on_reply,
}
