"""The surfaces that charts are drawn on.

`PlotCanvas` is a pyqtgraph plot with one fixed policy: no axes items, menus, buttons or mouse
handling of its own, ranges only as told. Axes, lines across and words are painted in pixels
by two callbacks, below and above the curves: this costs less than axis items do, and words
never move when data does.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QMouseEvent,
    QPaintEngine,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QGraphicsView, QSizePolicy, QWidget

from app.charts.frame import Frame
from app.charts.gestures import Gestures
from app.theme import DARK, Palette

Painting = Callable[[QPainter], None]


class PlotCanvas(pg.PlotWidget):
    """A plot with fixed margins (left, top, right, bottom; px) and painted surroundings."""

    pointed = Signal(object)
    """x under the mouse (data coordinates), None when it left the plot."""

    def __init__(self, margins: tuple[int, int, int, int], below: Painting, above: Painting) -> None:
        """`below` (axes, grid) is painted once and kept until `renew_below` or another size or
        range; `above` (marks, readouts) is painted every time."""
        super().__init__(
            viewBox=pg.ViewBox(enableMenu=False, enableMouse=False, border=None), enableMenu=False
        )
        self.gestures = Gestures(self)
        self._margins = margins
        self._log_y = False
        self._below, self._above = below, above
        self._ranges = ((0.0, 1.0), (0.0, 1.0))
        self._below_key: object = None
        self._kept: tuple[object, QPixmap] | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.FullViewportUpdate)
        self.setAntialiasing(False)
        # pyqtgraph caches the background, where our axes are painted.
        self.setCacheMode(QGraphicsView.CacheModeFlag.CacheNone)
        self.setBackground(None)
        self.setMenuEnabled(False)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hideButtons()
        for axis in ("left", "bottom", "right", "top"):
            self.hideAxis(axis)
        item = self.getPlotItem()
        item.layout.setContentsMargins(*margins)
        item.layout.setSpacing(0)
        item.setContentsMargins(0, 0, 0, 0)
        self.getViewBox().setDefaultPadding(0)
        self.getViewBox().disableAutoRange()
        self.viewport().setMouseTracking(True)
        self.set_ranges((0.0, 1.0), (0.0, 1.0))

    def set_ranges(self, x: tuple[float, float], y: tuple[float, float], log_y: bool = False) -> None:
        """Show exactly these ranges; the same ones again cost nothing.

        `log_y`: the y axis goes by the logarithm. Curves then hold log10 of their values, while
        ranges and `frame` stay in values (`y` above 0).
        """
        ranges = ((float(x[0]), float(x[1])), (float(y[0]), float(y[1])))
        if ranges != self._ranges or log_y != self._log_y:
            self._ranges, self._log_y = ranges, log_y
            shown = (math.log10(ranges[1][0]), math.log10(ranges[1][1])) if log_y else ranges[1]
            self.getViewBox().setRange(xRange=ranges[0], yRange=shown, padding=0, disableAutoRange=True)

    def set_margins(self, margins: tuple[int, int, int, int]) -> None:
        """Other margins (left, top, right, bottom; px); the same ones again cost nothing."""
        if margins != self._margins:
            self._margins = margins
            self.getPlotItem().layout.setContentsMargins(*margins)

    def renew_below(self, key: object) -> None:
        """Paint axes and grid afresh if `key` is another one: all they show besides the ranges."""
        self._below_key = key

    @property
    def ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """x and y range shown."""
        return self._ranges

    def frame(self) -> Frame:
        """Where the plot lies in this widget, and what it shows."""
        left, top, right, bottom = self._margins
        plot = QRectF(
            left,
            top,
            max(self.width() - left - right, 1),
            max(self.height() - top - bottom, 1),
        )
        return Frame(plot, *self._ranges[0], *self._ranges[1], self._log_y)

    def sizeHint(self) -> QSize:
        return QSize(440, 200)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 80)

    def drawBackground(self, painter: QPainter, rect: QRectF) -> None:
        engine = painter.paintEngine()
        if engine is not None and engine.type() == QPaintEngine.Type.SVG:
            # Words and lines, not a picture of them.
            painter.save()
            self._below(painter)
            painter.restore()
            return
        ratio = painter.device().devicePixelRatioF()
        key = (self.size().toTuple(), ratio, self._ranges, self._log_y, self._margins, self._below_key)
        if self._kept is None or self._kept[0] != key:
            pixmap = QPixmap(self.size() * ratio)
            pixmap.setDevicePixelRatio(ratio)
            pixmap.fill(Qt.GlobalColor.transparent)
            inner = QPainter(pixmap)
            self._below(inner)
            inner.end()
            self._kept = (key, pixmap)
        painter.save()
        painter.resetTransform()
        painter.drawPixmap(0, 0, self._kept[1])
        painter.restore()

    def paint_words(self, painter: QPainter) -> None:
        """Everything but the curves: what has words, in the order in which it is painted."""
        for paint in (self._below, self._above):
            painter.save()
            paint(painter)
            painter.restore()

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:
        painter.save()
        painter.resetTransform()
        self._above(painter)
        painter.restore()

    # Not handed on: pyqtgraph's scene would search its items on every move.
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.gestures.move(event)
        frame = self.frame()
        inside = frame.plot.contains(event.position())
        self.pointed.emit(frame.x_value(event.position().x()) if inside else None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.gestures.press(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.gestures.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.gestures.double_click(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.gestures.wheel(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        event.ignore()  # the card has the menu

    def leaveEvent(self, _event: QEvent) -> None:
        self.pointed.emit(None)


class PaintedCanvas(QWidget):
    """A surface without curves of pyqtgraph: `painting(painter)` draws all of it."""

    pointed = Signal(object)
    """Mouse position (QPointF, px), None when it left."""

    def __init__(self, painting: Painting) -> None:
        super().__init__()
        self.gestures = Gestures(self)
        self._painting = painting
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.setMouseTracking(True)

    def sizeHint(self) -> QSize:
        return QSize(440, 200)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 80)

    def paint_words(self, painter: QPainter) -> None:
        """What is painted, words and all."""
        self._painting(painter)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._painting(painter)
        painter.end()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.gestures.move(event)
        self.pointed.emit(event.position())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.gestures.press(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.gestures.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.gestures.double_click(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.gestures.wheel(event)

    def leaveEvent(self, _event: QEvent) -> None:
        self.pointed.emit(None)


class GhostCanvas(QWidget):
    """The faint picture of a chart that has no data yet."""

    def __init__(self, painting: Callable[[QPainter, QRectF, Palette], None]) -> None:
        super().__init__()
        self._palette = DARK
        self._painting = painting
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        area = QRectF(self.rect()).adjusted(40, 16, -18, -22)
        if area.width() > 40 and area.height() > 30:
            painter.setPen(QPen(self._palette.color("border"), 1))
            painter.drawLine(area.bottomLeft(), area.bottomRight())
            self._painting(painter, area, self._palette)
        painter.end()
