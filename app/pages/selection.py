"""The range of tokens that is selected: drawn in two charts, told by the key figures.

By mouse a drag on one of the charts; by keyboard S at the cursor, arrows, Enter. Thread: GUI.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal

from app.charts.token_chart import TokenChart
from profiler.analysis.selection import SelectionValues, TokenRange, selection_values
from profiler.analysis.steps import StepView
from profiler.timeline import Request, Run


class RangeSelection(QObject):
    """Keeps the charts' ranges equal and works the figures out when the range is settled."""

    changed = Signal(object)
    """A settled `TokenRange`, or None."""
    moved = Signal(object)
    """The same while it is being drawn."""
    valued = Signal(object)
    """`SelectionValues` of the settled range, or None."""

    def __init__(
        self,
        charts: Sequence[TokenChart],
        run_of: Callable[[], Run | None],
        view_of: Callable[[Request], StepView],
        only_of: Callable[[], int | None],
    ) -> None:
        super().__init__()
        self._charts = tuple(charts)
        self._run_of, self._view_of, self._only_of = run_of, view_of, only_of
        self._anchor: int | None = None
        self.tokens: TokenRange | None = None
        self.values: SelectionValues | None = None
        for chart in self._charts:
            chart.range_dragged.connect(self._dragged)

    @property
    def extending(self) -> bool:
        """Do arrow keys move the end of the range just now?"""
        return self._anchor is not None

    def begin(self, token: int) -> None:
        """Start at a token by keyboard."""
        self._anchor = token
        self._show(TokenRange(token, token))

    def extend(self, token: int) -> None:
        """Move the free end to a token."""
        if self._anchor is not None:
            self._show(TokenRange.between(self._anchor, token, max(self._anchor, token)))

    def accept(self) -> None:
        """Enter: the range is as it should be."""
        if self._anchor is not None and self.tokens is not None:
            self._anchor = None
            self.settle(self.tokens)

    def settle(self, tokens: TokenRange) -> None:
        """Select these tokens."""
        self._show(tokens)
        self.changed.emit(tokens)
        self.renew()

    def clear(self) -> None:
        """Nothing is selected any more."""
        self._anchor = None
        if self.tokens is None:
            return
        self._show(None)
        self.values = None
        self.changed.emit(None)
        self.valued.emit(None)

    def renew(self) -> None:
        """Work the figures out again: the run has grown, or other requests are shown."""
        run = self._run_of()
        if self.tokens is None or run is None or self.extending:
            return
        self.values = selection_values(run, self.tokens, only=self._only_of(), view_of=self._view_of)
        self.valued.emit(self.values)

    def _dragged(self, tokens: TokenRange, done: bool) -> None:
        self._anchor = None
        if done:
            self.settle(tokens)
        else:
            self._show(tokens)

    def _show(self, tokens: TokenRange | None) -> None:
        self.tokens = tokens
        for chart in self._charts:
            chart.set_range(tokens)
        self.moved.emit(tokens)
