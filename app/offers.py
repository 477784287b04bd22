"""What the window offers by itself: a hint for newcomers, a recording that ended unexpectedly."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject

from app.background import Background
from app.panels.offer import Offer
from app.run_controller import RunController
from app.run_state import RunState
from app.settings import Settings

LOG = logging.getLogger(__name__)
HINT = "profile"


class Offers(QObject):
    """Decides what `offer` shows. `open_session`: how a recovered recording is opened."""

    def __init__(
        self,
        offer: Offer,
        controller: RunController,
        settings: Settings,
        background: Background,
        open_session: Callable[[Path], None],
    ) -> None:
        super().__init__(offer)
        self._offer = offer
        self._controller = controller
        self._settings = settings
        self._background = background
        self._open_session = open_session
        self._recovered: list[Path] = []
        self._showing_hint = False
        self.hints = True
        """False where nobody watches: a picture is not to hold a hint for newcomers."""
        controller.state_changed.connect(self._on_state)
        offer.put_away.connect(self._on_put_away)

    def look_for_recovered(self, find: Callable[[], list[Path]]) -> None:
        """Ask `find` (in the background) for recordings that a crash cut off; offer the newest."""
        self._background.submit(find, self._found, _log_error)

    def _found(self, paths: list[Path]) -> None:
        self._recovered = paths
        if not paths or self._controller.active:
            return
        tr = QCoreApplication.translate
        newest = paths[0]
        text = tr(
            "Offers", "The recording “{0}” ended unexpectedly. What was measured until then is kept."
        ).format(newest.stem)
        if len(paths) > 1:
            text += " " + tr("Offers", "So did {0} more; the Sessions page lists them.").format(
                len(paths) - 1
            )
        self._showing_hint = False
        self._offer.show_offer(text, [(tr("Offers", "Open it"), lambda: self._open(newest))], mark="warning")

    def _open(self, path: Path) -> None:
        self._acknowledge()
        self._open_session(path)

    def _acknowledge(self) -> None:
        paths, self._recovered = self._recovered, []
        if paths:
            self._background.submit(lambda: acknowledge_all(paths), lambda _: None, _log_error)

    def _on_put_away(self) -> None:
        if self._showing_hint:
            self._settings.set_hint_seen(HINT)
        self._acknowledge()

    def _on_state(self) -> None:
        if self._controller.state is RunState.LOADING:
            self._offer.hide()
        if self._controller.state is RunState.FINISHED and not self._controller.measuring_own_cost:
            self._offer_hint()

    def _offer_hint(self) -> None:
        if not self.hints or self._settings.hint_seen(HINT) or self._recovered or self._offer.isVisible():
            return
        tr = QCoreApplication.translate
        self._showing_hint = True
        self._offer.show_offer(
            tr(
                "Offers",
                "Point at a token in any chart: the others mark the same moment. Drag over the tokens for "
                "their statistics. Click a key figure for its definition.",
            ),
            [(tr("Offers", "Got it"), lambda: self._settings.set_hint_seen(HINT))],
        )


def _log_error(error: Exception) -> None:
    LOG.error("recordings that ended unexpectedly could not be looked after", exc_info=error)


def find_recovered() -> list[Path]:
    """Recordings in the library that ended unexpectedly and were not shown yet, newest first."""
    from profiler.paths import library_dir
    from profiler.session.library import list_sessions, unexpected

    return [entry.path for entry in unexpected(list_sessions(library_dir()))]


def acknowledge_all(paths: list[Path]) -> None:
    """Do not offer these again."""
    from profiler.session.labels import acknowledge

    for path in paths:
        acknowledge(path)
