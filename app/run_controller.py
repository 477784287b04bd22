"""What is going on: the timeline, the state of the run, the one live timer.

The controller takes events from the link at every tick, keeps the state that panels show and
decides when to redraw. Panels and charts are told by a handful of signals, none per token.

Thread: GUI.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.background import Background
from app.engine_link import EngineLink
from app.inspection import Inspector
from app.live_metrics import MetricsSource, RunValues
from app.other_reports import OtherReports, Reports
from app.own_cost import with_window_rows
from app.pace import Pace, Priority, usable_cpus
from app.progress import RunProgress, own_cost_progress, run_progress
from app.redraw import Redraw
from app.run_facts import config_of, device_label, device_of
from app.run_state import (
    ACTIVE,
    Document,
    OwnCostRun,
    Problem,
    RunState,
    Shown,
    gone_message,
    no_engine,
    unknown_failure,
)
from profiler import events as ev
from profiler.config import RunConfig
from profiler.events import QUIET_STAGE
from profiler.timeline import Run, Timeline
from profiler.units import NS_PER_S

LOG = logging.getLogger(__name__)

IDLE_TICK_S = 0.1
QUIET_TICK_S = 0.05
"""Only to see when to draw again."""
METRICS_EVERY_S = 0.5
METRICS_EVERY_ON_CPU_S = 4.0
KILL_OFFER_S = 2.0
"""A stop that takes longer than this offers "Stop now"."""


class RunController(QObject):
    """One run at a time, live or opened from a file."""

    state_changed = Signal()
    document_changed = Signal()
    """The document, or what the engine told about machine and models, is another one."""
    refreshed = Signal()
    """Draw now: sent at the pace in force, and once after every change of state."""
    metrics_changed = Signal()
    inspected = Signal(object)
    """The Reply to `inspect` for the newest configuration."""
    failed = Signal(object)
    """A Problem with the run."""
    troubled = Signal(object)
    """A Problem that the run outlives (the disk, a name that could not be given)."""
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
        self._redraw = Redraw(link, clock_ns, cpus or usable_cpus())
        self._inspector = Inspector(link, clock_ns, self.inspected.emit)
        self._source = MetricsSource(background)
        self._others = OtherReports(background)
        self.timeline = Timeline()
        self.state = RunState.IDLE
        self.config: RunConfig | None = None
        self.document = Document()
        self.values: RunValues | None = None
        self.values_final = False
        self.problem: Problem | None = None
        self.machine: dict[str, Any] = {}
        self.models: list[dict[str, Any]] = []
        self.own_cost: dict[str, Any] | None = None
        """Figures of our own cost that were kept on this machine (see `app.own_cost`)."""
        self.started = False
        """Was an engine ever asked for?"""
        self._stage: ev.Progress | None = None
        self._run_no: int | None = None
        self._own_cost_run: OwnCostRun | None = None
        self._started_ns = 0
        self._ended_ns: int | None = None
        self._stop_asked_ns: int | None = None
        self._drawn_revision = -1
        self._metrics_ns = 0
        self._metrics_due = False
        self._ticking = False
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.tick)

    # -- life -----------------------------------------------------------------------------

    def start_engine(self) -> None:
        """Spawn the engine and ask what there is; the answers come with later ticks."""
        self.started = True
        self._link.start()
        self._link.send("machine", self._on_machine)
        self._link.send("models", self._on_models)
        self._inspector.again()
        self._background.submit(read_kept_own_cost, self._on_own_cost, _log_error)
        self._timer.start(round(IDLE_TICK_S * 1000))

    def restart_engine(self) -> None:
        """A fresh engine after one was lost."""
        self.start_engine()
        self.document_changed.emit()

    def close(self) -> None:
        """Stop ticking and let the engine close the session file."""
        self._timer.stop()
        self._redraw.priority.restore()
        self._background.close()
        self._link.close()

    # -- what is shown --------------------------------------------------------------------

    @property
    def pace(self) -> Pace:
        """The redraw pace in force."""
        return self._redraw.pace

    @property
    def priority(self) -> Priority:
        """The priority of the drawing thread."""
        return self._redraw.priority

    @property
    def engine_alive(self) -> bool:
        """Is there an engine to talk to?"""
        return self._link.alive

    @property
    def engine_pid(self) -> int | None:
        """The engine's process; None without one."""
        return self._link.pid

    @property
    def run(self) -> Run | None:
        """The run that is shown: the live one, or the last of the opened file."""
        return None if self._run_no is None else self.timeline.runs.get(self._run_no)

    @property
    def active(self) -> bool:
        """Is a run being loaded, measured or stopped?"""
        return self.state in ACTIVE

    @property
    def stop_offered(self) -> bool:
        """Has a stop taken so long that "Stop now" should be offered?"""
        asked = self._stop_asked_ns
        return (
            self.state is RunState.STOPPING
            and asked is not None
            and self._clock_ns() - asked > KILL_OFFER_S * NS_PER_S
        )

    def progress(self) -> RunProgress:
        """How far the run is."""
        if self.config is None:
            return RunProgress()
        now_ns = self._ended_ns if self._ended_ns is not None else self._clock_ns()
        own = self._own_cost_run
        if own is not None and own.since_ns is not None:
            return own_cost_progress(own.budget_s, own.since_ns, self._started_ns, now_ns)
        return run_progress(self.config, self.run, self._stage, self._started_ns, now_ns)

    @property
    def device(self) -> str:
        """Where the model of this run computes: `cpu`, `cuda:0`."""
        return device_of(self.run, self.config, self.machine)

    @property
    def on_cpu(self) -> bool:
        """Does the model compute on the CPU, which the window shares with it?"""
        return not self.device.startswith(("cuda", "mps", "xpu"))

    def device_label(self) -> str:
        """A short name of where the model computes: `CPU`, `L4`."""
        return device_label(self.run, self.device)

    @property
    def log_origin_ns(self) -> int:
        """Zero of the log's time column: when the shown run was asked for."""
        return self._started_ns

    def now_ns(self) -> int:
        """The end of what is shown: now while a run is on, else when it ended."""
        return self._clock_ns() if self._ended_ns is None else self._ended_ns

    def log(self, level: str, message: str, detail: str | None = None) -> None:
        """A line of the window's own for the log."""
        self.timeline.apply(ev.Log(level, self._clock_ns(), "window", message, detail))

    def known_as_others(self) -> Reports | None:
        """The shown run as other tools would report it, if that was worked out already."""
        return None if self.run is None else self._others.known(self.run)

    def as_others(self, done: Callable[[Reports], None]) -> None:
        """Call `done` with the shown run as other tools would report it, now or at a later tick.

        Not before the final numbers are there: no effect then.
        """
        if self.run is not None and self.values is not None and self.values_final:
            self._others.ask(self.timeline, self.run, self.values, done)

    # -- verbs ----------------------------------------------------------------------------

    def start_run(self, config: RunConfig) -> None:
        """Load if needed, and run. No effect while a run is on."""
        if self.active:
            return
        self._prepare(config)
        values = config.to_dict()
        if not self._link.send("run", self._on_run_reply, config=values, name=config.name):
            self._fail(Problem(no_engine(), where="engine"))

    def measure_own_cost(self, config: RunConfig, budget_s: float, done: Callable[[ev.Reply], None]) -> None:
        """Measure what this window costs a model: paired blocks with it and without it.

        `done` gets the reply with the figures; then what was shown before is shown again. No
        effect while a run is on.
        """
        if self.active:
            return
        own = OwnCostRun(budget_s, self._put_aside())
        self._prepare(config)
        self._own_cost_run = own

        def over(reply: ev.Reply) -> None:
            own.answered = True
            done(reply)
            if self._run_no is None or not self.active:
                self._take_up(own.before)  # no run began, so no RunEnd will tell

        sent = self._link.send(
            "overhead",
            over,
            config=config.to_dict(),
            variants=["bare", "window"],
            budget_s=budget_s,
            window_pid=os.getpid(),
        )
        if not sent:
            self._fail(Problem(no_engine(), where="engine"))

    def keep_own_cost(self, model: str, rows: list[dict[str, Any]]) -> None:
        """Show these figures of our own cost, and keep them on this machine."""
        value = with_window_rows(self.own_cost, model, rows)
        self._background.submit(lambda: _keep_own_cost(value), lambda _: None, _log_error)
        self._on_own_cost(value)

    def _on_own_cost(self, value: dict[str, Any] | None) -> None:
        self.own_cost = value
        self.document_changed.emit()

    @property
    def measuring_own_cost(self) -> bool:
        """Is it our own cost that is being measured?"""
        return self._own_cost_run is not None and self.active

    @property
    def quiet(self) -> bool:
        """Is the window to leave the machine alone just now?"""
        return self._redraw.quiet

    def _put_aside(self) -> Shown:
        return Shown(
            self.timeline,
            self._run_no,
            self.config,
            self.values,
            self.values_final,
            self.document,
            self.problem,
            self._started_ns,
            self._ended_ns,
            self.state,
        )

    def _take_up(self, shown: Shown) -> None:
        """Show again what was put aside; the log goes on."""
        logs, self.timeline = list(self.timeline.logs), shown.timeline
        self.timeline.logs.clear()
        self.timeline.logs.extend(logs)
        self._redraw.set_quiet(False)
        self._redraw.flush()
        self._own_cost_run, self._stage, self._stop_asked_ns = None, None, None
        self._run_no, self.config, self.document = shown.run_no, shown.config, shown.document
        self.values, self.values_final, self.problem = shown.values, shown.values_final, shown.problem
        self._started_ns, self._ended_ns = shown.started_ns, shown.ended_ns
        self._become(shown.state)
        self._drawn_revision = -1
        if not self.values_final:
            self._final_metrics()
        self.document_changed.emit()
        self.metrics_changed.emit()

    def _prepare(self, config: RunConfig) -> None:
        """Everything as it is before the first event of a run."""
        self._new_timeline()
        self.config = config
        self.problem = None
        self.values, self.values_final = None, False
        self._stage, self._run_no = None, None
        self._started_ns, self._ended_ns, self._stop_asked_ns = self._clock_ns(), None, None
        self.document = Document(name=config.name)
        self._source.warm()
        self._become(RunState.LOADING)
        self.document_changed.emit()
        self.metrics_changed.emit()

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
        """Name the file of the session recorded here; in mid-run it takes effect at the end."""
        if not self._link.send("save_as", done, path=str(path), overwrite=overwrite):
            done(ev.Reply(id=-1, ok=False, message=no_engine(), exit_code=2))

    def inspect(self, config: RunConfig) -> None:
        """Look at the model of a configuration soon; `inspected` brings the answer."""
        self._inspector.ask(config)

    def show_saved(self, timeline: Timeline, path: Path) -> None:
        """Show an opened session through the same charts. No effect while a run is on."""
        if self.active:
            return
        run = timeline.last_run
        self.timeline = timeline
        self._run_no = None if run is None else run.no
        self.config = config_of(run)
        self.problem, self._stage = None, None
        self._started_ns = 0 if run is None else run.t_ns
        self._ended_ns = None if run is None else run.end_ns
        self.values, self.values_final = None, False
        self.document = Document(path=path, name=path.stem, saved=True)
        self._become(RunState.FINISHED)
        self._drawn_revision = -1
        self._metrics_due = True
        self.document_changed.emit()
        self.metrics_changed.emit()

    def moved(self, path: Path) -> None:
        """The shown document lies at another place now."""
        self.document = replace(self.document, path=path, name=path.stem, note="")
        self.document_changed.emit()

    # -- the one timer --------------------------------------------------------------------

    def tick(self) -> None:
        """Take in what came, and draw if it is time."""
        if self._ticking:  # painting delivers posted events; a tick may be among them
            return
        self._ticking = True
        try:
            self._take_events()
            self._background.poll()
            self._inspector.tick()
            self.ticked.emit()
            changed = self.timeline.revision != self._drawn_revision
            if (self.active and self._redraw.due) or (changed and not self.active):
                self.draw()
            if self._metrics_due:
                # After the first drawing, which they would slow: both are Python.
                self._metrics_due = False
                self._final_metrics()
        finally:
            self._ticking = False
        self._keep_pace()

    def draw(self) -> None:
        """Draw now."""
        self._drawn_revision = self.timeline.revision
        self._redraw.draw(self._paint, report=self.active)

    def _paint(self) -> None:
        now_ns = self._clock_ns()
        run = self.run
        every_s = METRICS_EVERY_ON_CPU_S if self.pace.budgeted else METRICS_EVERY_S
        if self.active and run is not None and now_ns - self._metrics_ns >= every_s * NS_PER_S:
            self._metrics_ns = now_ns
            values = self._source.live(self.timeline, run)
            if values is not None:
                self.values, self.values_final = values, False
                self.metrics_changed.emit()
        self.refreshed.emit()

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
        self._link.sharing = self.state is RunState.RUNNING and self.on_cpu
        self._redraw.budget(self.active and self.on_cpu)
        interval_s = self.pace.interval_s if self.active else IDLE_TICK_S
        if self._redraw.quiet:
            interval_s = QUIET_TICK_S
        interval_ms = max(round(interval_s * 1000), 1)
        if self._timer.isActive() and self._timer.interval() != interval_ms:
            self._timer.setInterval(interval_ms)

    # -- one method an event --------------------------------------------------------------

    def _on_state(self, event: ev.State) -> None:
        if not self.active:
            return
        if event.state == "loading" and self.state is not RunState.STOPPING:
            self._become(RunState.LOADING)
        elif event.state == "running" and self.state is not RunState.STOPPING:
            if self._own_cost_run is not None:
                self._own_cost_run.since_ns = self._clock_ns()
            self._become(RunState.RUNNING)
        elif event.state == "stopping":
            self._stop_asked_ns = self._stop_asked_ns or self._clock_ns()
            self._become(RunState.STOPPING)

    def _on_progress(self, event: ev.Progress) -> None:
        if event.stage == QUIET_STAGE:
            self._redraw.set_quiet(bool(event.done))
        else:
            self._stage = event

    def _on_run(self, event: ev.RunStart) -> None:
        if self.active and self._run_no is None:
            self._run_no = event.run

    def _on_run_end(self, event: ev.RunEnd) -> None:
        if event.run != self._run_no or not self.active:
            return
        own = self._own_cost_run
        if own is not None and own.answered:
            self._take_up(own.before)
            return
        if event.status == "failed":
            self._fail(self.problem or Problem(event.reason or unknown_failure()))
        else:
            self._end(RunState.FINISHED)

    def _on_failure(self, event: ev.Failure) -> None:
        if event.where == "inspect":
            return
        problem = Problem(event.message, event.detail, event.field, event.where, event.exit_code)
        if self.problem is None:
            self.problem = problem
        if self.active and self._run_no is None:
            self._fail(problem)  # no run began, so no RunEnd will tell
        elif event.where == "disk":
            self.troubled.emit(problem)

    def _on_recording(self, event: ev.Recording) -> None:
        if self.document.saved:
            return
        path = None if event.state == "discarded" else Path(event.path)
        name = event.name or self.document.name
        self.document = Document(path, name, event.state == "recording", note=event.message or "")
        self.document_changed.emit()

    def _on_resync(self, event: ev.Resync) -> None:
        from profiler.session.reader import SessionReader

        if not event.path:
            return
        reader = SessionReader.open(Path(event.path), thorough=False)
        logs, self.timeline = self.timeline.logs, reader.timeline()
        self.timeline.logs.extend(logs)
        self.timeline.read_all()  # now: the file is moved when the run is over
        reader.close()
        run = self.timeline.last_run
        if self.active and run is not None:
            self._run_no = run.no
            if run.status != "running":
                self._on_run_end(ev.RunEnd(run.no, run.end_ns or self._clock_ns(), run.status, run.reason))

    def _on_reply(self, event: ev.Reply) -> None:
        self._link.resolve(event)

    def _on_run_reply(self, reply: ev.Reply) -> None:
        if reply.ok or not self.active:
            return
        if self._stop_asked_ns is not None and self._run_no is None:
            self._end(RunState.IDLE)  # stopped while the model was loading
            return
        message = reply.message or unknown_failure()
        self._fail(Problem(message, reply.detail, reply.field, "run", reply.exit_code or 4))

    def _on_machine(self, reply: ev.Reply) -> None:
        if reply.ok and isinstance(reply.value, dict):
            self.machine = reply.value
            self.document_changed.emit()

    def _on_models(self, reply: ev.Reply) -> None:
        if reply.ok and isinstance(reply.value, list):
            self.models = [entry for entry in reply.value if isinstance(entry, dict)]
            self.document_changed.emit()

    def _on_gone(self, text: str) -> None:
        LOG.error("the engine ended: %s", text)
        message = gone_message(self.document.path if self.active else None)
        if self.active:
            run = self.run
            if run is not None:
                self.timeline.apply(ev.RunEnd(run.no, self._clock_ns(), "interrupted", message))
            self._fail(Problem(message, text, where="engine"))
        self.document = replace(self.document, recording=False)
        self.document_changed.emit()
        self.engine_gone.emit(message)

    # -- state ----------------------------------------------------------------------------

    def _become(self, state: RunState) -> None:
        if state is not self.state:
            self.state = state
            self._drawn_revision = -1
            if state is RunState.RUNNING:
                self._redraw.pace.forget()  # the frames of the loading were cheap
            self.state_changed.emit()
            self._keep_pace()

    def _end(self, state: RunState) -> None:
        self._ended_ns = self._clock_ns()
        self._own_cost_run = None
        self._redraw.set_quiet(False)
        self._redraw.flush()
        self._become(state)
        self._final_metrics()

    def _fail(self, problem: Problem) -> None:
        self.problem = problem
        self._end(RunState.FAILED)
        self.failed.emit(problem)

    def _final_metrics(self) -> None:
        timeline, run = self.timeline, self.run
        if run is None:
            return

        def take(values: RunValues | None) -> None:
            if timeline is self.timeline:
                self.values, self.values_final = values or self.values, True
                self._drawn_revision = -1
                self.metrics_changed.emit()

        self._source.final(timeline, run, take)

    def _new_timeline(self) -> None:
        # Facts of the session (machine, engine) and the log outlive a run.
        before, self.timeline = self.timeline, Timeline()
        if not self.document.saved:
            self.timeline.facts.update(before.facts)
        self.timeline.logs.extend(before.logs)
        self._drawn_revision = -1


def read_kept_own_cost() -> dict[str, Any] | None:
    """The figures kept on this machine, None when there are none. Reads a file."""
    from profiler.engine.own_cost import read_own_cost

    return read_own_cost()


def _keep_own_cost(value: dict[str, Any]) -> None:
    from profiler.engine.own_cost import save_own_cost

    save_own_cost(value)


def _log_error(error: Exception) -> None:
    LOG.error("the figures of our own cost cannot be used", exc_info=error)


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
