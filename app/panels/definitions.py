"""Opens the definition card of a tile and keeps it true while it is open."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.panels.definition_card import DefinitionCard
from app.panels.kpi_strip import KpiStrip
from app.panels.kpi_values import kpi_names
from app.run_controller import RunController


class Definitions(QObject):
    """One card at a time over `host`, for the tiles of `strip`."""

    all_asked = Signal(str)
    """All definitions are wanted; the name of the metric whose card was open."""

    def __init__(self, host: QWidget, strip: KpiStrip, controller: RunController) -> None:
        super().__init__(host)
        self._strip = strip
        self._controller = controller
        self.card = DefinitionCard(host)
        self.key: str | None = None
        """The tile whose card is open."""
        strip.definition_asked.connect(self.toggle)
        self.card.closed.connect(self._closed)
        self.card.all_asked.connect(self._ask_for_all)
        controller.metrics_changed.connect(self._refresh)

    def toggle(self, key: str) -> None:
        """Open the card of a tile; close it when it is the one that is open."""
        before = self.key
        if before is not None:
            self.card.dismiss()
        if key == before:
            return
        self.key = key
        tile = self._strip.tiles[key]
        tile.set_open(True)
        self._refresh()
        self.card.open_at(tile, tile.info_x)

    def _ask_for_all(self) -> None:
        from app.panels.definition_facts import definition_of

        name = "" if self.key is None else definition_of(self.key).name
        self.card.dismiss()
        self.all_asked.emit(name)

    def _closed(self) -> None:
        if self.key is not None:
            self._strip.tiles[self.key].set_open(False)
        self.key = None

    def _refresh(self) -> None:
        if self.key is None:
            return
        # Here: a card that nobody opened needs neither the other tools' definitions nor the shapes.
        from app.panels.definition_facts import card_facts

        controller = self._controller
        reports = None
        if controller.values_final and controller.values is not None:
            reports = controller.known_as_others()
            if reports is None:
                controller.as_others(lambda _reports: self._refresh())
        name = kpi_names()[self.key]
        self.card.show_facts(card_facts(self.key, name, controller.run, controller.values, reports))
