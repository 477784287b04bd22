"""The small chart of the preview: the gaps of a run over its course, largest of each stretch."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.charts.frame import AXIS_FONT_PX, Frame, draw_grid, draw_side_axis, draw_words
from app.charts.ticks import format_tick, round_step, round_ticks
from app.theme import DARK, Palette
from profiler.units import format_number

HEIGHT = 132
LEFT_PX = 46
MIN_SPAN = 0.04
"""A steadier run than this still gets an axis as wide: noise must not look like trouble."""


class TraceChart(QWidget):
    """Told by `show_trace`; paints itself."""

    def __init__(self) -> None:
        super().__init__()
        self._palette = DARK
        self._trace: tuple[float, ...] = ()
        self._median: float | None = None
        self._nothing = ""
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def trace(self) -> tuple[float, ...]:
        """What is drawn, ms."""
        return self._trace

    def show_trace(self, trace: Sequence[float], median_ms: float | None, nothing: str = "") -> None:
        """Show gaps (ms), and a dashed line at the median; `nothing`: why there are none."""
        self._trace, self._median, self._nothing = tuple(trace), median_ms, nothing
        self.setAccessibleName(self.tr("Inter-token latency"))
        words = nothing
        if self._trace:
            words = self.tr("From {0} to {1} ms, median {2} ms.").format(
                format_number(min(self._trace)),
                format_number(max(self._trace)),
                format_number(median_ms, 4),
            )
        self.setAccessibleDescription(words)
        self.update()

    def set_theme(self, palette: Palette) -> None:
        """Paint in the colours of `palette`."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(260, HEIGHT)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        palette = self._palette
        plot = QRectF(LEFT_PX, 6, self.width() - LEFT_PX - 6, self.height() - 26)
        if len(self._trace) < 2:
            center = Qt.AlignmentFlag.AlignHCenter
            draw_words(painter, QRectF(self.rect()), self._nothing, palette.color("muted"), center)
            painter.end()
            return
        values = [*self._trace, *([self._median] if self._median is not None else [])]
        low, high = min(values), max(values)
        pad = max((high - low) * 0.08, (MIN_SPAN * high - (high - low)) / 2, 1e-6)
        low, high = max(low - pad, 0.0), high + pad
        step = round_step(high - low, 3)
        ticks = round_ticks(low, high, 3)
        frame = Frame(plot, 0.0, len(self._trace) - 1.0, low, high)
        draw_grid(painter, frame, ticks, palette)
        draw_side_axis(
            painter, frame, [(tick, format_tick(tick, step)) for tick in ticks], palette, self.tr("ITL (ms)")
        )
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = QPolygonF([QPointF(frame.x_px(x), frame.y_px(y)) for x, y in enumerate(self._trace)])
        painter.setPen(QPen(palette.color("data1"), 1.2))
        painter.drawPolyline(line)
        if self._median is not None:
            painter.setPen(QPen(palette.color("text"), 1, Qt.PenStyle.DashLine))
            y = frame.y_px(self._median)
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
        foot = QRectF(plot.left(), plot.bottom() + 5, plot.width(), AXIS_FONT_PX + 3)
        words = self.tr("largest of each stretch; dashed: median")
        draw_words(painter, foot, words, palette.color("muted"), Qt.AlignmentFlag.AlignHCenter)
        painter.end()
