"""The metrics that the window shows: from the function that writes the report, on the same rows."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from app.background import Background
from profiler.timeline import Run, Timeline

LOG = logging.getLogger(__name__)

RunValues = dict[str, Any]
"""What `profiler.analysis.run.run_metrics` returns: requests, metrics, per_request, notes."""


class MetricsSource:
    """Live metrics on the GUI thread (some ms), final ones in the background (they bootstrap)."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._run: Run | None = None
        self._summary: Any = None

    def warm(self) -> None:
        """Import what the final metrics need; scipy takes a second, so it happens while a model loads."""
        self._background.submit(_import_analysis, lambda _: None, _log_error)

    def live(self, timeline: Timeline, run: Run) -> RunValues | None:
        """Metrics of a run that is going on; None before its first measured token."""
        if not any(len(request) for request in run.measured):
            return None
        from profiler.analysis.run import RunSummary, run_metrics

        if run is not self._run:
            self._run, self._summary = run, RunSummary()
        return run_metrics(timeline, run, live=True, summary=self._summary)

    def final(self, timeline: Timeline, run: Run, done: Callable[[RunValues | None], None]) -> None:
        """Metrics of a run that is over; `done` is called on the GUI thread, with None if they
        cannot be computed (the log says why).

        The timeline takes no more steps then, so that reading it in another thread is safe.
        """

        def job() -> RunValues:
            from profiler.analysis.run import run_metrics

            return run_metrics(timeline, run)

        def failed(error: Exception) -> None:
            _log_error(error)
            done(None)

        self._background.submit(job, done, failed)


def _import_analysis() -> None:
    import scipy.stats  # noqa: F401 - for its side effect, in the background

    import profiler.analysis.run  # noqa: F401


def _log_error(error: Exception) -> None:
    LOG.error("the metrics could not be computed", exc_info=error)
