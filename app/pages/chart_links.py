"""What the page's charts have to do with each other: cursor, view, range, request, freezing.

The charts say what the user does on them; this turns it into one place in the run and tells all
of them. Nothing here runs at a redraw. Thread: GUI.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app.charts.bandwidth import BandwidthChart
from app.charts.base import Command
from app.charts.first_token import FirstTokenChart
from app.charts.telemetry import TelemetryChart
from app.charts.token_latency import TokenLatencyChart
from app.pages.chart_data import Cache, request_label
from app.pages.cursor import Place, place_at, place_of_request, place_of_token, stepped
from app.pages.selection import RangeSelection
from app.panels.output import OutputPanel
from profiler.timeline import Request, Run


@dataclass(frozen=True)
class Charts:
    """The four charts of the page."""

    tokens: TokenLatencyChart
    first: FirstTokenChart
    bandwidth: BandwidthChart
    telemetry: TelemetryChart


class ChartLinks(QObject):
    """One cursor, one view, one range for all charts and the text."""

    redraw_asked = Signal()
    """Another request is to be shown, or the view goes on after it was frozen."""

    def __init__(
        self,
        charts: Charts,
        output: OutputPanel,
        run_of: Callable[[], Run | None],
        cache_of: Callable[[], Cache],
    ) -> None:
        super().__init__()
        self._charts, self._output = charts, output
        self._run_of, self._cache_of = run_of, cache_of
        self.only: int | None = None
        """Number of the one request to show, None: all."""
        self.frozen = False
        self.place: Place | None = None
        """Where the cursor is shown."""
        self.pinned = False
        over_tokens = (charts.tokens, charts.bandwidth)
        self.selection = RangeSelection(
            over_tokens, run_of, lambda request: self._cache_of().view(request), lambda: self.only
        )
        self.selection.moved.connect(self._range_moved)
        for chart in (charts.tokens, charts.first, charts.bandwidth, charts.telemetry):
            chart.stepped.connect(self._step)
            chart.commanded.connect(self._command)
        for chart, other in (over_tokens, over_tokens[::-1]):
            chart.hovered.connect(self._hover_token)
            chart.chosen.connect(self._choose_token)
            chart.view_changed.connect(other.set_view)
            chart.follow_changed.connect(other.set_follow)
            chart.request_picked.connect(self._pick)
        charts.first.hovered.connect(lambda row: self._hover(self._of_row(row)))
        charts.first.chosen.connect(lambda row: self._pin(self._of_row(row)))
        charts.telemetry.hovered.connect(lambda t_s: self._hover(self._of_time(t_s)))
        charts.telemetry.chosen.connect(lambda t_s: self._pin(self._of_time(t_s)))
        output.token_hovered.connect(self._hover_text)
        output.token_chosen.connect(lambda token: self._pin(self._of_token(token), from_text=True))
        output.request_chosen.connect(self._request_chosen)

    # -- what the page asks --------------------------------------------------------------------

    def focus(self, run: Run) -> Request | None:
        """The request in front: the one chosen, else the newest that has begun to answer."""
        wanted = self.only if self.only is not None else self._output.chosen
        for request in run.requests:
            if request.no == wanted:
                return request
        started = [request for request in run.requests if len(request)]
        return started[-1] if started else None

    def shows(self, request: Request) -> bool:
        """Is a request among those shown?"""
        return self.only is None or request.no == self.only

    def set_requests(self, run: Run) -> None:
        """Tell the menus which requests there are."""
        labels = tuple(request_label(run, request) for request in run.requests if len(request))
        for chart in (self._charts.tokens, self._charts.bandwidth):
            chart.request_labels = labels

    def reset(self) -> None:
        """Another run: no cursor, no range, all requests, not frozen."""
        self.release()
        self.selection.clear()
        self.only = None
        self._name_request(None)
        self._set_frozen(False)
        self._output.choose_request(None)

    def run_over(self) -> None:
        """The run has ended: what was frozen is drawn to its end."""
        self._set_frozen(False)

    # -- the cursor ----------------------------------------------------------------------------

    def _of_token(self, token: int | None) -> Place | None:
        run = self._run_of()
        request = None if run is None else self.focus(run)
        if run is None or request is None or token is None:
            return None
        return place_of_token(run, self._cache_of(), request, max(token, 1))

    def _of_row(self, row: int | None) -> Place | None:
        run = self._run_of()
        if run is None or row is None or row >= len(run.requests):
            return None
        return place_of_request(run, self._cache_of(), run.requests[row])

    def _of_time(self, t_s: float | None) -> Place | None:
        run = self._run_of()
        return None if run is None or t_s is None else place_at(run, self._cache_of(), t_s)

    def _hover_token(self, token: int | None) -> None:
        self._hover(self._of_token(token))

    def _choose_token(self, token: int) -> None:
        self._pin(self._of_token(token))

    def _hover_text(self, token: int | None) -> None:
        # The text scrolls to the token it is told: not while the mouse is over it.
        self._hover(self._of_token(token), from_text=True)

    def _hover(self, place: Place | None, from_text: bool = False) -> None:
        if not self.pinned:
            self._show(place, from_text)

    def _pin(self, place: Place | None, from_text: bool = False) -> None:
        if place is None:
            return
        self.pinned = True
        run = self._run_of()
        front = None if run is None else self.focus(run)
        if self.only is None and place.request is not None and front is not None:
            if front.no != place.request:
                self._output.choose_request(place.request)
                self.redraw_asked.emit()
        self._show(place, from_text)
        self._set_escapable()

    def release(self) -> None:
        """No cursor until the mouse is over something."""
        self.pinned = False
        self._show(None)
        self._set_escapable()

    def _show(self, place: Place | None, from_text: bool = False) -> None:
        self.place = place
        run = self._run_of()
        charts = self._charts
        token = None if place is None else place.token
        of = None if run is None or place is None else self._request(run, place.request)
        label = None if run is None or of is None else request_label(run, of)
        charts.tokens.set_cursor(token, label)
        charts.bandwidth.set_cursor(token, label)
        charts.telemetry.set_crosshair(None if place is None else place.t_s)
        charts.first.set_crosshair(None if run is None or of is None else run.requests.index(of))
        if not from_text:
            front = None if run is None else self.focus(run)
            in_text = place is not None and front is not None and place.request == front.no
            self._output.set_token(token if in_text else None)

    @staticmethod
    def _request(run: Run, no: int | None) -> Request | None:
        return next((request for request in run.requests if request.no == no), None)

    def _step(self, step: int) -> None:
        run = self._run_of()
        front = None if run is None else self.focus(run)
        if run is None or front is None:
            return
        place = self.place if self.place is not None and self.place.request == front.no else None
        token = stepped(place, front, self._cache_of(), step)
        if token is None:
            return
        self._pin(place_of_token(run, self._cache_of(), front, token))
        self.selection.extend(token)
        self._keep_in_view(token)

    def _keep_in_view(self, token: int) -> None:
        """Move a zoomed view along with the cursor."""
        view = self._charts.tokens.view
        if view is None or view[0] <= token <= view[1]:
            return
        shift = token - (view[0] + 1 if token < view[0] else view[1] - 1)
        moved = max(view[0] + shift, 0.0)
        for chart in (self._charts.tokens, self._charts.bandwidth):
            chart.set_view((moved, moved + view[1] - view[0]))

    def _set_escapable(self) -> None:
        something = self.pinned or self.selection.tokens is not None
        charts = self._charts
        for chart in (charts.tokens, charts.first, charts.bandwidth, charts.telemetry):
            chart.escapable = something

    # -- keys ----------------------------------------------------------------------------------

    def _command(self, command: Command) -> None:
        if command is Command.RELEASE:
            # One thing at a time: the range that was set last goes first.
            if self.selection.tokens is not None:
                self.selection.clear()
            else:
                self.release()
        elif command is Command.SELECT:
            if self.place is not None and self.place.token is not None:
                self._pin(self.place)
                self.selection.begin(self.place.token)
        elif command is Command.ACCEPT:
            self.selection.accept()
        elif command is Command.FREEZE:
            run = self._run_of()
            if self.frozen or (run is not None and run.status == "running"):
                self._set_frozen(not self.frozen)
                if not self.frozen:
                    self.redraw_asked.emit()

    def _set_frozen(self, frozen: bool) -> None:
        self.frozen = frozen
        self._charts.tokens.set_frozen(frozen)

    # -- range and requests ----------------------------------------------------------------------

    def _range_moved(self, tokens: object) -> None:
        chosen = self.selection.tokens
        self._output.set_range(None if chosen is None else (chosen.first, chosen.last))
        self._set_escapable()

    def _pick(self, label: str | None) -> None:
        run = self._run_of()
        if run is None:
            return
        named = {request_label(run, request): request.no for request in run.requests}
        self.only = None if label is None else named.get(label)
        self._name_request(label if self.only is not None else None)
        self._output.choose_request(self.only)
        self.release()
        self.selection.renew()
        self.redraw_asked.emit()

    def _name_request(self, label: str | None) -> None:
        for chart in (self._charts.tokens, self._charts.bandwidth):
            chart.request_shown = label

    def _request_chosen(self, no: int) -> None:
        """The text of another request was asked for: its dots come to the front."""
        if self.only is not None and self.only != no:
            self.only = None
            self._name_request(None)
            self.selection.renew()
        self.release()
        self.redraw_asked.emit()
