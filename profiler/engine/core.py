"""The engine: drains the worker, samples the machine, records first and shows second.

A state machine that is driven by `poll`; the same object serves as a process of its own
(`engine.main`) and in the foreground of `dscope record`. It never imports torch or Qt.

    idle -> loading -> ready -> running -> (stopping) -> ready
                  \\-> idle (cancelled)        \\-> failed (worker died, run failed)
"""

from __future__ import annotations

import queue
import shutil
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from profiler import events as ev
from profiler.config import make_config
from profiler.engine import inspection
from profiler.engine.handshake import Handshake
from profiler.engine.job import Job, load_key, process_key, stored_config
from profiler.engine.own_cost import OwnCost
from profiler.engine.recording import Recordings
from profiler.engine.rest import Rest, amount
from profiler.engine.sampling import Sampling
from profiler.engine.spare import SpareWorker, new_worker
from profiler.engine.worker_handle import WorkerHandle
from profiler.errors import DecodescopeError, ModelError, SessionError, UsageError
from profiler.patience import be_patient, be_prompt
from profiler.session import files
from profiler.units import NS_PER_S

Publish = Callable[[Sequence[ev.Event]], None]

MEASURED = (ev.RequestStart, ev.Steps, ev.Text, ev.Span, ev.RequestEnd, ev.Sample, ev.Interval)
"""What a subscriber is not told while its own cost is not to count."""
STOP_GRACE_NS = 2 * NS_PER_S
"""How long a run may take to stop when the window is gone, before the worker is killed."""
SAMPLER_WAIT_NS = 2 * NS_PER_S


