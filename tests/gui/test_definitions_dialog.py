"""All definitions: from the card and from the help menu, searched, copied."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot
from window_parts import bench

from app.panels.definitions_dialog import DefinitionsDialog
from profiler.analysis.definitions import DEFINITIONS


def visible(dialog: DefinitionsDialog) -> list[str]:
    items = [dialog.list.item(index) for index in range(dialog.list.count())]
    return [item.text() for item in items if not item.isHidden()]


def test_the_card_leads_to_all_definitions(qtbot: QtBot, tmp_path: Path) -> None:
    with bench(qtbot, tmp_path) as b:
        b.run_to_end()
        QTest.mouseClick(b.page.kpis.tiles["jitter"], Qt.MouseButton.LeftButton)
        card = b.page.definitions.card
        assert card.isVisible()
        QTest.mouseClick(card.all_button, Qt.MouseButton.LeftButton)
        assert not card.isVisible()
        (dialog,) = b.window.findChildren(DefinitionsDialog)
        assert dialog.isVisible() and dialog.list.count() == len(DEFINITIONS)
        assert dialog.definition is not None and dialog.definition.name.startswith("jitter")
        assert dialog.formula.text() == dialog.definition.formula
        dialog.close()


def test_search_narrows_and_copies(qtbot: QtBot, tmp_path: Path) -> None:
    with bench(qtbot, tmp_path) as b:
        b.window.actions_.definitions.trigger()
        (dialog,) = b.window.findChildren(DefinitionsDialog)
        assert dialog.definition is DEFINITIONS[0]
        QTest.keyClicks(dialog.search, "energy token")
        names = visible(dialog)
        assert names and len(names) < len(DEFINITIONS)
        assert dialog.list.currentItem().text() == names[0]
        dialog.copy_button.click()
        assert QGuiApplication.clipboard().text().startswith(f"{names[0]}\n")
        QTest.keyClicks(dialog.search, " zzz")
        assert visible(dialog) == [] and not dialog.copy_button.isEnabled()
        assert dialog.title.text() == "No definition holds these words"
        dialog.search.clear()
        assert len(visible(dialog)) == len(DEFINITIONS)
        dialog.close()
