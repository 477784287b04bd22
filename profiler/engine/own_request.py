"""One request of a user's own script: stamps, spans, text, end. See `own_script.Recorder`."""

from __future__ import annotations

import contextlib
import operator
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from profiler import events as ev
from profiler.errors import UsageError
from profiler.worker.detokenise import Detokeniser
from profiler.worker.outbox import OpenRequest, Outbox, now_ns
from profiler.worker.streamer import StampStreamer

_MAX_ID = 2**31 - 1
_MAX_NS = 2**63 - 1
SEVERAL_PROMPTS = (
    "The streamer got {n} prompts at once, whose tokens it cannot tell apart; make one request for each, with "
    "the same batch_id, and call step() yourself."
)


class Request:
    """Made by `Recorder.request`. Thread: one at a time, any.

    In a `with` it ends by itself: "ok" at the end, "error" when an exception leaves it,
    "cancelled" on Ctrl-C; the exception goes on. Is it never ended, it is `incomplete`.
    """

    def __init__(
        self,
        outbox: Outbox,
        start: ev.RequestStart,
        check_open: Callable[[], None],
        *,
        tokenizer: Any,
        t0_ns: int | None,
    ) -> None:
        """Use `Recorder.request`. `start` is complete but for its time, and perhaps the prompt's length."""
        self._outbox = outbox
        self._check_recorder = check_open
        self._start = start
        self._detokenise = None if tokenizer is None else Detokeniser(tokenizer)
        self._open: OpenRequest | None = None
        self._early: list[ev.Span] = []
        self._with_ids: bool | None = None
        self._produced = 0
        self._ended = False
        self._t0_ns = now_ns() if t0_ns is None else _stamp(t0_ns)
        if start.prompt_tokens is not None:
            self._begin(start.prompt_tokens)

    @property
    def id(self) -> str:
        """Its name in the session: r1, r2, ...; w1, ... for warm-ups."""
        return self._start.id

    @property
    def t0_ns(self) -> int:
        """When the request began (`time.perf_counter_ns`)."""
        return self._t0_ns

    def prompt(self, prompt_tokens: int) -> None:
        """Tells the prompt's length, where it was not known at t0. Before the first step."""
        self._check()
        if self._open is not None:
            raise UsageError(
                "The prompt's length comes before the first step, and once.", field="prompt_tokens"
            )
        self._begin(operator.index(prompt_tokens))

    def step(self, token_ids: Any = None, *, k: int | None = None, t_ns: int | None = None) -> None:
        """Tokens that arrived now (or at `t_ns`): stamped first, then looked at.

        `token_ids`: one id, several, or a tensor of them; or only how many, `k` (0: an event without
        a token). Neither: one token. UsageError after the end, and for ids at some steps only.
        """
        now = now_ns() if t_ns is None else _stamp(t_ns)
        self._check()
        ids: Sequence[int] | int
        if token_ids is None:
            ids = n = 1 if k is None else _number("k", k)
        else:
            ids = _ids(token_ids)
            n = len(ids)
        if n:
            if self._with_ids is None:
                self._with_ids = token_ids is not None
            elif self._with_ids != (token_ids is not None):
                raise UsageError("Give the token ids at every step of a request, or at none.")
        self._outbox.step_of(self._open or self._begin(None), now, ids)
        self._produced += n

    def streamer(self) -> StampStreamer:
        """For the `streamer=` of transformers' `generate`: one prompt, any decoding that streams."""
        self._check()
        return StampStreamer(self._streamed, _never, _nothing, self._prompt_of)

    def _prompt_of(self, value: Any) -> None:
        prompts = int(value.shape[0]) if value.dim() > 1 else 1
        if prompts > 1:
            raise UsageError(SEVERAL_PROMPTS.format(n=prompts))
        if self._open is None:
            # Nothing is handed over where the prompt came as embeddings.
            self._begin(int(value.shape[-1]) or None)

    def _streamed(self, t_ns: int, ids: list[int]) -> None:
        if self._ended:
            raise UsageError(f"The request {self.id} has ended; make a new one for each generate().")
        self._outbox.step_of(self._open or self._begin(None), t_ns, ids)
        self._produced += len(ids)

    @contextlib.contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Times a part of the request, such as "tokenize"."""
        start_ns = now_ns()
        try:
            yield
        finally:
            self.span_at(name, start_ns, now_ns())

    def span_at(self, name: str, t_ns: int, end_ns: int, detail: dict[str, Any] | None = None) -> None:
        """A part that was timed elsewhere, on `time.perf_counter_ns`. `detail` is JSON."""
        self._check()
        start_ns, stop_ns = _stamp(t_ns), _stamp(end_ns)
        if stop_ns < start_ns:
            raise UsageError(f"The span {name!r} ends before it starts; give start and end in this order.")
        span = ev.Span(self._start.run, str(name), start_ns, stop_ns, self._start.no, _json(detail))
        if self._open is None:
            self._early.append(span)  # follows its request
        else:
            self._outbox.emit(span)

    def text(self, text: str) -> None:
        """A piece of the answer's text, in order."""
        self._check()
        if self._open is None:
            self._begin(None)
        self._outbox.emit(ev.Text(self._start.no, [str(text)]))

    def end(
        self,
        status: str = "ok",
        stop_reason: str | None = None,
        error: str | None = None,
        *,
        t_ns: int | None = None,
    ) -> None:
        """The request is over. `status`: ok, error, cancelled; `stop_reason` as length, stop, eos."""
        now = now_ns() if t_ns is None else _stamp(t_ns)
        self._check()
        if status not in ev.END_STATUSES:
            raise UsageError(
                f"status: {status!r} is not known; choose {', '.join(ev.END_STATUSES)}.", field="status"
            )
        request = self._open or self._begin(None)
        self._ended = True
        if self._detokenise is not None:
            self._outbox.end_text(self._detokenise.rest, request)
        self._outbox.emit(ev.RequestEnd(self._start.no, now, status, stop_reason, error), now=True)

    def __enter__(self) -> Request:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ended:
            return
        if error is None:
            self.end("ok", self._reason())
        elif isinstance(error, Exception):
            words = f"{type(error).__name__}: {error}".strip().splitlines()[0][:200]
            self.end("error", "error", words)
            detail = "".join(traceback.format_exception(error))
            self._outbox.emit(ev.Failure("run", now_ns(), f"{self._start.label}: {words}", detail), now=True)
        else:
            self.end("cancelled", "stopped")

    def _reason(self) -> str | None:
        asked = self._start.max_new_tokens
        if asked is None:
            return None
        return "length" if self._produced >= asked else "stop"

    def _begin(self, prompt_tokens: int | None) -> OpenRequest:
        start = replace(self._start, t_ns=self._t0_ns, prompt_tokens=prompt_tokens)
        self._open = self._outbox.begin(start, self._detokenise)
        for span in self._early:
            self._outbox.emit(span)
        self._early = []
        return self._open

    def _check(self) -> None:
        self._check_recorder()
        if self._ended:
            raise UsageError(f"The request {self.id} has ended; make a new one for the next prompt.")


