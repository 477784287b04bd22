"""The menu at the setup's head: saved configurations, repeat, copy as command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QDir, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMenu, QMessageBox, QWidget

from app.panels.configuration_store import SUFFIX, ConfigurationStore, load_config, write_config
from profiler.config import RunConfig
from profiler.errors import UsageError


class Questions(Protocol):
    """What the menu asks a person. None: they thought better of it."""

    def name(self, parent: QWidget, suggested: str) -> str | None:
        """A name to save under."""
        ...

    def replace(self, parent: QWidget, name: str) -> bool:
        """May the configuration of this name be replaced?"""
        ...

    def import_path(self, parent: QWidget) -> Path | None:
        """A JSON file to read."""
        ...

    def export_path(self, parent: QWidget, suggested: str) -> Path | None:
        """Where a JSON file goes."""
        ...


class QtQuestions:
    """Asks with Qt's dialogs."""

    def name(self, parent: QWidget, suggested: str) -> str | None:
        title, label = parent.tr("Save configuration"), parent.tr("Name")
        text, accepted = QInputDialog.getText(parent, title, label, text=suggested)
        return text if accepted else None

    def replace(self, parent: QWidget, name: str) -> bool:
        box = QMessageBox(parent)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setIcon(QMessageBox.Icon.Question)
        box.setText(parent.tr("There is a configuration called {0}. Replace it?").format(name))
        replace = box.addButton(parent.tr("Replace"), QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.exec()
        return box.clickedButton() is replace

    def import_path(self, parent: QWidget) -> Path | None:
        wanted = parent.tr("Configurations (*.json)")
        path, _ = QFileDialog.getOpenFileName(parent, parent.tr("Import configuration"), "", wanted)
        return Path(path) if path else None

    def export_path(self, parent: QWidget, suggested: str) -> Path | None:
        wanted = parent.tr("Configurations (*.json)")
        at = QDir.home().filePath(suggested + SUFFIX)
        path, _ = QFileDialog.getSaveFileName(parent, parent.tr("Export configuration"), at, wanted)
        return Path(path) if path else None


class ConfigurationsMenu(QMenu):
    """Save as, load, delete, import, export; repeat, copy as command. Filled when it opens."""

    chosen = Signal(object)
    """The `RunConfig` to show."""
    repeat_asked = Signal()
    copy_asked = Signal()
    told = Signal(str, bool)
    """A sentence for the user, and whether it is a problem."""

    def __init__(
        self,
        store: ConfigurationStore,
        questions: Questions,
        current: Callable[[], RunConfig | None],
        can_repeat: Callable[[], bool],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._questions = questions
        self._current = current
        self._can_repeat = can_repeat
        self._deleted: tuple[str, str] | None = None
        self._last_name = ""
        self.aboutToShow.connect(self.fill)

    def fill(self) -> None:
        """Make the entries, by what is there now."""
        for submenu in self.findChildren(QMenu):
            submenu.deleteLater()
        self.clear()
        names = self._store.names()
        works = self._current() is not None
        self._entry(self.tr("Save as…"), self.save_as, works)
        self._submenu(self.tr("Load"), names, self.load)
        self._submenu(self.tr("Move to trash"), names, self.delete)
        if self._deleted is not None:
            self._entry(self.tr("Bring back {0}").format(_plain(self._deleted[0])), self.undo_delete)
        self.addSeparator()
        self._entry(self.tr("Import JSON…"), self.import_file)
        self._entry(self.tr("Export JSON…"), self.export_file, works)
        self.addSeparator()
        self._entry(self.tr("Repeat this run"), self.repeat_asked.emit, self._can_repeat())
        self._entry(self.tr("Copy as command"), self.copy_asked.emit, works)

    def _entry(self, text: str, does: Callable[[], None], enabled: bool = True) -> None:
        action = self.addAction(text)
        action.setEnabled(enabled)
        action.triggered.connect(lambda _checked=False: does())

    def _submenu(self, title: str, names: list[str], does: Callable[[str], None]) -> None:
        submenu = QMenu(title, self)
        submenu.setEnabled(bool(names))
        for name in names:
            submenu.addAction(_plain(name)).triggered.connect(lambda _checked=False, name=name: does(name))
        self.addMenu(submenu)

    def save_as(self) -> None:
        """Ask for a name and save what the setup shows."""
        config = self._current()
        if config is None:
            return
        name = self._questions.name(self.parentWidget(), self._last_name or config.name)
        if name is None:
            return

        def save() -> str:
            if self._store.exists(name) and not self._questions.replace(self.parentWidget(), name.strip()):
                return ""
            self._store.save(name, config)
            self._last_name = name.strip()
            return self.tr("Saved as {0}.").format(name.strip())

        self._attempt(save)

    def load(self, name: str) -> None:
        """Show a saved configuration."""

        def load() -> str:
            self.chosen.emit(self._store.load(name))
            self._last_name = name
            return self.tr("Loaded {0}.").format(name)

        self._attempt(load)

    def delete(self, name: str) -> None:
        """Move a saved configuration to the trash; it can be brought back."""

        def delete() -> str:
            self._deleted = (name, self._store.delete(name))
            return self.tr("{0} is in the trash; the menu brings it back.").format(name)

        self._attempt(delete)

    def undo_delete(self) -> None:
        """Bring the last one back."""
        if self._deleted is None:
            return
        name, text = self._deleted

        def restore() -> str:
            self._store.restore(name, text)
            self._deleted = None
            return self.tr("{0} is back.").format(name)

        self._attempt(restore)

    def import_file(self) -> None:
        """Ask for a JSON file and show what it holds."""
        path = self._questions.import_path(self.parentWidget())
        if path is not None:
            self._attempt(lambda: self._take(path))

    def _take(self, path: Path) -> str:
        self.chosen.emit(load_config(path))
        return self.tr("Loaded {0}.").format(path.name)

    def export_file(self) -> None:
        """Ask where, and write what the setup shows."""
        config = self._current()
        if config is None:
            return
        path = self._questions.export_path(self.parentWidget(), self._last_name or config.name or "run")
        if path is None:
            return
        path = path if path.suffix else path.with_suffix(SUFFIX)

        def export() -> str:
            write_config(path, config)
            return self.tr("Written to {0}.").format(path)

        self._attempt(export)

    def _attempt(self, does: Callable[[], str]) -> None:
        try:
            sentence, problem = does(), False
        except UsageError as error:
            sentence, problem = error.message, True
        if sentence:
            self.told.emit(sentence, problem)


def _plain(name: str) -> str:
    """A menu entry would take an ampersand for a shortcut."""
    return name.replace("&", "&&")
