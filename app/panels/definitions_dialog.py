"""All definitions in one window: a list to search at the left, the chosen one at the right."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QFrame, QLineEdit, QListWidget, QListWidgetItem, QScrollArea, QWidget

from app.panels.parts import column, row, set_text
from app.widgets import Button, make_label
from profiler.analysis.definitions import DEFINITIONS, Definition
from profiler.reporting.other_tools import definitions_elsewhere

SIZE = (820, 560)
LIST_WIDTH = 240
HEADING_WIDTH = 112
ROW_PX = 25


def rows_of(definition: Definition) -> list[tuple[str, str]]:
    """Heading and text of everything but the formula, without what is not told."""
    tr = QCoreApplication.translate
    elsewhere = [
        (tool.label, f"{figure.label} = {figure.formula}. {figure.differs}".strip())
        for tool, figure in definitions_elsewhere(definition.name)
    ]
    told = (
        (tr("Definitions", "In the report"), definition.name),
        (tr("Definitions", "Unit"), definition.unit),
        (tr("Definitions", "Counts"), definition.counts),
        (tr("Definitions", "Leaves out"), definition.leaves_out),
        (tr("Definitions", "Missing when"), definition.missing_when),
        (tr("Definitions", "Source"), definition.source),
        *elsewhere,
    )
    return [(heading, text) for heading, text in told if text]


def as_text(definition: Definition) -> str:
    """For the clipboard."""
    lines = [definition.label, definition.formula]
    lines += [f"{heading}: {text}" for heading, text in rows_of(definition)]
    return "\n".join(lines) + "\n"


class DefinitionsDialog(QDialog):
    """A window of its own beside the main one; `name` is the metric that is chosen first."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget, name: str = "") -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Definitions"))
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Search definitions"))
        self.search.setAccessibleName(self.search.placeholderText())
        self.search.setClearButtonEnabled(True)
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Definitions"))
        self.title = make_label("", "title")
        self.formula = make_label("", "monoNote", wrap=True)
        self._rows = column(spacing=9)
        self._shown: list[QWidget] = []
        self.definition: Definition | None = None
        self._lay_out()
        for definition in DEFINITIONS:
            item = QListWidgetItem(definition.label)
            item.setSizeHint(QSize(LIST_WIDTH - 20, ROW_PX))
            item.setData(Qt.ItemDataRole.UserRole, definition)
            self.list.addItem(item)
        self.list.currentItemChanged.connect(lambda _: self._show_current())
        self.search.textChanged.connect(self._filter)
        names = [definition.name for definition in DEFINITIONS]
        self.list.setCurrentRow(names.index(name) if name in names else 0)
        screen = self.screen().availableSize()
        self.resize(min(SIZE[0], screen.width() - 40), min(SIZE[1], screen.height() - 80))

    def _lay_out(self) -> None:
        whole = column(self, (14, 12, 14, 12), 10)
        left = column(spacing=8)
        left.addWidget(self.search)
        left.addWidget(self.list, 1)
        for widget in (self.search, self.list):
            widget.setFixedWidth(LIST_WIDTH)
        page = QWidget()
        text = column(page, (4, 0, 8, 0), 9)
        text.addWidget(self.title)
        box = QFrame()
        box.setProperty("formula", True)
        column(box, (10, 6, 10, 6), 2).addWidget(self.formula)
        text.addWidget(box)
        text.addLayout(self._rows)
        text.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidget(page)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        both = row(spacing=14)
        both.addLayout(left)
        both.addWidget(scroll, 1)
        whole.addLayout(both, 1)
        self.copy_button = Button(self.tr("Copy definition"), "", "copy")
        self.copy_button.setAutoDefault(False)
        self.copy_button.clicked.connect(self._copy)
        close = Button(self.tr("Close"))
        close.setAutoDefault(False)
        close.clicked.connect(self.close)
        foot = row(spacing=8)
        foot.addWidget(self.copy_button)
        foot.addStretch(1)
        foot.addWidget(close)
        whole.addLayout(foot)

    def _show_current(self) -> None:
        item = self.list.currentItem()
        self.definition = None if item is None else item.data(Qt.ItemDataRole.UserRole)
        for widget in self._shown:
            widget.setParent(None)
            widget.deleteLater()
        self._shown = []
        self.copy_button.setEnabled(self.definition is not None)
        if self.definition is None:
            set_text(self.title, self.tr("No definition holds these words"))
            set_text(self.formula, "")
            return
        set_text(self.title, self.definition.label)
        set_text(self.formula, self.definition.formula)
        for heading, text in rows_of(self.definition):
            pair = QWidget()
            line = row(pair, spacing=8)
            name = make_label(heading, "muted", wrap=True)
            name.setFixedWidth(HEADING_WIDTH)
            line.addWidget(name, 0, Qt.AlignmentFlag.AlignTop)
            line.addWidget(make_label(text, "note", wrap=True), 1)
            self._rows.addWidget(pair)
            self._shown.append(pair)
        self.chosen.emit(self.definition.name)

    def _filter(self, words: str) -> None:
        """Leave those that hold all words, in whatever field; choose the first if the chosen one went."""
        wanted = words.casefold().split()
        visible = []
        for index in range(self.list.count()):
            item = self.list.item(index)
            held = as_text(item.data(Qt.ItemDataRole.UserRole)).casefold()
            item.setHidden(not all(word in held for word in wanted))
            if not item.isHidden():
                visible.append(item)
        if self.list.currentItem() not in visible:
            self.list.setCurrentItem(visible[0] if visible else None)

    def _copy(self) -> None:
        if self.definition is not None:
            QGuiApplication.clipboard().setText(as_text(self.definition))
