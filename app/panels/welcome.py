"""What a new user sees above the charts' own empty states: one sentence, one button."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.panels.parts import column, row, set_text
from app.resources import paint_icon
from app.theme import DARK, Palette
from app.widgets import Button, Card, make_label
from profiler.config import RunConfig


class _Badge(QWidget):
    """The page's icon on a tinted square."""

    def __init__(self) -> None:
        super().__init__()
        self._palette = DARK
        self.setFixedSize(72, 72)

    def set_theme(self, palette: Palette) -> None:
        self._palette = palette
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._palette.color("accent_tint"))
        painter.drawRoundedRect(QRectF(self.rect()), 8, 8)
        paint_icon(painter, "profile", QRectF(20, 20, 32, 32), self._palette.color("accent"))
        painter.end()


class _Fact(QWidget):
    """An icon and a few words."""

    def __init__(self, icon_name: str, text: str = "") -> None:
        super().__init__()
        self._palette = DARK
        self._icon_name = icon_name
        self.text = make_label(text, "secondary")
        layout = row(self, (23, 0, 0, 0))
        layout.addWidget(self.text)

    def set_theme(self, palette: Palette) -> None:
        self._palette = palette
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        rect = QRectF(0, (self.height() - 15) / 2, 15, 15)
        paint_icon(painter, self._icon_name, rect, self._palette.color("secondary"))
        painter.end()


class WelcomeCard(Card):
    """Says what Start will do, and starts it."""

    start_asked = Signal()
    other_model_asked = Signal()

    def __init__(self) -> None:
        super().__init__((24, 20, 24, 20))
        self.headline = make_label("", "headline", wrap=True)
        self.sentence = make_label("", "secondary", wrap=True)
        self.start_button = Button(self.tr("Start"), "primary", "play", large=True)
        self.start_button.setFixedSize(180, 40)
        self._other = Button(self.tr("Choose another model"), "link")
        self._work = _Fact("clock")
        self._memory = _Fact("memory")
        self._lay_out()
        self.start_button.clicked.connect(self.start_asked)
        self._other.clicked.connect(self.other_model_asked)

    def _lay_out(self) -> None:
        facts = row(spacing=20)
        for fact in (self._work, self._memory, _Fact("lock", self.tr("works offline"))):
            facts.addWidget(fact)
        facts.addStretch(1)
        words = column(spacing=8)
        words.addWidget(self.headline)
        words.addWidget(self.sentence)
        words.addSpacing(6)
        words.addLayout(facts)
        buttons = column(spacing=8)
        buttons.addStretch(1)
        buttons.addWidget(self.start_button)
        buttons.addWidget(self._other, 0, Qt.AlignmentFlag.AlignHCenter)
        buttons.addStretch(1)
        line = row(spacing=20)
        line.addWidget(_Badge(), 0, Qt.AlignmentFlag.AlignVCenter)
        line.addLayout(words, 1)
        line.addLayout(buttons)
        self.body.addLayout(line)

    def refresh(self, config: RunConfig | None, built_in: bool, memory: str, time: str = "") -> None:
        """Say what Start would do. `memory`: what the model needs, `time`: about how long it takes;
        "" while that is unknown."""
        if built_in:
            set_text(self.headline, self.tr("Press Start to profile the built-in model."))
            set_text(
                self.sentence,
                self.tr("Nothing is downloaded. Random weights: the speed is real, the text is noise."),
            )
        else:
            set_text(self.headline, self.tr("Press Start to profile the chosen model."))
            set_text(self.sentence, self.tr("Every token is timed, and the session is recorded as it runs."))
        if config is not None:
            work = self.tr("{0} requests of {1} tokens")
            text = work.format(config.total_requests, f"{config.output_tokens:,}")
            set_text(self._work.text, f"{text}, {time}" if time else text)
        set_text(self._memory.text, memory)
        self._memory.setVisible(bool(memory))
        self.start_button.setEnabled(config is not None)


class KeysCard(Card):
    """The shortcuts, and a way to a saved session."""

    open_asked = Signal()

    def __init__(self) -> None:
        super().__init__((14, 9, 14, 9))
        line = row(spacing=8)
        for key, word in (
            ("F5", self.tr("start")),
            ("Esc", self.tr("stop")),
            ("Ctrl+S", self.tr("save as")),
            ("Ctrl+O", self.tr("open")),
            ("Ctrl+B", self.tr("hide setup")),
            ("F1", self.tr("help")),
        ):
            line.addWidget(make_label(key, "key"))
            line.addWidget(make_label(word, "secondary"))
            line.addSpacing(10)
        line.addStretch(1)
        link = Button(self.tr("Open a saved session"), "link")
        link.clicked.connect(self.open_asked)
        line.addWidget(link)
        self.body.addLayout(line)
