"""Sessions in other formats: for a spreadsheet, an issue tracker, a browser, Perfetto, pandas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from profiler.errors import UsageError
from profiler.reporting.exports.libraries import PLOTLY, PYARROW, Library
from profiler.reporting.exports.privacy import without_private
from profiler.session.files import check_not_precious
from profiler.timeline import Timeline

Write = Callable[[Timeline, Path, bool, str], None]
"""Writes a timeline to a path, replacing it or not; the last argument is the session's name.
The file appears complete or not at all. Errors are our own."""


@dataclass(frozen=True)
class Format:
    """A format by its name on the command line. `about`: what it is good for, in a line."""

    name: str
    suffix: str
    title: str
    about: str
    write: Write
    needs: Library | None = None

    @property
    def missing(self) -> str | None:
        """Why it cannot be written here (a library is not installed), one sentence; else None."""
        return None if self.needs is None else self.needs.missing


def _jsonl(timeline: Timeline, path: Path, overwrite: bool, _name: str) -> None:
    from profiler.session.trace import write_trace

    write_trace(timeline, path, overwrite=overwrite)


def _json(timeline: Timeline, path: Path, overwrite: bool, name: str) -> None:
    from profiler.reporting.exports.documents import write_json

    write_json(timeline, path, overwrite, name)


def _markdown(timeline: Timeline, path: Path, overwrite: bool, name: str) -> None:
    from profiler.reporting.exports.documents import write_markdown

    write_markdown(timeline, path, overwrite, name)


def _csv(timeline: Timeline, path: Path, overwrite: bool, _name: str) -> None:
    from profiler.reporting.exports.tables import write_csv

    write_csv(timeline, path, overwrite)


def _parquet(timeline: Timeline, path: Path, overwrite: bool, _name: str) -> None:
    from profiler.reporting.exports.tables import write_parquet

    write_parquet(timeline, path, overwrite)


def _chrome_trace(timeline: Timeline, path: Path, overwrite: bool, name: str) -> None:
    from profiler.reporting.exports.chrome_trace import write_chrome_trace

    write_chrome_trace(timeline, path, overwrite, name)


def _html(timeline: Timeline, path: Path, overwrite: bool, name: str) -> None:
    from profiler.reporting.exports.html import write_html

    write_html(timeline, path, overwrite, name)


def _session(_timeline: Timeline, _path: Path, _overwrite: bool, _name: str) -> None:
    raise UsageError("A session can be copied from its file only; save it first.", field="format")


FORMATS: dict[str, Format] = {
    found.name: found
    for found in (
        Format(
            "html",
            ".html",
            "Web page",
            "Interactive charts in one file that any browser opens.",
            _html,
            PLOTLY,
        ),
        Format("markdown", ".md", "Markdown", "Key figures and setup for an issue tracker.", _markdown),
        Format("csv", ".csv", "CSV", "Every token, for a spreadsheet.", _csv),
        Format("json", ".json", "JSON", "All figures, as `dscope report --json` prints them.", _json),
        Format("parquet", ".parquet", "Parquet", "Every token, for pandas and friends.", _parquet, PYARROW),
        Format(
            "chrome-trace",
            ".trace.json",
            "Chrome trace",
            "Spans, tokens and telemetry for ui.perfetto.dev.",
            _chrome_trace,
        ),
        Format("dscope", ".dscope", "Session", "The session itself, for a colleague's window.", _session),
        Format("jsonl", ".jsonl", "Trace", "The events, to be imported again.", _jsonl),
    )
}


def find_format(name: str) -> Format:
    """The format of that name. UsageError that lists what there is."""
    found = FORMATS.get(name.lower())
    if found is None:
        known = ", ".join(FORMATS)
        raise UsageError(f"--format {name} is not known; choose one of: {known}.", field="format")
    return found


def export(
    timeline: Timeline,
    path: Path,
    format_name: str,
    *,
    name: str = "",
    run: int | None = None,
    private: bool = False,
    overwrite: bool = False,
    source: Path | None = None,
) -> None:
    """Write `timeline` to `path`. SessionError, SessionExists and UsageError with one sentence.

    `run`: of a session of many only that one. `private`: without prompts, answers, user and
    host names. Both change the timeline: hand over one that is not shown anywhere. `source`: the
    session's file, from which the format `dscope` is copied.
    """
    wanted = find_format(format_name)
    if source is not None:
        check_not_precious(source, path)
    if wanted.needs is not None and wanted.missing is not None:
        raise wanted.needs.error()
    if wanted.name == "dscope" and source is not None:
        if run is not None:
            raise UsageError("A copy of a session has all its runs; leave out --run.", field="run")
        from profiler.reporting.exports.session_copy import copy_session

        copy_session(source, path, overwrite, private)
        return
    if run is not None:
        keep_run(timeline, run)
    if private:
        without_private(timeline)
        name = ""
    wanted.write(timeline, path, overwrite, name)


def keep_run(timeline: Timeline, no: int) -> None:
    """Drop all other runs. UsageError when there is no such run."""
    if no not in timeline.runs:
        known = ", ".join(map(str, sorted(timeline.runs))) or "none"
        raise UsageError(f"The session has no run {no}; it has {known}.", field="run")
    timeline.runs = {no: timeline.runs[no]}
