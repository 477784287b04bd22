"""The text of the answer, each token in the colour of its gap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import QComboBox, QMenu, QWidget

from app.panels.parts import column, row
from app.panels.token_facts import aligned, numbers_of, piece_count, readout_lines
from app.widgets.heat_legend import HeatLegend
from app.widgets.readout import Readout
from app.widgets.token_text import TokenText
from profiler.analysis.steps import StepView, step_view
from profiler.timeline import Request

SLICE = 8_000
"""Tokens that are laid out at once; more come when the window has answered its user (some 10 ms each)."""
MEDIAN_GROWTH = 1.25
"""The median is taken anew when there are a quarter more gaps: while a model runs, colours that
change all the time would cost a repaint each."""


class OutputPanel(QWidget):
    """Follows one request; only what is new is laid out, and nothing while the panel is hidden.

    Tokens are numbered from 1 as in the charts: a step that brought several is one number.
    """

    token_hovered = Signal(object)
    """Number of the token under the pointer, from 1; None when it left."""
    token_chosen = Signal(int)
    """A token was clicked or chosen by keyboard, from 1."""
    request_chosen = Signal(int)
    """The user wants the text of this request (its `no`)."""

    def __init__(self) -> None:
        super().__init__()
        self.text = TokenText()
        self.text.setAccessibleName(self.tr("Text of the answer"))
        self.text.set_placeholder(self.tr("The answer appears here."))
        self.setFocusProxy(self.text)
        self.legend = HeatLegend()
        self.picker = QComboBox()
        self.picker.setAccessibleName(self.tr("Request whose text is shown"))
        self.picker.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.picker.setVisible(False)
        self.tools = QWidget()
        """Legend and choice of the request, for the bar above."""
        tools = row(self.tools, spacing=12)
        tools.addWidget(self.legend, 1)
        tools.addWidget(self.picker)
        column(self).addWidget(self.text)
        self._readout = Readout(self)
        self._request: Request | None = None
        self._view: StepView | None = None
        self._given_view: StepView | None = None
        self._given_median_ms: float | None = None
        self._seen = (-1, -1, False)
        self._dirty = False
        self._whole: Request | None = None
        """The request whose text is shown as a whole, without steps."""
        self._wanted: int | None = None
        self._choices: tuple[tuple[int, str], ...] = ()
        self._chosen: int | None = None
        self.text.hovered.connect(self._hovered)
        self.text.chosen.connect(self._token_chosen)
        self.text.verticalScrollBar().valueChanged.connect(self._readout.hide)
        self.picker.activated.connect(self._picked)

    # -- what the page calls ----------------------------------------------------------------------

    def refresh(
        self, request: Request | None, view: StepView | None = None, median_ms: float | None = None
    ) -> None:
        """Show a request's text so far. `view`: its steps, if they are known already; `median_ms`:
        what the gaps are held against, None: their own median."""
        self._given_view, self._given_median_ms = view, median_ms
        if request is not self._request:
            self._request, self._view, self._seen = request, None, (-1, -1, False)
            self._whole = self._wanted = None
            self.text.clear()
            self._readout.hide()
        self._dirty = True
        if self.isVisible():
            self._catch_up()

    def set_requests(self, requests: Sequence[tuple[int, str]]) -> None:
        """Which requests there are (number and label, in order), for the user to choose from."""
        if tuple(requests) == self._choices:
            return
        self._choices = tuple(requests)
        if self._chosen not in [no for no, _ in self._choices]:
            self._chosen = None
        self.picker.clear()
        for no, label in self._choices:
            self.picker.addItem(label, no)
        self.picker.setVisible(len(self._choices) > 1)
        self._show_choice()

    @property
    def chosen(self) -> int | None:
        """Number of the request that the user wants to see; None: the newest."""
        return self._chosen

    def choose_request(self, no: int | None) -> None:
        """Show the text of another request from now on; None: the newest. Sends no signal."""
        self._chosen = no if no in [other for other, _ in self._choices[:-1]] else None
        self._show_choice()

    def set_token(self, token: int | None) -> None:
        """Mark a token (from 1) and scroll it into view; None: none."""
        self._catch_up()
        # A token that is not laid out yet is marked when it is.
        self._wanted = token if token is not None and token > self.text.token_count else None
        self.text.set_token(None if self._wanted is not None else token)

    def set_range(self, range: tuple[int, int] | None) -> None:
        """Underline the tokens first..last (from 1, both included); None: none."""
        self.text.set_range(range)

    def toPlainText(self) -> str:
        """The text shown, as it came."""
        return "" if self._request is None else self._request.text

    @property
    def readout(self) -> tuple[str, ...]:
        """The lines of the readout; () while it is hidden."""
        return () if self._readout.isHidden() else self._readout.lines

    # -- text -------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._catch_up()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._readout.hide()

    def _catch_up(self) -> None:
        if not self._dirty:
            return
        self._dirty = False
        request = self._request
        if request is None:
            self.text.set_live(False)
            return
        ended = request.end_status is not None
        seen = (piece_count(request), len(request), ended)
        if seen == self._seen:
            if self._given_median_ms not in (None, self.text.median_ms):
                self._colour(request)
            return
        whole = ended and (not request.pieces or not aligned(request))
        done = self._show_whole(request) if whole else self._append(request, seen[0])
        if self._wanted is not None and self._wanted <= self.text.token_count:
            wanted, self._wanted = self._wanted, None
            self.text.set_token(wanted)
        self._colour(request)
        self.text.set_live(not ended and len(request) > 0)
        if done:
            self._seen = seen
        else:
            self._dirty = True
            QTimer.singleShot(0, self, self._catch_up)

    def _append(self, request: Request, stop: int) -> bool:
        """Add what is new, at most a slice of it. True when nothing is left."""
        have = self.text.cell_count
        upto = min(stop, have + SLICE)
        numbers = numbers_of(request, have, upto, self.text.token_count)
        self.text.append(request.pieces[have:upto], numbers)
        return upto >= stop

    def _show_whole(self, request: Request) -> bool:
        """Text that cannot be told apart by steps, or none: then the tokens alone. True when all is
        there."""
        token, tokens = self.text.token, self.text.range
        if self._whole is not request:
            self._whole = request
            self.text.clear()
        have = self.text.cell_count
        total = len(request.pieces) or int(np.count_nonzero(request.k))
        upto = min(total, have + SLICE)
        if request.pieces:
            self.text.append(request.pieces[have:upto], [0] * (upto - have))
        else:
            self.text.append([""] * (upto - have), list(range(have + 1, upto + 1)))
            self.text.set_token(token)
            self.text.set_range(tokens)
        return upto >= total

    def _colour(self, request: Request) -> None:
        view = self._given_view
        if view is None or len(view) + view.empty_events != len(request):
            view = step_view(request)
        self._view = view
        gaps_ms, median = view.gaps_ms, self._given_median_ms
        if median is None:
            median = self.text.median_ms
            grown = len(gaps_ms) >= MEDIAN_GROWTH * max(len(self.text.gaps_ms), 1)
            if median is None or grown or request.end_status is not None or len(gaps_ms) < 8:
                median = float(np.median(gaps_ms)) if len(gaps_ms) else None
        self.text.set_gaps(gaps_ms, median)

    # -- tokens -------------------------------------------------------------------------------------

    def _facts(self, token: int) -> list[str]:
        request, view = self._request, self._view
        if request is None or view is None or not 1 <= token <= min(len(view), self.text.token_count):
            return []
        label = next((label for no, label in self._choices if no == request.no), request.label or "")
        return readout_lines(request, view, token, self.text.piece(token), self.text.median_ms, label)

    def _show_readout(self, token: int | None) -> None:
        lines = [] if token is None else self._facts(token)
        if token is None or not lines:
            self._readout.hide()
            return
        self._readout.show_beside(lines, self.text.token_rect(token), self.text.viewport())

    def _hovered(self, token: int | None) -> None:
        self._show_readout(token)
        self.token_hovered.emit(token)

    def _token_chosen(self, token: int) -> None:
        self._show_readout(token)
        self.text.setAccessibleDescription(". ".join(self._facts(token)))
        self.token_chosen.emit(token)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = self.context_menu(event.globalPos())
        menu.popup(event.globalPos())

    def context_menu(self, at: QPoint | None = None) -> QMenu:
        """Copy the text, or the token or range that is marked; deletes itself when it closes."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction(self.tr("Copy text"))
        copy.triggered.connect(lambda: self._copy(self.toPlainText()))
        copy.setEnabled(bool(self.toPlainText()))
        token, tokens = self.text.token, self.text.range
        if at is not None:
            token = self.text.token_at(self.text.viewport().mapFromGlobal(at)) or token
        if token is not None and 1 <= token <= self.text.token_count:
            facts = "\n".join(self._facts(token))
            menu.addAction(self.tr("Copy facts of token {0}").format(f"{token:,}")).triggered.connect(
                lambda: self._copy(facts)
            )
        if tokens is not None:
            last = min(tokens[1], self.text.token_count)
            words = "".join(self.text.piece(number) for number in range(max(tokens[0], 1), last + 1))
            menu.addAction(self.tr("Copy text of the selection")).triggered.connect(lambda: self._copy(words))
        return menu

    @staticmethod
    def _copy(text: str) -> None:
        QGuiApplication.clipboard().setText(text)

    # -- requests -------------------------------------------------------------------------------------

    def _picked(self, index: int) -> None:
        no = int(self.picker.itemData(index))
        # The newest one is followed: with the next request its text comes.
        self._chosen = None if index == len(self._choices) - 1 else no
        self.request_chosen.emit(no)

    def _show_choice(self) -> None:
        index = len(self._choices) - 1 if self._chosen is None else self.picker.findData(self._chosen)
        if index >= 0:
            self.picker.setCurrentIndex(index)
