"""What all panels share: layouts with given margins, texts set only when they change."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.widgets.labels import plain_tooltip, restyle

Margins = int | tuple[int, int, int, int]


def column(parent: QWidget | None = None, margins: Margins = 0, spacing: int = 0) -> QVBoxLayout:
    """A vertical layout; margins are one number or left, top, right, bottom, in px."""
    layout = QVBoxLayout(parent) if parent is not None else QVBoxLayout()
    _space(layout, margins, spacing)
    return layout


def row(parent: QWidget | None = None, margins: Margins = 0, spacing: int = 0) -> QHBoxLayout:
    """A horizontal layout; margins as in `column`."""
    layout = QHBoxLayout(parent) if parent is not None else QHBoxLayout()
    _space(layout, margins, spacing)
    return layout


def _space(layout: QBoxLayout, margins: Margins, spacing: int) -> None:
    left, top, right, bottom = margins if isinstance(margins, tuple) else (margins,) * 4
    layout.setContentsMargins(left, top, right, bottom)
    layout.setSpacing(spacing)


def set_property(widget: QWidget, name: str, value: Any) -> None:
    """Set a property that the style sheet looks at, and look again; no cost when unchanged."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        restyle(widget)


def set_text(target: QLabel, text: str) -> None:
    """Set a label's text; no cost when unchanged (each change is a new layout)."""
    if target.text() != text:
        target.setText(text)


def tip(widget: QWidget, text: str) -> None:
    """A tool tip that shows `text` as it is, whatever signs are in it."""
    wanted = plain_tooltip(text)
    if widget.toolTip() != wanted:
        widget.setToolTip(wanted)