class Engine:
    """One engine. All methods belong to one thread; `publish` is called on it.

    `library` None: the user's own folder. `publish` gets every event after it was recorded.
    """

    def __init__(
        self,
        *,
        publish: Publish,
        library: Path | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._send = publish
        self._outgoing: list[ev.Event] = []
        self._library = library
        self.now_ns = clock
        self.state = "idle"
        self.finished = False
        self._worker: WorkerHandle | None = None
        self._handshake: Handshake | None = None
        self._spare = SpareWorker(clock)
        self._warm_asked: list[int] = []
        self._loaded: dict[str, Any] | None = None
        self._loaded_key: str | None = None
        self._job: Job | None = None
        self._recordings = Recordings(library, self._tell, clock)
        self._sampling: Sampling | None = None
        self._rest = Rest()
        self._sharing = False
        """Is a run measuring on the processor that we run on?"""
        self._ending_reason: str | None = None
        self._kill_asked = False
        self._kill_at_ns: int | None = None
        self._sampled: deque[ev.Event] = deque()
        self._early: deque[ev.Event] = deque(maxlen=500)
        self._background: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._machine: dict[str, Any] | None = None
        self._in_background(inspection.machine_facts, self._set_machine, self._log_background)
        self._in_background(inspection.remove_old_logs, lambda _: None, self._log_background)

    def _publish(self, events: Sequence[ev.Event]) -> None:
        """For the subscriber, at the end of this turn: one message wakes it less than five do."""
        self._outgoing += events

    def _send_outgoing(self) -> None:
        if self._outgoing:
            events, self._outgoing = self._outgoing, []
            self._send(events)

    # -- verbs --------------------------------------------------------------------------------

    def command(self, number: int, verb: str, args: dict[str, Any]) -> None:
        """Takes a verb; the answer comes as a Reply with this number, now or later."""
        try:
            handler = getattr(self, f"_verb_{verb}", None)
            if handler is None:
                raise UsageError(f"The engine knows no verb {verb!r}.")
            handler(number, args)
        except DecodescopeError as error:
            self._refuse(number, error)
        except Exception as problem:  # noqa: BLE001 - one odd verb must not end a run that goes on
            self._refuse(number, _wrapped(problem))
        self._send_outgoing()

    def _verb_inspect(self, number: int, args: dict[str, Any]) -> None:
        self._in_background(
            lambda: inspection.inspect_model(**args), self._answer(number), self._refuser(number)
        )

    def _verb_models(self, number: int, _args: dict[str, Any]) -> None:
        self._in_background(inspection.models, self._answer(number), self._refuser(number))

    def _verb_machine(self, number: int, _args: dict[str, Any]) -> None:
        if self._machine is not None:
            self._reply(number, self._machine)
        else:
            self._in_background(inspection.machine_facts, self._answer(number), self._refuser(number))

    def _verb_warm(self, number: int, args: dict[str, Any]) -> None:
        """Make a worker ready for runs like this one. Answers when it is, or why there will be none."""
        config = make_config(args["config"])
        reason = inspection.why_not_warm(config, self._machine)
        if self._job is not None or self.finished:
            reason = "a run is going on"
        elif self._loaded is not None and self._loaded_key == load_key(config):
            reason = "the model is loaded already"
        if reason is None:
            self._spare.want(config)
            self._warm_asked.append(number)
        else:
            self._spare.drop()
            self._reply(number, {"warm": False, "reason": reason})

    def _answer_warm(self) -> None:
        if self._warm_asked and (self._spare.ready or not self._spare.exists):
            reason = None if self._spare.ready else "it was needed before, or has ended"
            for number in self._warm_asked:
                self._reply(number, {"warm": self._spare.ready, "reason": reason})
            self._warm_asked = []

    def _verb_load(self, number: int, args: dict[str, Any]) -> None:
        self._begin(number, args, with_run=False)

    def _verb_run(self, number: int, args: dict[str, Any]) -> None:
        self._begin(number, args, with_run=True)

    def _verb_overhead(self, number: int, args: dict[str, Any]) -> None:
        """Measure our own part on a model; the answer comes at the end (see `own_cost`)."""
        folder = Path(tempfile.mkdtemp(prefix="decodescope-"))
        self._begin(number, {**args, "path": str(folder / "own cost.dscope")}, with_run=True)
        assert self._job is not None
        self._job.own_cost = OwnCost(
            args["variants"],
            float(args.get("budget_s", 180)),
            self.now_ns,
            args.get("window_pid"),
            self._pause_sampler,
            lambda event: self._publish([event]),
        )

    def _pause_sampler(self, paused: bool) -> None:
        if self._sampling is not None:
            self._sampling.pause(paused)

    def _verb_free(self, number: int, _args: dict[str, Any]) -> None:
        if self._job is not None:
            raise UsageError("A run is going on; stop it first.")
        self._spare.drop()
        self._drop_worker()
        self._set_state("idle")
        self._reply(number)

    def _verb_stop(self, number: int, args: dict[str, Any]) -> None:
        job = self._job
        if job is None:
            self._reply(number)
            return
        job.stop_asked = True
        if args.get("reason"):
            self._ending_reason = args["reason"]
        if self._worker is not None:
            self._worker.ask_stop()
        self._set_state("stopping")
        if job.stage == "check":
            self._end_job()
        self._reply(number)

    def _verb_kill(self, number: int, _args: dict[str, Any]) -> None:
        if self._job is None:
            self._spare.drop()
            self._drop_worker(kill=True)
            self._set_state("idle")
        elif self._worker is not None and self._job.stage != "check":
            self._kill_asked = True
            self._worker.kill()
        else:
            # Nothing runs but a look at the model, whose result nobody will take.
            self._end_job()
        self._reply(number)

    def _verb_save_as(self, number: int, args: dict[str, Any]) -> None:
        target = Path(args["path"])
        action = self._recordings.save_as(target, overwrite=bool(args.get("overwrite")))
        if action is None:
            self._reply(number, {"path": str(target), "when": "at the end of the run"})
            return

        def done(_: Any) -> None:
            self._recordings.moved(target)
            self._reply(number, {"path": str(target), "when": "now"})

        self._in_background(action, done, self._refuser(number))

    def _verb_shutdown(self, number: int, _args: dict[str, Any]) -> None:
        self._ending_reason = "the program was closed"
        self._wind_down()
        self._reply(number)

    def redraws(self, intervals: Iterable[Sequence[int]]) -> None:
        """The window was drawing in these (start, end) intervals, ns."""
        events = [ev.Interval("redraw", start, end) for start, end in intervals]
        if self._job is not None and self._job.own_cost is not None:
            self._job.own_cost.disturbed(events)
        self._recordings.write(events)

    def parent_gone(self) -> None:
        """The window's process has ended: stop the run, close the file, end."""
        self._ending_reason = "the window ended unexpectedly"
        if self._job is not None:
            self._job.ending_status = "interrupted"
        self._wind_down()

    def _wind_down(self) -> None:
        if self._job is None:
            self.finished = True
            return
        self._job.stop_asked = True
        self._job.then_finish = True
        if self._worker is not None:
            self._worker.ask_stop()
            self._kill_at_ns = self.now_ns() + STOP_GRACE_NS
        else:
            self._end_job()

    # -- the loop -----------------------------------------------------------------------------

    def poll(self, timeout_s: float, watch: Sequence[Connection] = ()) -> list[Connection]:
        """Waits at most `timeout_s` for something to do and does it.

        Returns those of `watch` that are ready to be read.
        """
        handles: list[Any] = [*watch, *self._spare.handles()]
        if self._worker is not None:
            handles.append(self._worker.sentinel)
            resting_s = self._rest.left_s(self.now_ns())
            if resting_s:
                timeout_s = min(timeout_s, resting_s)
            elif not self._worker.eof:
                handles.append(self._worker.connection)
        ready: list[Any] = []
        if handles:
            ready = wait(handles, timeout_s)
        else:
            time.sleep(min(timeout_s, 0.02))
        if self._worker is not None:
            # The sentinel first: what a dead worker had sent is then all in the pipe.
            died = self._worker.sentinel in ready
            self._drain_worker(self._worker, everything=died)
            if died:
                self._worker_ended()
        if self._spare.exists:
            self._emit(self._spare.read(ready))
        self._answer_warm()
        self._drain_samples()
        self._advance()
        while not self._background.empty():
            self._carry_on(self._background.get())
        problem = self._recordings.tick()
        if problem is not None:
            self._stop_for(problem)
        self._send_outgoing()
        return [handle for handle in ready if handle in watch]

    def _advance(self) -> None:
        """What waits for time rather than for a message."""
        now_ns = self.now_ns()
        if self._kill_at_ns is not None and now_ns > self._kill_at_ns and self._worker is not None:
            self._kill_at_ns = None
            self._worker.kill()
        job = self._job
        if job is not None and job.stage == "sampler" and self._sampling is not None:
            ready = self._sampling.has_first and self._machine is not None
            if job.stop_asked:
                self._end_job()
            elif ready or now_ns > job.stage_since_ns + SAMPLER_WAIT_NS:
                self._start_run(job)

    def _drain_worker(self, worker: WorkerHandle, *, everything: bool) -> None:
        events: list[ev.Event] = []
        while True:
            batch = list(worker.read())
            events.extend(batch)
            if not everything or not batch:
                break
        if events:
            self._rest.looked(self.now_ns(), amount(events), sharing=self._sharing)
        replies = [event for event in events if isinstance(event, ev.Reply)]
        events = [event for event in events if not isinstance(event, ev.Reply)]
        if self._job is not None and self._job.own_cost is not None:
            events = self._job.own_cost.take(events)
            if self._job.own_cost.done:
                worker.ask_stop()
        self._emit(events)
        for reply in replies:
            self._worker_replied(reply)

    def _drain_samples(self) -> None:
        if not self._recordings.open:
            return  # the first reading waits for the file
        batch = [self._sampled.popleft() for _ in range(len(self._sampled))]
        if batch:
            if self._job is not None and self._job.own_cost is not None:
                self._job.own_cost.disturbed(batch)
            self._emit(batch)

    def _emit(self, events: Sequence[ev.Event], *, record: bool = True) -> None:
        """Record first, then show."""
        if not events:
            return
        if record and self._recordings.open:
            self._recordings.write(events)
        elif record:
            # What a load says (warnings of libraries) belongs into the file that comes after it.
            self._early.extend(event for event in events if isinstance(event, ev.Log))
        if self._job is None or self._job.own_cost is None or not self._job.own_cost.quiet:
            self._publish(events)
        else:
            self._publish([event for event in events if not isinstance(event, MEASURED)])

    def _set_state(self, state: str, detail: str | None = None) -> None:
        if state != self.state or detail:
            self.state = state
            self._emit([ev.State(state, self.now_ns(), detail)], record=False)

    # -- replies ------------------------------------------------------------------------------

    def _reply(self, number: int, value: Any = None) -> None:
        self._emit([ev.Reply(number, True, value)], record=False)

    def _refuse(self, number: int, error: DecodescopeError) -> None:
        reply = ev.Reply(
            number, False, None, error.message, error.detail, getattr(error, "field", None), error.exit_code
        )
        self._emit([reply], record=False)

    def _answer(self, number: int) -> Callable[[Any], None]:
        return lambda value: self._reply(number, value)

    def _refuser(self, number: int) -> Callable[[DecodescopeError], None]:
        return lambda error: self._refuse(number, error)

    def _in_background(
        self,
        work: Callable[[], Any],
        done: Callable[[Any], None],
        failed: Callable[[DecodescopeError], None],
    ) -> None:
        """Runs `work` on a thread; `done` or `failed` on the engine's thread in a later poll."""

        def target() -> None:
            try:
                value = work()
            except DecodescopeError as error:
                self._background.put(lambda error=error: failed(error))  # type: ignore[misc]
            except Exception as problem:  # noqa: BLE001 - becomes a sentence and a logged detail
                wrapped = _wrapped(problem)
                self._background.put(lambda: failed(wrapped))
            else:
                self._background.put(lambda: done(value))

        threading.Thread(target=target, name="engine background", daemon=True).start()

    def _carry_on(self, step: Callable[[], None]) -> None:
        """A step of a job that came back from the background; what it raises ends the job."""
        try:
            step()
        except Exception as problem:  # no process could be spawned, no folder made ...
            if self._job is None or self._job.stage == "run":
                raise
            self._fail_job(_wrapped(problem))

    def _set_machine(self, facts: dict[str, Any]) -> None:
        self._machine = facts

    def _log_background(self, error: DecodescopeError) -> None:
        self._emit([ev.Log("warning", self.now_ns(), "engine", error.message, error.detail)])

    # -- a job: check, worker, load, sampler, run -----------------------------------------------

    def _begin(self, number: int, args: dict[str, Any], *, with_run: bool) -> None:
        if self._job is not None:
            raise UsageError("A run is going on already; stop it first.")
        if self.finished:
            raise UsageError("The engine is shutting down.")
        config = make_config(args["config"])
        path = Path(args["path"]) if args.get("path") else None
        if path is not None:
            files.check_target(path, overwrite=bool(args.get("overwrite")))
        job = Job(number, config, with_run, args.get("name") or "", path, bool(args.get("overwrite")))
        self._job = job
        self._kill_asked = False
        self._kill_at_ns = None
        self._ending_reason = None
        self._set_state("loading")
        self._stage(job, "check")

        def checked(_: Any) -> None:
            if self._job is job:
                self._checked(job)

        def refused(error: DecodescopeError) -> None:
            if self._job is job:
                self._fail_job(error)

        self._in_background(lambda: inspection.check_run(config), checked, refused)

    def _stage(self, job: Job, stage: str) -> None:
        job.stage = stage
        job.stage_since_ns = self.now_ns()

    def _checked(self, job: Job) -> None:
        if job.stop_asked:
            self._end_job()
            return
        key = load_key(job.config)
        if self._worker is not None and self._loaded_key == key and self._loaded is not None:
            self._spare.drop()
            self._worker.clear_stop()
            self._loaded_ready(job)
            return
        # A fresh process for each model build: what an earlier one left in memory, in the
        # allocator or in thread pools must not colour the numbers.
        self._drop_worker()
        self._stage(job, "worker")
        self._worker, self._handshake = self._spare.take(job.config) or new_worker(self.now_ns)
        if process_key(job.config) is not None:
            self._emit([ev.Progress("import")], record=False)
        if self._handshake.done:
            self._load(job, self._worker)

    def _load(self, job: Job, worker: WorkerHandle) -> None:
        self._stage(job, "load")
        job.reply_id = worker.send("load", config=job.config.to_dict())

    def _worker_replied(self, reply: ev.Reply) -> None:
        job = self._job
        if self._handshake is not None and self._handshake.take(reply):
            if self._handshake.done and job is not None and self._worker is not None:
                self._load(job, self._worker)
            return
        if job is None or reply.id != job.reply_id:
            return
        if job.stage == "load":
            if reply.ok:
                self._loaded = reply.value
                self._loaded_key = load_key(job.config)
                self._loaded_ready(job)
            elif reply.value == "cancelled":
                self._drop_worker()
                self._end_job()
            else:
                self._fail_job(_error_of(reply))
        elif job.stage == "prepare":
            if reply.ok:
                self._prepared(job)
            else:
                self._fail_job(_error_of(reply))
        elif job.stage == "run":
            self._run_over(job, reply)

    def _loaded_ready(self, job: Job) -> None:
        if job.stop_asked:
            self._end_job()
            return
        if not job.with_run:
            self._job = None
            assert self._loaded is not None
            self._set_state("ready")
            self._reply(job.number, self._loaded["facts"])
            return
        assert self._worker is not None
        # What only the loaded model can tell (a text's length in tokens) is told before there is a file.
        self._stage(job, "prepare")
        job.reply_id = self._worker.send("prepare", config=job.config.to_dict())

    def _prepared(self, job: Job) -> None:
        if job.stop_asked:
            self._end_job()
            return
        assert self._worker is not None and self._loaded is not None
        self._stage(job, "sampler")
        self._sampling = Sampling(
            self._sampled.append, job.config.sample_hz, self._worker.pid, self._loaded["device_uuids"]
        )
        self._sampling.start()

    def _start_run(self, job: Job) -> None:
        assert self._worker is not None and self._loaded is not None and self._sampling is not None
        try:
            self._recordings.start(job)
        except SessionError as error:
            self._fail_job(error)
            return
        label = self._loaded["facts"].get("model", {}).get("label") or job.config.model
        start = ev.RunStart(
            job.run,
            self.now_ns(),
            job.name or label,
            label,
            stored_config(job.config),
            inspection.environment(self._machine, self._loaded["facts"]),
        )
        events: list[ev.Event] = [start]
        events += [ev.Fact(key, value, job.run) for key, value in self._loaded["facts"].items()]
        # A model that was kept loaded has no load in this run.
        events += [ev.Span(job.run, name, a, b) for name, a, b in self._loaded.pop("spans", [])]
        events += [ev.Note(job.run, text) for text in self._loaded["notes"]]
        if self._handshake is not None:
            events += self._handshake.events(job.run)
        events.append(ev.Fact("telemetry", self._sampling.facts()))
        self._recordings.write(list(self._early))
        self._early.clear()
        self._emit(events)
        self._drain_samples()
        self._recordings.commit()
        self._stage(job, "run")
        self._set_state("running")
        args = {"config": job.config.to_dict(), "run": job.run, "first_no": job.first_no}
        if job.own_cost is not None:
            job.reply_id = self._worker.send("overhead", variants=job.own_cost.variants, **args)
        else:
            self._reply(job.number, {"run": job.run, "path": str(self._recordings.path)})
            job.reply_id = self._worker.send("run", **args)
        self._share(not self._loaded["device_uuids"])

    def _share(self, sharing: bool) -> None:
        """A run begins or ends to measure on the processor that we run on."""
        if sharing != self._sharing:
            self._sharing = sharing
            (be_patient if sharing else be_prompt)()

    def _run_over(self, job: Job, reply: ev.Reply) -> None:
        status = reply.value["status"] if reply.ok and isinstance(reply.value, dict) else "error"
        if job.own_cost is not None and job.own_cost.done and status in ("ok", "cancelled"):
            status = "ok"
            job.answer = {"variants": job.own_cost.result()}
        if status == "ok":
            self._end_run(job, "finished", None)
        elif status == "cancelled":
            self._end_run(job, job.ending_status or "stopped", self._ending_reason or "stopped by the user")
        else:
            reason = reply.message if not reply.ok else reply.value.get("error")
            if not reply.ok:
                self._emit([ev.Failure("run", self.now_ns(), reason or "The run failed.", reply.detail)])
            self._end_run(job, "failed", reason)

    def _end_run(self, job: Job, status: str, reason: str | None) -> None:
        """Closes everything that belongs to the run; the model stays loaded."""
        self._share(False)
        if self._sampling is not None:
            self._sampling.stop()
            self._drain_samples()
            # Again: what turned out to be missing is known only now.
            self._emit([ev.Fact("telemetry", self._sampling.facts())])
            self._sampling = None
        end = ev.RunEnd(job.run, self.now_ns(), status, reason)
        self._recordings.write([end])
        self._send_outgoing()  # the last tokens: the figures of a long run take a while
        self._recordings.close(job.run)
        if job.own_cost is not None:
            self._throw_away(job)
        self._job = None
        self._set_state("failed" if status == "failed" else "ready" if self._worker else "idle", reason)
        # Last: whoever waits for the end of the run finds the file closed and in its place.
        self._publish([end])
        if job.then_finish:
            self.finished = True

    def _throw_away(self, job: Job) -> None:
        """The session of a measurement of ourselves has served; its answer is the figures."""
        if job.path is not None:
            shutil.rmtree(job.path.parent, ignore_errors=True)
            self._recordings.last_path = None
        if job.answer is not None:
            self._reply(job.number, job.answer)
        else:
            self._refuse(job.number, DecodescopeError(_unfinished(self._ending_reason)))

    def _fail_job(self, error: DecodescopeError) -> None:
        """Before a run has begun: nothing is recorded."""
        job, self._job = self._job, None
        assert job is not None
        self._drop_sampling()
        if job.stage == "load":
            self._drop_worker()
        field = getattr(error, "field", None)
        self._emit(
            [
                ev.Failure(
                    "load" if error.exit_code == 3 else "run",
                    self.now_ns(),
                    error.message,
                    error.detail,
                    field,
                    error.exit_code,
                )
            ]
        )
        self._set_state("failed", error.message)
        self._refuse(job.number, error)
        if job.then_finish:
            self.finished = True

    def _drop_sampling(self) -> None:
        """What was read for a run that did not begin belongs to no session."""
        if self._sampling is not None:
            self._sampling.stop()
            self._sampling = None
        self._sampled.clear()

    def _end_job(self) -> None:
        """A job that was stopped before its run had begun."""
        job, self._job = self._job, None
        assert job is not None
        self._drop_sampling()
        self._set_state("ready" if self._loaded is not None else "idle")
        self._emit(
            [ev.Reply(job.number, False, "cancelled", "Stopped before the run had begun.", exit_code=130)],
            record=False,
        )
        if job.then_finish:
            self.finished = True

    # -- the worker's end ------------------------------------------------------------------------

    def _worker_ended(self) -> None:
        worker, self._worker = self._worker, None
        assert worker is not None
        self._loaded = self._loaded_key = self._handshake = None
        how, words = worker.exit_text, worker.last_words()
        worker.close(0.0)
        job = self._job
        if job is None or job.stage == "check":
            if not self._kill_asked:
                self._emit([ev.Log("warning", self.now_ns(), "engine", f"The idle worker was {how}.", words)])
            if job is None:
                self._set_state("idle")
            return  # a job that is still looking at its model starts a worker of its own
        if job.stop_asked or self._kill_asked:
            if job.stage == "run":
                reason = self._ending_reason or "the worker was killed on request"
                self._end_run(job, job.ending_status or "stopped", reason)
            else:
                self._end_job()
            return
        running = job.stage == "run"
        message = (
            f"The worker process ended by itself {'during the run' if running else 'before the run had begun'} "
            f"({how}){'; what was measured is kept' if running else ''}. If memory ran out, choose a smaller "
            "model, a shorter output or a smaller dtype."
        )
        if job.stage == "run":
            self._emit([ev.Failure("worker", self.now_ns(), message, words)])
            self._end_run(job, "failed", message)
        else:
            self._fail_job(ModelError(message, words))

    def _drop_worker(self, *, kill: bool = False) -> None:
        worker, self._worker = self._worker, None
        self._loaded = self._loaded_key = self._handshake = None
        if worker is not None:
            worker.close(0.0 if kill else 3.0)

    # -- the end ---------------------------------------------------------------------------------

    def resync(self) -> ev.Resync:
        """Commits and says where a subscriber that lagged can read what it missed."""
        self._recordings.commit()
        path = self._recordings.path
        run = self._job.run if self._job is not None and self._recordings.open else None
        # Without a path nothing was recorded yet, so nothing was missed.
        return ev.Resync("" if path is None else str(path), run)

    def abandon(self, reason: str) -> None:
        """The engine itself failed: whatever runs is ended and its file closed."""
        if self._job is not None and self._recordings.open:
            self._end_run(self._job, "interrupted", reason)
        self._send_outgoing()

    def close(self) -> None:
        """Ends worker and recording. Idempotent."""
        if self._job is not None and self._recordings.open:
            self._end_run(self._job, "interrupted", self._ending_reason or "the engine was closed")
        self._spare.drop()
        self._drop_worker()
        if self._sampling is not None:
            self._sampling.stop()
            self._sampling = None
        self._send_outgoing()

    def _tell(self, event: ev.Event) -> None:
        """Something about the recording itself: for the subscriber, not for the file."""
        self._publish([event])

    def _stop_for(self, problem: str) -> None:
        """The disk takes no more: end the run while everything is still at hand."""
        if self._job is not None and self._worker is not None:
            self._job.stop_asked = True
            self._job.ending_status = "failed"
            self._ending_reason = problem
            self._worker.ask_stop()


def _wrapped(problem: Exception) -> DecodescopeError:
    """An exception that nobody expected, as one of ours."""
    if isinstance(problem, DecodescopeError):
        return problem
    return DecodescopeError(f"{type(problem).__name__}: {problem}.", traceback.format_exc())


def _unfinished(reason: str | None) -> str:
    """Why a measurement of our own cost has no answer, one sentence."""
    return f"The measurement was not finished ({reason or 'it was stopped'})."


def _error_of(reply: ev.Reply) -> DecodescopeError:
    error = UsageError(reply.message or "It failed.", reply.detail, reply.field)
    error.exit_code = reply.exit_code
    return error
