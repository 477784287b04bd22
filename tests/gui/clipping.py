"""Which texts of a window are cut or lie on each other: what a designer would see at a glance."""

from __future__ import annotations

from itertools import combinations
from typing import TypeVar

from PySide6.QtCore import QPoint, QRect, QRectF
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QLabel, QPushButton, QRadioButton, QWidget

from app.charts import ChartCard
from app.panels.kpi_strip import KpiStrip
from app.widgets import ElidedLabel

SLACK_PX = 1
T = TypeVar("T", bound=QWidget)
INK_PX = 0.5
"""Painted words may touch by this: their ink is measured, not their line."""


def _texts(root: QWidget) -> list[QWidget]:
    kinds = (QLabel, QPushButton, QCheckBox, QRadioButton)
    return [
        widget
        for widget in root.findChildren(QWidget)
        if isinstance(widget, kinds) and widget.isVisibleTo(root) and widget.text() and widget.width() > 0
    ]


def cut_texts(root: QWidget) -> list[str]:
    """`text: needs 120 px, has 90` of every label and button whose words do not fit.

    Labels that end in an ellipsis by design (they keep the whole text in their tool tip) do not
    count; wrapped ones need their height.
    """
    found = []
    for widget in _texts(root):
        if isinstance(widget, ElidedLabel):
            continue
        needs = widget.sizeHint()
        assert isinstance(widget, QLabel | QAbstractButton)
        words = widget.text()[:40]
        if isinstance(widget, QLabel) and widget.wordWrap():
            height = widget.heightForWidth(widget.width())
            if height > widget.height() + SLACK_PX:
                found.append(f"{words}: needs a height of {height} px, has {widget.height()}")
        elif needs.width() > widget.width() + SLACK_PX:
            found.append(f"{words}: needs {needs.width()} px, has {widget.width()}")
        elif needs.height() > widget.height() + 4:
            found.append(f"{words}: needs a height of {needs.height()} px, has {widget.height()}")
    return found


def overlapping_texts(root: QWidget) -> list[str]:
    """Pairs of texts that lie on each other, where neither holds the other."""
    placed = [(widget, _seen(widget, root)) for widget in _texts(root)]
    found = []
    for index, (one, rect) in enumerate(placed):
        for other, where in placed[index + 1 :]:
            if one.isAncestorOf(other) or other.isAncestorOf(one):
                continue
            common = rect.intersected(where)
            if common.width() > 2 and common.height() > 2 and one.window() is other.window():
                found.append(f"{one.text()[:30]!r} on {other.text()[:30]!r}")
    return found


def _seen(widget: QWidget, root: QWidget) -> QRect:
    """Where a widget is really painted (a scrolled area may hide it or a part of it)."""
    return QRect(widget.visibleRegion().boundingRect()).translated(widget.mapTo(root, QPoint(0, 0)))


def bad_words(root: QWidget) -> list[str]:
    """What is wrong with the painted words of the charts and key figures below `root` (or of it).

    Charts: words that leave their canvas, lie on others, or are half covered. Key figures: words
    that end in an ellipsis. Legends: marks without a single word.
    """
    found = []
    for chart in _shown(root, ChartCard):
        found += [f"{type(chart).__name__}: {problem}" for problem in chart_problems(chart)]
    for strip in _shown(root, KpiStrip):
        found += [f"key figure cuts {words!r}" for words in strip.cut_words()]
    return found


def chart_problems(chart: ChartCard) -> list[str]:
    """The same of one chart."""
    words = chart.painted_words()
    canvas = QRectF(chart.canvas.rect()).adjusted(-INK_PX, -INK_PX, INK_PX, INK_PX)
    found = [f"{entry.text!r} is half covered" for entry in words if entry.hidden]
    found += [f"{entry.text!r} leaves the chart" for entry in words if not canvas.contains(entry.rect)]
    for one, other in combinations(words, 2):
        common = one.rect.intersected(other.rect)
        if common.width() > INK_PX and common.height() > INK_PX:
            found.append(f"{one.text!r} on {other.text!r}")
    found += [
        f"{label.text()!r} ends in an ellipsis"
        for label in chart.findChildren(ElidedLabel)
        if label.isVisibleTo(chart) and label.elided() != label.text()
    ]
    if chart.legend.isVisible() and chart.legend.items and not any(chart.legend.words()):
        found.append("the legend has no words")
    return found


def _shown(root: QWidget, kind: type[T]) -> list[T]:
    found = [root] if isinstance(root, kind) else []
    return [*found, *(part for part in root.findChildren(kind) if part.isVisibleTo(root))]
