"""The recording process of somebody's own script: `python -m profiler.engine.script`.

What the engine is to a worker, this process is to a user's script: it samples the machine and
writes the session file, so that the script's interpreter has nothing to do but stamp. The
script (`engine.script_process`) starts it as a program and holds both pipes: messages of
`events` and commands come in on stdin, answers go out on stdout, framed (`engine.frames`).

When the script is gone, whatever way, the run is closed as interrupted and the process ends.
"""

from __future__ import annotations

import io
import json
import os
import queue
import signal
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import psutil

from profiler import events as ev
from profiler.engine import inspection
from profiler.engine.frames import read_frame, write_frame
from profiler.engine.handshake import Handshake
from profiler.engine.recorder import Recorder
from profiler.engine.sampling import Sampling
from profiler.errors import DecodescopeError
from profiler.paths import library_dir
from profiler.session import files
from profiler.units import NS_PER_S

RUN = 1
COMMAND = b"C"
"""First byte of a command; those of events are J and S (see `events`)."""
TICK_S = 0.25
WAITING_TICK_S = 0.02
ALIVE_NS = NS_PER_S
SAMPLER_WAIT_NS = 2 * NS_PER_S
GONE = "the script ended unexpectedly"
GC_POLICY = "left to the script"

Send = Callable[[dict[str, Any]], None]


