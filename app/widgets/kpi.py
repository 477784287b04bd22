"""One key figure: name, value, unit, foot line, sparkline, state mark."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QCoreApplication, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import DARK, Palette, ui_font
from app.widgets.labels import plain_tooltip
from app.widgets.marks import paint_mark
from profiler.units import DASH

SPARK_POINTS = 24
VALUE_PX = (20, 18, 17, 16, 15, 14, 13, 12)
"""Sizes of the value: the first is the usual one."""
SMALL_UNIT_FROM_PX = 14
"""A value of this size or less has a smaller unit, and closer."""
LEFT_PX, RIGHT_PX = 12, 8
MARK_PX = 20
"""Room of the state mark, as of the info icon."""


def _meaning(mark: str) -> str:
    """What a mark means where nobody said it better."""
    tr = QCoreApplication.translate
    said = {
        "ok": tr("KpiTile", "target met"),
        "bad": tr("KpiTile", "target missed"),
        "warning": tr("KpiTile", "look here"),
    }
    return said.get(mark, "")


def spark_points(values: Sequence[float], rect: QRectF) -> QPolygonF:
    """The last points of a series scaled into `rect`; values that are not finite are left out."""
    data = np.asarray(values, float)
    data = data[np.isfinite(data)][-SPARK_POINTS:]
    if len(data) == 0:
        return QPolygonF()
    low, high = float(data.min()), float(data.max())
    spread = (high - low) or 1.0
    step = rect.width() / max(len(data) - 1, 1)
    flat = high == low
    return QPolygonF(
        [
            QPointF(
                rect.left() + number * step if len(data) > 1 else rect.right(),
                rect.center().y() if flat else rect.bottom() - (value - low) / spread * rect.height(),
            )
            for number, value in enumerate(data)
        ]
    )


def paint_sparkline(
    painter: QPainter, values: Sequence[float], rect: QRectF, palette: Palette, dots: bool
) -> None:
    """A small line with a disc at its end, or separate discs for a few values (`dots`)."""
    points = spark_points(values, rect)
    if points.isEmpty():
        return
    color = palette.color("data1")
    if dots:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        for point in points:
            painter.drawEllipse(point, 1.8, 1.8)
        return
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(color, 1.2))
    painter.drawPolyline(points)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    painter.drawEllipse(points.at(points.size() - 1), 2.1, 2.1)


class Sparkline(QWidget):
    """A sparkline on its own, 64 x 20 px unless stretched."""

    def __init__(self, dots: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = DARK
        self._values: Sequence[float] = ()
        self._dots = dots

    def set_values(self, values: Sequence[float]) -> None:
        """Show the last values of a series (any unit)."""
        self._values = values
        self.update()

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(64, 20)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = QRectF(self.rect()).adjusted(3, 3, -3, -3)
        paint_sparkline(painter, self._values, rect, self._palette, self._dots)
        painter.end()


class KpiTile(QWidget):
    """One tile of the strip (86 px high). It paints itself: eight of them cost one label each.

    `clicked` is sent when the tile is clicked or Enter is pressed (its definition is wanted).
    """

    clicked = Signal()

    def __init__(self, name: str, parent: QWidget | None = None, short_name: str = "") -> None:
        super().__init__(parent)
        self._palette = DARK
        self._name, self._short_name = name, short_name or name
        self._value, self._unit = DASH, ""
        self._value_px = VALUE_PX[0]
        self._foot, self._foot_role, self._short_foot = "", "", ""
        self._mark, self._meaning = "none", ""
        self._spark: Sequence[float] = ()
        self._dots = False
        self._reason = ""
        self._open = False
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setMinimumHeight(72)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._tell()

    @property
    def value(self) -> str:
        """The value as it is shown, without its unit."""
        return self._value

    @property
    def foot(self) -> str:
        """The foot line as it was given."""
        return self._foot

    def set_value(self, value: str, unit: str = "") -> None:
        """Show a formatted value and its unit."""
        if (value, unit, "") != (self._value, self._unit, self._reason):
            self._value, self._unit, self._reason = value, unit, ""
            self._tell()

    def set_missing(self, reason: str, foot: str | None = None) -> None:
        """Show a dash; `reason` is one sentence for the tool tip."""
        foot = self.tr("not available") if foot is None else foot
        self._value, self._unit, self._reason = DASH, "", reason
        self._foot, self._foot_role, self._short_foot, self._spark = foot, "", "", ()
        self._mark, self._meaning = "none", ""
        self._tell()

    def set_foot(self, text: str, role: str = "", short: str = "") -> None:
        """The line below; `role` "bad", "warning" or "ok" colours it, `short` is drawn where the
        whole does not fit."""
        if (text, role, short) != (self._foot, self._foot_role, self._short_foot):
            self._foot, self._foot_role, self._short_foot = text, role, short
            self._tell()

    @property
    def mark(self) -> str:
        """The state mark that is shown."""
        return self._mark

    def set_mark(self, kind: str, meaning: str = "") -> None:
        """A state mark at the top right: ok, warning, bad, info or none. `meaning`: its words."""
        if (kind, meaning) != (self._mark, self._meaning):
            self._mark, self._meaning = kind, meaning
            self._tell()

    def set_open(self, on: bool) -> None:
        """Its definition is shown: the icon stays."""
        self._open = on
        self.update()

    def fitting_px(self) -> int:
        """The largest size at which value and unit fit: 20 px but in a narrow window."""
        room = self._value_room()
        return next((px for px in VALUE_PX if self._value_width(px) <= room), VALUE_PX[-1])

    def set_value_px(self, px: int) -> None:
        """Draw the value in this size (a strip gives its tiles the same one)."""
        if px != self._value_px:
            self._value_px = px
            self.update()

    @property
    def info_x(self) -> float:
        """The middle of the info icon, px from the left."""
        return self.width() - 15 - (18 if self._mark != "none" else 0)

    def set_spark(self, values: Sequence[float], dots: bool = False) -> None:
        """Values for the small line (or discs); empty for none."""
        self._spark, self._dots = values, dots
        self.update()

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(124, 86)

    def minimumSizeHint(self) -> QSize:
        return QSize(84, 72)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.clicked.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.clicked.emit()
        else:
            super().keyPressEvent(event)

    @property
    def _tells(self) -> bool:
        """Is the info icon shown?"""
        return self._open or self.underMouse() or self.hasFocus()

    def _tell(self) -> None:
        mark = self._meaning or _meaning(self._mark)
        self.setAccessibleName(self._name)
        said = " ".join(part for part in (self._value, self._unit) if part)
        self.setAccessibleDescription(
            ", ".join(part for part in (said, self._foot, mark, self._reason) if part)
        )
        self.setToolTip(plain_tooltip(self._reason or self._foot))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette, width = self._palette, self.width()
        top = (self.height() - 72) / 2
        if self.hasFocus():
            painter.setPen(QPen(palette.color("accent"), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(2, 2, -2, -2), 6, 6)
        left, right = LEFT_PX, width - RIGHT_PX
        painter.setFont(ui_font(12, 500))
        painter.setPen(palette.color("secondary"))
        painter.drawText(QPointF(left, top + 15), self._name_shown())
        if self._mark != "none":
            paint_mark(painter, self._mark, QRectF(right - 14, top + 4, 14, 14), palette)
        if self._info_fits:
            paint_mark(painter, "info", QRectF(self.info_x - 7, top + 4, 14, 14), palette)
        painter.setFont(ui_font(self._value_px, 600))
        painter.setPen(palette.color("muted" if self._value == DASH else "text"))
        painter.drawText(QPointF(left, top + 41), self._value)
        x = left + painter.fontMetrics().horizontalAdvance(self._value)
        if self._unit:
            px, gap = _unit_style(self._value_px)
            painter.setFont(ui_font(px))
            painter.setPen(palette.color("secondary"))
            painter.drawText(QPointF(x + gap, top + 41), self._unit)
            x += gap + painter.fontMetrics().horizontalAdvance(self._unit)
        if len(self._spark) and right - x >= 22:
            span = min(24.0, right - x - 10)
            rect = QRectF(right - span - 2, top + 25, span, 15)
            paint_sparkline(painter, self._spark, rect, palette, self._dots)
        painter.setFont(self._foot_font())
        painter.setPen(palette.color(self._foot_role or "secondary"))
        painter.drawText(QPointF(left, top + 62), self._foot_shown())
        painter.end()

    # -- what fits ---------------------------------------------------------------------------------

    def cut_words(self) -> list[str]:
        """Which of its words do not fit at the present width: name, value with unit, foot line.

        A short form that fits is no cut.
        """
        cut = []
        if self._name_shown() not in (self._name, self._short_name):
            cut.append(self._name)
        if self._value_width(self._value_px) > self._value_room():
            cut.append(f"{self._value} {self._unit}".strip())
        if self._foot_shown() not in (self._foot, self._short_foot):
            cut.append(self._foot)
        return cut

    def _name_shown(self) -> str:
        return _fitted(self._name, self._short_name, ui_font(12, 500), self._name_room(self._info_fits))

    @property
    def _info_fits(self) -> bool:
        """The icon is there while it is pointed at, unless it would cost the name."""
        # Widths are rounded: without the pixel more a name that just fits would be cut.
        return self._tells and _width(self._short_name, ui_font(12, 500)) < self._name_room(info=True) - 1

    def _name_room(self, info: bool) -> int:
        """Room of the name beside the mark and, if `info`, the icon."""
        return self._room() - MARK_PX * (self._mark != "none") - MARK_PX * info

    def _foot_font(self) -> QFont:
        return ui_font(11, 600 if self._foot_role == "bad" else 400)

    def _foot_shown(self) -> str:
        return _fitted(self._foot, self._short_foot, self._foot_font(), self._room())

    def _room(self) -> int:
        return self.width() - LEFT_PX - RIGHT_PX

    def _value_room(self) -> int:
        """A long value may use half of the right margin."""
        return self._room() + RIGHT_PX // 2

    def _value_width(self, value_px: int) -> int:
        """Width of value and unit, px."""
        width = _width(self._value, ui_font(value_px, 600))
        if self._unit:
            px, gap = _unit_style(value_px)
            width += gap + _width(self._unit, ui_font(px))
        return width


def _unit_style(value_px: int) -> tuple[int, int]:
    """Size of the unit beside a value, and the gap between them, px."""
    return (11, 4) if value_px <= SMALL_UNIT_FROM_PX else (12, 6)


def _width(text: str, font: QFont) -> int:
    return QFontMetrics(font).horizontalAdvance(text)


def _fitted(text: str, short: str, font: QFont, room: int) -> str:
    """`text` where it fits, else `short`, that with an ellipsis where even it does not fit."""
    metrics, mode = QFontMetrics(font), Qt.TextElideMode.ElideRight
    shown = metrics.elidedText(text, mode, room)
    return metrics.elidedText(short, mode, room) if short and shown != text else shown
