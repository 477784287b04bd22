"""The shown run as other tools would report it: a table to read and to copy."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from app.other_reports import Reports
from app.panels.parts import column, row
from app.theme import ui_font
from app.widgets import Button, make_label
from app.widgets.labels import plain_tooltip
from profiler.reporting.other_definitions import TOOLS
from profiler.units import THIN, format_number

NOT_AVAILABLE = "n/a"
SIZE = (780, 620)
ROW_PX = 27


@dataclass(frozen=True)
class Line:
    """One figure of one tool, as texts. `tip`: formula, how it differs, why it is missing."""

    tool: str
    figure: str
    mean: str
    p50: str
    p99: str
    ours: str
    tip: str
    reason: str


def lines_of(reports: Reports) -> list[Line]:
    """Tool by tool, in order of TOOLS; tools without a report are left out."""
    result = []
    for name, report in reports.items():
        for figure in report["figures"].values():
            statistics = figure["statistics"] or {}
            unit, ours, reason = figure["unit"], figure["ours"], figure["reason"] or ""
            tip = f"{figure['formula']}. {figure['differs']}".strip()
            if reason:
                tip += " " + QCoreApplication.translate("OtherTools", "Not available: {0}.").format(reason)
            result.append(
                Line(
                    TOOLS[name].label,
                    figure["label"],
                    _words(figure["value"], unit) or NOT_AVAILABLE,
                    _words(statistics.get("p50"), unit),
                    _words(statistics.get("p99"), unit),
                    "" if ours is None else _words(ours["value"], unit),
                    tip,
                    reason,
                )
            )
    return result


def as_text(lines: list[Line]) -> str:
    """Columns parted by tabs, for a spreadsheet or a message; the last says why one is missing."""
    head = "\t".join((*headings(), QCoreApplication.translate("OtherTools", "Formula")))
    rows = [
        "\t".join((line.tool, line.figure, line.mean, line.p50, line.p99, line.ours, line.tip))
        for line in lines
    ]
    return "\n".join([head, *rows]) + "\n"


def headings() -> tuple[str, ...]:
    """The columns' names."""
    tr = QCoreApplication.translate
    return (
        tr("OtherTools", "Tool"),
        tr("OtherTools", "Figure"),
        tr("OtherTools", "Mean"),
        "p50",
        "p99",
        tr("OtherTools", "Ours (mean)"),
    )


def _words(value: float | None, unit: str) -> str:
    return "" if value is None else f"{format_number(value, 4)}{THIN}{unit}"


class OtherToolsDialog(QDialog):
    """A window of its own beside the main one; `title` names the session."""

    def __init__(self, title: str, reports: Reports, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("As other tools would report it"))
        self.lines = lines_of(reports)
        stack = column(self, (14, 12, 14, 12), 10)
        stack.addWidget(make_label(title, "title"))
        stack.addWidget(
            make_label(
                self.tr(
                    "The same tokens under other tools' definitions, so that numbers can be compared. "
                    "Warm-ups and requests that did not end well are left out, as the tools do. "
                    "A formula is in the tool tip of its row."
                ),
                "secondary",
                wrap=True,
            )
        )
        self.table = self._table()
        stack.addWidget(self.table, 1)
        notes = list(dict.fromkeys(note for report in reports.values() for note in report["notes"]))
        for note in notes:
            stack.addWidget(make_label(note, "muted", wrap=True))
        self.copy_button = Button(self.tr("Copy table"), "", "copy")
        self.copy_button.setAutoDefault(False)
        self.copy_button.clicked.connect(self.copy)
        close = Button(self.tr("Close"))
        close.clicked.connect(self.close)
        foot = row(spacing=8)
        foot.addWidget(self.copy_button)
        foot.addStretch(1)
        foot.addWidget(close)
        stack.addLayout(foot)
        screen = self.screen().availableSize()
        self.resize(min(SIZE[0], screen.width() - 40), min(SIZE[1], screen.height() - 80))

    def _table(self) -> QTableWidget:
        names = headings()
        table = QTableWidget(len(self.lines), len(names))
        table.setHorizontalHeaderLabels(names)
        table.setAccessibleName(self.windowTitle())
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(ROW_PX)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        before = ""
        for at, line in enumerate(self.lines):
            first = line.tool != before
            before = line.tool
            texts = (line.tool if first else "", line.figure, line.mean, line.p50, line.p99, line.ours)
            for place, text in enumerate(texts):
                item = QTableWidgetItem(text)
                item.setToolTip(plain_tooltip(line.tip))
                if place == 0:
                    item.setFont(ui_font(12, 600))
                if place >= 2:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                table.setItem(at, place, item)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        for place in range(len(names)):
            align = Qt.AlignmentFlag.AlignRight if place >= 2 else Qt.AlignmentFlag.AlignLeft
            table.horizontalHeaderItem(place).setTextAlignment(align | Qt.AlignmentFlag.AlignVCenter)
        return table

    def copy(self) -> None:
        """The whole table, with formulas, to the clipboard."""
        QGuiApplication.clipboard().setText(as_text(self.lines))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)
