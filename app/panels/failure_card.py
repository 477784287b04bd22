"""What went wrong, in one sentence, with the next step; the whole story can be copied."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication

from app.panels.parts import column, row, set_text
from app.widgets import Button, Card, IconButton, StatusMark, make_label


class FailureCard(Card):
    """A card above the charts. Hidden until `show_problem`."""

    action_asked = Signal()
    dismissed = Signal()

    def __init__(self) -> None:
        super().__init__((14, 10, 10, 10))
        self._detail = ""
        self._mark = StatusMark("bad", 18)
        self.title = make_label("", "title")
        self.message = make_label("", "", wrap=True)
        self.note = make_label("", "muted", wrap=True)
        self.action = Button("", "", "")
        self.copy_button = Button(self.tr("Copy details"), "", "copy")
        self.close_button = IconButton("close", self.tr("Close this message"))
        line = row(spacing=12)
        line.addWidget(self._mark)
        words = column(spacing=3)
        words.addWidget(self.title)
        words.addWidget(self.message)
        words.addWidget(self.note)
        line.addLayout(words, 1)
        line.addWidget(self.action)
        line.addWidget(self.copy_button)
        line.addWidget(self.close_button)
        self.body.addLayout(line)
        self.copy_button.clicked.connect(self.copy_details)
        self.action.clicked.connect(self.action_asked)
        self.close_button.clicked.connect(self._dismiss)
        self.action.hide()
        self.hide()

    def show_problem(
        self, title: str, message: str, detail: str | None = None, note: str = "", action: str = ""
    ) -> None:
        """Show a problem. `detail` goes to the clipboard on request, `action` names a button."""
        set_text(self.title, title)
        set_text(self.message, message)
        set_text(self.note, note)
        self.note.setVisible(bool(note))
        self._detail = "\n\n".join(part for part in (title, message, note, detail) if part)
        self.action.setText(action)
        self.action.setVisible(bool(action))
        self.setAccessibleName(f"{title}. {message}")
        self.show()

    def copy_details(self) -> None:
        """Title, sentence and traceback to the clipboard."""
        QGuiApplication.clipboard().setText(self._detail)

    def _dismiss(self) -> None:
        self.hide()
        self.dismissed.emit()
