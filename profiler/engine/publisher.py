"""The engine's way to one subscriber: bounded, and never a brake on recording.

A thread writes to the pipe. When the subscriber does not read, the backlog grows up to a
limit; then it is dropped, and the subscriber is told (Resync) to read the session file as
soon as it reads again. Replies, states and failures are never dropped.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from profiler import events as ev

LIMIT_BYTES = 8 * 1024 * 1024
_VITAL = (ev.State, ev.Reply, ev.Failure, ev.Recording, ev.RunEnd, ev.Resync)


class Publisher:
    """`publish` from the engine's main thread; `send` is called by the writing thread.

    `send(message)` may block; OSError from it means the subscriber is gone (`gone` is set).
    """

    def __init__(self, send: Callable[[bytes], None], *, limit_bytes: int = LIMIT_BYTES) -> None:
        self._send = send
        self._limit = limit_bytes
        self._queue: deque[bytes] = deque()
        self._bytes = 0
        self._in_flight: bytes | None = None
        self._lagging = False
        self._condition = threading.Condition()
        self._closing = False
        self.gone = False
        self.drops = 0
        self._thread = threading.Thread(target=self._write, name="publisher", daemon=True)
        self._thread.start()

    def publish(self, events: Sequence[ev.Event]) -> None:
        """Queue events for the subscriber; drops data events while it lags."""
        if self.gone or not events:
            return
        with self._condition:
            if self._lagging:
                events = [event for event in events if isinstance(event, _VITAL)]
            messages = ev.encode(events)
            self._queue.extend(messages)
            self._bytes += sum(map(len, messages))
            if self._bytes > self._limit and not self._lagging:
                self._lagging = True
                self.drops += 1
                self._keep_vital()
            self._condition.notify()

    def _keep_vital(self) -> None:
        kept: deque[bytes] = deque()
        for message in self._queue:
            if message is self._in_flight:
                kept.append(message)  # being written: it will arrive, whole
            elif message[:1] == b"J":
                kept.extend(ev.encode([e for e in ev.decode(message) if isinstance(e, _VITAL)]))
        self._queue = kept
        self._bytes = sum(map(len, kept))

    def wants_resync(self) -> bool:
        """The subscriber was dropped and reads again: send `resume` after committing the file."""
        with self._condition:
            return self._lagging and not self._queue and not self.gone

    def resume(self, resync: ev.Resync) -> None:
        """Everything before this call is in the file; the stream goes on from here."""
        with self._condition:
            self._lagging = False
            messages = ev.encode([resync])
            self._queue.extend(messages)
            self._bytes += sum(map(len, messages))
            self._condition.notify()

    def close(self, timeout_s: float = 2.0) -> None:
        """Write what is queued, waiting at most `timeout_s`."""
        with self._condition:
            self._closing = True
            self._condition.notify()
        self._thread.join(timeout_s)

    def _write(self) -> None:
        while True:
            with self._condition:
                while not self._queue and not self._closing:
                    self._condition.wait()
                if not self._queue:
                    return
                message = self._in_flight = self._queue[0]
            try:
                self._send(message)
            except (OSError, ValueError):
                self.gone = True
                return
            with self._condition:
                # `_keep_vital` may have replaced the queue while the pipe was full.
                self._in_flight = None
                if self._queue and self._queue[0] is message:
                    self._queue.popleft()
                    self._bytes -= len(message)
