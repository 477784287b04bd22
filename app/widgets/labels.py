"""Labels: plain text always, styled by role, elided with the whole text in the tool tip."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget


def plain_tooltip(text: str) -> str:
    """A tool tip that shows `text` as it is, wrapped: Qt would take a stray tag for markup."""
    return f"<p>{escape(text)}</p>" if text else ""


def restyle(widget: QWidget) -> None:
    """Apply the style sheet again after a property that it looks at has changed."""
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)
    widget.update()


def set_role(widget: QWidget, role: str) -> None:
    """Give a label its style: headline, page, title, strong, secondary, muted, field, mono,
    note, monoNote, kpi, kpiUnit, ok, warning, bad, key, tag, tagMuted, or "" for body text."""
    if widget.property("role") != role:
        widget.setProperty("role", role)
        restyle(widget)


def make_label(text: str = "", role: str = "", wrap: bool = False, parent: QWidget | None = None) -> QLabel:
    """A plain-text label of a role (see `set_role`); `wrap` breaks lines at words."""
    label = QLabel(parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setText(text)
    label.setWordWrap(wrap)
    if role:
        label.setProperty("role", role)
    return label


class ElidedLabel(QLabel):
    """One line that ends in "…" where it does not fit; the tool tip then has all of it."""

    def __init__(
        self,
        text: str = "",
        role: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._mode = mode
        self._own_tip = ""
        self._short = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        if role:
            self.setProperty("role", role)
        self.setText(text)

    def setText(self, text: str) -> None:
        """Show `text`; line breaks become spaces."""
        super().setText(" ".join(text.split("\n")))
        self._refresh_tip()

    def set_short(self, text: str) -> None:
        """Fewer words that say the same, drawn where the text does not fit; "" for none."""
        if text != self._short:
            self._short = text
            self.update()

    def set_tip(self, text: str) -> None:
        """A plain-text tool tip to show where the text is not cut."""
        self._own_tip = text
        self._refresh_tip()

    def minimumSizeHint(self) -> QSize:
        """May shrink to a few characters."""
        return QSize(min(24, super().sizeHint().width()), super().minimumSizeHint().height())

    def elided(self) -> str:
        """The text as it is drawn at the present width."""
        metrics, room = self.fontMetrics(), self.contentsRect().width()
        shown = metrics.elidedText(self.text(), self._mode, room)
        if self._short and shown != self.text():
            shown = metrics.elidedText(self._short, self._mode, room)
        return shown

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._refresh_tip()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.style().drawItemText(
            painter,
            self.contentsRect(),
            int(self.alignment() | Qt.AlignmentFlag.AlignVCenter),
            self.palette(),
            self.isEnabled(),
            self.elided(),
            self.foregroundRole(),
        )
        painter.end()

    def _refresh_tip(self) -> None:
        cut = self.elided() != self.text()
        self.setToolTip(plain_tooltip(self.text() if cut else self._own_tip))
