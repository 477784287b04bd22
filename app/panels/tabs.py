"""The tabs below the charts: the answer's text, the log, and what the numbers need said."""

from __future__ import annotations

from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QTabBar

from app.panels.log import LogView
from app.panels.notes import NotesView
from app.panels.output import OutputPanel
from app.panels.parts import column, row, set_text
from app.widgets import Card, ElidedLabel

MIN_HEIGHT = 120
HEIGHT = 164


class BottomTabs(Card):
    """Output, Log and Notes; a note about the text at the right of the tab bar."""

    def __init__(self) -> None:
        super().__init__((12, 2, 8, 8))
        self.setMinimumHeight(MIN_HEIGHT)
        self.bar = QTabBar()
        self.bar.setDrawBase(False)
        self.bar.setExpanding(False)
        self.bar.setUsesScrollButtons(False)
        self.bar.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.bar.setAccessibleName(self.tr("Output, log and notes"))
        self.bar.addTab(self.tr("Output"))
        self.bar.addTab(self.tr("Log"))
        self.bar.addTab(self.tr("Notes"))
        self.output = OutputPanel()
        self.log = LogView()
        self.notes = NotesView()
        self.notes.counted.connect(self._count_notes)
        self._note = ElidedLabel(role="muted")
        self._stack = QStackedWidget()
        self._stack.addWidget(self.output)
        self._stack.addWidget(self.log)
        self._stack.addWidget(self.notes)
        head = row(spacing=12)
        head.addWidget(self.bar)
        # The note gives way first; the legend keeps its words as long as it can.
        head.addStretch(1)
        head.addWidget(self._note)
        head.addWidget(self.output.tools)
        body = column(spacing=4)
        body.addLayout(head)
        body.addWidget(self._stack, 1)
        self.body.addLayout(body)
        self.bar.currentChanged.connect(self._turn)

    def _turn(self, index: int) -> None:
        self._stack.setCurrentIndex(index)
        of_text = self._stack.currentWidget() is self.output
        self._note.setVisible(of_text)
        self.output.tools.setVisible(of_text)

    def set_note(self, text: str, short: str = "") -> None:
        """One sentence about the text; "" for none. `short`: the same in fewer words."""
        self._note.set_short(short)
        set_text(self._note, text)

    def _count_notes(self, count: int) -> None:
        self.bar.setTabText(2, self.tr("Notes  {0}").format(count) if count else self.tr("Notes"))

    def show_log(self) -> None:
        """Bring the log to the front."""
        self.bar.setCurrentIndex(1)
