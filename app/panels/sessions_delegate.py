"""How the cells of the library look: check box, star, two-line cells, sparkline, tags."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.charts.frame import font
from app.panels import sessions_words as words
from app.panels.sessions_model import CHECKED_ROLE, ENTRY_ROLE, NUMBERS, Column
from app.resources import pixmap
from app.theme import DARK, Palette
from app.widgets.marks import paint_mark
from profiler.session.labels import MAX_NAME
from profiler.session.library import SessionEntry

ROW_PX = 40
PAD_PX = 6
TAG_PX = 20
LEFT = Qt.AlignmentFlag.AlignLeft
RIGHT = Qt.AlignmentFlag.AlignRight
_ONE_LINE = int(Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)


class SessionDelegate(QStyledItemDelegate):
    """Paints every cell; names and tags are edited in place."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._palette = DARK

    def set_palette(self, palette: Palette) -> None:
        """Paint in these colours from now on."""
        self._palette = palette

    def sizeHint(self, _option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(60, ROW_PX)

    def createEditor(
        self, parent: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QWidget:
        editor = QLineEdit(parent)
        if index.column() == Column.NAME:
            editor.setMaxLength(MAX_NAME)
            editor.setAccessibleName(self.tr("Name of the session"))
        else:
            editor.setPlaceholderText(self.tr("tags, separated by commas"))
            editor.setAccessibleName(self.tr("Tags of the session"))
        return editor

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, _index: QModelIndex | QPersistentModelIndex
    ) -> None:
        rect = option.rect
        editor.setGeometry(rect.x(), rect.center().y() - 13, max(rect.width(), 130), 28)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        palette, rect = self._palette, QRectF(option.rect)
        entry, column = index.data(ENTRY_ROLE), Column(index.column())
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        focused = bool(option.state & QStyle.StateFlag.State_HasFocus)
        painter.save()
        painter.setClipRect(rect)
        if chosen:
            painter.fillRect(rect, palette.color("accent_tint"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, palette.color("raised"))
        painter.fillRect(QRectF(rect.left(), rect.bottom() - 1, rect.width(), 1), palette.color("border"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        inner = rect.adjusted(PAD_PX, 0, -PAD_PX, -1)
        if column == Column.CHECK:
            self._check(painter, rect, bool(index.data(CHECKED_ROLE)))
        elif column == Column.STAR:
            name = "star-filled" if entry.starred else "star"
            color = palette.color("warning" if entry.starred else "muted")
            _icon(painter, name, _square(rect, 16), color)
        elif column == Column.NAME:
            self._name(painter, inner, entry)
        elif column == Column.MODEL:
            upper = words.model(entry)
            self._two(painter, inner, upper or "—", entry.device or "", 400)
        elif column == Column.TRACE:
            paint_trace(painter, inner.adjusted(0, 9, -4, -9), entry.itl_trace, palette)
        elif column == Column.TAGS:
            self._tags(painter, inner, entry.tags)
        else:
            text = index.data()
            missing = text == "—"
            weight = 600 if column == Column.ITL and not missing else 400
            role = "muted" if missing else "secondary" if column == Column.DATE else "text"
            self._line(painter, inner, text, role, weight, align=RIGHT if column in NUMBERS else LEFT)
        if focused:
            painter.setPen(QPen(palette.color("accent"), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(rect.adjusted(1.5, 1.5, -1.5, -2.5), 4, 4)
        painter.restore()

    def _check(self, painter: QPainter, rect: QRectF, on: bool) -> None:
        palette, box = self._palette, _square(rect, 15)
        painter.setPen(QPen(palette.color("primary" if on else "axis"), 1))
        painter.setBrush(palette.color("primary" if on else "raised"))
        painter.drawRoundedRect(box, 4, 4)
        if on:
            _icon(painter, "check", _square(rect, 12), palette.color("on_primary"))

    def _name(self, painter: QPainter, rect: QRectF, entry: SessionEntry) -> None:
        mark, state = words.state(entry)
        title = words.title(entry)
        if not state:
            self._line(painter, rect, title, "text", 600)
            return
        weight = 600 if entry.named and entry.error is None else 400
        upper = QRectF(rect.left(), rect.top() + 4, rect.width(), 16)
        lower = QRectF(rect.left(), rect.top() + 20, rect.width(), 15)
        self._line(painter, upper, title, "text", weight)
        if mark != "none":
            paint_mark(painter, mark, QRectF(lower.left(), lower.top() + 2, 11, 11), self._palette)
            lower.setLeft(lower.left() + 15)
        role = {"bad": "bad", "warning": "warning", "live": "accent"}.get(mark, "muted")
        self._line(painter, lower, state, role, px=11)

    def _two(self, painter: QPainter, rect: QRectF, upper: str, lower: str, weight: int) -> None:
        if not lower:
            self._line(painter, rect, upper, "text", weight)
            return
        self._line(painter, QRectF(rect.left(), rect.top() + 4, rect.width(), 16), upper, "text", weight)
        self._line(painter, QRectF(rect.left(), rect.top() + 20, rect.width(), 15), lower, "secondary", px=11)

    def _line(
        self,
        painter: QPainter,
        rect: QRectF,
        text: str,
        role: str,
        weight: int = 400,
        px: int = 12,
        align: Qt.AlignmentFlag = LEFT,
    ) -> None:
        painter.setFont(font(px, weight))
        painter.setPen(self._palette.color(role))
        flat = " ".join(text.split())
        cut = painter.fontMetrics().elidedText(flat, Qt.TextElideMode.ElideRight, int(rect.width()))
        painter.drawText(rect, align.value | _ONE_LINE, cut)

    def _tags(self, painter: QPainter, rect: QRectF, tags: Sequence[str]) -> None:
        """As many as there is room for, then "+2"."""
        face = font(11)
        metrics = QFontMetricsF(face)
        x = rect.left()
        top = rect.center().y() - TAG_PX / 2
        for number, tag in enumerate(tags):
            left = len(tags) - number
            more = f"+{left - 1}" if left > 1 else ""
            room = rect.right() - x - (metrics.horizontalAdvance(more) + 6 if more else 0)
            if number and room < metrics.horizontalAdvance(tag) + 14:
                painter.setFont(face)
                painter.setPen(self._palette.color("secondary"))
                painter.drawText(
                    QRectF(x, top, 30, TAG_PX), int(LEFT | Qt.AlignmentFlag.AlignVCenter), f"+{left}"
                )
                return
            text = metrics.elidedText(tag, Qt.TextElideMode.ElideRight, max(room - 14, 8))
            width = metrics.horizontalAdvance(text) + 14
            painter.setPen(QPen(self._palette.color("control_border"), 1))
            painter.setBrush(self._palette.color("raised"))
            painter.drawRoundedRect(QRectF(x + 0.5, top + 0.5, width - 1, TAG_PX - 1), 4, 4)
            painter.setFont(face)
            painter.setPen(self._palette.color("text"))
            painter.drawText(QRectF(x, top, width, TAG_PX), int(Qt.AlignmentFlag.AlignCenter), text)
            x += width + 4


def paint_trace(painter: QPainter, rect: QRectF, trace: Sequence[float], palette: Palette) -> None:
    """Gaps as a line; its upper end is the largest gap. Nothing below two values."""
    if len(trace) < 2:
        return
    low, high = min(trace), max(trace)
    # A steady run is a flat line: less than 20 % is not blown up to the whole height.
    span = max(high - low, 0.2 * low, 1e-9)
    step = rect.width() / (len(trace) - 1)
    points = [
        QPointF(rect.left() + number * step, rect.bottom() - (value - low) / span * rect.height())
        for number, value in enumerate(trace)
    ]
    painter.setPen(QPen(palette.color("data1"), 1.2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPolyline(QPolygonF(points))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(palette.color("data1"))
    painter.drawEllipse(points[-1], 2, 2)


def _icon(painter: QPainter, name: str, rect: QRectF, color: QColor) -> None:
    """An icon from the cache: a list that scrolls cannot read an SVG for each cell."""
    scale = painter.device().devicePixelRatioF()
    # `_square` lies on half pixels, for lines; a picture on whole ones.
    painter.drawPixmap(
        rect.topLeft() - QPointF(0.5, 0.5), pixmap(name, color, round(rect.width()) + 1, scale)
    )


def _square(rect: QRectF, side: int) -> QRectF:
    x = round(rect.center().x() - side / 2)
    y = round(rect.center().y() - side / 2)
    return QRectF(x + 0.5, y + 0.5, side - 1, side - 1)
