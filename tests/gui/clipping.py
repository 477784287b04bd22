"""Which texts of a window are cut or lie on each other: what a designer would see at a glance."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QLabel, QPushButton, QRadioButton, QWidget

from app.widgets import ElidedLabel

SLACK_PX = 1


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
    placed = [(widget, QRect(widget.mapTo(root, QPoint(0, 0)), widget.size())) for widget in _texts(root)]
    found = []
    for index, (one, rect) in enumerate(placed):
        for other, where in placed[index + 1 :]:
            if one.isAncestorOf(other) or other.isAncestorOf(one):
                continue
            common = rect.intersected(where)
            if common.width() > 2 and common.height() > 2 and one.window() is other.window():
                if _same_stack(one, other):
                    found.append(f"{one.text()[:30]!r} on {other.text()[:30]!r}")
    return found


def _same_stack(one: QWidget, other: QWidget) -> bool:
    """Both are really painted there (a scrolled area may hide one outside its view)."""
    return not one.visibleRegion().isEmpty() and not other.visibleRegion().isEmpty()