def _never() -> bool:
    return False


def _nothing(_t_ns: int) -> None:
    return None


def _ids(value: Any) -> list[int]:
    """Token ids of a number, a sequence, or a tensor. UsageError for anything else."""
    try:
        if hasattr(value, "reshape"):
            value = value.reshape(-1).tolist()
        ids = [operator.index(value)] if hasattr(value, "__index__") else [operator.index(i) for i in value]
    except TypeError:
        raise UsageError(
            f"token_ids: {type(value).__name__} holds no token ids; give whole numbers, or k= for how many."
        ) from None
    if ids and not (min(ids) >= 0 and max(ids) <= _MAX_ID):
        raise UsageError(f"token_ids: {min(ids)} to {max(ids)} are no ids; give numbers of 0 to {_MAX_ID}.")
    return ids


def _number(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= int(value) <= _MAX_ID:
        raise UsageError(f"{name}: {value!r} cannot work; give a number of tokens.", field=name)
    return int(value)


def _stamp(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= int(value) <= _MAX_NS:
        raise UsageError(f"{value!r} is no time; give integer nanoseconds of time.perf_counter_ns().")
    return int(value)


def _json(value: Any) -> Any:
    if value is None:
        return None
    try:
        ev.dump_json(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"detail: it is no strict JSON ({error}).") from None
    return value
