"""`from profiler import Recorder`: record what your own script runs.

    with Recorder("mine.dscope", model="my model") as rec:
        with rec.request(prompt_tokens=ids.shape[1], max_new_tokens=64) as req:     # t0 is here
            model.generate(ids, streamer=req.streamer(), max_new_tokens=64)

or, around any loop of your own, `req = rec.request(...)`, `req.step(token_ids)`, `req.end()`.

In the script's process a step costs what it costs in the worker: one append, and a thread that
writes every tenth of a second. Sampling and the session file are in a process of their own
(`engine.script`), which closes the file whatever becomes of the script.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import threading
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from profiler import events as ev
from profiler.engine.own_request import Request
from profiler.engine.script_process import CLOSE_S, OPEN_S, ScriptProcess
from profiler.errors import DecodescopeError, SessionError, UsageError
from profiler.session import files
from profiler.telemetry.sampler import MAX_HZ
from profiler.worker import attached
from profiler.worker.outbox import Outbox, now_ns
from profiler.worker.runner import GcWatch
from profiler.worker.streamer import LATE_NOTE

RUN = 1
SAMPLING_S = 5.0
BROKEN = "An error of Decodescope ended the recording early."
STATUSES = ("finished", "stopped", "failed", "interrupted")


class Recorder:
    """Records one run of your own program into a session file, live.

    Thread: any; requests may be under way on several threads at once. Opening takes about a
    second (a process is started), so does the first request (the sampler's first reading is
    waited for, before t0). Nothing raises because of the recording while the script runs; what
    went wrong is told by `close`, which `with` calls:

    - left normally, the run is "finished"; by an exception "failed", by Ctrl-C "stopped";
    - a script that is killed, or ends without `close`, leaves a file that says so.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        model: str = "",
        name: str = "",
        config: dict[str, Any] | None = None,
        sample_hz: float = 4.0,
        overwrite: bool = False,
    ) -> None:
        """Begins the recording at `path` (customarily `.dscope`).

        `model` and `name` are labels, `config` (JSON) is kept beside the numbers, `sample_hz`
        is the pace of the telemetry, 0 to 10 readings a second (0: none). SessionExists when
        there is a file at `path` (unless `overwrite`), SessionError when none can be made there,
        UsageError for a setting that cannot work.
        """
        self._path = Path(path).absolute()
        if not isinstance(sample_hz, (int, float)) or not 0 <= sample_hz <= MAX_HZ:
            raise UsageError(
                f"sample_hz: {sample_hz!r} cannot work; give 0 (no telemetry) to {MAX_HZ:g}.",
                field="sample_hz",
            )
        settings = {"model": model, "sample_hz": sample_hz, **(config or {})}
        _check_json("config", settings)
        files.check_target(self._path, overwrite=overwrite)
        self._model = model
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._names = {"r": itertools.count(1), "w": itertools.count(1)}
        self._closed = False
        self._sampling = False
        self._described = False
        self._weights_bytes: int | None = None
        self._process = ScriptProcess()
        try:
            ready = self._process.ask(
                "open",
                "ready",
                OPEN_S,
                path=str(self._path),
                overwrite=overwrite,
                name=name,
                model=model,
                config=settings,
                sample_hz=float(sample_hz),
                pid=self._owner,
                software=attached.software(),
            )
            if ready is None:
                raise SessionError(f"The recording process did not answer within {OPEN_S:g} s; try again.")
        except BaseException:
            self._process.finish()
            raise
        self._broken = threading.Event()
        self._outbox = Outbox(self._process.send, on_fatal=self._broken.set)
        self._gc = GcWatch(self._outbox)
        self._gc.__enter__()
        atexit.register(self._at_exit)

    @property
    def path(self) -> Path:
        """The session file (after `close`: where it really is)."""
        return self._path

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._closed

    # -- requests -------------------------------------------------------------------------------

    def request(
        self,
        prompt_tokens: int | None = None,
        *,
        max_new_tokens: int | None = None,
        warmup: bool = False,
        batch_id: str | None = None,
        label: str | None = None,
        streamed: bool = True,
        tokenizer: Any = None,
        t0_ns: int | None = None,
    ) -> Request:
        """A prompt and its answer; t0 is the moment of return, or `t0_ns` (`time.perf_counter_ns`).

        `prompt_tokens` None: the streamer tells it when `generate` starts, or `Request.prompt`.
        `warmup` keeps it out of the statistics. Prompts decoded together are one request each
        with the same `batch_id`. `streamed` False: only the end will be known, no first token.
        With a `tokenizer` the answer's text is kept, decoded on the writing thread.
        Use it in a `with`, or call `Request.end`. UsageError when the recording is closed.
        """
        self._check_open()
        self._begin_sampling()
        kind = "w" if warmup else "r"
        with self._lock:
            no, number = next(self._numbers), next(self._names[kind])
        return Request(
            self._outbox,
            ev.RequestStart(
                no,
                RUN,
                f"{kind}{number}",
                0,
                _count("prompt_tokens", prompt_tokens),
                _count("max_new_tokens", max_new_tokens),
                streamed=bool(streamed),
                warmup=bool(warmup),
                batch_id=batch_id if batch_id is None else str(batch_id),
                label=str(label) if label else (f"Warm-up {number}" if warmup else f"Request {number}"),
            ),
            self._check_open,
            tokenizer=tokenizer,
            t0_ns=t0_ns,
        )

    def _begin_sampling(self) -> None:
        """Once, when the model is most likely loaded: only then is known which GPUs it uses."""
        with self._lock:
            if self._sampling:
                return
            self._sampling = True
            software, devices = attached.software(), attached.devices()
            if software:
                self._outbox.emit(ev.Fact("software", software, RUN))
            if devices and not self._described:
                device = devices[0] if len(devices) == 1 else " + ".join(devices)
                self._outbox.emit(ev.Fact("model", {"label": self._model, "device": device}, RUN))
            if devices == ["mps"]:
                self._outbox.emit(ev.Note(RUN, LATE_NOTE))
            try:
                self._process.ask("sample", "sampling", SAMPLING_S, uuids=attached.gpu_names())
            except DecodescopeError:
                pass  # the recording has failed; `close` tells

    # -- beside the requests --------------------------------------------------------------------

    def describe(
        self, model: Any, *, measure_bandwidth: bool = True, static_cache_len: int | None = None
    ) -> None:
        """Tells the bytes of a loaded model of transformers: what the bandwidth figures need.

        Call it before the first request. `measure_bandwidth` measures the memory of the model's
        device (about 2 s), which is what 100 % means; without it the bytes are kept and MBU is
        missing. `static_cache_len`: the length of a static cache, where you use one. UsageError
        for anything that is no model of transformers.
        """
        self._check_open()
        facts, footprint = attached.describe(model, self._model, static_cache_len)
        self._weights_bytes = footprint.get("weight_bytes")
        self._described = True
        self._outbox.emit(ev.Fact("model", facts, RUN))
        self._outbox.emit(ev.Fact("footprint", footprint, RUN))
        if measure_bandwidth:
            with self.span("reference"):
                result = attached.reference(facts["device"] or "cpu")
            self._outbox.emit(ev.Fact("reference", result, RUN))

    @contextlib.contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Times a part of the run that belongs to no request, such as "load"."""
        self._check_open()
        start_ns = now_ns()
        try:
            yield
        finally:
            self._outbox.emit(ev.Span(RUN, str(name), start_ns, now_ns()))

    def note(self, text: str) -> None:
        """One sentence that belongs beside the numbers."""
        self._check_open()
        self._outbox.emit(ev.Note(RUN, str(text)))

    def fact(self, key: str, value: Any) -> None:
        """Anything worth keeping with the run: strict JSON. UsageError when it is none."""
        self._check_open()
        _check_json(f"fact {key!r}", value)
        self._outbox.emit(ev.Fact(str(key), value, RUN))

    # -- the end ----------------------------------------------------------------------------------

    def close(self, status: str = "finished", reason: str | None = None) -> Path:
        """Ends the run and closes the file; returns where it is. Later calls change nothing.

        `status`: finished, stopped, failed or interrupted; `reason` one sentence. SessionError
        when the file is not complete at its place: the sentence says what is kept, and where.
        """
        if status not in STATUSES:
            raise UsageError(
                f"status: {status!r} is not known; choose {', '.join(STATUSES)}.", field="status"
            )
        with self._lock:
            # A process forked from the script has a copy of this object, but not of the recording.
            if self._closed or os.getpid() != self._owner:
                return self._path
            self._closed = True
        atexit.unregister(self._at_exit)
        self._gc.__exit__()
        self._outbox.emit(ev.Fact("memory", {"weights_bytes": self._weights_bytes, **attached.memory()}, RUN))
        try:
            self._outbox.close(CLOSE_S)
            if self._broken.is_set():
                status, reason = "interrupted", BROKEN
            closed = self._process.ask("close", "closed", CLOSE_S, status=status, reason=reason)
        except SessionError as error:
            raise SessionError(f"{error.message} See {self._path}.", error.detail) from None
        finally:
            self._process.finish()
        if closed is None:
            raise SessionError(
                f"The recording was not closed within {CLOSE_S:g} s; what is there is kept in {self._path}."
            )
        self._path = Path(closed["path"])
        problem = closed["problem"] or (BROKEN if self._broken.is_set() else None)
        if problem:
            raise SessionError(f"{problem} What was recorded is in {self._path}.")
        return self._path

    def __enter__(self) -> Recorder:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            if isinstance(error, Exception):
                self._outbox.emit(
                    ev.Failure("run", now_ns(), _words(error), "".join(traceback.format_exception(error)))
                )
                self.close("failed", _words(error))
            elif isinstance(error, KeyboardInterrupt):
                self.close("stopped", "stopped by the user")
            else:
                self.close("stopped", f"the script ended with {type(error).__name__}")
        except DecodescopeError as problem:
            error.add_note(f"Decodescope: {problem.message}")

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError(f"The recording {self._path} is closed; open a new Recorder.")

    def _at_exit(self) -> None:
        try:
            self.close("interrupted", "the script ended before the recording was closed")
        except DecodescopeError as error:
            warnings.warn(f"Decodescope: {error.message}", RuntimeWarning, stacklevel=1)


def _words(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def _count(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= int(value) < 2**31:
        raise UsageError(f"{name}: {value!r} cannot work; give a number of tokens, or None.", field=name)
    return int(value)


def _check_json(name: str, value: Any) -> None:
    try:
        ev.dump_json(value)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{name}: it is no strict JSON ({error}); give plain numbers, texts, lists."
        ) from None
