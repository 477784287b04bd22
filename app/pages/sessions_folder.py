"""Notices when another program adds, changes or removes a session of a folder.

The system tells of a change where it can (`QFileSystemWatcher`); where it cannot (network drives,
too many watches) the folder is looked at every few seconds while the page is shown. Reading a
session makes files beside it, which is a change of the folder, too: so only names, sizes and times
of the sessions themselves count, or looking would never end.
"""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from app.background import Background
from app.session_library import SUFFIX

DEBOUNCE_MS = 300
POLL_MS = 5_000

State = frozenset[tuple[str, int, int]]


def folder_state(folder: Path) -> State:
    """Name, size and time of change of each session; empty when the folder cannot be read."""
    found = set()
    try:
        with os.scandir(folder) as files:
            for file in files:
                if file.name.endswith(SUFFIX):
                    try:
                        told = file.stat()
                    except OSError:
                        continue
                    found.add((file.name, told.st_size, told.st_mtime_ns))
    except OSError:
        return frozenset()
    return frozenset(found)


class FolderWatch(QObject):
    """Tells when the sessions of a folder are others than at the last `take`."""

    changed = Signal()

    def __init__(self, background: Background, parent: QObject) -> None:
        super().__init__(parent)
        self._background = background
        self._folder: Path | None = None
        self._state: State = frozenset()
        self._looking = False
        self.restless = False
        """Is something being recorded there, so that a look may find its end without a change?"""
        self._watcher = QFileSystemWatcher(self)
        self._watcher.directoryChanged.connect(self._told)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(DEBOUNCE_MS)
        self._soon.timeout.connect(self.look)
        self._poll = QTimer(self)
        self._poll.setInterval(POLL_MS)
        self._poll.timeout.connect(self._look_again)

    def set_folder(self, folder: Path) -> None:
        """Watch this folder only. One that does not exist yet is looked at until it does."""
        if self._watcher.directories():
            self._watcher.removePaths(self._watcher.directories())
        self._folder = folder
        self._state = frozenset()
        if folder.is_dir():
            self._watcher.addPath(str(folder))

    def take(self, state: State) -> None:
        """This is what the list shows now."""
        self._state = state
        folder = self._folder
        if folder is not None and not self._watcher.directories() and folder.is_dir():
            self._watcher.addPath(str(folder))

    def set_polling(self, on: bool) -> None:
        """Look at once when the system tells, and every few seconds (while the page is shown).

        A page that is hidden does not work: a model may be measured meanwhile.
        """
        if on:
            self._poll.start()
        else:
            self._poll.stop()
            self._soon.stop()

    def look(self) -> None:
        """Compare the folder with what the list shows, away from the GUI thread."""
        folder = self._folder
        if folder is None or self._looking:
            return
        self._submit(folder, in_any_case=False)

    def _look_again(self) -> None:
        """After some seconds. Only then does it matter that something is being recorded: listing
        opens that file, which is a change of the folder, and would be told at once."""
        if self._folder is not None and not self._looking:
            self._submit(self._folder, in_any_case=self.restless)

    def _submit(self, folder: Path, *, in_any_case: bool) -> None:
        self._looking = True

        def done(state: State) -> None:
            self._looking = False
            if folder == self._folder and (state != self._state or in_any_case):
                self.changed.emit()

        self._background.submit(lambda: folder_state(folder), done, self._failed)

    def _failed(self, _error: Exception) -> None:
        self._looking = False

    def _told(self, _folder: str) -> None:
        if self._poll.isActive():
            self._soon.start()
