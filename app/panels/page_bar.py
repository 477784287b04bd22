"""The bar above a page: its title, one line about what it shows, its actions at the right."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.panels.parts import row, set_text
from app.widgets import Divider, ElidedLabel, make_label

HEIGHT = 48


class PageBar(QWidget):
    """48 px high; `add` puts a button (or any widget) at its right end."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.setFixedHeight(HEIGHT)
        self.setProperty("surface", "window")
        divider = Divider(vertical=True)
        divider.setFixedHeight(20)
        self.about = ElidedLabel("", "secondary")
        self._row = row(self, (16, 0, 12, 0), 10)
        self._row.addWidget(make_label(title, "page"))
        self._row.addWidget(divider)
        self._row.addWidget(self.about, 1, Qt.AlignmentFlag.AlignVCenter)

    def set_about(self, text: str) -> None:
        """`16 saved`, `3 sessions, baseline A`."""
        set_text(self.about, text)

    def add(self, widget: QWidget) -> None:
        """Put a widget at the right end."""
        self._row.addWidget(widget)
