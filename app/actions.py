"""What the user can do, each as one QAction with its shortcut: menus, buttons and keys agree."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget


@dataclass(frozen=True)
class Actions:
    """The window's actions; whoever assembles the window connects them."""

    start: QAction
    stop: QAction
    open: QAction
    save_as: QAction
    as_others: QAction
    copy_figures: QAction
    own_cost: QAction
    toggle_setup: QAction
    export: QAction
    copy_command: QAction
    pages: tuple[QAction, ...]
    """Show page 1, 2, ... of the rail."""
    settings: QAction
    undo: QAction
    search: QAction
    definitions: QAction
    help: QAction
    quit: QAction


def make_actions(window: QWidget) -> Actions:
    """The actions, owned by `window` and live wherever the focus is."""
    tr = QCoreApplication.translate

    def action(text: str, keys: str = "") -> QAction:
        result = QAction(text, window)
        if keys:
            result.setShortcut(QKeySequence(keys))
        window.addAction(result)
        return result

    return Actions(
        start=action(tr("Actions", "Start"), "F5"),
        stop=action(tr("Actions", "Stop"), "Esc"),
        open=action(tr("Actions", "Open…"), "Ctrl+O"),
        save_as=action(tr("Actions", "Save as…"), "Ctrl+S"),
        as_others=action(tr("Actions", "As other tools would report it…")),
        copy_figures=action(tr("Actions", "Copy key figures")),
        own_cost=action(tr("Actions", "Measure own cost…")),
        toggle_setup=action(tr("Actions", "Hide or show the setup"), "Ctrl+B"),
        export=action(tr("Actions", "Export…"), "Ctrl+E"),
        copy_command=action(tr("Actions", "Copy as command")),
        pages=tuple(action(tr("Actions", "Page {0}").format(n), f"Ctrl+{n}") for n in range(1, 6)),
        settings=action(tr("Actions", "Settings…"), "Ctrl+,"),
        search=action(tr("Actions", "Search sessions"), "Ctrl+F"),
        undo=action(tr("Actions", "Undo"), "Ctrl+Z"),
        definitions=action(tr("Actions", "All definitions…")),
        help=action(tr("Actions", "Help"), "F1"),
        quit=action(tr("Actions", "Quit"), "Ctrl+Q"),
    )
