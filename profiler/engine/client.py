"""The handle on an engine process: what the window holds.

`send` from any thread (a lock guards the pipe), `receive` from one reader thread.
"""

from __future__ import annotations

import multiprocessing
import threading
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from profiler import events as ev
from profiler.engine.main import engine_main
from profiler.worker.interrupts import interrupts_blocked


class EngineGone(Exception):
    """The engine process has ended; the message says how."""


class EngineClient:
    """Starts an engine and talks to it.

    `library` is the folder for recordings; None takes the user's own. The engine outlives a
    killed holder just long enough to close its file.
    """

    def __init__(self, *, library: Path | None = None) -> None:
        self._library = str(library) if library is not None else None
        self._process: SpawnProcess | None = None
        self._commands: Connection | None = None
        self._messages: Connection | None = None
        self._lock = threading.Lock()
        self._next_id = 0

    @property
    def pid(self) -> int | None:
        """Process id of the engine, None before `start`."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Spawns the engine; returns at once."""
        context = multiprocessing.get_context("spawn")
        child_commands, self._commands = context.Pipe(duplex=False)
        self._messages, child_messages = context.Pipe(duplex=False)
        self._process = context.Process(
            target=engine_main,
            args=(child_commands, child_messages, self._library),
            name="decodescope engine",
            # Not daemonic: it has a child of its own.
            daemon=False,
        )
        with interrupts_blocked():
            self._process.start()
        child_commands.close()
        child_messages.close()

    def send(self, verb: str, **args: Any) -> int:
        """Sends a verb; its Reply will carry the returned id. Raises EngineGone."""
        with self._lock:
            self._next_id += 1
            self._write({"id": self._next_id, "verb": verb, "args": args})
            return self._next_id

    def report_redraws(self, intervals: list[tuple[int, int]]) -> None:
        """Tells when the window was drawing: (start, end) pairs in perf_counter_ns. Raises EngineGone."""
        if intervals:
            with self._lock:
                self._write({"verb": "redraw", "intervals": [list(pair) for pair in intervals]})

    def _write(self, command: dict[str, Any]) -> None:
        if self._commands is None:
            raise EngineGone("The engine was not started.")
        try:
            self._commands.send_bytes(ev.dump_json(command).encode("utf-8", "surrogatepass"))
        except OSError:
            raise EngineGone(self._gone_text()) from None

    def receive(self, timeout_s: float) -> list[ev.Event]:
        """The next events, [] after `timeout_s`. Raises EngineGone at the end of the stream."""
        if self._messages is None:
            raise EngineGone("The engine was not started.")
        try:
            if not self._messages.poll(timeout_s):
                return []
            return ev.decode(self._messages.recv_bytes())
        except (EOFError, OSError):
            raise EngineGone(self._gone_text()) from None

    def close(self, timeout_s: float = 20.0) -> None:
        """Asks the engine to end (a run is stopped and kept), waits, then kills. Idempotent.

        A prefill cannot be stopped: the engine then kills its worker after 2 s; closing the file
        takes a moment more. The time-out is for an engine that hangs.
        """
        process = self._process
        if process is None:
            return
        try:
            self.send("shutdown")
        except EngineGone:
            pass
        process.join(timeout_s)
        if process.is_alive():
            process.kill()
            process.join(5.0)

    def _gone_text(self) -> str:
        from profiler.engine.worker_handle import describe_exit

        process = self._process
        if process is None:
            return "The engine was not started."
        process.join(1.0)
        return f"The engine has ended ({describe_exit(process.exitcode)})."
