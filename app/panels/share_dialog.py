"""Share a session: in which format, where to, and what to leave out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QDialog, QLineEdit, QRadioButton, QWidget

from app.panels.parts import column, row, set_text
from app.widgets import Button, make_label


@dataclass(frozen=True)
class ShareRequest:
    """What the share dialog was told: where to, in which format, without private data?"""

    path: Path
    format: str
    private: bool
    overwrite: bool = False


AskPath = Callable[[QWidget, Path], Path | None]


class ShareDialog(QDialog):
    """Asks; whoever opened it writes, and says how that went with `finished_with`.

    `ask_path(parent, suggested)`: a file dialog. `confirm(parent, path)`: may it be replaced?
    """

    export_asked = Signal(object)
    """A ShareRequest."""
    copy_asked = Signal(bool)
    """Markdown to the clipboard; without private data?"""

    def __init__(
        self,
        title: str,
        folder: Path,
        stem: str,
        ask_path: AskPath,
        confirm: Callable[[QWidget, Path], bool],
        chosen: str = "html",
        parent: QWidget | None = None,
    ) -> None:
        from profiler.reporting.exports import FORMATS

        super().__init__(parent)
        self.setWindowTitle(self.tr("Export"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._formats = FORMATS
        self._folder, self._stem = folder, stem
        self._ask_path, self._confirm = ask_path, confirm
        outer = column(self, (20, 16, 20, 16), 10)
        outer.addWidget(make_label(self.tr("Export"), "page"))
        heading = make_label(title, "secondary", wrap=True)
        outer.addWidget(heading)
        self.choices: dict[str, QRadioButton] = {}
        for name, found in FORMATS.items():
            choice = QRadioButton(found.title)
            choice.setAccessibleDescription(found.about)
            choice.toggled.connect(self._format_changed)
            line = row(None, 0, 8)
            choice.setMinimumWidth(120)
            line.addWidget(choice)
            line.addWidget(make_label(found.about, "muted"), 1)
            outer.addLayout(line)
            self.choices[name] = choice
        self.private = QCheckBox(self.tr("Leave out prompt and answer text, user and host names"))
        outer.addWidget(self.private)
        place = row(None, 0, 8)
        self.path = QLineEdit()
        self.path.setAccessibleName(self.tr("File"))
        self.path.setMinimumWidth(380)
        self.browse = Button(self.tr("Choose…"), "", "folder")
        place.addWidget(self.path, 1)
        place.addWidget(self.browse)
        outer.addLayout(place)
        self.status = make_label("", "secondary", wrap=True)
        outer.addWidget(self.status)
        foot = row(None, 0, 8)
        self.copy = Button(self.tr("Copy as Markdown"), "", "copy")
        self.close_button = Button(self.tr("Close"))
        self.save = Button(self.tr("Save"), "primary", "save")
        foot.addWidget(self.copy)
        foot.addStretch(1)
        foot.addWidget(self.close_button)
        foot.addWidget(self.save)
        outer.addLayout(foot)
        self.browse.clicked.connect(self._browse)
        self.save.clicked.connect(self._save)
        self.copy.clicked.connect(lambda: self.copy_asked.emit(self.private.isChecked()))
        self.close_button.clicked.connect(self.reject)
        self.choices[chosen if chosen in self.choices else "html"].setChecked(True)
        self.save.setDefault(True)

    @property
    def format(self) -> str:
        """The chosen format's name."""
        return next(name for name, choice in self.choices.items() if choice.isChecked())

    def finished_with(self, sentence: str, ok: bool) -> None:
        """Say how the writing went."""
        set_text(self.status, sentence)
        self.save.setEnabled(True)
        if ok:
            self.close_button.setFocus()

    def _format_changed(self, on: bool) -> None:
        if on:
            suffix = self._formats[self.format].suffix
            self.path.setText(str(self._folder / f"{self._stem}{suffix}"))
            set_text(self.status, "")

    def _browse(self) -> None:
        path = self._ask_path(self, Path(self.path.text()))
        if path is not None:
            self.path.setText(str(path))

    def _save(self) -> None:
        text = self.path.text().strip()
        if not text:
            set_text(self.status, self.tr("Give the file a name."))
            return
        path = Path(text).expanduser()
        overwrite = path.exists()
        if overwrite and not self._confirm(self, path):
            return
        self.save.setEnabled(False)
        set_text(self.status, self.tr("Writing {0} …").format(path.name))
        self.export_asked.emit(ShareRequest(path, self.format, self.private.isChecked(), overwrite))
