"""The sessions that are compared, as a row of cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QFrame, QMenu, QSizePolicy, QWidget

from app.charts.compare_style import LETTERS, STYLES
from app.panels.parts import column, row, set_text
from app.theme import DARK, Palette, ui_font
from app.widgets import Button, ElidedLabel, IconButton, make_label, set_role

CARD_HEIGHT = 52
ROOMY_PX = 250
"""Narrower cards say "baseline" in their second line."""


@dataclass(frozen=True)
class CardFacts:
    """What a card shows. `runs`: (number, label) of each run of the file. `problem`: a sentence
    in place of the facts. `floor`: the letters of the A/A pair it belongs to, or ""."""

    letter: str
    name: str
    detail: str
    baseline: bool = False
    runs: tuple[tuple[int, str], ...] = ()
    run: int = 0
    problem: str = ""
    busy: bool = False
    floor: str = ""
    others: str = ""
    """Letters of the other sessions that can make an A/A pair with this one."""


class LetterMark(QWidget):
    """The session's letter on its colour, with a stroke in its dash below."""

    def __init__(self, letter: str) -> None:
        super().__init__()
        self._palette = DARK
        self._letter = letter
        self.setFixedSize(24, 28)

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        style = STYLES[self._letter]
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        color = self._palette.color(style.role)
        painter.setBrush(color)
        painter.drawRoundedRect(QRectF(2, 1, 20, 20), 5, 5)
        painter.setPen(self._palette.color("rail") if self._palette.dark else self._palette.color("surface"))
        painter.setFont(ui_font(12, 700))
        painter.drawText(QRectF(2, 1, 20, 20), int(Qt.AlignmentFlag.AlignCenter), self._letter)
        pen = QPen(color, 2)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if style.dash is not None:
            pen.setDashPattern([part * 0.62 for part in style.dash])
        painter.setPen(pen)
        painter.drawLine(2, 26, 22, 26)
        painter.end()


