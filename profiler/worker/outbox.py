"""From the decoder to the pipe, without ever making the decoder wait.

The decoder's thread appends one small tuple a step (well under a microsecond) and, every
`flush_ns`, wakes a thread that sleeps in between; that thread packs and writes. A full pipe
blocks only the writing thread: the backlog stays in memory. A step that is followed by a
long silence is written after `idle_s` all the same.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from profiler import events as ev

Detokenise: TypeAlias = Callable[[Sequence[int]], str]
"""Token ids of one step to the text that became complete with them. Called in order."""

_Step: TypeAlias = tuple[int, Sequence[int] | int]

FLUSH_NS = 75_000_000
IDLE_S = 0.2


class Outbox:
    """The worker's way out. `send` writes one message (bytes) and may block.

    `step` and the `begin`/`emit` calls come from the decoder's thread; everything is sent in
    the order of the calls. `send` raising OSError (the engine is gone) ends the writing
    silently: the orphan watch ends the process.
    """

    def __init__(self, send: Callable[[bytes], None], *, flush_ns: int = FLUSH_NS) -> None:
        self._send = send
        self._flush_ns = flush_ns
        self._items: deque[_Step | ev.Event | _Begin | _Rest] = deque()
        self._append = self._items.append
        self._due_ns = 0
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._closing = False
        self._current: _Begin | None = None
        self._count = 0
        self._produced = 0
        self._thread = threading.Thread(target=self._write, name="outbox", daemon=True)
        self._thread.start()

    def begin(self, start: ev.RequestStart, detokenise: Detokenise | None) -> None:
        """The steps that follow belong to this request."""
        self._append(_Begin(start, detokenise))

    def step(self, t_ns: int, ids: Sequence[int] | int) -> None:
        """One arrival: its stamp and its token ids, or how many tokens where ids are unknown.

        The decoder's hot path.
        """
        self._append((t_ns, ids))
        if t_ns >= self._due_ns:
            self._due_ns = t_ns + self._flush_ns
            self._wake.set()

    def end_text(self, rest: Callable[[], str]) -> None:
        """No more steps come: `rest()` (called on the writing thread) is the text held back so far."""
        self._append(_Rest(rest))

    def emit(self, event: ev.Event, *, now: bool = False) -> None:
        """Any other event; written with the next batch, or at once when `now`."""
        self._append(event)
        if now:
            self._wake.set()

    def flush(self, timeout_s: float = 10.0) -> bool:
        """Wait until all that was handed over is written. False: the pipe is stuck."""
        self._idle.clear()
        self._wake.set()
        return self._idle.wait(timeout_s)

    def close(self, timeout_s: float = 5.0) -> None:
        """Write what is left and end the thread."""
        self._closing = True
        self._wake.set()
        self._thread.join(timeout_s)

    # -- the writing thread --------------------------------------------------------------

    def _write(self) -> None:
        try:
            while True:
                self._wake.wait(IDLE_S)
                self._wake.clear()
                closing = self._closing
                for message in ev.encode(self._drain()):
                    self._send(message)
                if not self._items:
                    self._idle.set()
                    if closing:
                        return
        except OSError:
            self._idle.set()

    def _drain(self) -> list[ev.Event]:
        """Everything handed over so far, neighbouring steps packed together."""
        out: list[ev.Event] = []
        t_ns: list[int] = []
        steps: list[Sequence[int] | int] = []
        for _ in range(len(self._items)):
            item = self._items.popleft()
            if type(item) is tuple:
                t_ns.append(item[0])
                steps.append(item[1])
                continue
            if t_ns:
                self._pack(t_ns, steps, out)
                t_ns, steps = [], []
            if isinstance(item, _Begin):
                self._current, self._count, self._produced = item, 0, 0
                out.append(item.start)
            elif isinstance(item, _Rest):
                text = item.rest()
                if text and self._current is not None:
                    out.append(ev.Text(self._current.start.no, [text], self._count))
            else:
                out.append(item)  # type: ignore[arg-type]
        if t_ns:
            self._pack(t_ns, steps, out)
        return out

    def _pack(self, t_ns: list[int], steps: list[Sequence[int] | int], out: list[ev.Event]) -> None:
        begin = self._current
        if begin is None:
            return
        k: list[int] = []
        kv_len: list[int] = []
        ids: list[int] = []
        prompt = begin.start.prompt_tokens
        for step in steps:
            n = step if isinstance(step, int) else len(step)
            self._produced += max(n, 0)
            k.append(n)
            kv_len.append(ev.UNKNOWN if prompt is None else prompt + self._produced)
            if not isinstance(step, int):
                ids.extend(step)
        out.append(ev.make_steps(begin.start.no, self._count, t_ns, k, kv_len, ids))
        if begin.detokenise is not None:
            pieces = [begin.detokenise(step) if not isinstance(step, int) else "" for step in steps]
            out.append(ev.Text(begin.start.no, pieces, self._count))
        self._count += len(t_ns)


class _Begin:
    __slots__ = ("detokenise", "start")

    def __init__(self, start: ev.RequestStart, detokenise: Detokenise | None) -> None:
        self.start = start
        self.detokenise = detokenise


class _Rest:
    __slots__ = ("rest",)

    def __init__(self, rest: Callable[[], str]) -> None:
        self.rest = rest


def now_ns() -> int:
    """The one clock: integer nanoseconds, comparable between processes of this machine."""
    return time.perf_counter_ns()
