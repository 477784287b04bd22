"""Progress of a run: one segment a stage, as wide as the stage is expected to take."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import DARK, Palette

GAP_PX = 3
MIN_SEGMENT_PX = 6


class ProgressSegments(QWidget):
    """Bars of 6 px: done ones full, the current one in part, the rest empty."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = DARK
        self._weights: list[float] = [1.0]
        self._index = 0
        self._fraction = 0.0
        self._failed = False
        self.setFixedHeight(6)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Progress"))

    def set_segments(self, weights: Sequence[float]) -> None:
        """Expected duration of each stage, in any unit; at least one."""
        self._weights = [max(float(weight), 0.0) for weight in weights] or [1.0]
        self.update()

    def set_progress(self, index: int, fraction: float = 0.0, failed: bool = False) -> None:
        """Stage `index` is `fraction` (0..1) done; all before it are. `failed`: it stopped there."""
        state = (index, min(max(fraction, 0.0), 1.0), failed)
        if state != (self._index, self._fraction, self._failed):
            self._index, self._fraction, self._failed = state
            done = min(index + self._fraction, len(self._weights))
            words = self.tr("{0} of {1} stages").format(f"{done:.1f}", len(self._weights))
            self.setAccessibleDescription(words)
            self.update()

    def finish(self) -> None:
        """Every stage is done."""
        self.set_progress(len(self._weights))

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, 6)

    def segment_widths(self) -> list[float]:
        """Width of each segment, px; none is so thin that it cannot be seen while there is room."""
        count = len(self._weights)
        room = max(self.width() - GAP_PX * (count - 1), count)
        least = min(MIN_SEGMENT_PX, room / count)
        total = sum(self._weights) or 1.0
        spare = room - least * count
        return [least + spare * weight / total for weight in self._weights]

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        x = 0.0
        for number, width in enumerate(self.segment_widths()):
            rect = QRectF(x, 0, width, self.height())
            painter.setBrush(self._palette.color("control_border" if self._palette.dark else "border"))
            painter.drawRoundedRect(rect, 2, 2)
            here = number == self._index
            part = 1.0 if number < self._index else self._fraction if here else 0.0
            if here and self._failed:
                part = max(part, 0.15)
            if part > 0:
                painter.setBrush(self._palette.color("bad" if here and self._failed else "accent"))
                painter.drawRoundedRect(QRectF(x, 0, max(width * part, 2.0), self.height()), 2, 2)
            x += width + GAP_PX
        painter.end()