class SessionCard(QFrame):
    """One session: click (or Enter) makes it the baseline; Delete takes it out."""

    baseline_asked = Signal(str)
    close_asked = Signal(str)
    open_asked = Signal(str)
    run_chosen = Signal(str, int)
    floor_asked = Signal(str, str)
    """Two letters that ran under the same conditions; the second "" takes the pair back."""

    def __init__(self, letter: str) -> None:
        super().__init__()
        self.letter = letter
        self.facts = CardFacts(letter, "", "")
        self.setProperty("card", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(CARD_HEIGHT)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._palette = DARK
        self._pressed = False
        self.mark = LetterMark(letter)
        self.name = ElidedLabel("", "strong")
        self.detail = ElidedLabel("", "secondary")
        self.baseline = make_label(self.tr("baseline"), "ok")
        self.baseline.setProperty("role", "")
        self.menu = QMenu(self)
        self.more = IconButton("more", self.tr("Menu of session {0}").format(letter))
        self.more.clicked.connect(
            lambda: self.show_menu(self.more.mapToGlobal(QPoint(0, self.more.height())))
        )
        self.close_button = IconButton("close", self.tr("Take session {0} out").format(letter))
        self.close_button.clicked.connect(lambda: self.close_asked.emit(self.letter))
        lines = column(spacing=1)
        lines.addStretch(1)
        lines.addWidget(self.name)
        lines.addWidget(self.detail)
        lines.addStretch(1)
        line = row(self, (10, 4, 6, 4), 4)
        line.addWidget(self.mark)
        line.addSpacing(4)
        line.addLayout(lines, 1)
        line.addWidget(self.baseline)
        line.addWidget(self.more)
        line.addWidget(self.close_button)

    def show_facts(self, facts: CardFacts) -> None:
        """Show another state."""
        self.facts = facts
        set_text(self.name, facts.name)
        wide = self.width() >= ROOMY_PX
        self.baseline.setVisible(facts.baseline and wide)
        self.close_button.setVisible(wide)  # a narrow card keeps it in its menu
        words = facts.problem or (self.tr("Computing…") if facts.busy else facts.detail)
        if facts.baseline and not wide and not facts.problem:
            words = self.tr("baseline · {0}").format(words)
        if facts.floor and not facts.problem:
            floor = self.tr("noise floor {0} · {1}") if wide else self.tr("floor {0} · {1}")
            words = floor.format(facts.floor, words)
        set_role(self.detail, "warning" if facts.problem else "secondary")
        set_text(self.detail, words)
        name = self.tr("Session {0}: {1}, {2}").format(facts.letter, facts.name, words)
        if facts.baseline:
            name += ", " + self.tr("baseline")
        self.setAccessibleName(name)
        self.setAccessibleDescription(
            self.tr("Enter makes it the baseline, Delete takes it out, the menu key has more.")
        )
        self.detail.set_tip(words)
        self._build_menu()

    def _build_menu(self) -> None:
        facts, menu = self.facts, self.menu
        menu.clear()
        make = menu.addAction(self.tr("Make {0} the baseline").format(self.letter))
        make.setEnabled(not facts.baseline and not facts.problem)
        make.triggered.connect(lambda: self.baseline_asked.emit(self.letter))
        if len(facts.runs) > 1:
            runs = menu.addMenu(self.tr("Run"))
            for number, label in facts.runs:
                action = runs.addAction(label.replace("&", "&&"))
                action.setCheckable(True)
                action.setChecked(number == facts.run)
                action.triggered.connect(
                    lambda _=False, number=number: self.run_chosen.emit(self.letter, number)
                )
        menu.addSeparator()
        if facts.floor:
            menu.addAction(self.tr("Do not use {0} as noise floor").format(facts.floor)).triggered.connect(
                lambda: self.floor_asked.emit(self.letter, "")
            )
        for other in facts.others:
            first, second = sorted((self.letter, other))
            menu.addAction(self.tr("Use {0} and {1} as noise floor").format(first, second)).triggered.connect(
                lambda _=False, pair=(first, second): self.floor_asked.emit(*pair)
            )
        menu.addSeparator()
        menu.addAction(self.tr("Open in Profile")).triggered.connect(
            lambda: self.open_asked.emit(self.letter)
        )
        menu.addAction(self.tr("Take out")).triggered.connect(lambda: self.close_asked.emit(self.letter))

    def show_menu(self, at: QPoint) -> None:
        """Open the menu at a place of the screen."""
        self.menu.popup(at)

    def set_theme(self, palette: Palette) -> None:
        """Paint the focus and the word "baseline" in the colours of `palette`."""
        self._palette = palette
        self.baseline.setStyleSheet(f"color: {palette.accent}; font-weight: 600;")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, CARD_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(150, CARD_HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if (event.oldSize().width() >= ROOMY_PX) != (self.width() >= ROOMY_PX):
            self.show_facts(self.facts)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(self._palette.color("accent"), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 8, 8)
            painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = event.button() == Qt.MouseButton.LeftButton

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._pressed and self.rect().contains(event.position().toPoint()):
            self.baseline_asked.emit(self.letter)
        self._pressed = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.baseline_asked.emit(self.letter)
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.close_asked.emit(self.letter)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.show_menu(event.globalPos())


class CardRow(QWidget):
    """The cards side by side, and the button to add one."""

    baseline_asked = Signal(str)
    close_asked = Signal(str)
    open_asked = Signal(str)
    run_chosen = Signal(str, int)
    floor_asked = Signal(str, str)

    def __init__(self) -> None:
        super().__init__()
        self.cards: dict[str, SessionCard] = {}
        self.add_button = Button(self.tr("Add session"), icon_name="plus")
        self._cards_row = row(spacing=8)
        line = row(self, 0, 8)
        line.addLayout(self._cards_row, 1)
        line.addWidget(self.add_button, 0, Qt.AlignmentFlag.AlignVCenter)
        self._palette = DARK

    def set_theme(self, palette: Palette) -> None:
        """Remember the palette for cards that are made later."""
        self._palette = palette

    def show_cards(self, facts: Sequence[CardFacts]) -> None:
        """Show these sessions, in their order."""
        wanted = [entry.letter for entry in facts]
        for letter in [letter for letter in self.cards if letter not in wanted]:
            card = self.cards.pop(letter)
            self._cards_row.removeWidget(card)
            card.hide()
            card.deleteLater()
        for place, entry in enumerate(facts):
            card = self.cards.get(entry.letter) or self._make(entry.letter)
            if self._cards_row.indexOf(card) != place:
                self._cards_row.insertWidget(place, card, 1)
            card.show_facts(entry)
        full = len(facts) >= len(LETTERS)
        self.add_button.setEnabled(not full)
        self.add_button.setToolTip(self.tr("Six sessions at most.") if full else "")

    def _make(self, letter: str) -> SessionCard:
        card = self.cards[letter] = SessionCard(letter)
        for name in ("baseline_asked", "close_asked", "open_asked", "run_chosen", "floor_asked"):
            getattr(card, name).connect(getattr(self, name))
        for widget in (card, card.mark, card.more, card.close_button):
            widget.set_theme(self._palette)
        return card
