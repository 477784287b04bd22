"""The engine's end of the worker process: spawn, send, read, stop, kill.

One pipe each way; the parent's copy of the child's ends is closed, so that a killed child
gives end-of-file and not a hang. `multiprocessing.Queue` is not used: it keeps both ends
open and holds a lock that a killed child can leave taken (cpython#87971).
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from profiler import events as ev
from profiler.worker.interrupts import interrupts_blocked
from profiler.worker.main import worker_main

MAX_MESSAGES_A_READ = 256


class WorkerHandle:
    """A running worker. Thread: the engine's main thread only.

    `connection` and `sentinel` are for `multiprocessing.connection.wait`. After the process
    is gone `read` returns what was still in the pipe; `eof` tells that nothing more comes.
    """

    def __init__(self, log_path: Path | None) -> None:
        context = multiprocessing.get_context("spawn")
        child_commands, self._commands = context.Pipe(duplex=False)
        self.connection: Connection
        self.connection, child_messages = context.Pipe(duplex=False)
        self._flag = context.RawValue("b", 0)
        self._log_path = log_path
        self._process = context.Process(
            target=worker_main,
            args=(child_commands, child_messages, self._flag, str(log_path) if log_path else None),
            name="decodescope worker",
            daemon=True,
        )
        with interrupts_blocked():
            self._process.start()
        child_commands.close()
        child_messages.close()
        self.eof = False
        self._next_id = 0

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def sentinel(self) -> int:
        """Becomes ready when the process has ended."""
        return self._process.sentinel

    @property
    def alive(self) -> bool:
        """Is the process still there?"""
        return self._process.is_alive()

    def send(self, verb: str, **args: Any) -> int:
        """Sends a command; returns the id its Reply will carry. A dead worker is told by `eof` later."""
        self._next_id += 1
        message = ev.dump_json({"id": self._next_id, "verb": verb, **args}).encode("utf-8", "surrogatepass")
        try:
            self._commands.send_bytes(message)
        except OSError:
            pass
        return self._next_id

    def read(self) -> Iterator[ev.Event]:
        """What has arrived, without blocking (at most some hundred messages)."""
        for _ in range(MAX_MESSAGES_A_READ):
            try:
                if self.eof or not self.connection.poll(0):
                    return
                message = self.connection.recv_bytes()
            except (EOFError, OSError):
                self.eof = True
                return
            yield from ev.decode(message)

    def ask_stop(self) -> None:
        """The running load or run ends at its next step."""
        self._flag.value = 1

    def clear_stop(self) -> None:
        """Before the next load or run."""
        self._flag.value = 0

    def kill(self) -> None:
        """Ends the process at once."""
        self._process.kill()

    def close(self, timeout_s: float = 3.0) -> None:
        """Asks the process to end, kills it after `timeout_s`, and frees the pipes."""
        if self._process.is_alive():
            self.ask_stop()
            self.send("shutdown")
            self._process.join(timeout_s)
            if self._process.is_alive():
                self._process.kill()
        self._process.join(5.0)
        self.connection.close()
        self._commands.close()
        if self._log_path is not None:
            self._log_path.unlink(missing_ok=True)

    def last_words(self) -> str:
        """How the process ended and the tail of what it printed, for the log."""
        self._process.join(1.0)
        lines = [f"worker process {self._process.pid}: {describe_exit(self._process.exitcode)}"]
        if self._log_path is not None:
            try:
                lines.append(self._log_path.read_text("utf-8", "replace")[-4000:])
            except OSError:
                pass
        return "\n".join(lines)

    @property
    def exit_text(self) -> str:
        """How the process ended, in words."""
        self._process.join(1.0)
        return describe_exit(self._process.exitcode)


def describe_exit(code: int | None) -> str:
    """An exit code of `multiprocessing` in words: negative means a signal."""
    if code is None:
        return "still running"
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"killed by {name}"
    return f"ended with code {code}"
