"""A run as other tools would report it: worked out once, away from the GUI thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from app.background import Background
from app.live_metrics import RunValues
from profiler.timeline import Run, Timeline

LOG = logging.getLogger(__name__)

Reports = dict[str, dict[str, Any]]
"""By the tool's name what `profiler.reporting.other_tools.run_as` says of the run."""


class OtherReports:
    """Keeps the reports of the run that was asked for last. Thread: GUI; `done` is called there."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._run: Run | None = None
        self._reports: Reports | None = None
        self._waiting: list[Callable[[Reports], None]] = []

    def known(self, run: Run) -> Reports | None:
        """The reports of this run, None where they were not asked for or are on their way."""
        return self._reports if run is self._run else None

    def ask(self, timeline: Timeline, run: Run, values: RunValues, done: Callable[[Reports], None]) -> None:
        """Call `done` with the reports of a run that is over, now or at a later poll.

        `values` are its final metrics. When it cannot be done, the log says why and `done` is
        not called.
        """
        if run is self._run:
            if self._reports is not None:
                done(self._reports)
            else:
                self._waiting.append(done)
            return
        self._run, self._reports, self._waiting = run, None, [done]

        def job() -> Reports:
            from profiler.reporting.other_definitions import TOOLS
            from profiler.reporting.other_tools import run_as

            return {name: run_as(timeline, run, tool, values) for name, tool in TOOLS.items()}

        def take(reports: Reports) -> None:
            if run is self._run:
                self._reports = reports
                waiting, self._waiting = self._waiting, []
                for each in waiting:
                    each(reports)

        def failed(error: Exception) -> None:
            LOG.error("the figures of other tools could not be worked out", exc_info=error)
            if run is self._run:
                self._run, self._waiting = None, []

        self._background.submit(job, take, failed)