class ScriptRecording:
    """Takes what the script tells, in order. All methods belong to one thread.

    Commands: open, sample, close; answers through `send`: ping (answered by a Reply), ready,
    sampling, closed, failed. `over` is true after the end.
    """

    def __init__(self, send: Send, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._send = send
        self.now_ns = clock
        self.over = False
        self._open: dict[str, Any] = {}
        self._handshake: Handshake | None = None
        self._recorder: Recorder | None = None
        self._sampling: Sampling | None = None
        self._sampled: deque[ev.Event] = deque()
        self._sampling_since_ns: int | None = None
        self._pings = 0

    @property
    def waiting(self) -> bool:
        """The script waits for the sampler's first reading: tick more often."""
        return self._sampling_since_ns is not None

    def send(self, verb: str) -> int:
        """Asks the script something; its Reply carries the returned id."""
        self._pings += 1
        self._send({"verb": verb, "id": self._pings})
        return self._pings

    def take(self, message: bytes) -> None:
        """One message of the script. DecodescopeError when the recording cannot be begun."""
        if message[:1] == COMMAND:
            command = json.loads(message[1:])
            getattr(self, f"_verb_{command['verb']}")(command)
            return
        events = ev.decode(message)
        if self._recorder is not None:
            self._recorder.write(events)
            return
        for event in events:
            if isinstance(event, ev.Reply) and self._handshake is not None and self._handshake.take(event):
                if self._handshake.done:
                    self._begin(self._handshake)

    def tick(self) -> None:
        """Call often: stores readings, commits when it is time."""
        recorder, sampling = self._recorder, self._sampling
        if recorder is None:
            return
        self._drain_samples()
        recorder.tick(self.now_ns())
        if sampling is not None and self._sampling_since_ns is not None:
            late = self.now_ns() > self._sampling_since_ns + SAMPLER_WAIT_NS
            if sampling.has_first or late:
                self._sampling_since_ns = None
                self._send({"verb": "sampling"})

    def end(self, status: str, reason: str | None) -> None:
        """Closes run and file. Idempotent."""
        recorder, self._recorder = self._recorder, None
        self.over = True
        if recorder is None:
            return
        if self._sampling is not None:
            self._sampling.stop()
            recorder.write([self._sampled.popleft() for _ in range(len(self._sampled))])
            # Again: what turned out to be missing is known only now.
            recorder.write([ev.Fact("telemetry", self._sampling.facts())])
            self._sampling = None
        recorder.write([ev.RunEnd(RUN, self.now_ns(), status, reason)])
        recorder.commit()
        recorder.set_summary(RUN, inspection.summary_of(recorder.path, RUN))
        path = recorder.close(_rescue_folders())
        self._send({"verb": "closed", "path": str(path), "problem": recorder.problem})

    # -- commands -----------------------------------------------------------------------------

    def _verb_open(self, command: dict[str, Any]) -> None:
        files.check_target(Path(command["path"]), overwrite=command["overwrite"])
        self._open = command
        self._handshake = Handshake(self, self.now_ns)

    def _begin(self, handshake: Handshake) -> None:
        told = self._open
        machine = inspection.machine_facts()
        try:
            facts = inspection.session_facts(self.now_ns())
            self._recorder = Recorder(
                Path(told["path"]), facts, told["name"] or Path(told["path"]).stem, replace=told["overwrite"]
            )
        except OSError as error:
            raise files.os_error(error, Path(told["path"])) from error
        environment = inspection.environment(machine, {"software": told["software"]})
        start = ev.RunStart(
            RUN,
            self.now_ns(),
            told["name"] or told["model"],
            told["model"],
            told["config"],
            {**environment, "gc": GC_POLICY},
        )
        self._recorder.write([start, *handshake.events(RUN)])
        self._recorder.commit()
        self._send({"verb": "ready", "path": str(self._recorder.path)})

    def _verb_sample(self, command: dict[str, Any]) -> None:
        """Begins to sample. Not earlier: only now is known which GPUs the script uses."""
        if self._recorder is None or self._sampling is not None:
            return
        self._sampling = Sampling(
            self._sampled.append, self._open["sample_hz"], self._open["pid"], command["uuids"]
        )
        self._sampling.start()
        self._sampling_since_ns = self.now_ns()
        self._recorder.write([ev.Fact("telemetry", self._sampling.facts())])

    def _verb_close(self, command: dict[str, Any]) -> None:
        self.end(command["status"], command["reason"])

    def _drain_samples(self) -> None:
        if self._recorder is not None and self._sampled:
            self._recorder.write([self._sampled.popleft() for _ in range(len(self._sampled))])


def _rescue_folders() -> list[Path]:
    try:
        return [library_dir(), Path(tempfile.gettempdir())]
    except OSError:
        return [Path(tempfile.gettempdir())]


def _alive(process: psutil.Process | None) -> bool:
    try:
        return process is not None and process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _script_process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def _take_pipes() -> tuple[io.RawIOBase, io.RawIOBase]:
    """stdin and stdout as raw files; what libraries print goes to stderr from here on."""
    commands = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return cast(io.RawIOBase, commands), cast(io.RawIOBase, answers)


def main(script_pid: int) -> None:
    """The process. Returns when the recording is closed; a second interrupt changes nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    commands, answers = _take_pipes()

    def send(answer: dict[str, Any]) -> None:
        try:
            write_frame(answers, ev.dump_json(answer).encode("utf-8", "surrogatepass"))
        except OSError:
            pass  # the script is gone: its end of file comes next

    inbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def read() -> None:
        message: bytes | None = b""
        while message is not None:
            message = read_frame(commands)
            inbox.put(message)

    threading.Thread(target=read, name="script reader", daemon=True).start()
    recording = ScriptRecording(send)
    try:
        _serve(recording, inbox, _script_process(script_pid))
    except DecodescopeError as error:
        recording.end("interrupted", error.message)
        send(
            {"verb": "failed", "kind": type(error).__name__, "message": error.message, "detail": error.detail}
        )
    except Exception as error:  # noqa: BLE001 - the last words of the process: told, then it ends
        traceback.print_exc()
        sentence = f"The recording process failed ({type(error).__name__}: {error})."
        recording.end("interrupted", sentence)
        send({"verb": "failed", "kind": "", "message": sentence, "detail": traceback.format_exc()})


def _serve(
    recording: ScriptRecording, inbox: queue.SimpleQueue[bytes | None], script: psutil.Process | None
) -> None:
    """Takes messages until the recording is over or the script is gone."""
    looked_ns = recording.now_ns()
    while not recording.over:
        try:
            message = inbox.get(timeout=WAITING_TICK_S if recording.waiting else TICK_S)
        except queue.Empty:
            now_ns = recording.now_ns()
            # A process that the script has forked may still hold the pipe open.
            if now_ns > looked_ns + ALIVE_NS:
                looked_ns = now_ns
                if not _alive(script):
                    recording.end("interrupted", GONE)
        else:
            if message is None:
                recording.end("interrupted", GONE)
            else:
                recording.take(message)
        recording.tick()
