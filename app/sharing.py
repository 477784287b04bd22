"""Exports from the window: written beside the GUI thread, from the session's file or from memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.background import Background
from app.dialogs import Dialogs
from app.panels.share_dialog import ShareDialog, ShareRequest
from app.settings import Settings
from app.theme import Palette, apply_theme
from profiler.config import RunConfig, make_config
from profiler.errors import DecodescopeError, UsageError

NOT_THERE = ("(not kept)", "(left out)")
"""What stands for the prompt in a recording without text, and in a private copy."""


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
                source=source,
            )
        return request.path

    background.submit(job, done, lambda error: failed(sentence_of(error)))


def open_share_dialog(
    window: QWidget,
    source: Path,
    background: Background,
    dialogs: Dialogs,
    settings: Settings,
    palette: Palette,
) -> ShareDialog:
    """Ask how to export the session at `source`, and do it; the dialog says how that went."""
    folder = Path(settings.last_folder() or source.parent)
    chosen = str(settings.choice("export/format") or "html")
    dialog = ShareDialog(
        source.stem, folder, source.stem, dialogs.any_path, dialogs.confirm_overwrite, chosen, window
    )
    fail = partial(dialog.finished_with, ok=False)
    tr = QCoreApplication.translate

    def write(request: ShareRequest) -> None:
        settings.remember_choice("export/format", request.format)
        settings.set_last_folder(str(request.path.parent))
        done = tr("Share", "Written: {0}")
        share(background, source, request, lambda at: dialog.finished_with(done.format(at), True), fail)

    def copied(text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        dialog.finished_with(tr("Share", "Copied. Paste it into an issue."), True)

    dialog.export_asked.connect(write)
    dialog.copy_asked.connect(lambda private: as_markdown(background, source, private, copied, fail))
    apply_theme(dialog, palette)
    dialog.open()
    return dialog


def recorded_config(path: Path) -> RunConfig:
    """The settings of a session's last run. Reads a file; SessionError, UsageError."""
    from profiler.session.reader import SessionReader

    with SessionReader.open(path, thorough=False) as reader:
        config = reader.last_run().get("config")
    if not isinstance(config, dict) or not config:
        raise UsageError(f"{path.name} holds no settings of a run (an imported trace has none).")
    if any(config.get(key) in NOT_THERE for key in ("prompt", "prompts_file")):
        raise UsageError(f"{path.name} was kept without its prompt, so that it cannot be repeated.")
    return make_config(dict(config))


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
    words = QCoreApplication.translate("Share", "The file was not written ({0}); the log says more.")
    return words.format(type(error).__name__)
