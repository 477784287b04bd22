"""Shipped pictures and fonts: icons drawn from SVG text in the colour that is asked for.

Thread: the GUI thread. Nothing is read at import. Icons are 24-grid strokes whose colour is
the word `currentColor`; tinting replaces that word, so one file serves every theme.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from profiler.paths import resource_dir

SCALES = (1, 2, 3)
"""Device pixel ratios an icon is drawn for."""


def icon_names() -> list[str]:
    """Names of all shipped icons, sorted."""
    return sorted(path.stem for path in (resource_dir() / "icons").glob("*.svg"))


def font_files() -> list[Path]:
    """The bundled font files, sorted by name."""
    fonts = resource_dir() / "fonts"
    return sorted(path for path in fonts.glob("*") if path.suffix in (".otf", ".ttf"))


@lru_cache(maxsize=256)
def _svg_text(name: str) -> str:
    path = resource_dir() / "icons" / f"{name}.svg"
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise KeyError(f"There is no icon called {name!r} in {path.parent}.") from None


def paint_icon(painter: QPainter, name: str, rect: QRectF, color: QColor | str) -> None:
    """Draw an icon into `rect` (device independent px), in `color`. KeyError: no such icon."""
    svg = _svg_text(name).replace("currentColor", QColor(color).name())
    QSvgRenderer(QByteArray(svg.encode())).render(painter, rect)


@lru_cache(maxsize=512)
def _pixmap(name: str, color: str, size: int, scale: float) -> QPixmap:
    _svg_text(name)  # an unknown name is an error before a painter is open
    pixmap = QPixmap(round(size * scale), round(size * scale))
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    paint_icon(painter, name, QRectF(0, 0, size, size), color)
    painter.end()
    return pixmap


def pixmap(name: str, color: QColor | str, size: int = 16, scale: float = 1.0) -> QPixmap:
    """An icon as a pixmap of `size` px (times `scale` device pixels). KeyError: no such icon."""
    return QPixmap(_pixmap(name, QColor(color).name(), size, scale))


def icon(
    name: str,
    color: QColor | str,
    size: int = 16,
    disabled: QColor | str | None = None,
) -> QIcon:
    """A `QIcon` of `size` px in `color`, and in `disabled` where the button is off.

    KeyError when there is no such icon. Use `setIconSize(QSize(size, size))` with it.
    """
    result = QIcon()
    for scale in SCALES:
        result.addPixmap(_pixmap(name, QColor(color).name(), size, scale))
        if disabled is not None:
            result.addPixmap(_pixmap(name, QColor(disabled).name(), size, scale), QIcon.Mode.Disabled)
    return result


def app_icon() -> QIcon:
    """The icon of the application, at the usual sizes."""
    result = QIcon()
    for size in (16, 24, 32, 48, 64, 128, 256):
        result.addPixmap(_pixmap("app", "#000000", size, 1))
    return result


def icon_size(size: int = 16) -> QSize:
    """`QSize(size, size)`: what `setIconSize` wants."""
    return QSize(size, size)
