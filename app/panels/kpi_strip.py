"""The strip of eight key figures above the charts: one card, not eight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSizePolicy

from app.panels.kpi_values import Kpi, kpi_names, kpi_values
from app.panels.kpi_values import shown as shown_text
from app.panels.parts import row, tip
from app.widgets import Card, Divider, KpiTile
from profiler.units import DASH

HEIGHT = 86


class KpiStrip(Card):
    """Shows metrics objects; keeps what it shows for tests and for the unattended run."""

    definition_asked = Signal(str)
    """The tile whose number is to be explained (a key of `kpi_names`)."""

    def __init__(self) -> None:
        super().__init__((0, 0, 0, 0))
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Key figures"))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.tiles: dict[str, KpiTile] = {}
        self.shown: dict[str, Kpi] = {}
        tiles = row()
        for index, (key, name) in enumerate(kpi_names().items()):
            if index:
                box = row(margins=(0, 10, 0, 10))
                box.addWidget(Divider(vertical=True))
                tiles.addLayout(box)
            self.tiles[key] = KpiTile(name)
            self.tiles[key].clicked.connect(lambda key=key: self.definition_asked.emit(key))
            tiles.addWidget(self.tiles[key], 1)
        self.body.addLayout(tiles)
        self.refresh(None)

    def refresh(
        self, metrics: dict[str, Any] | None, sparks: dict[str, Sequence[float]] | None = None
    ) -> None:
        """Show a metrics object; None clears the strip. `sparks`: values for the small lines, by tile."""
        self.shown = kpi_values(metrics)
        for key, kpi in self.shown.items():
            tile = self.tiles[key]
            if kpi.text == DASH:
                if metrics is None:
                    tile.set_missing("", "")
                else:
                    tile.set_missing(kpi.tip, kpi.foot)
                continue
            tile.set_value(kpi.text, kpi.unit)
            tile.set_mark(kpi.mark)
            tile.set_foot(kpi.foot)
            tip(tile, kpi.tip)
            values = (sparks or {}).get(key)
            if values is not None:
                tile.set_spark(values, dots=key in ("ttft", "tpot"))

    def as_text(self) -> str:
        """The figures as they are shown, one a line, for the clipboard."""
        names = kpi_names()
        return "".join(f"{names[key]}\t{shown_text(kpi)}\n" for key, kpi in self.shown.items())

    def to_json(self) -> dict[str, Any]:
        """What is shown: by tile its value (as the report has it), its text and its unit."""
        return {
            key: {"value": kpi.value, "text": kpi.text, "unit": kpi.unit, "foot": kpi.foot}
            for key, kpi in self.shown.items()
        }
