"""The pages of the window, one shown at a time; a page is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

MakePage = Callable[[], QWidget]


class PageStack(QStackedWidget):
    """Pages by name. Making a page late keeps the first paint of the window early."""

    page_made = Signal(str, object)
    page_shown = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._makers: dict[str, MakePage] = {}
        self._pages: dict[str, QWidget] = {}
        self.current = ""
        """The name of the page that is shown."""

    def add(self, name: str, make: MakePage) -> None:
        """Tell how a page is made."""
        self._makers[name] = make

    @property
    def names(self) -> list[str]:
        """All pages, in the order in which they were added."""
        return list(self._makers)

    def made(self, name: str) -> QWidget | None:
        """The page, if it was ever asked for."""
        return self._pages.get(name)

    def page(self, name: str) -> QWidget:
        """The page, made now if it was not before. KeyError for another name."""
        page = self._pages.get(name)
        if page is None:
            page = self._pages[name] = self._makers[name]()
            self.addWidget(page)
            self.page_made.emit(name, page)
        return page

    def show_page(self, name: str) -> QWidget:
        """Show a page; returns it."""
        page = self.page(name)
        self.setCurrentWidget(page)
        if name != self.current:
            self.current = name
            self.page_shown.emit(name)
        return page
