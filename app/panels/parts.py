"""Small pieces that all panels are made of: plain labels, tool tips, tinted buttons, layouts.

Text that came from outside (a model's name, a path, a server's words) is never taken for
rich text: labels are plain by construction and tool tips are escaped.
"""

from __future__ import annotations

from html import escape
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.resources import icon
from app.theme import Palette


def label(text: str = "", role: str | None = None, *, wrap: bool = False) -> QLabel:
    """A plain-text label in one of the style sheet's roles."""
    result = QLabel(text)
    result.setTextFormat(Qt.TextFormat.PlainText)
    result.setWordWrap(wrap)
    if role is not None:
        result.setProperty("role", role)
    return result


def set_role(widget: QWidget, role: str) -> None:
    """Change the role of a label; only when it is another one (a new style costs a layout)."""
    set_property(widget, "role", role)


def set_property(widget: QWidget, name: str, value: Any) -> None:
    """Set a property that the style sheet looks at, and look again."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def set_text(target: QLabel, text: str) -> None:
    """Set a label's text; only when it is another one (each change costs a layout)."""
    if target.text() != text:
        target.setText(text)


def tip(widget: QWidget, text: str) -> None:
    """A tool tip that wraps and shows `text` as it is, whatever signs are in it."""
    wanted = f"<qt>{escape(text)}</qt>" if text else ""
    if widget.toolTip() != wanted:
        widget.setToolTip(wanted)


def column(parent: QWidget | None = None, margins: int | tuple[int, int, int, int] = 0, spacing: int = 0) -> QVBoxLayout:
    """A vertical layout with margins (one number, or left, top, right, bottom) and spacing in px."""
    layout = QVBoxLayout(parent) if parent is not None else QVBoxLayout()
    _space(layout, margins, spacing)
    return layout


def row(parent: QWidget | None = None, margins: int | tuple[int, int, int, int] = 0, spacing: int = 0) -> QHBoxLayout:
    """A horizontal layout with margins and spacing in px."""
    layout = QHBoxLayout(parent) if parent is not None else QHBoxLayout()
    _space(layout, margins, spacing)
    return layout


def _space(layout: QBoxLayout, margins: int | tuple[int, int, int, int], spacing: int) -> None:
    left, top, right, bottom = margins if isinstance(margins, tuple) else (margins,) * 4
    layout.setContentsMargins(left, top, right, bottom)
    layout.setSpacing(spacing)


def line(vertical: bool = False) -> QFrame:
    """A line of one pixel."""
    result = QFrame()
    result.setProperty("line", "true")
    if vertical:
        result.setFixedWidth(1)
    else:
        result.setFixedHeight(1)
    return result


def card() -> QFrame:
    """An empty card (surface, border, radius 8)."""
    result = QFrame()
    result.setProperty("card", "true")
    return result


class IconLabel(QLabel):
    """An icon of the theme as a label; `role` is a colour of the palette."""

    def __init__(self, name: str, role: str = "secondary", size: int = 16) -> None:
        super().__init__()
        self._name, self._role, self._size = name, role, size
        self._palette: Palette | None = None
        self.setFixedSize(size, size)

    def set_icon(self, name: str, role: str) -> None:
        """Another icon or colour."""
        if (name, role) != (self._name, self._role):
            self._name, self._role = name, role
            self._tint()

    def set_theme(self, palette: Palette) -> None:
        """Draw in the colours of `palette`."""
        self._palette = palette
        self._tint()

    def _tint(self) -> None:
        if self._palette is not None:
            color = self._palette.color(self._role)
            self.setPixmap(icon(self._name, color, self._size).pixmap(QSize(self._size, self._size)))


class IconButton(QPushButton):
    """A push button with an icon in a colour of the palette. `kind` is one of the style sheet's."""

    def __init__(
        self,
        text: str = "",
        icon_name: str | None = None,
        *,
        kind: str | None = None,
        role: str = "text",
        size: int = 14,
    ) -> None:
        super().__init__(text)
        self._icon_name, self._role, self._icon_px = icon_name, role, size
        self._palette: Palette | None = None
        if kind is not None:
            self.setProperty("kind", kind)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setIconSize(QSize(size, size))

    def set_icon(self, name: str | None, role: str) -> None:
        """Another icon or colour."""
        if (name, role) != (self._icon_name, self._role):
            self._icon_name, self._role = name, role
            self._tint()

    def set_theme(self, palette: Palette) -> None:
        """Draw the icon in the colours of `palette`."""
        self._palette = palette
        self._tint()

    def _tint(self) -> None:
        if self._palette is None:
            return
        if self._icon_name is None:
            self.setIcon(QIcon())
        else:
            color, off = self._palette.color(self._role), self._palette.color("muted")
            self.setIcon(icon(self._icon_name, color, self._icon_px, off))
