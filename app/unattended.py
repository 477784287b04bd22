"""A window that nobody watches: start, wait, save, picture, quit with the right exit code."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from app.main_window import MainWindow
from app.options import Options
from app.run_controller import RunController
from app.run_state import RunState
from profiler import events as ev

LOG = logging.getLogger(__name__)

INTERRUPTED = 130


class _Step(StrEnum):
    WAIT = "wait"
    SAVE = "save"
    SAVING = "saving"
    FINISH = "finish"
    DONE = "done"


class Unattended:
    """Drives a window through one run (or one opened file). `quit` gets the exit code once."""

    def __init__(
        self, window: MainWindow, controller: RunController, options: Options, quit: Callable[[int], None]
    ) -> None:
        self._window = window
        self._controller = controller
        self._options = options
        self._quit = quit
        self._step = _Step.WAIT
        self._code = 0
        self.interrupted = False
        self.message: str | None = None
        """Why the exit code is not 0, one sentence for standard error."""
        controller.ticked.connect(self._tick)

    def interrupt(self) -> None:
        """The terminal's interrupt: stop; the second one: stop now."""
        if self.interrupted and self._controller.active:
            self._controller.kill()
        elif self._controller.active:
            self._controller.stop()
        else:
            self._quit(INTERRUPTED)
        self.interrupted = True

    def _tick(self) -> None:
        if self._step is _Step.WAIT and self._over():
            self._code = self._exit_code()
            self._step = _Step.SAVE
        if self._step is _Step.SAVE:
            self._save()
        if self._step is _Step.FINISH:
            self._finish()

    def _over(self) -> bool:
        controller = self._controller
        if self._window.problem_message is not None and controller.run is None and not controller.active:
            return True  # the file could not be opened
        if controller.state not in (RunState.FINISHED, RunState.FAILED):
            return self.interrupted and controller.state is RunState.IDLE
        return controller.run is None or controller.values_final

    def _exit_code(self) -> int:
        controller = self._controller
        if self.interrupted:
            self.message = "Interrupted; what was recorded is kept."
            return INTERRUPTED
        if controller.problem is not None:
            self.message = controller.problem.message
            return controller.problem.exit_code
        if controller.run is None:
            self.message = self._window.problem_message
            return 2
        requests = (controller.values or {}).get("requests", {})
        if requests.get("failed") and not controller.document.saved:
            self.message = "A measured request failed; the session is kept."
            return 4
        return 0

    def _save(self) -> None:
        target, document = self._options.save, self._controller.document
        if target is None or document.saved or document.path is None or not self._controller.engine_alive:
            self._step = _Step.FINISH
            return
        self._step = _Step.SAVING
        self._controller.save_as(target, self._options.overwrite, self._saved)

    def _saved(self, reply: ev.Reply) -> None:
        if not reply.ok:
            self.message = reply.message
            self._code = self._code or reply.exit_code or 2
        self._step = _Step.FINISH

    def _finish(self) -> None:
        self._step = _Step.DONE
        self._controller.draw()
        try:
            if self._options.screenshot is not None:
                self._picture(self._options.screenshot)
            if self._options.kpi_json is not None:
                text = json.dumps(self._window.page.kpis.to_json(), allow_nan=False, indent=1)
                self._options.kpi_json.write_text(text, encoding="utf-8")
        except OSError as error:
            self.message = f"{error.filename} cannot be written ({error.strerror}); choose another place."
            self._code = self._code or 2
        if self._options.quit_when_done:
            self._quit(self._code)

    def _picture(self, path: Path) -> None:
        if not self._window.grab().save(str(path), "PNG"):
            raise OSError(0, "no picture could be written", str(path))
