"""Share a session: in which format, where to, and what to leave out."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Signal
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
        self._formats = FORMATS
        self._suggested = ""
        self._working = False
        self._folder, self._stem = folder, stem
        self._ask_path, self._confirm = ask_path, confirm
        outer = column(self, (20, 16, 20, 16), 10)
        outer.addWidget(make_label(self.tr("Export"), "page"))
        heading = make_label(title, "secondary", wrap=True)
        outer.addWidget(heading)
        self.choices: dict[str, QRadioButton] = {}
        for name, found in FORMATS.items():
            choice = QRadioButton(found.title)
            about = found.missing or found.about
            choice.setEnabled(found.missing is None)
            choice.setAccessibleDescription(about)
            choice.toggled.connect(self._format_changed)
            line = row(None, 0, 8)
            choice.setMinimumWidth(120)
            line.addWidget(choice)
            line.addWidget(make_label(about, "muted", wrap=True), 1)
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
        self.copy.clicked.connect(self._copy)
        self.close_button.clicked.connect(self.reject)
        usable = [name for name, choice in self.choices.items() if choice.isEnabled()]
        self.choices[chosen if chosen in usable else usable[0]].setChecked(True)
        self.save.setDefault(True)

    @property
    def format(self) -> str:
        """The chosen format's name."""
        return next(name for name, choice in self.choices.items() if choice.isChecked())

    def finished_with(self, sentence: str, ok: bool) -> None:
        """Say how the work went. A dialog that was closed meanwhile comes back if it failed."""
        self._set_working(False)
        set_text(self.status, sentence)
        if self.isVisible():
            (self.close_button if ok else self.save).setFocus()
        elif ok:
            self.deleteLater()
        else:
            self.open()

    def done(self, result: int) -> None:
        """Closed, in whatever way. What is being written goes on; its end is still to be told."""
        super().done(result)
        if not self._working:
            self.deleteLater()

    def _set_working(self, working: bool) -> None:
        self._working = working
        self.save.setEnabled(not working)
        self.copy.setEnabled(not working)

    def _format_changed(self, on: bool) -> None:
        if on:
            now = self.path.text().strip()
            self._suggested, before = self._suggestion(), self._suggested
            # A name that a person wrote is kept; only what tells the format changes.
            self.path.setText(self._suggested if now in ("", before) else self._with_suffix(now))
            set_text(self.status, "")

    def _suggestion(self) -> str:
        suffix = self._formats[self.format].suffix
        # The session itself has this name already.
        stem = self.tr("{0} copy").format(self._stem) if self.format == "dscope" else self._stem
        return str(self._folder / f"{stem}{suffix}")

    def _with_suffix(self, text: str) -> str:
        for known in sorted((found.suffix for found in self._formats.values()), key=len, reverse=True):
            if text.endswith(known) and not text.endswith(("/" + known, "\\" + known)):
                return text.removesuffix(known) + self._formats[self.format].suffix
        return text

    def _copy(self) -> None:
        self._set_working(True)
        self.copy_asked.emit(self.private.isChecked())

    def _browse(self) -> None:
        path = self._ask_path(self, self._target())
        if path is not None:
            self.path.setText(str(path))

    def _target(self) -> Path:
        """What the field says; a bare name is one in the suggested folder."""
        path = Path(self.path.text().strip())
        try:
            path = path.expanduser()
        except RuntimeError:
            pass  # ~somebody without a home: a file of that name, then
        return self._folder / path

    def _save(self) -> None:
        if not self.path.text().strip():
            set_text(self.status, self.tr("Give the file a name."))
            return
        path = self._target()
        if os.path.lexists(path):
            if path.is_dir():
                set_text(self.status, self.tr("{0} is a folder; give the name of a file in it.").format(path))
                return
            if not self._confirm(self, path):
                return
            overwrite = True
        else:
            overwrite = False
        self._set_working(True)
        set_text(self.status, self.tr("Writing {0} …").format(path.name))
        self.export_asked.emit(ShareRequest(path, self.format, self.private.isChecked(), overwrite))
