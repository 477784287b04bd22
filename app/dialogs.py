"""Questions to the user, in one place: tests and unattended runs answer them otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMessageBox, QWidget


class Dialogs(Protocol):
    """What the window asks. None or False: the user thought better of it."""

    def open_path(self, parent: QWidget, folder: str) -> Path | None: ...

    def save_path(self, parent: QWidget, suggested: Path) -> Path | None: ...

    def confirm_overwrite(self, parent: QWidget, path: Path) -> bool: ...

    def confirm_close(self, parent: QWidget) -> bool: ...

    def open_paths(self, parent: QWidget, folder: str) -> list[Path]: ...

    def report_path(self, parent: QWidget, suggested: Path, kind: str) -> Path | None: ...

    def any_path(self, parent: QWidget, suggested: Path) -> Path | None: ...

    def trace_path(self, parent: QWidget, folder: str) -> Path | None: ...

    def library_folder(self, parent: QWidget, folder: str) -> Path | None: ...

    def ask_text(self, parent: QWidget, title: str, label: str, value: str) -> str | None: ...


def _filter() -> str:
    return QCoreApplication.translate("Dialogs", "Decodescope sessions (*.dscope);;All files (*)")


class QtDialogs:
    """The real ones."""

    def open_path(self, parent: QWidget, folder: str) -> Path | None:
        """A file to open."""
        title = QCoreApplication.translate("Dialogs", "Open a session")
        path, _ = QFileDialog.getOpenFileName(parent, title, folder, _filter())
        return Path(path) if path else None

    def save_path(self, parent: QWidget, suggested: Path) -> Path | None:
        """A file to save to; whether it may be replaced is asked by `confirm_overwrite`."""
        title = QCoreApplication.translate("Dialogs", "Save the session as")
        path, _ = QFileDialog.getSaveFileName(
            parent, title, str(suggested), _filter(), options=QFileDialog.Option.DontConfirmOverwrite
        )
        return Path(path) if path else None

    def confirm_overwrite(self, parent: QWidget, path: Path) -> bool:
        """May this file be replaced?"""
        tr = QCoreApplication.translate
        return _ask(
            parent,
            tr("Dialogs", "{0} exists.").format(path.name),
            tr("Dialogs", "Replacing it deletes what it holds."),
            tr("Dialogs", "Replace"),
            tr("Dialogs", "Cancel"),
        )

    def confirm_close(self, parent: QWidget) -> bool:
        """Close although a run is going on?"""
        tr = QCoreApplication.translate
        return _ask(
            parent,
            tr("Dialogs", "A run is going on."),
            tr("Dialogs", "Closing stops it. What was recorded is kept."),
            tr("Dialogs", "Stop and close"),
            tr("Dialogs", "Keep running"),
        )

    def open_paths(self, parent: QWidget, folder: str) -> list[Path]:
        """Sessions to open, any number."""
        title = QCoreApplication.translate("Dialogs", "Choose sessions")
        paths, _ = QFileDialog.getOpenFileNames(parent, title, folder, _filter())
        return [Path(path) for path in paths]

    def report_path(self, parent: QWidget, suggested: Path, kind: str) -> Path | None:
        """Where to save a file of `kind` (its suffix); replacing is asked by the dialog itself."""
        title = QCoreApplication.translate("Dialogs", "Save as")
        path, _ = QFileDialog.getSaveFileName(parent, title, str(suggested), f"{kind.upper()} (*.{kind})")
        if not path:
            return None
        found = Path(path)
        return found if found.suffix else found.with_name(f"{found.name}.{kind}")

    def any_path(self, parent: QWidget, suggested: Path) -> Path | None:
        """Where to save a file of any kind; whether it may be replaced is asked later."""
        title = QCoreApplication.translate("Dialogs", "Save as")
        path, _ = QFileDialog.getSaveFileName(
            parent, title, str(suggested), options=QFileDialog.Option.DontConfirmOverwrite
        )
        return Path(path) if path else None

    def trace_path(self, parent: QWidget, folder: str) -> Path | None:
        """A trace to import."""
        tr = QCoreApplication.translate
        kinds = tr("Dialogs", "Traces (*.jsonl);;All files (*)")
        path, _ = QFileDialog.getOpenFileName(parent, tr("Dialogs", "Import a trace"), folder, kinds)
        return Path(path) if path else None

    def library_folder(self, parent: QWidget, folder: str) -> Path | None:
        """A folder of sessions."""
        title = QCoreApplication.translate("Dialogs", "Choose a folder of sessions")
        path = QFileDialog.getExistingDirectory(parent, title, folder)
        return Path(path) if path else None

    def ask_text(self, parent: QWidget, title: str, label: str, value: str) -> str | None:
        """A line of text."""
        text, ok = QInputDialog.getText(parent, title, label, text=value)
        return text if ok else None


def _ask(parent: QWidget, question: str, consequence: str, yes: str, no: str) -> bool:
    box = QMessageBox(QMessageBox.Icon.Warning, "Decodescope", question, parent=parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setInformativeText(consequence)
    accept = box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
    reject = box.addButton(no, QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(reject)
    box.setEscapeButton(reject)
    box.exec()
    return box.clickedButton() is accept


class NoDialogs:
    """Nobody is there: nothing is opened or replaced, and closing is allowed."""

    def open_path(self, parent: QWidget, folder: str) -> Path | None:
        return None

    def save_path(self, parent: QWidget, suggested: Path) -> Path | None:
        return None

    def confirm_overwrite(self, parent: QWidget, path: Path) -> bool:
        return False

    def confirm_close(self, parent: QWidget) -> bool:
        return True

    def open_paths(self, parent: QWidget, folder: str) -> list[Path]:
        return []

    def report_path(self, parent: QWidget, suggested: Path, kind: str) -> Path | None:
        return None

    def any_path(self, parent: QWidget, suggested: Path) -> Path | None:
        return None

    def trace_path(self, parent: QWidget, folder: str) -> Path | None:
        return None

    def library_folder(self, parent: QWidget, folder: str) -> Path | None:
        return None

    def ask_text(self, parent: QWidget, title: str, label: str, value: str) -> str | None:
        return None
