"""The lane above the latency plot: a glyph for each spike, with its cause and its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QCoreApplication, QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF

from app.charts.frame import Frame, Run, draw_runs, draw_words, runs_width
from app.theme import Palette
from profiler.units import format_number

LANE_PX = 18
GLYPH_PX = 9.0
MAX_GLYPHS = 120

Cause = Literal["gc", "window", "sampler", "unknown"]
ROLES: dict[Cause, str] = {"gc": "data4", "window": "data5", "sampler": "data5", "unknown": "secondary"}


@dataclass(frozen=True)
class Spike:
    """A gap that stands out (MEASUREMENT section 5): its token, its length, what overlapped it,
    and the label of its request."""

    token: int
    gap_ms: float
    cause: Cause = "unknown"
    label: str = ""


def cause_words(cause: Cause) -> str:
    """One or two words for the lane and the readout."""
    tr = QCoreApplication.translate
    return {
        "gc": tr("SpikeLane", "GC"),
        "window": tr("SpikeLane", "redraw"),
        "sampler": tr("SpikeLane", "sampler"),
        "unknown": tr("SpikeLane", "?"),
    }[cause]


class SpikeLane:
    """Places the glyphs, longest spikes first, and keeps the places until something moves."""

    def __init__(self) -> None:
        self._key: object = None
        self._places: list[tuple[Spike, float, bool]] = []
        self.left_out = 0
        """Spikes in view that found no room."""

    def places(
        self, spikes: Sequence[Spike], revision: object, frame: Frame
    ) -> list[tuple[Spike, float, bool]]:
        """Spike, pixel, and whether its words are written beside it."""
        key = (revision, frame)
        if key != self._key:
            self._key = key
            self._place(spikes, frame)
        return self._places

    def _place(self, spikes: Sequence[Spike], frame: Frame) -> None:
        inside = [spike for spike in spikes if frame.x_low <= spike.token <= frame.x_high]
        inside.sort(key=lambda spike: spike.gap_ms, reverse=True)
        taken: list[tuple[float, float]] = []
        self._places = []
        # Glyphs first, so that words never cost a longer spike its glyph.
        for spike in inside[: 4 * MAX_GLYPHS]:
            x = frame.x_px(spike.token)
            around = (x - GLYPH_PX / 2 - 1, x + GLYPH_PX / 2 + 1)
            if len(self._places) < MAX_GLYPHS and not _meets(around, taken):
                taken.append(around)
                self._places.append((spike, x, False))
        self.left_out = len(inside) - len(self._places)
        for number, (spike, x, _) in enumerate(self._places):
            beside = (x + GLYPH_PX / 2 + 2, x + GLYPH_PX / 2 + 4 + runs_width(_words(spike)))
            if beside[1] <= frame.plot.right() + 44 and not _meets(beside, taken):
                taken.append(beside)
                self._places[number] = (spike, x, True)

    def paint(
        self,
        painter: QPainter,
        frame: Frame,
        palette: Palette,
        spikes: Sequence[Spike],
        revision: object,
        median_ms: float | None,
    ) -> None:
        """The lane, and dotted lines down to the median."""
        plot = frame.plot
        middle = plot.top() - LANE_PX / 2 - 4
        rect = QRectF(0, middle - 8, plot.left() - 6, 16)
        right = Qt.AlignmentFlag.AlignRight
        draw_words(
            painter, rect, QCoreApplication.translate("SpikeLane", "Spikes"), palette.color("muted"), right
        )
        low = (
            plot.bottom() if median_ms is None else min(max(frame.y_px(median_ms), plot.top()), plot.bottom())
        )
        painter.save()
        painter.setPen(QPen(palette.color("axis"), 1, Qt.PenStyle.DotLine))
        places = self.places(spikes, revision, frame)
        painter.drawLines([QLineF(round(x) + 0.5, plot.top(), round(x) + 0.5, low) for _, x, _ in places])
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for spike, x, _ in places:
            _paint_glyph(painter, x, middle, spike.cause, palette)
        painter.restore()
        for spike, x, with_words in places:
            if with_words:
                draw_runs(painter, x + GLYPH_PX / 2 + 3, middle + 4, _words(spike), palette)


def _words(spike: Spike) -> list[Run]:
    return [Run(f"{cause_words(spike.cause)} {format_number(spike.gap_ms)}", "secondary")]


def _meets(span: tuple[float, float], others: Sequence[tuple[float, float]]) -> bool:
    return any(span[0] < other[1] and other[0] < span[1] for other in others)


def _paint_glyph(painter: QPainter, x: float, y: float, cause: Cause, palette: Palette) -> None:
    """Diamond: GC; square: our own work; ring: not known."""
    half = GLYPH_PX / 2
    color = palette.color(ROLES[cause])
    if cause == "unknown":
        painter.setPen(QPen(color, 1.4))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(QPointF(x, y), half - 0.8, half - 0.8)
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    if cause == "gc":
        corners = ((0, -half), (half, 0), (0, half), (-half, 0))
        painter.drawPolygon(QPolygonF([QPointF(x + dx, y + dy) for dx, dy in corners]))
    else:
        painter.drawRect(QRectF(x - half + 0.5, y - half + 0.5, GLYPH_PX - 1, GLYPH_PX - 1))
