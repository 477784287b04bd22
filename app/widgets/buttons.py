"""Buttons: styled by kind, with icons that follow the theme."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QIcon, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton, QSizePolicy, QToolButton, QWidget

from app.resources import icon, icon_size
from app.theme import DARK, Palette, ui_font
from app.widgets.labels import plain_tooltip, restyle


class Button(QPushButton):
    """A push button of a kind: "" (raised), primary, danger, plain or link.

    `icon_role` is the palette role of the icon; None takes the one that fits the kind.
    """

    def __init__(
        self,
        text: str = "",
        kind: str = "",
        icon_name: str = "",
        icon_role: str | None = None,
        large: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(text, parent)
        self._palette = DARK
        self._icon_name = icon_name
        self._icon_role = icon_role
        self.setProperty("kind", kind)
        if large:
            self.setProperty("large", True)
        if kind == "link":
            self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setIconSize(icon_size(14))
        self._tint()

    def set_kind(self, kind: str) -> None:
        """Change the kind (a primary Start becomes a danger Stop)."""
        if self.property("kind") != kind:
            self.setProperty("kind", kind)
            restyle(self)
            self._tint()

    def set_icon_name(self, name: str, role: str | None = None) -> None:
        """Show another icon, "" for none."""
        self._icon_name, self._icon_role = name, role
        self._tint()

    def set_theme(self, palette: Palette) -> None:
        """Tint the icon for `palette`."""
        self._palette = palette
        self._tint()

    def _tint(self) -> None:
        if not self._icon_name:
            self.setIcon(QIcon())
            return
        by_kind = {"primary": "on_primary", "danger": "bad", "link": "accent"}
        role = self._icon_role or by_kind.get(self.property("kind"), "text")
        self.setIcon(icon(self._icon_name, getattr(self._palette, role), 14, self._palette.muted))


class IconButton(QToolButton):
    """A button that is only an icon: `name` is its tool tip and what a screen reader says."""

    def __init__(
        self, icon_name: str, name: str, size: int = 24, icon_px: int = 16, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._palette = DARK
        self._icon_name = icon_name
        self._icon_px = icon_px
        self.setFixedSize(size, size)
        self.setIconSize(icon_size(icon_px))
        self.set_name(name)
        self.set_theme(DARK)

    def set_name(self, name: str) -> None:
        """Say what the button does."""
        self.setAccessibleName(name)
        self.setToolTip(plain_tooltip(name))

    def set_icon_name(self, icon_name: str) -> None:
        """Show another icon."""
        self._icon_name = icon_name
        self.set_theme(self._palette)

    def set_theme(self, palette: Palette) -> None:
        """Tint the icon for `palette`."""
        self._palette = palette
        self.setIcon(icon(self._icon_name, palette.secondary, self._icon_px, palette.muted))


class SegmentedControl(QWidget):
    """A few choices side by side, one of them taken. Left and Right move, like radio buttons."""

    changed = Signal(int)
    """Index of the choice the user took (not sent by `set_index`)."""

    def __init__(
        self,
        labels: Sequence[str],
        name: str = "",
        font_px: int = 12,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._palette = DARK
        self._labels = list(labels)
        self._index = 0
        self._hover = -1
        self._font_px = font_px
        self._enabled = [True] * len(self._labels)
        self.setFixedHeight(28)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._name = name
        self._tell()

    @property
    def index(self) -> int:
        """The choice taken, from 0."""
        return self._index

    def set_index(self, index: int) -> None:
        """Take a choice without `changed`. IndexError when there is none such."""
        if not 0 <= index < len(self._labels):
            raise IndexError(index)
        self._index = index
        self._tell()
        self.update()

    def set_choice_enabled(self, index: int, enabled: bool) -> None:
        """Allow or forbid one choice."""
        self._enabled[index] = enabled
        self.update()

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(84 * len(self._labels), 28)

    def minimumSizeHint(self) -> QSize:
        return QSize(48 * len(self._labels), 28)

    def segment_rect(self, index: int) -> QRectF:
        """Where a choice lies, px inside the widget."""
        width = (self.width() - 4) / max(len(self._labels), 1)
        return QRectF(2 + index * width, 2, width, self.height() - 4)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._take(self._at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        hover = self._at(event.position().x())
        if hover != self._hover:
            self._hover = hover
            self.update()

    def leaveEvent(self, _event: object) -> None:
        self._hover = -1
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        index = self._index + step
        while 0 <= index < len(self._labels) and not self._enabled[index]:
            index += step
        self._take(index)

    def _at(self, x: float) -> int:
        width = (self.width() - 4) / max(len(self._labels), 1)
        return min(max(int((x - 2) / width), 0), len(self._labels) - 1)

    def _take(self, index: int) -> None:
        if 0 <= index < len(self._labels) and self._enabled[index] and index != self._index:
            self.set_index(index)
            self.changed.emit(index)

    def _tell(self) -> None:
        if self._labels:
            self.setAccessibleName(f"{self._name}: {self._labels[self._index]}".removeprefix(": "))

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette = self._palette
        focus = self.hasFocus()
        painter.setPen(QPen(palette.color("accent" if focus else "control_border"), 2 if focus else 1))
        painter.setBrush(palette.color("raised"))
        inset = 1.0 if focus else 0.5
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), 6, 6)
        for index, text in enumerate(self._labels):
            rect = self.segment_rect(index)
            taken = index == self._index
            if taken or (index == self._hover and self.isEnabled() and self._enabled[index]):
                fill = "control_border" if palette.dark else "surface"
                painter.setBrush(palette.color(fill if taken else "hover"))
                painter.setPen(
                    QPen(palette.color("control_border")) if taken and not palette.dark else Qt.PenStyle.NoPen
                )
                painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
            off = not (self.isEnabled() and self._enabled[index])
            role = "text" if taken else "muted" if off else "secondary"
            painter.setPen(palette.color(role))
            painter.setFont(ui_font(self._font_px, 600 if taken else 500))
            metrics = painter.fontMetrics()
            painter.drawText(
                rect,
                Qt.AlignmentFlag.AlignCenter,
                metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(rect.width()) - 4),
            )
        painter.end()
