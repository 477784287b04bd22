"""What the charts of a comparison share: tabs in the header instead of a title, pens, letters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pyqtgraph as pg
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QTabBar, QWidget

from app.charts.base import ChartCard
from app.charts.compare_style import STYLES
from app.charts.first_token import FirstTokenBar, FirstTokenChart
from app.charts.frame import Frame, draw_words
from app.theme import Palette
from app.widgets import ElidedLabel, LegendItem
from profiler.units import DASH, format_number


def session_pen(letter: str, palette: Palette, width: float = 1.5) -> QPen:
    """The pen of a session's line: its colour and its dash."""
    style = STYLES[letter]
    pen: QPen = pg.mkPen(getattr(palette, style.role), width=width)
    if style.dash is not None:
        pen.setDashPattern(list(style.dash))
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    return pen


def text_color(letter: str, palette: Palette) -> QColor:
    """The colour to write a session's letter in."""
    return palette.color(palette.text_role(STYLES[letter].role))


def legend_items(letters: Sequence[str], names: dict[str, str]) -> list[LegendItem]:
    """One entry a session; the whole name in the tool tip."""
    return [
        LegendItem(
            letter,
            STYLES[letter].role,
            STYLES[letter].legend,
            tip=f"{letter}: {names.get(letter, '')}",
            key=letter,
        )
        for letter in letters
    ]


def draw_end_letters(
    painter: QPainter, frame: Frame, ends: Sequence[tuple[str, float, float]], palette: Palette
) -> None:
    """Letters (letter, x, y in data) behind the ends of lines, moved apart where they would touch."""
    places = [
        [frame.y_px(y), frame.x_px(x), letter]
        for letter, x, y in ends
        if frame.y_low <= y <= frame.y_high and frame.x_low <= x <= frame.x_high
    ]
    places.sort(key=lambda place: place[0])
    for above, below in pairwise(places):
        below[0] = max(below[0], above[0] + 11)
    over = places[-1][0] - frame.plot.bottom() if places else 0
    for y, x, letter in places:
        draw_words(
            painter,
            QRectF(x + 4, y - 7 - max(over, 0), 12, 14),
            letter,
            text_color(letter, palette),
            Qt.AlignmentFlag.AlignLeft,
            weight=600,
        )


def lines_ghost(painter: QPainter, area: QRectF, palette: Palette) -> None:
    """Two flat lines, one under the other."""
    for level, dash in ((0.58, Qt.PenStyle.SolidLine), (0.36, Qt.PenStyle.DashLine)):
        painter.fillRect(
            QRectF(
                area.left(),
                area.bottom() - (level + 0.07) * area.height(),
                area.width(),
                0.14 * area.height(),
            ),
            palette.color("axis", 40),
        )
        painter.setPen(QPen(palette.color("axis", 200), 1.4, dash))
        y = area.bottom() - level * area.height()
        painter.drawLine(QLineF(area.left(), y, area.right(), y))


NOTE_FROM_PX = 600
"""Narrower charts keep the room of their note for the legend."""


class SessionChart(ChartCard):
    """A chart with one layer a session: a click in the legend hides it, its letter is the key."""

    def set_crosshair(self, at: float | None) -> None:
        # Esc is the window's where there is nothing to release.
        self.escapable = at is not None
        super().set_crosshair(at)


class StageChart(FirstTokenChart):
    """Stages before the first token, one bar a session: their medians, so no median of them."""

    def refresh(
        self,
        bars: Sequence[FirstTokenBar],
        target_ms: float | None = None,
        *,
        limit_ms: float | None = None,
    ) -> None:
        super().refresh(bars, target_ms, limit_ms=limit_ms)
        self._median = None
        self.setAccessibleDescription(self.summary())

    def summary(self) -> str:
        """One sentence: the median of each session."""
        words = [f"{b.label} {format_number(b.total_ms)} ms" for b in self._bars if b.total_ms is not None]
        return self.tr("Median time to first token: {0}.").format(", ".join(words) or DASH)


class ChartDeck(QStackedWidget):
    """Charts that share one place; each has the tabs of all in its header."""

    def __init__(self, charts: Sequence[ChartCard], labels: Sequence[str], name: str) -> None:
        super().__init__()
        self.charts = tuple(charts)
        self.bars: list[QTabBar] = []
        self.notes: list[ElidedLabel] = []
        for number, chart in enumerate(charts):
            bar = QTabBar()
            bar.setDrawBase(False)
            bar.setExpanding(False)
            bar.setAccessibleName(name)
            for label in labels:
                bar.addTab(label)
            bar.setCurrentIndex(number)
            bar.currentChanged.connect(self._switch_from(number))
            note = ElidedLabel("", "muted")
            replace_title(chart, bar, note)
            self.notes.append(note)
            self.bars.append(bar)
            self.addWidget(chart)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        for note in self.notes:
            note.setVisible(self.width() >= NOTE_FROM_PX)

    def _switch_from(self, number: int) -> Callable[[int], None]:
        def switch(wanted: int) -> None:
            if wanted == number:
                return
            had_focus = self.bars[number].hasFocus()
            # This bar belongs to its own chart: it says so when the chart comes back.
            self.bars[number].blockSignals(True)
            self.bars[number].setCurrentIndex(number)
            self.bars[number].blockSignals(False)
            self.setCurrentIndex(wanted)
            if had_focus:
                self.bars[wanted].setFocus()

        return switch


def replace_title(chart: ChartCard, widget: QWidget, note: QWidget) -> None:
    """Put a widget where a chart's title is, and a note behind it."""
    chart._title_label.hide()
    header = chart.body.itemAt(0).layout()
    assert isinstance(header, QHBoxLayout)
    header.insertWidget(0, widget)
    header.insertWidget(1, note, 1)
