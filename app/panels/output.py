"""The text of the answer, as plain as it came."""

from __future__ import annotations

from PySide6.QtGui import QTextCursor, QTextOption
from PySide6.QtWidgets import QPlainTextEdit

from profiler.timeline import Request

MAX_CHARS = 200_000
"""What the view keeps; a longer answer shows its end."""


class OutputView(QPlainTextEdit):
    """Follows one request; only what is new is appended."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("kind", "output")
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setUndoRedoEnabled(False)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setAccessibleName(self.tr("Text of the answer"))
        self.setPlaceholderText(self.tr("The answer appears here."))
        self._request: Request | None = None
        self._pieces = 0

    def refresh(self, request: Request | None) -> None:
        """Show a request's text so far."""
        if request is not self._request:
            self._request, self._pieces = request, 0
            self.clear()
        if request is None or len(request.pieces) == self._pieces:
            return
        new = "".join(request.pieces[self._pieces :])
        self._pieces = len(request.pieces)
        if not new:
            return
        bar = self.verticalScrollBar()
        at_end = bar.value() >= bar.maximum() - 4
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(_readable(new))
        self._shorten()
        if at_end:
            bar.setValue(bar.maximum())

    def _shorten(self) -> None:
        spare = self.document().characterCount() - MAX_CHARS
        if spare > MAX_CHARS // 4:
            cursor = QTextCursor(self.document())
            cursor.setPosition(spare, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()


def _readable(text: str) -> str:
    """Control characters as their pictures, so that noise moves nothing; line breaks stay."""
    return "".join(
        chr(0x2400 + ord(sign)) if ord(sign) < 32 and sign not in "\n\t" else sign
        for sign in text.replace("\r\n", "\n")
    )
