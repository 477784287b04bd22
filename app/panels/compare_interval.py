"""Painted cells of the table of differences: the relative interval, and the verdict's mark."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QLineF, QModelIndex, QPersistentModelIndex, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.panels.compare_words import BAND_PCT, CLIP_PCT, metric_words, verdict_words
from app.resources import paint_icon
from app.theme import DARK, Palette, ui_font

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
"""Item data: the comparison's row as it came."""
Index = QModelIndex | QPersistentModelIndex


def clipped(percent: float) -> tuple[float, bool]:
    """A value of the relative axis, and whether it lies beyond the clip."""
    if percent > CLIP_PCT:
        return CLIP_PCT, True
    if percent < -CLIP_PCT:
        return -CLIP_PCT, True
    return percent, False


def axis_x(rect: QRectF, percent: float) -> float:
    """Pixel of a relative difference in a cell."""
    half = rect.width() / 2 - 10
    return rect.center().x() + percent / CLIP_PCT * half


class _Painted(QStyledItemDelegate):
    def __init__(self) -> None:
        super().__init__()
        self.palette_now: Palette = DARK

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, self.palette_now.color("accent_tint"))
        row = index.data(ROW_ROLE)
        if row is not None:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self.paint_row(painter, QRectF(option.rect), row)
        painter.restore()

    def paint_row(self, painter: QPainter, rect: QRectF, row: dict[str, Any]) -> None:
        raise NotImplementedError


class MetricDelegate(_Painted):
    """The metric's name, its unit smaller beside it."""

    def paint_row(self, painter: QPainter, rect: QRectF, row: dict[str, Any]) -> None:
        words, palette = metric_words(row["metric"]), self.palette_now
        painter.setFont(ui_font(12, 500))
        painter.setPen(palette.color("text"))
        place = rect.adjusted(8, 0, -2, 0)
        left = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        painter.drawText(place, left, words.name)
        shift = painter.fontMetrics().horizontalAdvance(words.name) + 7
        painter.setFont(ui_font(11))
        painter.setPen(palette.color("muted"))
        painter.drawText(place.adjusted(shift, 0, 0, 0), left, words.unit)


class IntervalDelegate(_Painted):
    """Ratio and interval on an axis of ±20 %; the grey zone is ±2 %, an arrow goes on beyond."""

    def paint_row(self, painter: QPainter, rect: QRectF, row: dict[str, Any]) -> None:
        palette = self.palette_now
        zone = QRectF(axis_x(rect, -BAND_PCT), rect.top(), 0, rect.height())
        zone.setRight(axis_x(rect, BAND_PCT))
        painter.fillRect(zone, palette.color("axis", 70 if palette.dark else 60))
        painter.setPen(QPen(palette.color("axis"), 1))
        middle = round(rect.center().x()) + 0.5
        painter.drawLine(QLineF(middle, rect.top(), middle, rect.bottom() + 1))
        if row["ratio"] is None or row["ci95"] is None:
            return
        role = verdict_words(row).role
        color = palette.color("muted" if role == "secondary" else role)
        self._paint_interval(painter, rect, row, color)

    @staticmethod
    def _paint_interval(painter: QPainter, rect: QRectF, row: dict[str, Any], color: QColor) -> None:
        y = rect.center().y() + 0.5
        ends = [clipped(100 * (bound - 1)) for bound in row["ci95"]]
        xs = [axis_x(rect, value) for value, _ in ends]
        painter.setPen(QPen(color, 1.6))
        painter.drawLine(QLineF(xs[0], y, xs[1], y))
        for x, (value, cut) in zip(xs, ends, strict=True):
            if cut:
                # The interval goes on where it leaves the axis.
                out = -1 if value < 0 else 1
                painter.setBrush(color)
                tip = QPointF(x + out * 6, y)
                painter.drawPolygon(QPolygonF([tip, QPointF(x - out, y - 3.5), QPointF(x - out, y + 3.5)]))
            else:
                painter.drawLine(QLineF(x, y - 4, x, y + 4))
        point, beyond = clipped(100 * (row["ratio"] - 1))
        if not beyond:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            painter.drawEllipse(QPointF(axis_x(rect, point), y), 3.6, 3.6)


class VerdictDelegate(_Painted):
    """A mark and a word: tick, triangle, =, ≈ or a dash, so that colour is not needed."""

    def paint_row(self, painter: QPainter, rect: QRectF, row: dict[str, Any]) -> None:
        words, palette = verdict_words(row), self.palette_now
        color = palette.color(words.role)
        mark = QRectF(rect.left() + 8, rect.center().y() - 7, 14, 14)
        icon = {"better": "check", "worse": "warning"}.get(words.mark)
        if icon is not None:
            paint_icon(painter, icon, mark, color)
        else:
            painter.setFont(ui_font(13, 600))
            painter.setPen(color)
            sign = {"same": "=", "equal": "≈"}.get(words.mark, "–")
            painter.drawText(mark, int(Qt.AlignmentFlag.AlignCenter), sign)
        strong = words.mark in ("better", "worse")
        painter.setFont(ui_font(12, 600 if strong else 400))
        painter.setPen(palette.color(words.role if strong else "secondary"))
        place = rect.adjusted(28, 0, -4, 0)
        metrics = painter.fontMetrics()
        text = words.text
        if metrics.horizontalAdvance(text) > place.width():
            text = metrics.elidedText(words.short or text, Qt.TextElideMode.ElideRight, int(place.width()))
        painter.drawText(place, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), text)
