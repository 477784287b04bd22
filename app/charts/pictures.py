"""A chart as a picture in a file. Thread: GUI."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from app.theme import Palette

PNG_RATIO = 2.0
"""Device pixels of a PNG by pixel of the screen: sharp in print and on dense screens."""


def save_picture(chart: QWidget, path: Path, palette: Palette) -> None:
    """Write the card as PNG or SVG, by the suffix of `path`.

    Raises `OSError` where the file cannot be written and `ValueError` for another suffix.
    """
    suffix = path.suffix.lower()
    if suffix == ".svg":
        _save_svg(chart, path)
    elif suffix == ".png":
        _save_png(chart, path, palette)
    else:
        raise ValueError(f"{path.name} is neither a PNG nor an SVG file: end its name in .png or .svg")


def _save_png(chart: QWidget, path: Path, palette: Palette) -> None:
    image = QImage(chart.size() * PNG_RATIO, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(PNG_RATIO)
    image.fill(palette.color("window"))
    chart.render(image)
    if not image.save(str(path), "PNG"):
        raise OSError(f"{path} could not be written")


def _save_svg(chart: QWidget, path: Path) -> None:
    # Qt's generator tells nothing of a file that it cannot write, so that Python opens it.
    path.write_bytes(b"")
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(QSize(chart.width(), chart.height()))
    generator.setViewBox(QRect(0, 0, chart.width(), chart.height()))
    generator.setTitle(chart.accessibleName())
    generator.setDescription(chart.accessibleDescription())
    # As many pixels an inch as the screen has: fonts keep their size.
    generator.setResolution(chart.logicalDpiX())
    painter = QPainter(generator)
    painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
    painter.fillRect(chart.rect(), Qt.GlobalColor.transparent)
    # Without the offset PySide takes the painter for a device.
    chart.render(painter, QPoint())
    painter.end()
    if path.stat().st_size == 0:
        raise OSError(f"{path} could not be written")
