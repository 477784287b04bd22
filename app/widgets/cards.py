"""Surfaces: cards, dividers and the calm banner."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.resources import pixmap
from app.theme import DARK, Palette
from app.widgets.buttons import Button
from app.widgets.labels import make_label


class Card(QFrame):
    """A rounded surface with a border and a vertical layout, `body`."""

    def __init__(
        self, margins: tuple[int, int, int, int] = (12, 8, 8, 6), parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(*margins)
        self.body.setSpacing(4)


class Divider(QFrame):
    """A line of 1 px, horizontal or vertical."""

    def __init__(self, vertical: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("line", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        if vertical:
            self.setFixedWidth(1)
            self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        else:
            self.setFixedHeight(1)


class Banner(QFrame):
    """A calm sentence with an icon and, if wanted, a link at its right."""

    link_activated = Signal()

    def __init__(
        self,
        text: str = "",
        icon_name: str = "info",
        role: str = "accent",
        link: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._palette = DARK
        self._icon_name, self._role = icon_name, role
        self.setProperty("banner", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 5, 10, 5)
        row.setSpacing(9)
        self._icon = QLabel()
        self._icon.setFixedSize(16, 16)
        self._label = make_label(text, "secondary", wrap=True)
        self._label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._link = Button(link, kind="link")
        self._link.setVisible(bool(link))
        self._link.clicked.connect(self.link_activated)
        row.addWidget(self._icon)
        row.addWidget(self._label, 1)
        row.addWidget(self._link)
        self.setAccessibleName(text)
        self.set_theme(DARK)

    @property
    def text(self) -> str:
        """The sentence shown."""
        return self._label.text()

    def set_text(self, text: str, link: str | None = None) -> None:
        """Say another sentence; `link` None leaves the link as it is, "" hides it."""
        self._label.setText(text)
        self.setAccessibleName(text)
        if link is not None:
            self._link.setText(link)
            self._link.setVisible(bool(link))

    def set_kind(self, icon_name: str, role: str) -> None:
        """Another icon (info, warning) in another role (accent, warning, bad)."""
        self._icon_name, self._role = icon_name, role
        self.set_theme(self._palette)

    def set_theme(self, palette: Palette) -> None:
        """Tint the icon for `palette`."""
        self._palette = palette
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(pixmap(self._icon_name, getattr(palette, self._role), 16, ratio))
