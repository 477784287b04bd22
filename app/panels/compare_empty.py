"""What the Compare page is for, while nothing is compared."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from app.panels.parts import column, row
from app.widgets import Button, Card, make_label

WIDTH = 560


class CompareEmpty(QWidget):
    """A card in the middle: one sentence, two ways to begin."""

    files_asked = Signal()
    list_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        card = Card((28, 24, 28, 24))
        card.setFixedWidth(WIDTH)
        card.body.setSpacing(10)
        card.body.addWidget(make_label(self.tr("Did the change make it faster?"), "headline"))
        for text in (
            self.tr(
                "Put up to six recorded runs side by side: latency over the output, the whole "
                "distribution, first tokens and bandwidth."
            ),
            self.tr(
                "Every difference comes with its 95 % interval and a verdict that says only what the "
                "data shows. What else changed between the runs stands beside it."
            ),
        ):
            label = make_label(text, "secondary", wrap=True)
            # A wrapping label in a centred card would be given the height of its hint.
            label.setMinimumHeight(label.heightForWidth(WIDTH - 56))
            card.body.addWidget(label)
        self.files = Button(self.tr("Add session files…"), "primary", "plus")
        self.files.clicked.connect(self.files_asked)
        self.list = Button(self.tr("Choose from Sessions"), icon_name="sessions")
        self.list.clicked.connect(self.list_asked)
        buttons = row(spacing=8)
        buttons.addWidget(self.files)
        buttons.addWidget(self.list)
        buttons.addStretch(1)
        card.body.addSpacing(4)
        card.body.addLayout(buttons)
        hint = make_label(self.tr("Or drop .dscope files here."), "muted")
        card.body.addWidget(hint)
        outer = column(self)
        outer.addStretch(2)
        outer.addWidget(card, 0, Qt.AlignmentFlag.AlignHCenter)
        outer.addStretch(3)
