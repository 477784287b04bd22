"""From the decoder to the pipe, without ever making the decoder wait.

The decoder's thread appends one small tuple a step (well under a microsecond) and, every
`flush_ns`, wakes a thread that sleeps in between; that thread packs and writes. A full pipe
blocks only the writing thread: the backlog stays in memory. A step that is followed by a
long silence is written after `idle_s` all the same.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from profiler import events as ev
from profiler.patience import be_patient

Detokenise: TypeAlias = Callable[[Sequence[int]], str]
"""Token ids of one step to the text that became complete with them. Called in order."""

_Step: TypeAlias = "tuple[int, Sequence[int] | int, OpenRequest | None]"

FLUSH_NS = 100_000_000
SHARING_FLUSH_NS = 200_000_000
"""With the model on the processor that we run on: each flush makes the decoder wait for the
interpreter, and the engine looks no more often."""
FAST_FLUSH_NS = 50_000_000
FAST_STEPS_PER_S = 2000
"""From this rate on batches are long enough to be written more often all the same: what a wake-up
costs is little beside what is written."""
IDLE_S = 0.2


class Outbox:
    """The worker's way out. `send` writes one message (bytes) and may block.

    `step` and the `begin`/`emit` calls come from the decoder's thread; everything is sent in
    the order of the calls. `send` raising OSError (the engine is gone) ends the writing
    silently: the orphan watch ends the process. Anything else that ends it calls `on_fatal`.
    """

    def __init__(
        self,
        send: Callable[[bytes], None],
        *,
        flush_ns: int = FLUSH_NS,
        on_fatal: Callable[[], None] = lambda: None,
    ) -> None:
        self._send = send
        self._on_fatal = on_fatal
        self._flush_ns = flush_ns
        self._items: deque[_Step | ev.Event | OpenRequest | _Rest] = deque()
        self._append = self._items.append
        self._due_ns = 0
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._closing = False
        self._sharing = False
        self._drained_ns = 0
        self._current: OpenRequest | None = None
        self._thread = threading.Thread(target=self._write, name="outbox", daemon=True)
        self._thread.start()

    def share(self) -> None:
        """The model computes on the processor that the writing thread runs on: write less often,
        and preempt nobody."""
        self._flush_ns = SHARING_FLUSH_NS
        self._sharing = True  # from now on the writing thread sets the pace

    def begin(
        self, start: ev.RequestStart, detokenise: Detokenise | None, *, keep_ids: bool = True
    ) -> OpenRequest:
        """The steps that follow belong to this request; those of others that are under way at the
        same time come through `step_of` with what this returns.

        `keep_ids`: may token ids, which a tokenizer turns back into text, go into the file?
        """
        request = OpenRequest(start, detokenise, keep_ids)
        self._append(request)
        return request

    def step(self, t_ns: int, ids: Sequence[int] | int) -> None:
        """One arrival: its stamp and its token ids, or how many tokens where ids are unknown.

        The decoder's hot path.
        """
        self._append((t_ns, ids, None))
        if t_ns >= self._due_ns:
            self._due_ns = t_ns + self._flush_ns
            self._wake.set()

    def step_of(self, request: OpenRequest, t_ns: int, ids: Sequence[int] | int) -> None:
        """As `step`, of a request named: several may be under way, on any threads."""
        self._append((t_ns, ids, request))
        if t_ns >= self._due_ns:
            self._due_ns = t_ns + self._flush_ns
            self._wake.set()

    def end_text(self, rest: Callable[[], str], request: OpenRequest | None = None) -> None:
        """No more steps come: `rest()` (called on the writing thread) is the text held back so far."""
        self._append(_Rest(rest, request))

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
        patient = False
        try:
            while True:
                self._wake.wait(IDLE_S)
                if self._sharing and not patient:
                    be_patient()
                    patient = True
                self._wake.clear()
                closing = self._closing
                for message in _encode(self._drain()):
                    self._send(message)
                if not self._items:
                    self._idle.set()
                    if closing:
                        return
        except OSError:
            self._idle.set()
        except Exception:  # noqa: BLE001 - whatever it was, nothing more can be said from here
            traceback.print_exc()
            self._idle.set()
            self._on_fatal()

    def _drain(self) -> list[ev.Event]:
        """Everything handed over so far; steps of one request between two other events together,
        intervals last."""
        out: list[ev.Event] = []
        beside: list[ev.Event] = []
        waiting: dict[OpenRequest, tuple[list[int], list[Sequence[int] | int]]] = {}
        n = len(self._items)
        for _ in range(n):
            item = self._items.popleft()
            if type(item) is tuple:
                owner = item[2] or self._current
                if owner is not None:
                    t_ns, steps = waiting.setdefault(owner, ([], []))
                    t_ns.append(item[0])
                    steps.append(item[1])
                continue
            if isinstance(item, ev.Interval):
                # Belongs to no request and cuts no batch in two: a collection comes every few hundred steps.
                beside.append(item)
                continue
            _pack_all(waiting, out)
            if isinstance(item, OpenRequest):
                self._current = item
                out.append(item.start)
            elif isinstance(item, _Rest):
                request = item.request or self._current
                text = _text(lambda _, rest=item.rest: rest(), ())  # type: ignore[misc]
                if text and request is not None:
                    out.append(ev.Text(request.start.no, [text], request.count))
            else:
                out.append(item)  # type: ignore[arg-type]
        _pack_all(waiting, out)
        self._keep_pace(n)
        return out + beside

    def _keep_pace(self, n: int) -> None:
        """`n` things were handed over since the last time: how long until the next."""
        drained_ns, self._drained_ns = self._drained_ns, now_ns()
        if self._sharing:
            fast = n * 1_000_000_000 >= FAST_STEPS_PER_S * (self._drained_ns - drained_ns)
            self._flush_ns = FAST_FLUSH_NS if fast else SHARING_FLUSH_NS


class OpenRequest:
    """A request that was begun, and how many steps (`count`) and tokens (`produced`) were written
    of it. Belongs to the writing thread; others only pass it on."""

    __slots__ = ("count", "detokenise", "keep_ids", "produced", "start")

    def __init__(self, start: ev.RequestStart, detokenise: Detokenise | None, keep_ids: bool = True) -> None:
        self.start = start
        self.keep_ids = keep_ids
        self.detokenise = detokenise
        self.count = 0
        self.produced = 0

    def pack(self, t_ns: list[int], steps: list[Sequence[int] | int], out: list[ev.Event]) -> None:
        """Adds the events of these steps to `out`."""
        k: list[int] = []
        kv_len: list[int] = []
        ids: list[int] = []
        prompt = self.start.prompt_tokens
        for step in steps:
            n = step if isinstance(step, int) else len(step)
            self.produced += max(n, 0)
            k.append(n)
            kv_len.append(ev.UNKNOWN if prompt is None else prompt + self.produced)
            if self.keep_ids and not isinstance(step, int):
                ids.extend(step)
        out.append(ev.make_steps(self.start.no, self.count, t_ns, k, kv_len, ids))
        if self.detokenise is not None:
            detokenise = self.detokenise
            pieces = ["" if isinstance(step, int) else _text(detokenise, step) for step in steps]
            out.append(ev.Text(self.start.no, pieces, self.count))
        self.count += len(t_ns)


def _pack_all(
    waiting: dict[OpenRequest, tuple[list[int], list[Sequence[int] | int]]], out: list[ev.Event]
) -> None:
    for request, (t_ns, steps) in waiting.items():
        request.pack(t_ns, steps, out)
    waiting.clear()


def _text(detokenise: Detokenise, ids: Sequence[int]) -> str:
    """The text of a step; ids that a tokenizer cannot take show as ids. Text is never worth a run."""
    try:
        return detokenise(ids)
    except Exception:  # noqa: BLE001 - any tokenizer, any fault
        return "".join(f"‹{token}›" for token in ids)


def _encode(events: list[ev.Event]) -> list[bytes]:
    """`events.encode`; an event that is no strict JSON is left out, a line for the log in its place."""
    try:
        return ev.encode(events)
    except (ValueError, TypeError):
        messages = []
        for event in events:
            try:
                messages += ev.encode([event])
            except (ValueError, TypeError) as error:
                text = f"An event of type {event.type} could not be sent ({error})."
                messages += ev.encode([ev.Log("error", now_ns(), "worker", text, traceback.format_exc())])
        return messages


class _Rest:
    __slots__ = ("request", "rest")

    def __init__(self, rest: Callable[[], str], request: OpenRequest | None) -> None:
        self.rest = rest
        self.request = request


def now_ns() -> int:
    """The one clock: integer nanoseconds, comparable between processes of this machine."""
    return time.perf_counter_ns()
