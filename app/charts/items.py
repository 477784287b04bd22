"""Items of pyqtgraph view boxes: dots and bands that stay cheap whatever their number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

Floats = npt.NDArray[np.float64]


def disc_kernel(diameter: float) -> list[tuple[int, int, int]]:
    """(dx, dy, alpha 0..255) of the pixels of a smooth disc, sampled 5 times each way."""
    reach = int(diameter / 2 + 0.999)
    shifts = (np.arange(5) - 2) / 5
    result = []
    for dy in range(-reach, reach + 1):
        for dx in range(-reach, reach + 1):
            inside = (dx + shifts[None, :]) ** 2 + (dy + shifts[:, None]) ** 2 <= (diameter / 2) ** 2
            alpha = round(255 * float(inside.mean()))
            if alpha > 12:
                result.append((dx, dy, alpha))
    return result


def dots_image(
    columns: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    width: int,
    height: int,
    diameter: float,
    color: QColor,
) -> QImage:
    """An image with a disc at each device pixel given. Dots on the same pixel are one dot.

    Cost: grows with the number of *different* pixels, so at most with the size of the plot.
    """
    reach = int(diameter / 2 + 0.999)
    inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    stride = width + 2 * reach
    index = (rows[inside] + reach) * stride + columns[inside] + reach
    if len(index) > 4096:
        marked = np.zeros(stride * (height + 2 * reach), bool)
        marked[index] = True
        index = np.flatnonzero(marked)
    alpha = np.zeros(stride * (height + 2 * reach), np.uint8)
    for dx, dy, weight in disc_kernel(diameter):
        at = index + dy * stride + dx
        alpha[at] = np.maximum(alpha[at], weight)
    # Premultiplied colours of all 256 alphas, looked up at once.
    strength = np.arange(256, dtype=np.uint32) * color.alpha() // 255
    table = (
        (strength << 24)
        | ((strength * color.red() // 255) << 16)
        | ((strength * color.green() // 255) << 8)
        | (strength * color.blue() // 255)
    ).astype(np.uint32)
    pixels = table[alpha.reshape(height + 2 * reach, stride)[reach : reach + height, reach : reach + width]]
    image = QImage(pixels.tobytes(), width, height, 4 * width, QImage.Format.Format_ARGB32_Premultiplied)
    return image.copy()


class _ViewItem(pg.GraphicsObject):
    """An item as large as what its view box shows; it never asks for another range."""

    def boundingRect(self) -> QRectF:
        view = self.getViewBox()
        return QRectF() if view is None else QRectF(view.viewRect())

    def viewTransformChanged(self) -> None:
        self.prepareGeometryChange()
        super().viewTransformChanged()

    def dataBounds(self, *_: object, **__: object) -> None:
        return None


class DotsItem(_ViewItem):
    """Dots of equal size. 100,000 of them cost about as much as 5,000 (see `dots_image`)."""

    def __init__(self, diameter_px: float) -> None:
        super().__init__()
        self._diameter = diameter_px
        self._color = QColor("white")
        self._x: Floats = np.empty(0)
        self._y: Floats = np.empty(0)
        self._cache: tuple[tuple[object, ...], QImage] | None = None
        self._revision = 0

    def setData(self, x: Floats, y: Floats) -> None:
        """Show these points (data coordinates)."""
        self._x, self._y = x, y
        self._revision += 1
        self.update()

    def getData(self) -> tuple[Floats, Floats]:
        """The points shown, all of them."""
        return self._x, self._y

    def set_color(self, color: QColor) -> None:
        """Colour and strength of every dot."""
        self._color = color
        self._revision += 1
        self.update()

    def paint(
        self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None
    ) -> None:
        view = self.getViewBox()
        if view is None or len(self._x) == 0:
            return
        # The world transform ends in widget pixels; `deviceTransform` would add where the widget
        # lies in its window, which `resetTransform` does not take away.
        to_px = painter.worldTransform()
        ratio = painter.device().devicePixelRatioF()
        area = to_px.mapRect(QRectF(view.viewRect())).toAlignedRect()
        if area.isEmpty():
            return
        key = (self._revision, area.getRect(), ratio, to_px.m11(), to_px.m22())
        if self._cache is None or self._cache[0] != key:
            columns = (self._x * to_px.m11() + (to_px.dx() - area.x())) * ratio - 0.5
            rows = (self._y * to_px.m22() + (to_px.dy() - area.y())) * ratio - 0.5
            image = dots_image(
                np.rint(columns).astype(np.int64),
                np.rint(rows).astype(np.int64),
                round(area.width() * ratio),
                round(area.height() * ratio),
                self._diameter * ratio,
                self._color,
            )
            image.setDevicePixelRatio(ratio)
            self._cache = (key, image)
        painter.save()
        painter.resetTransform()
        painter.drawImage(QPointF(area.topLeft()), self._cache[1])
        painter.restore()


class BandItem(_ViewItem):
    """A filled band between two curves over the same x; NaN leaves a hole."""

    def __init__(self) -> None:
        super().__init__()
        self._color = QColor("white")
        self._x: Floats = np.empty(0)
        self._low: Floats = np.empty(0)
        self._high: Floats = np.empty(0)

    def setData(self, x: Floats, low: Floats, high: Floats) -> None:
        """Show the band (data coordinates)."""
        self._x, self._low, self._high = x, low, high
        self.update()

    def getData(self) -> tuple[Floats, Floats, Floats]:
        """x, lower and upper edge."""
        return self._x, self._low, self._high

    def set_color(self, color: QColor) -> None:
        """Fill colour with its alpha."""
        self._color = color
        self.update()

    def paint(
        self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None
    ) -> None:
        good = np.isfinite(self._low) & np.isfinite(self._high)
        if good.sum() < 2:
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._color)
        edges = np.flatnonzero(np.diff(np.concatenate(([False], good, [False])).astype(int)))
        for start, stop in zip(edges[::2], edges[1::2], strict=True):
            x = self._x[start:stop]
            upper = zip(x.tolist(), self._high[start:stop].tolist(), strict=True)
            lower = zip(x[::-1].tolist(), self._low[start:stop][::-1].tolist(), strict=True)
            painter.drawPolygon(QPolygonF([QPointF(a, b) for a, b in (*upper, *lower)]))
