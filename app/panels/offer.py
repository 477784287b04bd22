"""A calm line above a page that offers something: a hint for newcomers, a recovered recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.panels.parts import column, row, set_text
from app.widgets import Button, Card, IconButton, StatusMark, make_label

Choice = tuple[str, Callable[[], None]]
"""A button's words and what it does."""


class Offer(QWidget):
    """One offer at a time; hidden until `show_offer`. A choice, or the cross, puts it away."""

    put_away = Signal()

    def __init__(self) -> None:
        super().__init__()
        card = Card((14, 8, 8, 8))
        column(self, (10, 10, 10, 0)).addWidget(card)
        self._mark = StatusMark("info", 16)
        self.words = make_label("", "", wrap=True)
        self._buttons: list[Button] = []
        self._line = row(spacing=10)
        self._line.addWidget(self._mark)
        self._line.addWidget(self.words, 1)
        self.close_button = IconButton("close", self.tr("Close this message"))
        self.close_button.clicked.connect(self._put_away)
        self._line.addWidget(self.close_button)
        card.body.addLayout(self._line)
        self.hide()

    def show_offer(self, text: str, choices: Sequence[Choice] = (), mark: str = "info") -> None:
        """Show `text` (plain) with a button a choice; takes the place of what was offered before."""
        for button in self._buttons:
            self._line.removeWidget(button)
            button.deleteLater()
        self._buttons = []
        self._mark.set_kind(mark, "")
        set_text(self.words, text)
        self.setAccessibleName(text)
        for number, (label, act) in enumerate(choices):
            button = Button(label)
            button.clicked.connect(lambda _=False, act=act: self._choose(act))
            self._line.insertWidget(2 + number, button)
            self._buttons.append(button)
        self.show()

    @property
    def choices(self) -> list[Button]:
        """The buttons that are offered now."""
        return list(self._buttons)

    def _choose(self, act: Callable[[], None]) -> None:
        self.hide()
        act()

    def _put_away(self) -> None:
        self.hide()
        self.put_away.emit()
