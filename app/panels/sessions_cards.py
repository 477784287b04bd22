"""What stands in the library's place, or above it, when there is something to say first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.panels import sessions_words as words
from app.panels.parts import column, row, set_text
from app.widgets import Button, Card, StatusMark, make_label
from profiler.session.library import SessionEntry
from profiler.units import format_bytes

EMPTY_PX = 560
LIST_PX = 92


class SessionsEmpty(QWidget):
    """Nothing is saved yet, or nothing meets the filters."""

    new_profile_asked = Signal()
    import_asked = Signal()
    clear_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        card = Card((28, 24, 28, 24))
        card.setFixedWidth(EMPTY_PX)
        card.body.setSpacing(10)
        self.headline = make_label("", "headline", wrap=True)
        self.text = make_label("", "secondary", wrap=True)
        self.new_profile = Button(self.tr("New profile"), "primary", "plus")
        self.import_ = Button(self.tr("Import trace…"), icon_name="import")
        self.clear = Button(self.tr("Show all sessions"))
        self.new_profile.clicked.connect(self.new_profile_asked)
        self.import_.clicked.connect(self.import_asked)
        self.clear.clicked.connect(self.clear_asked)
        line = row(None, 0, 8)
        for button in (self.new_profile, self.import_, self.clear):
            line.addWidget(button)
        line.addStretch(1)
        for widget in (self.headline, self.text):
            card.body.addWidget(widget)
        card.body.addSpacing(4)
        card.body.addLayout(line)
        outer = column(self)
        outer.addStretch(2)
        outer.addWidget(card, 0, Qt.AlignmentFlag.AlignHCenter)
        outer.addStretch(3)

    def show_first(self, folder: Path) -> None:
        """No session in the folder."""
        text = self.tr(
            "Each run is recorded as a file in {0} and appears here with its key figures. From here "
            "you can open it, compare it with another one, tag it, and repeat it."
        ).format(folder)
        self._show(self.tr("Your sessions will appear here"), text, found=True)

    def show_no_match(self) -> None:
        """The filters leave nothing."""
        text = self.tr("No session meets the search and the filters.")
        self._show(self.tr("Nothing found"), text, found=False)

    def show_problem(self, problem: str) -> None:
        """The folder cannot be read."""
        self._show(self.tr("This folder cannot be shown"), problem, found=True)

    def _show(self, headline: str, text: str, *, found: bool) -> None:
        set_text(self.headline, headline)
        set_text(self.text, text)
        inner = EMPTY_PX - 58
        for label in (self.headline, self.text):
            # A wrapping label in a centred card would be given the height of its hint.
            label.setMinimumHeight(label.heightForWidth(inner))
        self.new_profile.setVisible(found)
        self.import_.setVisible(found)
        self.clear.setVisible(not found)


class RetentionCard(Card):
    """Asks before recordings that nobody touched go to the trash. Names each of them."""

    trash_asked = Signal(object)
    """Paths (list) that may go."""
    keep_asked = Signal(object)
    later_asked = Signal()

    def __init__(self) -> None:
        super().__init__((14, 10, 12, 10))
        self._paths: list[Path] = []
        self._mark = StatusMark("info", 16)
        self.words = make_label("", "", wrap=True)
        self.names = QPlainTextEdit()
        self.names.setReadOnly(True)
        self.names.setTabChangesFocus(True)
        self.names.setUndoRedoEnabled(False)
        self.names.setAccessibleName(self.tr("Recordings that would go"))
        self.trash = Button("", icon_name="trash")
        self.keep = Button(self.tr("Keep"))
        self.later = Button(self.tr("Ask again later"), "plain")
        self.trash.clicked.connect(lambda: self._answer(self.trash_asked))
        self.keep.clicked.connect(lambda: self._answer(self.keep_asked))
        self.later.clicked.connect(self._later)
        head = row(None, 0, 10)
        head.addWidget(self._mark, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(self.words, 1)
        buttons = row(None, 0, 8)
        for button in (self.trash, self.keep, self.later):
            buttons.addWidget(button)
        buttons.addStretch(1)
        self.body.setSpacing(8)
        self.body.addLayout(head)
        self.body.addWidget(self.names)
        self.body.addLayout(buttons)
        self.hide()

    def ask(self, entries: Sequence[SessionEntry], now: datetime) -> None:
        """Ask about these; none hides the card."""
        self._paths = [entry.path for entry in entries]
        self.setVisible(bool(entries))
        if not entries:
            return
        count, room = len(entries), format_bytes(sum(entry.size_bytes for entry in entries), binary=False)
        if count == 1:
            question = self.tr(
                "1 unnamed recording ({0}) is old or beyond the room set for recordings. Nothing goes "
                "without your answer; the trash gives it back."
            ).format(room)
            self.trash.setText(self.tr("Move 1 recording to trash"))
        else:
            question = self.tr(
                "{0} unnamed recordings ({1}) are old or beyond the room set for recordings. Nothing goes "
                "without your answer; the trash gives them back."
            ).format(count, room)
            self.trash.setText(self.tr("Move {0} recordings to trash").format(count))
        set_text(self.words, question)
        self.setAccessibleName(question)
        lines = [
            f"{words.title(entry)}   {words.date(entry, now, long=True)}   "
            f"{format_bytes(entry.size_bytes, binary=False)}".replace("\n", " ")
            for entry in entries
        ]
        self.names.setPlainText("\n".join(lines))
        needs = self.names.fontMetrics().lineSpacing() * len(lines) + 18
        self.names.setFixedHeight(min(needs, LIST_PX))

    def _answer(self, signal: Signal) -> None:
        self.hide()
        signal.emit(list(self._paths))  # type: ignore[attr-defined]

    def _later(self) -> None:
        self.hide()
        self.later_asked.emit()
