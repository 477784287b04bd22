"""Sentences that the numbers need beside them: what is odd about them, what was left out."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPlainTextEdit


class NotesView(QPlainTextEdit):
    """The notes of the shown run, one a line. Plain text."""

    counted = Signal(int)
    """How many there are now; sent when they have changed."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("kind", "notes")
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setUndoRedoEnabled(False)
        self.setAccessibleName(self.tr("Notes"))
        self.setPlaceholderText(self.tr("Nothing odd was met in these numbers."))
        self._notes: tuple[str, ...] = ()

    def show_notes(self, notes: Sequence[str]) -> None:
        """Show these; no cost when they are those already there."""
        if tuple(notes) != self._notes:
            self._notes = tuple(notes)
            self.setPlainText("\n".join(f"•  {note}" for note in self._notes))
            self.counted.emit(len(self._notes))
