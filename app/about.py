"""Help and About: the keys, the versions, the licences, where things lie, and a report to copy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, Qt, QUrl, qVersion
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QDialog, QGridLayout, QPlainTextEdit, QWidget

from app.diagnostics import diagnostics_text, versions
from app.panels.parts import column, row
from app.theme import DARK, LIGHT, Palette, apply_theme
from app.widgets import Button, ElidedLabel, make_label
from profiler import events as ev
from profiler.paths import library_dir, log_dir

SIZE = (620, 560)
LICENCE = "Apache-2.0"
SHOWN = ("Python", "PySide6-Essentials", "pyqtgraph", "torch", "transformers", "numpy")
"""Versions in the dialog; the copied report has all."""
LICENCES = (
    ("PySide6, Qt", "LGPL-3.0-only"),
    ("pyqtgraph, rich, typer, plotly, platformdirs, gguf", "MIT"),
    ("torch, numpy, scipy, psutil, nvidia-ml-py, Send2Trash", "BSD-3-Clause and others"),
    ("transformers, accelerate", "Apache-2.0"),
    ("Inter, JetBrains Mono (fonts)", "OFL-1.1"),
)


def help_text() -> str:
    """How to use the window, in short."""
    return QCoreApplication.translate(
        "About",
        "Choose a model and press Start (F5). Esc stops after the token at work. Every run is "
        "recorded; Save as (Ctrl+S) gives the recording a name of yours. Ctrl+O or a drop opens "
        "a saved session, Ctrl+B hides the setup. In the answer's text the arrow keys go from token "
        "to token, Ctrl with an arrow to the next slow one. A value shown as a dash has its reason "
        "in its tool tip.",
    )


def about_text(machine: dict[str, Any]) -> str:
    """Versions and places, one a line."""
    tr = QCoreApplication.translate
    known = versions(machine)
    lines = [f"Decodescope {known['Decodescope']}", f"Qt {qVersion()}"]
    lines += [f"{name} {known[name]}" for name in SHOWN if name in known]
    for text, place in (
        (tr("About", "Recordings: {0}"), _place("library")),
        (tr("About", "Logs: {0}"), _place("logs")),
    ):
        lines.append(text.format(place))
    return "\n".join(lines)


def _place(name: str) -> Path | str:
    """A folder, or why there is none."""
    try:
        return library_dir() if name == "library" else log_dir()
    except OSError as error:
        return str(error)


class AboutDialog(QDialog):
    """Deletes itself when closed. `machine`: what the engine told; `logs`: of the session shown."""

    def __init__(self, parent: QWidget | None, machine: dict[str, Any], logs: Iterable[ev.Log] = ()) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Help and About"))
        self._machine = machine
        self._logs = logs
        known = versions(machine)
        outer = column(self, (20, 16, 20, 16), 10)
        outer.addWidget(make_label(f"Decodescope {known['Decodescope']}", "page"))
        outer.addWidget(make_label(help_text(), "secondary", wrap=True))
        outer.addWidget(make_label(self.tr("Versions"), "title"))
        grid = self._grid()
        rows = [("Qt", qVersion()), *((name, known.get(name, self.tr("not installed"))) for name in SHOWN)]
        for index, (name, version) in enumerate(rows):
            line, at = divmod(index, 2)
            grid.addWidget(make_label(name, "secondary"), line, 2 * at)
            grid.addWidget(ElidedLabel(version), line, 2 * at + 1)
        outer.addLayout(grid)
        outer.addWidget(make_label(self.tr("Folders"), "title"))
        outer.addLayout(self._places())
        outer.addWidget(make_label(self.tr("Licences"), "title"))
        self.licences = self._licences()
        outer.addWidget(self.licences, 1)
        self.told = make_label(self._what_is_copied(), "muted", wrap=True)
        outer.addWidget(self.told)
        outer.addLayout(self._foot())
        screen = self.screen().availableSize()
        self.resize(min(SIZE[0], screen.width() - 40), min(SIZE[1], screen.height() - 80))

    @staticmethod
    def _grid() -> QGridLayout:
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        return grid

    def _places(self) -> QGridLayout:
        grid = self._grid()
        grid.setColumnStretch(3, 0)
        for index, (name, key) in enumerate(((self.tr("Recordings"), "library"), (self.tr("Logs"), "logs"))):
            place = _place(key)
            grid.addWidget(make_label(name, "secondary"), index, 0)
            grid.addWidget(ElidedLabel(str(place), mode=Qt.TextElideMode.ElideMiddle), index, 1)
            if isinstance(place, Path):
                reveal = Button(self.tr("Open folder"), "link")
                reveal.setAccessibleName(self.tr("Open the folder: {0}").format(name))
                reveal.setAutoDefault(False)
                reveal.clicked.connect(lambda _=False, path=place: self._open(path))
                grid.addWidget(reveal, index, 2)
        return grid

    def _licences(self) -> QPlainTextEdit:
        view = QPlainTextEdit()
        view.setReadOnly(True)
        view.setTabChangesFocus(True)
        view.setAccessibleName(self.tr("Licences"))
        lines = [self.tr("Decodescope: {0}").format(LICENCE)]
        lines += [f"{names}: {licence}" for names, licence in LICENCES]
        view.setPlainText("\n".join(lines))
        view.setMinimumHeight(84)
        return view

    def _foot(self) -> Any:
        self.copy_button = Button(self.tr("Copy diagnostics"), "", "copy")
        self.copy_button.setAutoDefault(False)
        self.copy_button.clicked.connect(self.copy)
        close = Button(self.tr("Close"))
        close.setDefault(True)
        close.clicked.connect(self.accept)
        foot = row(spacing=8)
        foot.addWidget(self.copy_button)
        foot.addStretch(1)
        foot.addWidget(close)
        return foot

    def _what_is_copied(self) -> str:
        return self.tr(
            "Diagnostics: versions, this machine, the settings of libraries and the last log lines. "
            "Keys, home folders and other environment variables are left out. Nothing is sent."
        )

    def copy(self) -> None:
        """Put the report on the clipboard."""
        QGuiApplication.clipboard().setText(diagnostics_text(self._machine, self._logs, qt=qVersion()))
        self.told.setText(self.tr("Copied. Look it over before you post it."))

    @staticmethod
    def _open(path: Path) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))


def show_about(
    parent: QWidget, machine: dict[str, Any], logs: Iterable[ev.Log] = (), palette: Palette | None = None
) -> AboutDialog:
    """Open the dialog in the colours of `palette` (None: those of `parent`); returns at once."""
    dialog = AboutDialog(parent, machine, logs)
    light = parent.palette().window().color().lightness() > 127
    apply_theme(dialog, palette or (LIGHT if light else DARK))
    dialog.open()
    return dialog
