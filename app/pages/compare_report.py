"""The Report menu of the Compare page: Markdown to the clipboard, CSV, JSON and PNG to files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from app.charts.base import ChartCard
from app.charts.pictures import save_picture
from app.pages import compare_view as view
from app.pages.compare_state import CompareState
from app.panels.compare_export import as_csv, as_json, as_markdown

KINDS = ("csv", "json", "png")


class ReportDialogs(Protocol):
    """What the menu asks. None: the user thought better of it."""

    def report_path(self, parent: QWidget, suggested: Path, kind: str) -> Path | None:
        """Where to save a report of `kind` (csv, json, png, svg); replacing was agreed to."""


class ReportMenu(QMenu):
    """Everything goes by what `state` holds now; the picture is of `page`."""

    told = Signal(str)
    """One sentence: what was copied or saved, or why not."""

    def __init__(self, state: CompareState, dialogs: ReportDialogs, page: QWidget) -> None:
        super().__init__(page)
        self._state, self._dialogs, self._page = state, dialogs, page
        self.folder = ""
        self.addAction(self.tr("Copy table as Markdown")).triggered.connect(lambda: self.copy_markdown())
        self.addSeparator()
        words = (self.tr("Save as CSV…"), self.tr("Save as JSON…"), self.tr("Save picture as PNG…"))
        for kind, label in zip(KINDS, words, strict=True):
            self.addAction(label).triggered.connect(lambda _=False, kind=kind: self.save(kind))

    def copy_markdown(self) -> None:
        """Put the tables of all pairs on the clipboard."""
        text = as_markdown(view.pair_reports(self._state), view.foot_words(self._state))
        QGuiApplication.clipboard().setText(text)
        self.told.emit(self.tr("The table was copied as Markdown."))

    def save(self, kind: str) -> None:
        """Ask for a place and write a report there: csv, json or png."""

        def write(path: Path) -> None:
            if kind == "png":
                if not self._page.grab().save(str(path), "PNG"):
                    raise OSError(self.tr("the picture could not be stored"))
            else:
                make = as_csv if kind == "csv" else as_json
                path.write_text(make(view.pair_reports(self._state)), encoding="utf-8", newline="")

        self._write(kind, write)

    def save_chart(self, chart: ChartCard, kind: str) -> None:
        """Ask for a place and write a picture of one chart there: png or svg."""
        self._write(kind, lambda path: save_picture(chart, path, chart.palette_now))

    def _write(self, kind: str, write: Callable[[Path], None]) -> None:
        path = self._dialogs.report_path(self._page, Path(self.folder) / f"comparison.{kind}", kind)
        if path is None:
            return
        path = path if path.suffix else path.with_suffix(f".{kind}")
        try:
            write(path)
        except ValueError as error:
            self.told.emit(f"{error}.")
            return
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            self.told.emit(self.tr("{0} cannot be written ({1}); choose another place.").format(path, reason))
            return
        self.told.emit(self.tr("Saved as {0}.").format(path))
