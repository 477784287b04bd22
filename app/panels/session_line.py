"""With which settings the shown session ran, where they differ from those in the setup."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from app.panels.estimate import config_line
from app.panels.parts import column, set_text
from app.widgets import Button, Divider, make_label
from profiler.config import RunConfig


class SessionLine(QWidget):
    """Hidden until `refresh` says otherwise."""

    use_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.config: RunConfig | None = None
        """The shown session's settings; None: no session, or not known."""
        self.text = make_label("", "field", wrap=True)
        self.use_button = Button(self.tr("Use these settings"), "link")
        self.use_button.setStyleSheet("padding-left: 0;")
        self.use_button.clicked.connect(self.use_asked)
        words = column(margins=(12, 7, 12, 5), spacing=2)
        words.addWidget(self.text)
        words.addWidget(self.use_button, 0, Qt.AlignmentFlag.AlignLeft)
        stack = column(self)
        stack.addLayout(words)
        stack.addWidget(Divider())
        self.hide()

    def refresh(self, current: RunConfig | None, locked: bool) -> None:
        """Show the line if the session's settings are not those in the fields (`current`)."""
        shown = self.config is not None and not locked and self.config != current
        if self.config is not None and shown:
            set_text(self.text, self.tr("This session ran with: {0}").format(config_line(self.config)))
        self.setVisible(shown)
