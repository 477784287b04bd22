"""Saving a chart as a file: ask where, write it, say what went wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from PySide6.QtWidgets import QWidget

from app.charts.base import ChartCard
from app.charts.pictures import save_picture

PicturePaths = Callable[[QWidget, str, str], Path | None]
"""(parent, suggested file name, "png" or "svg") -> where to, None: the user thought better of it."""


class PicturePage(Protocol):
    """What a page with charts has to offer."""

    ask_path: PicturePaths | None

    def show_problem(self, title: str, message: str, detail: str | None = None) -> None:
        """Tell the user that something did not work."""
        ...


def save_asked(page: PicturePage, chart: ChartCard, kind: str) -> None:
    """Save a chart where the user wants it."""
    if page.ask_path is None:
        return
    name = re.sub(r"[^\w]+", "-", chart.accessibleName().lower()).strip("-") or "chart"
    path = page.ask_path(chart, f"{name}.{kind}", kind)
    if path is None:
        return
    if path.suffix.lower() != f".{kind}":
        path = path.with_name(f"{path.name}.{kind}")
    try:
        save_picture(chart, path, chart.palette_now)
    except OSError as error:
        page.show_problem(chart.tr("The picture could not be saved"), f"{path}: {error.strerror or error}")
