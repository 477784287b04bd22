"""The Compare page: up to six runs side by side, their differences, and what else differs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QMenu, QScrollArea, QStackedWidget, QWidget

from app.background import Background
from app.charts.compare_base import ChartDeck, StageChart
from app.charts.compare_distribution import DistributionChart
from app.charts.compare_lines import CompareLinesChart, bandwidth_subject, latency_subject
from app.charts.compare_quantiles import QuantileChart
from app.pages import compare_view as view
from app.pages.compare_data import Compare, compare_pair, load_session
from app.pages.compare_report import ReportDialogs, ReportMenu
from app.pages.compare_state import CompareState, Load
from app.panels.compare_cards import CardRow
from app.panels.compare_empty import CompareEmpty
from app.panels.compare_settings import SettingsPanel
from app.panels.compare_table import ROW_PX, DifferencePanel
from app.panels.compare_words import common_reason, confounded, power_warning
from app.panels.page_bar import PageBar
from app.panels.parts import column, row
from app.session_library import SUFFIX
from app.widgets import Banner, Button, Divider, SegmentedControl, make_label

NARROW_PX = 900
NARROW_CHART_PX = 240
TABLES_PX = 374
TABLES_ROWS_PX = 10 * ROW_PX
"""Rows that TABLES_PX has room for."""
LEAST_TABLES_PX = 220


class CompareDialogs(ReportDialogs, Protocol):
    """What the page asks. Empty or None: the user thought better of it."""

    def open_paths(self, parent: QWidget, folder: str) -> list[Path]: ...


class ComparePage(QWidget):
    """Sessions come in by `add_session`; all work goes through `background`.

    `load` and `compare` are what runs beside the window; tests give their own.
    """

    open_asked = Signal(object)
    """A session (Path) to be shown on the Profile page."""
    choose_sessions_asked = Signal()
    """The list of the Sessions page is wanted, to choose from."""
    reported = Signal(str)
    """One sentence: what was copied or saved, or why not."""

    def __init__(
        self,
        background: Background,
        dialogs: CompareDialogs,
        *,
        load: Load = load_session,
        compare: Compare = compare_pair,
    ) -> None:
        super().__init__()
        self.setProperty("surface", "window")
        self.setAcceptDrops(True)
        # Somewhere for the focus to be before anything is chosen.
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._dialogs = dialogs
        self._folder = ""
        self._by_time = False
        self.state = CompareState(background, load, compare, self)
        self.bar = PageBar(self.tr("Compare"))
        self.align = SegmentedControl(
            [self.tr("Output token"), self.tr("Time")], self.tr("Align by"), parent=self.bar
        )
        self.report = Button(self.tr("Report"), icon_name="chevron-down")
        self.report.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the icon behind the word
        self.report_menu = ReportMenu(self.state, dialogs, self)
        self.cards = CardRow()
        self.power = Banner("", "warning", "warning")
        self.latency = CompareLinesChart(latency_subject())
        self.bandwidth = CompareLinesChart(bandwidth_subject())
        self.distribution = DistributionChart()
        self.quantiles = QuantileChart()
        self.first_token = StageChart()
        self.left = ChartDeck(
            (self.latency, self.bandwidth),
            (self.tr("Inter-token latency"), self.tr("Bandwidth")),
            self.tr("Chart over the output"),
        )
        self.right = ChartDeck(
            (self.distribution, self.quantiles, self.first_token),
            (self.tr("Distribution"), self.tr("By quantile"), self.tr("First token")),
            self.tr("Chart of the distribution"),
        )
        self.differences = DifferencePanel()
        self.settings = SettingsPanel()
        self.empty = CompareEmpty()
        self._stack = QStackedWidget()
        self._lay_out()
        self._connect()
        self._draw()

    def _lay_out(self) -> None:
        align_label = make_label(self.tr("Align by"), "secondary")
        self.align.setFixedWidth(190)
        for widget in (align_label, self.align, self.report):
            self.bar.add(widget)
        self._charts = _split(row(spacing=8), self.left, 56, self.right, 44)
        self._table_area = QWidget()
        self._tables = _split(row(self._table_area, spacing=8), self.differences, 65, self.settings, 35)
        whole = QWidget()
        inner = column(whole, 10, 8)
        inner.addWidget(self.cards)
        inner.addWidget(self.power)
        inner.addLayout(self._charts, 10)
        inner.addWidget(self._table_area, 16)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(_scrolling(whole))
        outer = column(self)
        outer.addWidget(self.bar)
        outer.addWidget(Divider())
        outer.addWidget(self._stack, 1)

    def _connect(self) -> None:
        state = self.state
        state.changed.connect(self._draw)
        self.align.changed.connect(lambda _index: self._draw_lines())
        self.cards.add_button.clicked.connect(self._show_add_menu)
        self.cards.baseline_asked.connect(state.set_baseline)
        self.cards.close_asked.connect(state.remove)
        self.cards.run_chosen.connect(state.choose_run)
        self.cards.floor_asked.connect(state.set_floor)
        self.cards.open_asked.connect(self._open)
        self.empty.files_asked.connect(self.ask_files)
        self.empty.list_asked.connect(self.choose_sessions_asked)
        self.differences.pair_chosen.connect(state.choose)
        for chart in (self.latency, self.bandwidth):
            chart.hovered.connect(self.set_crosshair)
        self.distribution.hovered.connect(self.distribution.set_crosshair)
        self.quantiles.hovered.connect(self.quantiles.set_crosshair)
        self.add_menu = QMenu(self)
        self.add_menu.addAction(self.tr("From files…")).triggered.connect(self.ask_files)
        self.add_menu.addAction(self.tr("From the Sessions page")).triggered.connect(
            self.choose_sessions_asked
        )
        for chart in (*self.left.charts, *self.right.charts):
            chart.save_picture_asked.connect(
                lambda kind, chart=chart: self.report_menu.save_chart(chart, kind)
            )
        self.report.setMenu(self.report_menu)
        self.report_menu.told.connect(self._tell)

    # -- what the window calls -----------------------------------------------------------------

    def set_sessions(self, paths: Sequence[Path]) -> None:
        """Compare these files, and no others; the first is the baseline."""
        self.state.clear()
        for path in paths:
            self.state.add(path)

    def add_session(self, path: Path) -> None:
        """Take in one more file. Said in a sentence where there is no place."""
        if not self.state.add(path):
            full = len(self.state.members) >= 6
            self._tell(
                self.tr("Six sessions are compared already; take one out first.")
                if full
                else self.tr("{0} is compared already.").format(path.name)
            )

    def set_folder(self, folder: str) -> None:
        """Where the question for files begins."""
        self._folder = self.report_menu.folder = folder

    def ask_files(self) -> None:
        """Ask for files and take them in."""
        for path in self._dialogs.open_paths(self, self._folder):
            self.add_session(path)

    def set_crosshair(self, at: float | None) -> None:
        """Mark an output token (or a time, s) in both charts over the output."""
        self.latency.set_crosshair(at)
        self.bandwidth.set_crosshair(at)

    def _tell(self, message: str) -> None:
        self.bar.set_about(message)
        self.reported.emit(message)

    # -- drawing -------------------------------------------------------------------------------

    def _draw(self) -> None:
        state = self.state
        count = len(state.members)
        self._stack.setCurrentIndex(1 if count else 0)
        if not count:
            about = self.tr("no sessions yet")
        elif count == 1:
            about = self.tr("1 session")
        else:
            about = self.tr("{0} sessions, baseline {1}").format(count, state.baseline)
        self.bar.set_about(about)
        self.align.setEnabled(bool(state.ready))
        self.report.setEnabled(bool(view.pair_reports(state)))
        self.cards.show_cards([view.card_facts(state, member) for member in state.members])
        self._draw_lines()
        told = view.names(state)
        self.distribution.refresh(view.distributions(state.ready), told)
        self.first_token.refresh(view.first_token_bars(state.ready))
        nothing = self.tr("Computing…") if state.computing and len(state.ready) > 1 else ""
        self.quantiles.refresh(view.quantile_series(state), state.baseline, told, nothing)
        self._draw_differences()

    def _draw_lines(self) -> None:
        state, told = self.state, view.names(self.state)
        time = self.align.index == 1
        waiting = self.tr("Computing…") if state.computing else ""
        ready = state.ready
        self.latency.refresh(
            view.line_series(ready, "itl", time), state.baseline, told, time=time, nothing=waiting
        )
        self.bandwidth.refresh(
            view.line_series(ready, "mbu", time),
            state.baseline,
            told,
            time=time,
            nothing=view.no_bandwidth(ready) or waiting,
        )
        if time != self._by_time:
            self._by_time = time
            self.set_crosshair(None)  # a token is no time
        for note in self.left.notes:
            note.setText(view.lines_note(ready))
        self.right.notes[0].setText(self.tr("ECDF, tail stretched"))
        self.right.notes[1].setText(self.tr("band 95 %"))
        self.right.notes[2].setText(self.tr("medians"))

    def _draw_differences(self) -> None:
        state, panel = self.state, self.differences
        a, b = state.baseline, state.chosen
        panel.set_pairs(a, state.others, b)
        pair = state.pair(b) if b else None
        problem = state.pair_problem(b) if b else ""
        if pair is not None:
            words = common_reason(pair.rows, a, b)
        elif problem:
            words = problem
        elif len(state.members) < 2:
            words = self.tr("Add a second session to see what differs.")
        else:
            words = self.tr("Computing…") if state.computing else self.tr("No second session can be used.")
        panel.set_state(words)
        panel.show_rows(pair.rows if pair is not None else [], a, b or "B")
        self._limit_tables()
        foot = view.foot_words(state) if pair is not None or state.floor is not None else ""
        panel.set_foot(foot, pair.values.get("notes", ()) if pair is not None else ())
        differences = pair.differences if pair is not None else []
        self.settings.show_settings(
            view.setting_rows(state), [m.letter for m in state.ready], confounded(a, b, differences)
        )
        power = ""
        for letter in state.others:
            other = state.pair(letter)
            power = power or power_warning(a, letter, other.differences if other is not None else [])
        self.power.set_text(power)
        self.power.setVisible(bool(power))

    def _limit_tables(self) -> None:
        """Below a table that is whole there is nothing to gain: the charts get the rest."""
        more = max(self.differences.table_px - TABLES_ROWS_PX, 0)
        narrow = self.width() < NARROW_PX
        self._table_area.setMaximumHeight((2 * TABLES_PX + 8 if narrow else TABLES_PX) + more)

    # -- events --------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Large text in a small window: one below the other, in a page that scrolls.
        narrow = self.width() < NARROW_PX
        way = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        self._charts.setDirection(way)
        self._tables.setDirection(way)
        for panel in (self.differences, self.settings):
            panel.setMinimumHeight(TABLES_PX if narrow else LEAST_TABLES_PX)
        self._limit_tables()
        for deck in (self.left, self.right):
            deck.setMinimumHeight(NARROW_CHART_PX if narrow else 0)

    def _open(self, letter: str) -> None:
        member = self.state.member(letter)
        if member is not None:
            self.open_asked.emit(member.path)

    def _show_add_menu(self) -> None:
        button = self.cards.add_button
        self.add_menu.popup(button.mapToGlobal(QPoint(0, button.height() + 2)))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _dropped(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for path in _dropped(event):
            self.add_session(path)
        event.acceptProposedAction()


def _split(
    line: QHBoxLayout, left: QWidget, left_share: int, right: QWidget, right_share: int
) -> QHBoxLayout:
    line.addWidget(left, left_share)
    line.addWidget(right, right_share)
    return line


def _scrolling(content: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidget(content)
    area.setWidgetResizable(True)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return area


def _dropped(event: QDropEvent) -> list[Path]:
    """Session files that are dragged; none where there is anything else."""
    urls = event.mimeData().urls()
    paths = [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]
    return paths if paths and all(path.suffix == SUFFIX for path in paths) else []
