"""The strip's first cell while a range of tokens is selected (VISUAL.md section 10)."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.panels.parts import column, row, set_text
from app.theme import DARK, Palette
from app.widgets import ElidedLabel, IconButton, make_label

WIDTH = 128
ROOM_PX = WIDTH - 18
"""Width of its words, px."""


class SelectionCell(QWidget):
    """Which tokens the figures beside it are of; its x clears the selection."""

    cleared = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._palette = DARK
        self.setFixedWidth(WIDTH)
        self._range = ElidedLabel(role="strong")
        self._count = ElidedLabel(role="note")
        self.close_button = IconButton("close", self.tr("Clear the selection (Esc)"), 20, 13)
        self.close_button.clicked.connect(self.cleared)
        head = row(spacing=4)
        head.addWidget(make_label(self.tr("Selection"), "secondary"), 1)
        head.addWidget(self.close_button)
        stack = column(self, (12, 8, 6, 8), 6)
        stack.addStretch(1)
        stack.addLayout(head)
        stack.addWidget(self._range)
        stack.addWidget(self._count)
        stack.addStretch(1)

    def refresh(self, first: int, last: int, requests: int) -> None:
        """Tokens `first` to `last` of each of `requests` requests (numbers from 1, both in it)."""
        range_text = self.tr("tokens {0}–{1}").format(f"{first:,}", f"{last:,}")
        count_text = self.tr("{0} × {1} tokens").format(requests, f"{last - first + 1:,}")
        # Words that have no room lose what goes without saying.
        set_text(self._range, _fitting(self._range, range_text, f"{first:,}–{last:,}"))
        set_text(self._count, _fitting(self._count, count_text, f"{requests:,} × {last - first + 1:,}"))
        self.setAccessibleName(self.tr("Selection"))
        self.setAccessibleDescription(f"{range_text}, {count_text}")

    def cut_words(self) -> list[str]:
        """Which of its words end in an ellipsis."""
        return [label.text() for label in (self._range, self._count) if label.elided() != label.text()]

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._palette.color("accent_tint"))
        # The card's border and its rounding stay in sight.
        painter.drawRoundedRect(self.rect().adjusted(1, 1, 0, -1), 7, 7)
        painter.drawRect(self.rect().adjusted(8, 1, 0, -1))
        painter.fillRect(self.width() - 2, 1, 2, self.height() - 2, self._palette.color("accent"))
        painter.end()


def _fitting(label: ElidedLabel, text: str, short: str) -> str:
    """`text` where a label of the cell has room for it, else `short`."""
    label.ensurePolished()
    return text if label.fontMetrics().horizontalAdvance(text) <= ROOM_PX else short
