"""Help and About: the keys, the versions, where recordings lie."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any

from PySide6.QtCore import QCoreApplication, Qt, qVersion
from PySide6.QtWidgets import QMessageBox, QWidget

from profiler.paths import library_dir, log_dir


def about_text(machine: dict[str, Any]) -> str:
    """Versions and places, one a line: what a report of a problem needs."""
    tr = QCoreApplication.translate
    try:
        version = metadata.version("decodescope")
    except metadata.PackageNotFoundError:
        version = tr("About", "from a checkout")
    torch = machine.get("torch")
    lines = [
        f"Decodescope {version}",
        f"Python {platform.python_version()}, Qt {qVersion()}" + (f", torch {torch}" if torch else ""),
        platform.platform(),
    ]
    for text, place in (
        (tr("About", "Recordings: {0}"), library_dir),
        (tr("About", "Logs: {0}"), log_dir),
    ):
        try:
            lines.append(text.format(place()))
        except OSError as error:
            lines.append(text.format(error))
    return "\n".join(lines)


def show_about(parent: QWidget, machine: dict[str, Any]) -> None:
    """Open the dialog; returns at once."""
    tr = QCoreApplication.translate
    box = QMessageBox(QMessageBox.Icon.NoIcon, tr("About", "Help"), "", parent=parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(
        tr(
            "About",
            "Choose a model and press Start (F5). Esc stops after the token at work. Every run is "
            "recorded; Save as (Ctrl+S) gives the recording a name of yours. Ctrl+O or a drop opens "
            "a saved session, Ctrl+B hides the setup. A value shown as a dash has its reason in its "
            "tool tip.",
        )
    )
    box.setInformativeText(about_text(machine))
    box.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()
