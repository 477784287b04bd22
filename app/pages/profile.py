"""The Profile page: setup at the left, key figures, four charts, the answer and the log."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QGridLayout, QScrollArea, QSplitter, QWidget

from app.charts.bandwidth import BandwidthChart
from app.charts.first_token import FirstTokenChart
from app.charts.first_token_bars import FirstTokenBar
from app.charts.telemetry import TelemetryChart
from app.charts.token_latency import TokenLatencyChart
from app.pages.chart_data import (
    Cache,
    all_shown,
    bandwidth_view,
    filled_cache,
    first_token_bars,
    floor_curve,
    mbu_of,
    output_length,
    place_in_series,
    request_label,
    running_index,
    shown_spikes,
    token_series,
    trend_line,
)
from app.pages.chart_links import ChartLinks, Charts
from app.pages.chart_pictures import PicturePaths, save_asked
from app.pages.telemetry_data import telemetry_view
from app.panels.definitions import Definitions
from app.panels.failure_card import FailureCard
from app.panels.kpi_strip import KpiStrip
from app.panels.parts import column, row
from app.panels.run_box import RunBox
from app.panels.setup import SetupPanel
from app.panels.tabs import HEIGHT, BottomTabs
from app.panels.welcome import KeysCard, WelcomeCard
from app.run_controller import RunController
from app.run_state import Problem, RunState
from app.widgets import Divider
from profiler import events as ev
from profiler.config import RunConfig
from profiler.timeline import Request, Run, Timeline
from profiler.units import format_bytes

MANY_STEPS = 100_000
"""A session with more is drawn in two goes, the latency chart first: the window answers in between."""


class ProfilePage(QWidget):
    """Everything about one run. Draws when the controller says so."""

    start_asked = Signal()
    open_asked = Signal()
    restart_asked = Signal()
    selection_changed = Signal(object)
    """The `TokenRange` that is selected, or None."""

    def __init__(self, controller: RunController) -> None:
        super().__init__()
        self._controller = controller
        self._cache = Cache()
        self._cached_for: object = None
        self._prepared: tuple[object, Cache] | None = None
        self._first_token: tuple[list[FirstTokenBar], float | None] | None = None
        self._turn = False
        self._rest_of_drawing = QTimer(self)
        self._rest_of_drawing.setSingleShot(True)
        self._rest_of_drawing.timeout.connect(self.refresh)
        self._learned: Run | None = None
        self._needed_bytes: float | None = None
        self.run_box = RunBox()
        self.setup = SetupPanel(self.run_box)
        self.failure = FailureCard()
        self.welcome = WelcomeCard()
        self.kpis = KpiStrip()
        self.token_latency = TokenLatencyChart()
        self.first_token = FirstTokenChart()
        self.bandwidth = BandwidthChart()
        self.telemetry = TelemetryChart()
        self.charts = (self.token_latency, self.first_token, self.bandwidth, self.telemetry)
        self.tabs = BottomTabs()
        self.ask_path: PicturePaths | None = None
        """Asks the user where a picture goes: (parent, suggested name, "png" or "svg") -> path or
        None. The window sets it; without it the charts cannot be saved as files."""
        self.links = ChartLinks(
            Charts(self.token_latency, self.first_token, self.bandwidth, self.telemetry),
            self.tabs.output,
            lambda: self._controller.run,
            lambda: self._cache,
        )
        self.keys = KeysCard()
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        # Somewhere for the focus to be before anything is chosen: no ring on the first button.
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._lay_out()
        self.definitions = Definitions(self, self.kpis, controller)
        self._connect()
        self._show_empty(True)

    def _lay_out(self) -> None:
        grid_widget = QWidget()
        grid = QGridLayout(grid_widget)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(8)
        for index, chart in enumerate(self.charts):
            grid.addWidget(chart, index // 2, index % 2)
        for index in (0, 1):
            grid.setRowStretch(index, 1)
            grid.setColumnStretch(index, 1)
        self.splitter.addWidget(grid_widget)
        self.splitter.addWidget(self.tabs)
        self.splitter.setHandleWidth(8)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setStretchFactor(0, 1)
        self.splitter.setStretchFactor(1, 0)
        self.splitter.setSizes([10_000, HEIGHT])
        content = QWidget()
        stack = column(content, 10, 8)
        stack.addWidget(self.failure)
        stack.addWidget(self.welcome)
        stack.addWidget(self.kpis)
        stack.addWidget(self.splitter, 1)
        stack.addWidget(self.keys)
        line = row(self)
        line.addWidget(self.setup)
        line.addWidget(Divider(vertical=True))
        scroll = QScrollArea()
        scroll.setWidget(content)
        scroll.setWidgetResizable(True)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        line.addWidget(scroll, 1)

    def _connect(self) -> None:
        controller = self._controller
        self.run_box.start_asked.connect(self.start_asked)
        self.run_box.stop_asked.connect(controller.stop)
        self.run_box.kill_asked.connect(controller.kill)
        self.welcome.start_asked.connect(self.start_asked)
        self.welcome.other_model_asked.connect(self.setup.model.picker.showPopup)
        self.keys.open_asked.connect(self.open_asked)
        self.failure.action_asked.connect(self.restart_asked)
        self.setup.edited.connect(self._on_edited)
        self.setup.targets_changed.connect(lambda _: self._show_metrics())
        controller.state_changed.connect(self._on_state)
        controller.refreshed.connect(self.refresh)
        controller.metrics_changed.connect(self._show_metrics)
        controller.document_changed.connect(self._on_document)
        controller.inspected.connect(self._on_inspected)
        controller.failed.connect(self._on_failed)
        controller.troubled.connect(self._on_troubled)
        controller.engine_gone.connect(self._on_engine_gone)
        controller.ticked.connect(self._on_tick)
        self.links.redraw_asked.connect(self.refresh)
        self.links.selection.changed.connect(self.selection_changed)
        self.links.selection.valued.connect(self.kpis.refresh_selection)
        self.kpis.selection_cleared.connect(self.links.selection.clear)
        for chart in self.charts:
            chart.save_picture_asked.connect(lambda kind, chart=chart: save_asked(self, chart, kind))

    # -- starting ---------------------------------------------------------------------------

    def start(self) -> RunConfig | None:
        """Start what the setup shows; None when it cannot, with the reason beside its field."""
        config = self.setup.checked_config()
        if config is None or self._controller.active:
            return None
        self.failure.hide()
        self._controller.start_run(config)
        return config

    # -- what changes the page ----------------------------------------------------------------

    def _on_edited(self) -> None:
        config = self.setup.checked_config()
        if config is not None:
            self._controller.inspect(config)
        self._show_ready(config)

    def _on_inspected(self, reply: ev.Reply) -> None:
        self.setup.show_inspect(reply)
        fit = reply.value.get("fit") if reply.ok and isinstance(reply.value, dict) else None
        self._needed_bytes = fit.get("needed_bytes") if isinstance(fit, dict) else None
        self._show_ready(self.setup.checked_config())

    def _show_ready(self, config: RunConfig | None) -> None:
        self.run_box.refresh(self._controller, config)
        needed = self._needed_bytes
        memory = "" if needed is None else self.tr("{0} of memory").format(format_bytes(needed))
        self.welcome.refresh(config, self.setup.model.random_weights, memory, self.setup.time_words)

    def _on_document(self) -> None:
        self.setup.device.set_machine(self._controller.machine)
        self.setup.model.set_known(self._controller.models)
        controller = self._controller
        self.setup.show_session_config(controller.config if controller.run is not None else None)

    def _on_state(self) -> None:
        state = self._controller.state
        self.setup.set_locked(self._controller.active)
        if state is RunState.LOADING:
            self._show_empty(False)
            self._clear_charts()
        elif state is RunState.IDLE and self._controller.run is None:
            self._show_empty(True)
        elif state is RunState.FINISHED:
            self._show_empty(False)
        self.run_box.refresh(self._controller, self.setup.checked_config())

    def _clear_charts(self) -> None:
        """Axes as long as the run that begins, without data."""
        self.links.reset()
        config = self._controller.config
        for chart in self.charts:
            chart.clear()
            chart.show_ghost(False)
        if config is not None:
            self.token_latency.refresh([], config.output_tokens)
            self.bandwidth.refresh([], config.output_tokens)

    def _show_empty(self, empty: bool) -> None:
        if empty:
            self.definitions.card.dismiss()
        self.welcome.setVisible(empty)
        self.keys.setVisible(empty)
        self.kpis.setVisible(not empty)
        self.tabs.setVisible(not empty)
        if empty:
            for chart in self.charts:
                chart.show_ghost(True)

    def _on_tick(self) -> None:
        if self._controller.active and not self._controller.quiet:
            self.run_box.refresh(self._controller, self._controller.config)

    # -- problems -----------------------------------------------------------------------------

    def _on_failed(self, problem: Problem) -> None:
        if problem.where == "engine":
            return  # `engine_gone` tells it, with what to do
        if problem.field is not None:
            self.setup.show_error(problem.message, problem.field)
        run = self._controller.run
        if run is None:
            title, note = self.tr("The run could not start"), ""
            if self._controller.timeline.last_run is None:
                self._show_empty(False)
        else:
            title = self.tr("The run failed")
            path = self._controller.document.path
            note = self.tr("The charts show what was measured before (partial).")
            if path is not None:
                note += " " + self.tr("It is kept in {0}.").format(path)
        self.failure.show_problem(title, problem.message, problem.detail, note)

    def _on_troubled(self, problem: Problem) -> None:
        self.failure.show_problem(self.tr("The recording has a problem"), problem.message, problem.detail)

    def _on_engine_gone(self, message: str) -> None:
        problem = self._controller.problem
        detail = problem.detail if problem is not None else None
        self.failure.show_problem(
            self.tr("The engine has ended"), message, detail, action=self.tr("Restart the engine")
        )

    def show_problem(self, title: str, message: str, detail: str | None = None) -> None:
        """A problem that is not about a run: a file that cannot be opened, an error of the window."""
        self.failure.show_problem(title, message, detail)

    # -- drawing ------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Draw what the controller holds now."""
        controller = self._controller
        run = controller.run
        self.tabs.log.refresh(controller.timeline.logs, controller.log_origin_ns)
        if run is None:
            return
        first = self._cached_for is not controller.timeline
        if first:
            self._cached_for, self._cache = controller.timeline, self._take_prepared(controller.timeline)
            self._first_token = None
            self.links.reset()
            # Statistics are kept by the requests' names, which another session may have too.
            for chart in self.charts:
                chart.clear()
            if self._cache.stats is not None:
                self.token_latency.use_statistics(self._cache.stats)
        if run.status != "running" and self.links.frozen:
            self.links.run_over()
        if self.links.frozen:
            return
        if first and run.status != "running" and sum(map(len, run.requests)) > MANY_STEPS:
            self._draw_token_latency(run)
            self._rest_of_drawing.start(0)
            return
        self._draw_charts(run)
        begun = [request for request in run.requests if len(request)]
        self.tabs.output.set_requests([(request.no, request_label(run, request)) for request in begun])
        self.links.set_requests(run)
        front = self.links.focus(run)
        self.tabs.output.refresh(front, None if front is None else self._cache.view(front))
        self.tabs.set_note(*self._text_note(run))
        self.tabs.notes.show_notes((controller.values or {}).get("notes") or run.notes)

    def prepare(self, timeline: Timeline) -> None:
        """Compute what the charts need of a session that is about to be shown.

        Thread: any; a million tokens take a second, in which the window goes on.
        """
        run = timeline.last_run
        if run is not None:
            self._prepared = (timeline, filled_cache(timeline, run))

    def _take_prepared(self, timeline: Timeline) -> Cache:
        prepared, self._prepared = self._prepared, None
        return prepared[1] if prepared is not None and prepared[0] is timeline else Cache()

    def _draw_token_latency(self, run: Run) -> None:
        controller, cache, tokens = self._controller, self._cache, self._tokens(run)
        metrics = (controller.values or {}).get("metrics")
        shows = all_shown if self.links.only is None else self.links.shows
        front = self.links.focus(run)
        self.token_latency.refresh(
            token_series(run, cache, shows),
            tokens,
            running_index(run, cache, shows),
            selected=place_in_series(run, cache, front, shows),
            spikes=shown_spikes(controller.timeline, run, cache, shows),
            floor_ms=floor_curve(run, tokens),
            target_ms=self.setup.targets.itl_p99_ms,
            trend=trend_line(run, metrics, tokens) if controller.values_final else None,
        )

    def _tokens(self, run: Run) -> int:
        config = self._controller.config
        return output_length(run, config.output_tokens if config else None)

    def _draw_charts(self, run: Run) -> None:
        controller = self._controller
        metrics = (controller.values or {}).get("metrics")
        planned = controller.config if run.status == "running" else None
        self._draw_token_latency(run)
        bars = first_token_bars(run, planned)
        limit = ((metrics or {}).get("mbu") or {}).get("ttft_floor_ms")
        reached = ((metrics or {}).get("ttft_ms") or {}).get("p50")
        if limit is not None and reached is not None and reached < limit:
            limit = None  # the model was faster: the reference is no limit, and a note says so
        if (bars, limit) != self._first_token:
            self._first_token = (bars, limit)
            self.first_token.refresh(bars, limit_ms=limit)
        # On a CPU that measures, a redraw does half of this: it is shorter, and they are more.
        self._turn = not self._turn
        sparing = controller.pace.budgeted and run.status == "running"
        if self._turn or not sparing:
            self._draw_bandwidth(run, self._tokens(run))
        if not self._turn or not sparing:
            self.telemetry.refresh(*telemetry_view(controller.timeline, run, planned, controller.now_ns()))

    def _draw_bandwidth(self, run: Run, tokens: int) -> None:
        links = self.links
        shows = all_shown if links.only is None else links.shows
        view = bandwidth_view(self._controller.timeline, run, self._cache, shows, links.focus(run))
        self.bandwidth.refresh(
            view.series,
            tokens,
            view.reference_gb_s,
            view.reference_source,
            view.busy,
            view.busy_reason,
            busy_window_s=view.busy_window_s,
            running_index=view.running_index,
            selected=view.selected,
            gpm=view.gpm,
            gpm_reason=view.gpm_reason,
            reason=view.reason,
        )

    def _text_note(self, run: Run) -> tuple[str, str]:
        facts = run.facts.get("model")
        if isinstance(facts, dict) and facts.get("random_weights"):
            whole = self.tr("Random weights: the speed is real, the text is noise.")
            return whole, self.tr("Random weights: noise.")
        return "", ""

    def _show_metrics(self) -> None:
        controller, run = self._controller, self._controller.run
        values = controller.values
        if run is None or values is None:
            self.setup.judge(None)
            self.kpis.refresh(None)
            return
        self.links.selection.renew()
        self.kpis.refresh(values["metrics"], self._sparks(run), self.setup.judge(values))
        done_here = controller.values_final and not controller.document.saved and run.status == "finished"
        if done_here and controller.config is not None and self._learned is not run:
            self._learned = run
            self.setup.learn(controller.config, run, values)

    def _sparks(self, run: Run) -> dict[str, Sequence[float]]:
        values = self._controller.values or {}
        rows = [r for r in values.get("per_request", []) if not r["warmup"]]
        last = _shown_request(run)
        gaps = [] if last is None or last.warmup else list(self._cache.view(last).gaps_ms[-24:])
        mbu = None if last is None or last.warmup else mbu_of(run, last, self._cache)
        return {
            "ttft": [r["ttft_ms"] for r in rows if r["ttft_ms"] is not None],
            "tpot": [r["tpot_ms"] for r in rows if r["tpot_ms"] is not None],
            "itl_p50": gaps,
            "throughput": [r["decode_tok_s"] for r in rows if r["decode_tok_s"] is not None],
            "mbu": [] if mbu is None else list(mbu[-24:]),
        }


def _shown_request(run: Run) -> Request | None:
    """The request whose text is shown: the newest that has begun to answer."""
    started = [request for request in run.requests if len(request)]
    return started[-1] if started else None
