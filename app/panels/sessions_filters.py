"""Above the library's table: the search field and the filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLineEdit, QMenu, QWidget

from app.panels import sessions_words as words
from app.panels.parts import row, set_text
from app.panels.sessions_model import Filters
from app.resources import icon
from app.theme import DARK, Palette
from app.widgets import Button, IconButton, make_label
from app.widgets.labels import plain_tooltip
from profiler.session.library import SessionEntry

MAX_CHARS = 18


class FilterBar(QWidget):
    """Says what to show; `changed` when a person has said otherwise."""

    changed = Signal(object)
    """The new `Filters`."""

    def __init__(self) -> None:
        super().__init__()
        self._filters = Filters()
        self._all = self.tr("all")
        self.search = QLineEdit()
        self.search.setClearButtonEnabled(True)
        self.search.setPlaceholderText(self.tr("Search name, model, tag or setting"))
        self.search.setAccessibleName(self.tr("Search the sessions"))
        self.search.setToolTip(plain_tooltip(self.tr("Name, model, device, tag, note, workload (Ctrl+F)")))
        self.search.setMinimumWidth(120)
        self.search.setMaximumWidth(300)
        self.search.textChanged.connect(lambda text: self._take(replace(self._filters, text=text)))
        self._icon = QAction(self)
        self.search.addAction(self._icon, QLineEdit.ActionPosition.LeadingPosition)
        self.model = self._button(self.tr("Model"))
        self.device = self._button(self.tr("Device"))
        self.date = self._button(self.tr("Date"))
        self.tag = self._button(self.tr("Tag"))
        self.count = make_label("", "secondary")
        self.columns = IconButton("more", self.tr("Columns and folder"), 28)
        line = row(self, 0, 8)
        line.addWidget(self.search, 10)
        for button in (self.model, self.device, self.date, self.tag):
            line.addWidget(button)
        line.addStretch(1)
        line.addWidget(self.count)
        line.addWidget(self.columns)
        self._ages = [
            (None, self._all),
            (1, self.tr("last 24 hours")),
            (7, self.tr("last 7 days")),
            (30, self.tr("last 30 days")),
            (365, self.tr("last 12 months")),
        ]
        self._values: dict[str, list[str]] = {"model": [], "device": [], "tag": []}
        self.set_theme(DARK)
        self._draw()

    @property
    def filters(self) -> Filters:
        """What is to be shown."""
        return self._filters

    def set_entries(self, entries: Sequence[SessionEntry]) -> None:
        """Offer the models, devices and tags that there are. A choice that is gone is taken back."""
        self._values = {
            "model": _sorted({words.model(entry) for entry in entries}),
            "device": _sorted({entry.device or "" for entry in entries}),
            "tag": _sorted({tag for entry in entries for tag in entry.tags}),
        }
        gone = {
            field: ""
            for field, values in self._values.items()
            if getattr(self._filters, field) and getattr(self._filters, field) not in values
        }
        if gone:
            self._take(replace(self._filters, **gone))
        for widget in (self.search, self.model, self.device, self.date, self.tag):
            widget.setEnabled(bool(entries))
        self._draw()

    def set_count(self, shown: int, total: int) -> None:
        """`12 of 16 sessions`."""
        set_text(self.count, self.tr("{0} of {1} sessions").format(shown, total) if total else "")

    def clear(self) -> None:
        """Show everything."""
        self.search.clear()
        self._take(Filters())

    def set_theme(self, palette: Palette) -> None:
        """Tint the icon for `palette`."""
        self._icon.setIcon(icon("search", palette.secondary, 14))

    def _button(self, name: str) -> Button:
        button = Button("", icon_name="chevron-down", icon_role="secondary")
        button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the icon behind the words
        menu = QMenu(button)
        menu.aboutToShow.connect(lambda: self._fill(button))
        button.setMenu(menu)
        button.setProperty("filter", name)
        return button

    def _fill(self, button: Button) -> None:
        menu = button.menu()
        menu.clear()
        if button is self.date:
            for days, label in self._ages:
                self._choice(menu, label, days == self._filters.days, {"days": days})
            return
        field = {self.model: "model", self.device: "device"}.get(button, "tag")
        for value in ["", *self._values[field]]:
            self._choice(menu, value or self._all, value == getattr(self._filters, field), {field: value})

    def _choice(self, menu: QMenu, label: str, on: bool, change: dict[str, object]) -> None:
        # "&" would become a mnemonic.
        action = menu.addAction(label.replace("&", "&&"))
        action.setCheckable(True)
        action.setChecked(on)
        action.triggered.connect(lambda _=False: self._take(replace(self._filters, **change)))  # type: ignore[arg-type]

    def _take(self, filters: Filters) -> None:
        if filters != self._filters:
            self._filters = filters
            self._draw()
            self.changed.emit(filters)

    def _draw(self) -> None:
        told = self._filters
        age = next(label for days, label in self._ages if days == told.days)
        for button, value in (
            (self.model, told.model),
            (self.device, told.device),
            (self.date, age),
            (self.tag, told.tag),
        ):
            value = value or self._all
            short = value if len(value) <= MAX_CHARS else value[: MAX_CHARS - 1] + "…"
            text = f"{button.property('filter')}: {short}"
            button.setText(text.replace("&", "&&"))
            button.setAccessibleName(self.tr("Filter by {0}").format(f"{button.property('filter')}: {value}"))
            button.setToolTip(plain_tooltip(value) if short != value else "")


def _sorted(values: set[str]) -> list[str]:
    return sorted((value for value in values if value), key=str.casefold)
