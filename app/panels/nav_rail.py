"""The rail at the left: the pages that exist, and help at its foot."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from app.panels.parts import column
from app.resources import paint_icon
from app.theme import DARK, Palette, ui_font

WIDTH = 85


class NavItem(QAbstractButton):
    """An icon above its word, 76 x 56 px; checked when its page is shown."""

    def __init__(self, icon_name: str, text: str, checkable: bool = True) -> None:
        super().__init__()
        self._palette = DARK
        self._icon_name = icon_name
        self.setText(text)
        self.setAccessibleName(text)
        self.setCheckable(checkable)
        self.setFixedSize(76, 56)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(76, 56)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette = self._palette
        if self.isChecked() or self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.color("accent_tint" if self.isChecked() else "hover"))
            painter.drawRoundedRect(QRectF(self.rect()), 8, 8)
        if self.hasFocus():
            painter.setPen(QPen(palette.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 7, 7)
        role = "accent" if self.isChecked() else "secondary"
        paint_icon(painter, self._icon_name, QRectF(27, 8, 22, 22), palette.color(role))
        painter.setPen(palette.color("text" if self.isChecked() else "secondary"))
        painter.setFont(ui_font(11, 600 if self.isChecked() else 500))
        painter.drawText(QRectF(0, 32, 76, 18), Qt.AlignmentFlag.AlignCenter, self.text())
        painter.end()


class _Logo(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(34, 34)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_icon(painter, "app", QRectF(0, 0, 34, 34), "#000000")
        painter.end()


class NavRail(QWidget):
    """One item a page; `page_chosen` carries its name."""

    page_chosen = Signal(str)
    settings_asked = Signal()
    help_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("surface", "rail")
        self.setFixedWidth(WIDTH)
        layout = column(self, (4, 10, 5, 10), 4)
        layout.addWidget(_Logo(), 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addSpacing(14)
        self.items = {
            "profile": NavItem("profile", self.tr("Profile")),
            "compare": NavItem("compare", self.tr("Compare")),
            "sessions": NavItem("sessions", self.tr("Sessions")),
        }
        for number, (name, item) in enumerate(self.items.items(), 1):
            item.clicked.connect(lambda _checked=False, name=name: self.page_chosen.emit(name))
            item.setToolTip(f"{item.text()} (Ctrl+{number})")
            layout.addWidget(item)
        layout.addStretch(1)
        self.settings_item = NavItem("settings", self.tr("Settings"), checkable=False)
        self.settings_item.clicked.connect(self.settings_asked)
        self.help_item = NavItem("help", self.tr("Help"), checkable=False)
        self.help_item.clicked.connect(self.help_asked)
        layout.addWidget(self.settings_item)
        layout.addWidget(self.help_item)
        self.select("profile")

    def select(self, name: str) -> None:
        """Mark the page that is shown."""
        for other, item in self.items.items():
            item.setChecked(other == name)
