"""The table of differences of one pair: values, difference, interval, verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem

from app.panels.compare_interval import ROW_ROLE, IntervalDelegate, MetricDelegate, VerdictDelegate
from app.panels.compare_words import (
    CLIP_PCT,
    difference_words,
    interval_words,
    metric_words,
    reason_in_letters,
    row_tip,
    value_words,
    verdict_words,
)
from app.panels.parts import row, set_text
from app.theme import DARK, Palette
from app.widgets import Card, ElidedLabel, SegmentedControl, make_label
from app.widgets.labels import plain_tooltip

ROW_PX = 27
METRIC, A, B, DIFFERENCE, INTERVAL, RELATIVE, VERDICT = range(7)
WIDTHS = {METRIC: 136, A: 62, B: 62, DIFFERENCE: 110, INTERVAL: 108, VERDICT: 150}
NARROW = {METRIC: 130, A: 58, B: 58, DIFFERENCE: 96, INTERVAL: 104, VERDICT: 118}
"""px, by column; the relative interval takes the rest."""
NARROW_BELOW_PX = 700
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class DifferencePanel(Card):
    """Differences of one session against the baseline; the pair is chosen at the right."""

    pair_chosen = Signal(str)
    """The letter that is compared with the baseline."""

    def __init__(self) -> None:
        super().__init__((12, 8, 12, 6))
        self._palette = DARK
        self._letters: list[str] = []
        self._pair = ("A", "B")
        self._rows: list[dict[str, Any]] = []
        self._chooser: SegmentedControl | None = None
        self._head = row(spacing=8)
        self._head.addWidget(make_label(self.tr("Differences"), "title"))
        self.state = ElidedLabel("", "muted")
        self._head.addWidget(self.state, 1)
        self.body.addLayout(self._head)
        self.table = QTableWidget(0, 7)
        self._set_up_table()
        self.body.addWidget(self.table, 1)
        self.foot = ElidedLabel("", "muted")
        self.body.addWidget(self.foot)

    def _set_up_table(self) -> None:
        table = self.table
        table.setAccessibleName(self.tr("Table of differences"))
        table.setShowGrid(False)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setTabKeyNavigation(False)
        table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(ROW_PX)
        table.verticalHeader().setMinimumSectionSize(ROW_PX)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionsClickable(False)
        header.setMinimumSectionSize(40)
        for column, width in WIDTHS.items():
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
            table.setColumnWidth(column, width)
        header.setSectionResizeMode(RELATIVE, QHeaderView.ResizeMode.Stretch)
        self._delegates = {METRIC: MetricDelegate(), RELATIVE: IntervalDelegate(), VERDICT: VerdictDelegate()}
        for column, delegate in self._delegates.items():
            table.setItemDelegateForColumn(column, delegate)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        widths = NARROW if self.width() < NARROW_BELOW_PX else WIDTHS
        for column, width in widths.items():
            self.table.setColumnWidth(column, width)

    # -- what the page calls -------------------------------------------------------------

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        for delegate in self._delegates.values():
            delegate.palette_now = palette
        self.table.viewport().update()

    def set_pairs(self, baseline: str, letters: Sequence[str], chosen: str) -> None:
        """Offer the sessions to compare with `baseline`; `chosen` is the one that is shown."""
        wanted = [baseline, *letters]
        if wanted != self._letters:
            self._letters = wanted
            if self._chooser is not None:
                had_focus = self._chooser.hasFocus()
                self._head.removeWidget(self._chooser)
                self._chooser.hide()
                self._chooser.deleteLater()
            else:
                had_focus = False
            self._chooser = None
            if len(letters) > 1:
                chooser = SegmentedControl(
                    [f"{letter} − {baseline}" for letter in letters], self.tr("Pair"), 12
                )
                chooser.setFixedWidth(66 * len(letters))
                chooser.set_theme(self._palette)
                chooser.changed.connect(lambda index: self.pair_chosen.emit(self._letters[index + 1]))
                self._head.addWidget(chooser)
                self._chooser = chooser
                if had_focus:
                    chooser.setFocus()
        if self._chooser is not None and chosen in letters:
            self._chooser.set_index(list(letters).index(chosen))

    @property
    def chooser(self) -> SegmentedControl | None:
        """The pairs to choose from; None where there is one at most."""
        return self._chooser

    def show_rows(self, rows: Sequence[dict[str, Any]], a: str, b: str) -> None:
        """Show a pair's rows; none while they are computed."""
        self._rows, self._pair = sorted(rows, key=_place), (a, b)
        labels = (
            self.tr("Metric"),
            a,
            b,
            f"{b} − {a}",
            self.tr("95 % CI"),
            self.tr("relative, ±{0} %").format(f"{CLIP_PCT:.0f}"),
            self.tr("Verdict"),
        )
        table = self.table
        table.setRowCount(len(self._rows))
        for column, label in enumerate(labels):
            item = QTableWidgetItem(label)
            left = column in (METRIC, VERDICT)
            item.setTextAlignment(
                Qt.AlignmentFlag.AlignCenter
                if column == RELATIVE
                else (Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter if left else RIGHT)
            )
            table.setHorizontalHeaderItem(column, item)
        for number, values in enumerate(self._rows):
            self._fill(number, values)

    def _fill(self, number: int, values: dict[str, Any]) -> None:
        tip = plain_tooltip(row_tip(values, *self._pair))
        texts = {
            METRIC: metric_words(values["metric"]).name,
            A: value_words(values, "a"),
            B: value_words(values, "b"),
            DIFFERENCE: difference_words(values),
            INTERVAL: interval_words(values),
            RELATIVE: interval_words(values),
            VERDICT: verdict_words(values).text,
        }
        for column, text in texts.items():
            item = QTableWidgetItem(text)
            item.setData(ROW_ROLE, values)
            item.setToolTip(tip)
            if column in (A, B, DIFFERENCE, INTERVAL):
                item.setTextAlignment(RIGHT)
            if column == DIFFERENCE:
                font = item.font()
                font.setBold(True)
                item.setFont(font)
            self.table.setItem(number, column, item)

    @property
    def table_px(self) -> int:
        """How high the rows are together."""
        return ROW_PX * len(self._rows)

    def set_state(self, text: str) -> None:
        """Beside the title: `Computing…`, or why there is no table."""
        set_text(self.state, text)

    def set_foot(self, text: str, notes: Sequence[str] = ()) -> None:
        """How the intervals were made, and what is not claimed; the notes are in the tool tip."""
        self.foot.set_tip(" ".join(reason_in_letters(note, *self._pair) for note in notes))
        set_text(self.foot, text)

    # -- for tests and screen readers ------------------------------------------------------

    def texts(self) -> list[list[str]]:
        """What the cells say, row by row."""
        return [
            [self.table.item(number, column).text() for column in range(self.table.columnCount())]
            for number in range(self.table.rowCount())
        ]


ORDER = (
    "ttft_ms.p50",
    "ttft_ms.p95",
    "itl_ms.p50",
    "itl_ms.p95",
    "itl_ms.p99",
    "jitter.jitter_ms",
    "tpot_ms.p50",
    "e2e_ms.p50",
    "output_tok_s.p50",
    "mbu.run",
    "trend.slope_us_per_token",
    "energy.joules_per_token",
)
"""What belongs together stands together; metrics that are new come last, in their order."""


def _place(row: dict[str, Any]) -> int:
    return ORDER.index(row["metric"]) if row["metric"] in ORDER else len(ORDER)
