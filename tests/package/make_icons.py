"""Makes the program's icons for the desktops from its mark, resources/icons/app.svg.

    QT_QPA_PLATFORM=offscreen python tests/package/make_icons.py

writes decodescope.png, .ico and .icns into resources/desktop. Both containers hold PNGs, as
Windows (since Vista) and macOS (since 10.7) read them.
"""

from __future__ import annotations

import struct
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
ICO_SIZES = (16, 20, 24, 32, 40, 48, 64, 128, 256)
ICNS_TYPES = {
    b"icp4": 16,
    b"icp5": 32,
    b"ic07": 128,
    b"ic08": 256,
    b"ic09": 512,
    b"ic10": 1024,
    b"ic11": 32,
    b"ic12": 64,
    b"ic13": 256,
    b"ic14": 512,
}
"""The kinds of picture in an .icns file and their edges, px; ic10 to ic14 are for doubled screens."""


def png(svg: QSvgRenderer, size: int, margin: float = 0.0) -> bytes:
    """The mark as a PNG of `size` px, `margin` of it transparent on each side."""
    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    inset = size * margin
    svg.render(painter, QRectF(inset, inset, size - 2 * inset, size - 2 * inset))
    painter.end()
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return bytes(data.data())


def ico(pictures: dict[int, bytes]) -> bytes:
    """A Windows icon of PNGs by their edge in px."""
    offset = 6 + 16 * len(pictures)
    head, body = struct.pack("<HHH", 0, 1, len(pictures)), b""
    for size, data in pictures.items():
        edge = size % 256  # 256 is written as 0
        head += struct.pack("<BBBBHHII", edge, edge, 0, 0, 1, 32, len(data), offset + len(body))
        body += data
    return head + body


def icns(pictures: dict[bytes, bytes]) -> bytes:
    """A macOS icon of PNGs by their kind."""
    body = b"".join(kind + struct.pack(">I", len(data) + 8) + data for kind, data in pictures.items())
    return b"icns" + struct.pack(">I", len(body) + 8) + body


def main() -> None:
    """Writes the three files."""
    _app = QGuiApplication([])
    svg = QSvgRenderer(str(RESOURCES / "icons" / "app.svg"))
    folder = RESOURCES / "desktop"
    folder.mkdir(exist_ok=True)
    (folder / "decodescope.png").write_bytes(png(svg, 256))
    (folder / "decodescope.ico").write_bytes(ico({size: png(svg, size) for size in ICO_SIZES}))
    # macOS leaves a tenth of the edge free around an icon's body.
    mac = {kind: png(svg, size, 0.098) for kind, size in ICNS_TYPES.items()}
    (folder / "decodescope.icns").write_bytes(icns(mac))


if __name__ == "__main__":
    main()
