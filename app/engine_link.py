"""The window's end of the pipe: a thread that blocks in `receive`, a deque, no signals.

The reader thread appends whole batches; the GUI thread takes them with `drain` at its one
timer. Nothing per token crosses threads as a signal, and a window that is busy delays nobody:
the engine drops it from the stream and it catches up from the file (`Resync`).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from profiler import events as ev
from profiler.engine.client import EngineGone
from profiler.patience import be_patient

READ_S = 0.5
"""How long a look waits, and thus how late the end of the program is noticed at most."""
GATHER_S = 0.005
"""Rest after a message. One that is waiting then costs no switch of processes."""
GATHER_SHARING_S = 0.25
"""The same while the model has the processors: what comes is drawn some seconds later anyway."""

OnReply = Callable[[ev.Reply], None]


class Client(Protocol):
    """What the window needs of `profiler.engine.client.EngineClient`."""

    pid: int | None

    def start(self) -> None: ...

    def send(self, verb: str, **args: Any) -> int: ...

    def receive(self, timeout_s: float) -> list[ev.Event]: ...

    def report_redraws(self, intervals: list[tuple[int, int]]) -> None: ...

    def close(self, timeout_s: float = 20.0) -> None: ...


class EngineLink:
    """One engine at a time, made by `make_client`.

    Thread: all methods on the GUI thread; only `_read` runs elsewhere.
    """

    def __init__(self, make_client: Callable[[], Client]) -> None:
        self._make_client = make_client
        self._client: Client | None = None
        self._inbox: deque[list[ev.Event]] = deque()
        self._gone: deque[tuple[Client, str]] = deque()
        self._waiting: dict[int, OnReply] = {}
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self.sharing = False
        """Does the model compute on the processors that the window shares? Then waking up counts."""

    @property
    def alive(self) -> bool:
        """Is there an engine that has not been reported gone?"""
        return self._client is not None

    @property
    def pid(self) -> int | None:
        return None if self._client is None else self._client.pid

    def start(self) -> None:
        """Spawn the engine and begin to listen; returns at once. No effect while one is alive."""
        if self._client is not None:
            return
        client = self._make_client()
        client.start()
        self._client = client
        self._closing = threading.Event()
        self._thread = threading.Thread(
            target=self._read, args=(client, self._closing), name="engine-link", daemon=True
        )
        self._thread.start()

    def send(self, verb: str, on_reply: OnReply | None = None, **args: Any) -> bool:
        """Send a verb; `on_reply` is called when the reply is resolved. False without an engine."""
        if self._client is None:
            return False
        try:
            number = self._client.send(verb, **args)
        except EngineGone as error:
            self._gone.append((self._client, str(error)))
            return False
        if on_reply is not None:
            self._waiting[number] = on_reply
        return True

    def drain(self) -> list[ev.Event]:
        """All events that came since the last call, in order."""
        events: list[ev.Event] = []
        while self._inbox:
            events.extend(self._inbox.popleft())
        return events

    def resolve(self, reply: ev.Reply) -> None:
        """Call whoever waits for this reply."""
        on_reply = self._waiting.pop(reply.id, None)
        if on_reply is not None:
            on_reply(reply)

    def take_gone(self) -> str | None:
        """The message of an engine that ended since the last call, once; None while all is well.

        Call after `drain`: what the engine said before it ended comes first.
        """
        message: str | None = None
        while self._gone:
            client, text = self._gone.popleft()
            if client is self._client:
                self._client = None
                self._waiting.clear()
                message = text
        return message

    def report_redraws(self, intervals: list[tuple[int, int]]) -> None:
        """Tell the engine when the window drew (perf_counter_ns, start and end)."""
        if self._client is None or not intervals:
            return
        try:
            self._client.report_redraws(intervals)
        except EngineGone as error:
            self._gone.append((self._client, str(error)))

    def close(self, timeout_s: float = 20.0) -> None:
        """Ask the engine to shut down (it closes the session file), wait, then end it."""
        client, self._client = self._client, None
        self._closing.set()
        self._waiting.clear()
        if client is not None:
            client.close(timeout_s)
        if self._thread is not None:
            self._thread.join(timeout=2.0)
            self._thread = None

    def _read(self, client: Client, closing: threading.Event) -> None:
        be_patient()  # what it reads is drawn a second later; the model may be on this processor
        while not closing.is_set():
            try:
                batch = client.receive(READ_S)
                if batch:
                    # What belongs together comes in several messages: wake up once for them.
                    closing.wait(GATHER_SHARING_S if self.sharing else GATHER_S)
                while batch:
                    self._inbox.append(batch)
                    batch = client.receive(0.0)
            except EngineGone as error:
                if not closing.is_set():
                    self._gone.append((client, str(error)))
                return
