"""Below the library's table: what can be done with the chosen sessions, and what was done."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCompleter, QLineEdit, QWidget

from app.panels.parts import column, row, set_text
from app.widgets import Button, Divider, ElidedLabel, StatusMark, make_label
from app.widgets.labels import plain_tooltip

MAX_COMPARED = 6


class TagEdit(QLineEdit):
    """Tags for the chosen sessions: Enter adds them, Esc or leaving gives up."""

    given = Signal(str)
    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.given.emit(self.text())
        else:
            super().keyPressEvent(event)


class NoticeLine(QWidget):
    """What was just done, with "Undo" beside it; or why something could not be done."""

    undo_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._mark = StatusMark("ok")
        self.words = ElidedLabel("", "")
        self.undo = Button(self.tr("Undo"), "link")
        self.undo.setToolTip(plain_tooltip("Ctrl+Z"))
        self.undo.clicked.connect(self.undo_asked)
        line = row(self, (0, 4, 0, 4), 8)
        line.addWidget(self._mark)
        line.addWidget(self.words)
        line.addWidget(make_label("·", "muted"))
        line.addWidget(self.undo)
        line.addStretch(1)
        self._dot = line.itemAt(2).widget()
        self.hide()

    @property
    def text(self) -> str:
        """The sentence shown, "" when hidden."""
        return self.words.text() if not self.isHidden() else ""

    def say(self, text: str, *, undo: bool = False, bad: bool = False) -> None:
        """Show a sentence; "" hides the line."""
        self.setVisible(bool(text))
        self._mark.set_kind("warning" if bad else "ok", self.tr("problem") if bad else self.tr("done"))
        self.words.setText(text)
        self.setAccessibleName(text)
        self.undo.setVisible(undo)
        self._dot.setVisible(undo)


class FootBar(QWidget):
    """`2 selected`, the actions, and how much room the library takes."""

    compare_asked = Signal()
    tags_given = Signal(str)
    export_asked = Signal()
    trash_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.notice = NoticeLine()
        self.selected = make_label("", "strong")
        self.compare = Button(self.tr("Compare"), "primary", "compare")
        self.tag = Button(self.tr("Tag"), icon_name="plus")
        self.export = Button(self.tr("Export"), icon_name="export")
        self.trash = Button(self.tr("Delete"), icon_name="trash")
        self.trash.setToolTip(plain_tooltip(self.tr("Move to trash (Del); nothing is deleted for good.")))
        self.tag_edit = TagEdit()
        self.tag_edit.setPlaceholderText(self.tr("add tags, Enter to finish"))
        self.tag_edit.setAccessibleName(self.tr("Tags to add to the selected sessions"))
        self.tag_edit.setFixedWidth(190)
        self._known_tags = QStringListModel(self)
        completer = QCompleter(self._known_tags, self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.tag_edit.setCompleter(completer)
        self.tag_edit.hide()
        self.stored = ElidedLabel("", "muted", Qt.TextElideMode.ElideMiddle)
        self.stored.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.compare.clicked.connect(self.compare_asked)
        self.tag.clicked.connect(self.ask_tags)
        self.export.clicked.connect(self.export_asked)
        self.trash.clicked.connect(self.trash_asked)
        self.tag_edit.given.connect(self._give)
        self.tag_edit.left.connect(self._leave)
        outer = column(self)
        outer.addWidget(Divider())
        outer.addWidget(self.notice)
        line = row(None, (0, 8, 0, 0), 8)
        for widget in (self.selected, self.compare, self.tag, self.tag_edit, self.export, self.trash):
            line.addWidget(widget)
        line.addWidget(self.stored, 1)
        outer.addLayout(line)
        self.show_chosen(0, 0)

    def show_chosen(self, count: int, usable: int) -> None:
        """How many sessions are chosen, and how many of them can be opened."""
        set_text(self.selected, self.tr("{0} selected").format(count))
        if usable == 2:
            text = self.tr("Compare A and B")
        elif usable > 2:
            text = self.tr("Compare {0}").format(usable)
        else:
            text = self.tr("Compare")
        self.compare.setText(text)
        self.compare.setEnabled(1 <= usable <= MAX_COMPARED)
        tip = self.tr("At most {0} sessions can be compared.").format(MAX_COMPARED)
        self.compare.setToolTip(plain_tooltip(tip) if usable > MAX_COMPARED else "")
        self.export.setEnabled(usable > 0)
        self.tag.setEnabled(usable > 0)
        self.trash.setEnabled(count > 0)
        if not usable:
            self.tag_edit.hide()

    def set_known_tags(self, tags: Sequence[str]) -> None:
        """Tags to complete while typing."""
        self._known_tags.setStringList(list(tags))

    def ask_tags(self) -> None:
        """Let tags be typed for the chosen sessions."""
        self.tag_edit.clear()
        self.tag_edit.show()
        self.tag_edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _give(self, text: str) -> None:
        self._leave()
        if text.strip():
            self.tags_given.emit(text)

    def _leave(self) -> None:
        self.tag_edit.hide()
        self.tag.setFocus(Qt.FocusReason.OtherFocusReason)
