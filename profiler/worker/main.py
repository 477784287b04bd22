"""The worker process: the only place where torch lives.

It takes commands as JSON from one pipe and answers with events on another (see `events`).
Verbs: ping, warm, load, prepare, run, overhead, free, shutdown; each is answered by a Reply with its id. Stop and
cancel come through a shared byte, since the main thread is busy then.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import sys
import threading
import traceback
import warnings
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

from profiler import events as ev
from profiler.config import RunConfig, make_config
from profiler.errors import DecodescopeError, ModelError
from profiler.patience import all_prompt, be_patient
from profiler.worker.backends.base import Backend, Stopped
from profiler.worker.blocks import measure
from profiler.worker.interrupts import ignore_interrupt
from profiler.worker.outbox import Outbox, now_ns
from profiler.worker.runner import execute


def worker_main(commands: Connection, messages: Connection, stop_flag: Any, log_path: str | None) -> None:
    """Entry of the process; returns when told to shut down or when the engine is gone.

    `commands` is read, `messages` written, by this process alone. `stop_flag` is a shared
    byte (`.value`): not 0 asks the running load or run to end.
    """
    ignore_interrupt()
    _redirect_output(log_path)
    threading.Thread(target=_die_with_parent, name="orphan watch", daemon=True).start()
    # A worker that can say nothing any more must not look alive.
    outbox = Outbox(messages.send_bytes, on_fatal=lambda: os._exit(70))
    _route_warnings(outbox)
    worker = _Worker(outbox, stop_flag)
    try:
        while True:
            try:
                command = json.loads(commands.recv_bytes())
            except (EOFError, OSError):
                break
            if not worker.handle(command):
                break
    finally:
        outbox.close()


class _Worker:
    def __init__(self, outbox: Outbox, stop_flag: Any) -> None:
        self._outbox = outbox
        self._flag = stop_flag
        self._backend: Backend | None = None

    def _stopped(self) -> bool:
        return bool(self._flag.value)

    def handle(self, command: dict[str, Any]) -> bool:
        """Answers one command; False ends the process."""
        verb, number = command["verb"], command["id"]
        try:
            if verb == "shutdown":
                self._reply(ev.Reply(number, True))
                return False
            value = getattr(self, f"_verb_{verb}")(command)
            self._reply(ev.Reply(number, True, value))
        except Stopped:
            self._reply(ev.Reply(number, False, "cancelled", "Stopped before it was ready."))
        except DecodescopeError as error:
            self._reply(
                ev.Reply(
                    number,
                    False,
                    None,
                    error.message,
                    error.detail or traceback.format_exc(),
                    getattr(error, "field", None),
                    error.exit_code,
                )
            )
        except MemoryError:
            text = "Memory ran out; choose a smaller model or dtype."
            self._reply(ev.Reply(number, False, None, text, traceback.format_exc(), "model", 3))
        except Exception as problem:  # noqa: BLE001 - the whole story goes to the log, one sentence to the user
            words = str(problem).strip().splitlines()
            message = f"{type(problem).__name__}: {words[0][:200]}" if words else type(problem).__name__
            code = 3 if verb == "load" else 4
            text = (
                f"The model cannot be used: {message}." if verb == "load" else f"The run failed: {message}."
            )
            self._reply(ev.Reply(number, False, None, text, traceback.format_exc(), "model", code))
        return True

    def _reply(self, reply: ev.Reply) -> None:
        self._outbox.emit(reply, now=True)

    def _verb_ping(self, _command: dict[str, Any]) -> int:
        return now_ns()

    def _verb_warm(self, command: dict[str, Any]) -> None:
        """Import what a load will need; nothing else is done, and no model is there."""
        from profiler.worker.imports import import_libraries
        from profiler.worker.sources.environment import prepare_environment

        prepare_environment(command["allow_download"])
        # Whatever else happens on this machine goes first; undone before a model is loaded.
        be_patient()
        try:
            import_libraries(self._stopped)
        finally:
            all_prompt()

    def _verb_load(self, command: dict[str, Any]) -> dict[str, Any]:
        config = make_config(command["config"])
        self._verb_free(command)
        self._backend = _make_backend(config, self._stopped)
        try:
            info = self._backend.load(config, self._progress, self._stopped)
        except BaseException:
            self._backend = None
            raise
        if not info.device_uuids:
            self._outbox.share()
        return {
            "facts": info.facts,
            "spans": info.spans,
            "notes": info.notes,
            "device_uuids": info.device_uuids,
        }

    def _verb_prepare(self, command: dict[str, Any]) -> None:
        if self._backend is None:
            raise ModelError("No model is loaded; load one first.")
        self._backend.prepare(make_config(command["config"]))

    def _verb_run(self, command: dict[str, Any]) -> dict[str, Any]:
        if self._backend is None:
            raise ModelError("No model is loaded; load one first.")
        config = make_config(command["config"])
        outcome = execute(
            self._backend, command["run"], command["first_no"], config, self._outbox, self._stopped
        )
        return {"status": outcome.status, "error": outcome.error}

    def _verb_overhead(self, command: dict[str, Any]) -> dict[str, Any]:
        if self._backend is None:
            raise ModelError("No model is loaded; load one first.")
        config = make_config(command["config"])
        outcome = measure(
            self._backend,
            config,
            command["variants"],
            command["run"],
            command["first_no"],
            self._outbox,
            self._stopped,
        )
        return {"status": outcome.status, "error": outcome.error}

    def _verb_free(self, _command: dict[str, Any]) -> None:
        backend, self._backend = self._backend, None
        if backend is not None:
            backend.free()

    def _progress(self, stage: str, done: float, total: float | None, unit: str) -> None:
        self._outbox.emit(ev.Progress(stage, done, total, unit), now=True)


def _make_backend(config: RunConfig, stop: Any) -> Backend:
    from profiler.worker.backends.synthetic import SyntheticBackend, is_synthetic

    if is_synthetic(config.model):
        return SyntheticBackend(stop)
    from profiler.worker.backends.transformers import TransformersBackend

    return TransformersBackend(stop)


def _die_with_parent() -> None:
    """Ends this process when the engine is gone, whatever the main thread is doing."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _redirect_output(log_path: str | None) -> None:
    """Prints of libraries, and a crash's last words, go to the worker's log file."""
    if log_path is None:
        return
    try:
        fd = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError:
        return
    for stream in (1, 2):
        try:
            os.dup2(fd, stream)
        except OSError:
            pass
    os.close(fd)
    # A frozen program without a console has none of these.
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    faulthandler.enable(file=2)


class _OutboxHandler(logging.Handler):
    def __init__(self, outbox: Outbox) -> None:
        super().__init__(logging.WARNING)
        self._outbox = outbox

    def emit(self, record: logging.LogRecord) -> None:
        level = "error" if record.levelno >= logging.ERROR else "warning"
        self._outbox.emit(ev.Log(level, now_ns(), record.name, record.getMessage()[:2000]))


def _route_warnings(outbox: Outbox) -> None:
    logging.captureWarnings(True)
    warnings.simplefilter("default")
    root = logging.getLogger()
    root.handlers[:] = [_OutboxHandler(outbox)]
