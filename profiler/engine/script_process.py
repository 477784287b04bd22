"""The script's end of its recording process: start, send, ask, end.

Started as a program and not by `multiprocessing`: a spawned child would run the user's script
again unless that has a main guard, which a notebook and a plain script do not have.
"""

from __future__ import annotations

import io
import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, cast

from profiler import events as ev
from profiler.engine.frames import read_frame, write_frame
from profiler.engine.worker_handle import describe_exit
from profiler.errors import SessionError, SessionExists
from profiler.paths import log_dir

COMMAND = b"C"
OPEN_S = 120.0
"""Longest wait for the process to be ready: imports from a slow disk, a driver that starts."""
CLOSE_S = 300.0
END_S = 5.0

# The folder of the package is told, since it may be one that only the script has on its path.
_BOOT = (
    "import sys; root = sys.argv[1]; root in sys.path or sys.path.insert(0, root); "
    "from profiler.engine.script import main; main(int(sys.argv[2]))"
)


class ScriptProcess:
    """A running recording process. `send` from any thread, the rest from one at a time."""

    def __init__(self) -> None:
        """Starts the process; returns at once. SessionError when it cannot be started."""
        if not sys.executable:
            raise SessionError("The recording cannot begin: this Python does not say where its program is.")
        self._log_path = _log_path()
        root = str(Path(__file__).resolve().parents[2])
        log = (
            os.open(self._log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) if self._log_path else None
        )
        try:
            self._process = subprocess.Popen(
                # Without the current folder on its path: a file there may be named like a module.
                [sys.executable, "-P", "-c", _BOOT, root, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if log is None else log,
                bufsize=0,
                **_own_group(),
            )
        except OSError as error:
            raise SessionError(
                f"The recording cannot begin: no process can be started ({error}).", repr(error)
            ) from error
        finally:
            if log is not None:
                os.close(log)
        self._pipe = cast(io.RawIOBase, self._process.stdin)
        self._lock = threading.Lock()
        self._inbox: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="recording answers", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, message: bytes) -> None:
        """Writes one message; blocks while the pipe is full. To a dead process: nothing happens."""
        with self._lock:
            try:
                write_frame(self._pipe, message)
            except (OSError, ValueError):
                pass  # told when the recording is closed; the script is not to be disturbed

    def ask(self, verb: str, answer: str, timeout_s: float, **args: Any) -> dict[str, Any] | None:
        """Sends a command and waits for its answer, in between answering pings. None: too late.

        SessionError (SessionExists) when the process refuses or has ended.
        """
        command = ev.dump_json({"verb": verb, **args})
        self.send(COMMAND + command.encode("utf-8", "surrogatepass"))
        end = time.monotonic() + timeout_s
        while True:
            try:
                message = self._inbox.get(timeout=max(end - time.monotonic(), 0.0))
            except queue.Empty:
                return None
            if message is None:
                self._inbox.put(None)
                raise SessionError(
                    f"The recording process was {self._exit_text()}; what it had stored until then is kept.",
                    self._last_words(),
                )
            if message["verb"] == "ping":
                reply = ev.Reply(message["id"], True, time.perf_counter_ns())
                for part in ev.encode([reply]):
                    self.send(part)
            elif message["verb"] == "failed":
                kind = SessionExists if message["kind"] == "SessionExists" else SessionError
                raise kind(message["message"], message["detail"])
            elif message["verb"] == answer:
                return message

    def finish(self, timeout_s: float = END_S) -> None:
        """Lets the process end (kills it after `timeout_s`) and frees the pipes. Idempotent."""
        if not self._lock.acquire(timeout=timeout_s):
            self._process.kill()  # it takes nothing more: whoever waits in `send` is let go
            self._lock.acquire()
        self._pipe.close()
        self._lock.release()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(END_S)
        if self._process.stdout is not None and not self._reader.is_alive():
            self._process.stdout.close()
        if self._log_path is not None:
            self._log_path.unlink(missing_ok=True)

    def _read(self) -> None:
        pipe = cast(io.RawIOBase, self._process.stdout)
        while True:
            message = read_frame(pipe)
            self._inbox.put(None if message is None else json.loads(message))
            if message is None:
                return

    def _exit_text(self) -> str:
        try:
            return describe_exit(self._process.wait(1.0))
        except subprocess.TimeoutExpired:
            return "cut off"

    def _last_words(self) -> str | None:
        try:
            return self._log_path.read_text("utf-8", "replace")[-4000:] if self._log_path else None
        except OSError:
            return None


def _own_group() -> dict[str, Any]:
    """The terminal's interrupt and its end are the script's affair."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


def _log_path() -> Path | None:
    try:
        return log_dir() / f"script-{os.getpid()}-{time.perf_counter_ns()}.log"
    except OSError:
        return None
