"""The card that says what a number means: it floats below its tile, with an arrow to the icon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QKeyEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QWidget

from app.panels.parts import column, row, set_text, tip
from app.theme import DARK, Palette
from app.widgets import Button, Divider, IconButton, make_label

if TYPE_CHECKING:
    from app.panels.definition_facts import CardFacts, Tag

WIDTH = 384
SHADOW_PX = 14
ARROW_PX = 8
PAD = 14
HEADING_WIDTH = 78


class DefinitionCard(QWidget):
    """One card over the page. Esc and the x close it; `closed` is sent each time it goes."""

    closed = Signal()
    all_asked = Signal()
    """The other definitions are wanted, too."""

    def __init__(self, host: QWidget) -> None:
        super().__init__(host)
        self._palette = DARK
        self._facts: CardFacts | None = None
        self._anchor: QWidget | None = None
        self._arrow_x = 0.0
        self.setFixedWidth(WIDTH + 2 * SHADOW_PX)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._title = make_label("", "title")
        self._subtitle = make_label("", "secondary")
        self.close_button = IconButton("close", self.tr("Close the definition"), 22, 14)
        self.formula = make_label("", "monoNote", wrap=True)
        self.worked = make_label("", "monoNote", wrap=True)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(7)
        self._grid.setColumnMinimumWidth(0, HEADING_WIDTH)
        self._grid.setColumnStretch(1, 1)
        self._cells: list[tuple[QLabel, QLabel]] = []
        self._tag_lines = column(spacing=6)
        self._tags: list[QWidget] = []
        self.copy_button = Button(self.tr("Copy definition"), "link")
        self.all_button = Button(self.tr("All definitions"), "link")
        self._lay_out()
        self.close_button.clicked.connect(self.dismiss)
        self.copy_button.clicked.connect(self._copy)
        self.all_button.clicked.connect(self.all_asked)
        self.hide()

    def _lay_out(self) -> None:
        top = SHADOW_PX + ARROW_PX + 10
        stack = column(self, (SHADOW_PX + PAD, top, SHADOW_PX + PAD, SHADOW_PX + 8), 9)
        head = row(spacing=8)
        head.addWidget(self._title)
        head.addWidget(self._subtitle)
        head.addStretch(1)
        head.addWidget(self.close_button)
        stack.addLayout(head)
        box = QFrame()
        box.setProperty("formula", True)
        inner = column(box, (10, 6, 10, 6), 2)
        inner.addWidget(self.formula)
        inner.addWidget(self.worked)
        stack.addWidget(box)
        stack.addLayout(self._grid)
        stack.addWidget(Divider())
        stack.addLayout(self._tag_lines)
        foot = row()
        foot.addWidget(self.copy_button)
        foot.addStretch(1)
        foot.addWidget(self.all_button)
        stack.addLayout(foot)

    # -- what it shows ------------------------------------------------------------------------

    @property
    def facts(self) -> CardFacts | None:
        """What is shown; None before the first time."""
        return self._facts

    def show_facts(self, facts: CardFacts) -> None:
        """Show these texts; no cost when they are those already there."""
        if facts == self._facts:
            return
        self._facts = facts
        set_text(self._title, facts.title)
        set_text(self._subtitle, facts.subtitle)
        set_text(self.formula, facts.formula)
        set_text(self.worked, facts.worked)
        self.worked.setVisible(bool(facts.worked))
        while len(self._cells) < len(facts.rows):
            self._add_row()
        for index, (heading, text) in enumerate(self._cells):
            shown = index < len(facts.rows)
            set_text(heading, facts.rows[index][0] if shown else "")
            set_text(text, facts.rows[index][1] if shown else "")
            heading.setVisible(shown)
            text.setVisible(shown)
        self._show_tags(facts.tags)
        self.setAccessibleName(self.tr("Definition of {0}").format(facts.title))
        self.setAccessibleDescription(facts.as_text())
        self._place()

    def _add_row(self) -> None:
        heading, text = make_label("", "muted"), make_label("", "note", wrap=True)
        index = len(self._cells)
        self._grid.addWidget(heading, index, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(text, index, 1)
        self._cells.append((heading, text))

    def _show_tags(self, tags: tuple[Tag, ...]) -> None:
        """The tags in lines as wide as the card, the heading before the first."""
        for widget in self._tags:
            widget.setParent(None)
            widget.deleteLater()
        while self._tag_lines.count():
            self._tag_lines.takeAt(0)
        heading = make_label(self.tr("As reported by"), "muted")
        self._tags = [heading]
        line = row(spacing=6)
        line.addWidget(heading)
        room = WIDTH - 2 * PAD
        used = heading.sizeHint().width()
        for tag in tags:
            label = make_label(tag.text, "tag" if tag.known else "tagMuted")
            tip(label, tag.tip)
            label.ensurePolished()
            width = label.sizeHint().width() + 6
            if used + width > room:
                line.addStretch(1)
                self._tag_lines.addLayout(line)
                line, used = row(spacing=6), 0
            line.addWidget(label)
            used += width
            self._tags.append(label)
        line.addStretch(1)
        self._tag_lines.addLayout(line)

    def _copy(self) -> None:
        if self._facts is not None:
            QGuiApplication.clipboard().setText(self._facts.as_text())

    # -- where it is --------------------------------------------------------------------------

    def open_at(self, anchor: QWidget, x: float) -> None:
        """Appear below `anchor`, the arrow at its `x` (px); takes the focus."""
        window = self.window()
        if not self.isVisible():
            window.installEventFilter(self)
        self._anchor, self._anchor_x = anchor, x
        self.show()
        self._place()
        self.raise_()
        self.setFocus(Qt.FocusReason.PopupFocusReason)

    def dismiss(self) -> None:
        """Go; the focus returns to the tile if the card had it."""
        if self.isHidden():
            return
        inside = self.isAncestorOf(self.focusWidget()) if self.focusWidget() else False
        anchor, self._anchor = self._anchor, None
        self.window().removeEventFilter(self)
        had_focus = self.hasFocus() or inside
        self.hide()
        if had_focus and anchor is not None and anchor.isVisible():
            anchor.setFocus(Qt.FocusReason.OtherFocusReason)
        self.closed.emit()

    def _place(self) -> None:
        anchor, host = self._anchor, self.parentWidget()
        if anchor is None or host is None:
            return
        layout = self.layout()
        layout.activate()
        height = layout.totalHeightForWidth(self.width())
        tip_at = anchor.mapTo(host, QPoint(round(self._anchor_x), anchor.height() - 4))
        side = SHADOW_PX
        left = min(max(tip_at.x() - WIDTH // 2, side), max(host.width() - WIDTH - side, side))
        self._arrow_x = min(max(tip_at.x() - left, 18), WIDTH - 18) + SHADOW_PX
        self.setGeometry(left - SHADOW_PX, tip_at.y() - SHADOW_PX, self.width(), height)
        self.update()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """Of the window, while the card is there: Esc is ours, a new size moves it."""
        if event.type() is QEvent.Type.ShortcutOverride and _is_escape(event):
            event.accept()  # else the window's Stop would hear it
        elif event.type() is QEvent.Type.KeyPress and _is_escape(event):
            self.dismiss()
            return True
        elif event.type() is QEvent.Type.LayoutRequest or event.type() is QEvent.Type.Resize:
            self._place()
        return False

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        side = SHADOW_PX
        body = QRectF(self.rect()).adjusted(side, side + ARROW_PX, -side, -side)
        painter.setPen(Qt.PenStyle.NoPen)
        strength = 9 if self._palette.dark else 5
        for grown in range(side, 0, -2):
            painter.setBrush(QColor(0, 0, 0, strength))
            painter.drawRoundedRect(body.adjusted(-grown, -grown + 4, grown, grown), 8 + grown, 8 + grown)
        path = QPainterPath()
        path.addRoundedRect(body.adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)
        arrow = QPainterPath(QPointF(self._arrow_x, side + 0.5))
        arrow.lineTo(self._arrow_x + ARROW_PX, body.top() + 2)
        arrow.lineTo(self._arrow_x - ARROW_PX, body.top() + 2)
        arrow.closeSubpath()
        painter.setPen(QPen(self._palette.color("axis"), 1))
        painter.setBrush(self._palette.color("raised"))
        painter.drawPath(path.united(arrow))
        painter.end()


def _is_escape(event: QEvent) -> bool:
    return isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
