"""Exports from the window: written beside the GUI thread, from the session's file or from memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.background import Background
from profiler.errors import DecodescopeError


@dataclass(frozen=True)
class ShareRequest:
    """What the share dialog was told: where to, in which format, without private data?"""

    path: Path
    format: str
    private: bool
    overwrite: bool = False


def share(
    background: Background,
    source: Path,
    request: ShareRequest,
    done: Callable[[Path], None],
    failed: Callable[[str], None],
) -> None:
    """Write the session at `source` as asked; `done` or `failed` (one sentence) on the GUI thread.

    The file is opened anew: leaving out private data changes what was read, not what is shown.
    """

    def job() -> Path:
        from profiler.reporting.exports import export
        from profiler.session.reader import SessionReader

        with SessionReader.open(source) as reader:
            export(
                reader.timeline(),
                request.path,
                request.format,
                name=reader.name,
                private=request.private,
                overwrite=request.overwrite,
            )
        return request.path

    background.submit(job, done, lambda error: failed(sentence_of(error)))


def as_markdown(
    background: Background,
    source: Path,
    private: bool,
    done: Callable[[str], None],
    failed: Callable[[str], None],
) -> None:
    """The session's Markdown, for the clipboard."""

    def job() -> str:
        from profiler.reporting.exports.documents import markdown
        from profiler.reporting.exports.privacy import without_private
        from profiler.session.reader import SessionReader

        with SessionReader.open(source) as reader:
            timeline = reader.timeline()
            if private:
                without_private(timeline)
            return markdown(timeline, "" if private else reader.name)

    background.submit(job, done, lambda error: failed(sentence_of(error)))


def sentence_of(error: Exception) -> str:
    """One sentence for a person."""
    if isinstance(error, DecodescopeError):
        return error.message
    return f"The file was not written ({type(error).__name__}); the log says more."
