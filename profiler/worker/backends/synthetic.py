"""A backend without a model: a schedule of arrivals that is known beforehand.

`synthetic:KEY=VALUE,...`, for tests, benches and demonstrations of what a chart shows. It is
real in everything but the model: process, pipe, recorder, file. It never imports torch.

    load_s=0         how long loading takes (cancellable)
    ttft_ms=50       t0 to the first token
    itl_ms=10        gap between tokens; rate=N sets it to 1000/N
    slope_us=0       growth of the gap per token
    jitter_ms=0      standard deviation of normal noise on the gaps (seeded)
    stall_ms=0, stall_every=0     one gap in `stall_every` is longer by this
    step_ms=0, step_at=0          from that token on every gap is longer by this
    k=1              tokens a step
    stamps=real      stamped when it happens; exact: stamped with the scheduled time
    gc_every=0, gc_objects=0      a full collection over that many objects each N tokens
    fail_at=0        the request raises at that token (0: never); fail_from=1 first repeat that does
    die_at=0         the process kills itself at that token of the first measured request
    eos_at=0         ends by itself after that many tokens (with --respect-eos)
    weight_mb=100, kv_kb=20, gb_s=10      what the bandwidth chart is told
    uuid=GPU-a+GPU-b      tells that the model runs on these GPUs, so that they are sampled; visible:
                          on the first that CUDA_VISIBLE_DEVICES leaves, as a torch would that tells no uuids
"""

from __future__ import annotations

import gc
import os
import random
import signal
import time
from collections.abc import Callable
from typing import Any

from profiler import events as ev
from profiler.config import RunConfig
from profiler.errors import ModelError
from profiler.worker.backends.base import LoadInfo, Outcome, Planned, ProgressCall, Stopped
from profiler.worker.cuda_identity import device_names
from profiler.worker.outbox import Outbox, now_ns
from profiler.worker.prompts import read_prompts

NAMES: dict[str, float] = {
    "load_s": 0.0,
    "ttft_ms": 50.0,
    "itl_ms": 10.0,
    "rate": 0.0,
    "slope_us": 0.0,
    "jitter_ms": 0.0,
    "stall_ms": 0.0,
    "stall_every": 0.0,
    "step_ms": 0.0,
    "step_at": 0.0,
    "k": 1.0,
    "gc_every": 0.0,
    "gc_objects": 0.0,
    "fail_at": 0.0,
    "fail_from": 1.0,
    "die_at": 0.0,
    "eos_at": 0.0,
    "weight_mb": 100.0,
    "kv_kb": 20.0,
    "gb_s": 10.0,
}


def is_synthetic(model: str) -> bool:
    """Does the name ask for this backend?"""
    return model == "synthetic" or model.startswith("synthetic:")


def parse(model: str) -> tuple[dict[str, float], bool]:
    """The settings in a `synthetic:` name, and whether stamps are exact. ModelError."""
    values = dict(NAMES)
    exact = False
    _, _, rest = model.partition(":")
    for part in filter(None, rest.split(",")):
        name, _, text = part.partition("=")
        if name == "stamps" and text in ("real", "exact"):
            exact = text == "exact"
            continue
        if name == "uuid":
            continue  # see `device_uuids`
        if name not in NAMES:
            known = ", ".join([*NAMES, "stamps", "uuid"])
            raise ModelError(f"synthetic: no setting {name!r}; it knows {known}.")
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < 1e9:
            raise ModelError(f"synthetic: {name}={text} is not a number of at least 0.")
        values[name] = value
    if values["rate"]:
        values["itl_ms"] = 1000.0 / values["rate"]
    values["k"] = max(1.0, values["k"])
    return values, exact


def device_uuids(model: str) -> list[str]:
    """The GPUs that a `synthetic:` name pretends to run on; [] for none."""
    _, _, rest = model.partition(":")
    told = [part.partition("=")[2] for part in rest.split(",") if part.startswith("uuid=")]
    if told == ["visible"]:
        return device_names(None, 0)
    return [uuid for text in told for uuid in text.split("+") if uuid]


class SyntheticBackend:
    """See the module. `stop` is read at every step."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._set: dict[str, float] = dict(NAMES)
        self._exact = False
        self._heap: list[Any] = []
        self._prompts: list[str] | None = None

    def load(self, config: RunConfig, progress: ProgressCall, cancelled: Callable[[], bool]) -> LoadInfo:
        """Waits `load_s`, cancellable."""
        self._set, self._exact = parse(config.model)
        start_ns = now_ns()
        end_ns = start_ns + round(self._set["load_s"] * 1e9)
        while now_ns() < end_ns:
            if cancelled():
                raise Stopped
            progress("load", (now_ns() - start_ns) / 1e9, self._set["load_s"], "s")
            time.sleep(0.02)
        self._heap = [[i] for i in range(round(self._set["gc_objects"]))]
        kv_bytes = round(self._set["kv_kb"] * 1024)
        weight_bytes = round(self._set["weight_mb"] * 1e6)
        uuids = device_uuids(config.model)
        return LoadInfo(
            facts={
                "model": {
                    "label": "synthetic schedule",
                    "kind": "synthetic",
                    "parameters": None,
                    "dtype": None,
                    "device": "cuda:0" if uuids else "cpu",
                    "attn": None,
                    "random_weights": False,
                },
                "footprint": {
                    "weight_bytes": weight_bytes,
                    "weight_bytes_per_step": weight_bytes,
                    "kv_layers": [{"bytes_per_token": kv_bytes, "window": None}],
                    "kv_bytes_per_token": kv_bytes,
                    "state_bytes": 0,
                    "static_cache_len": None,
                },
                "reference": {
                    "gb_s": self._set["gb_s"],
                    "source": "given by the synthetic model",
                    "advertised_gb_s": None,
                    "llc_bytes": None,
                    "reason": None,
                },
            },
            spans=[("load", start_ns, now_ns())],
            notes=["Synthetic schedule: no model ran; the times are those that the schedule asks for."],
            device_uuids=uuids,
        )

    def prepare(self, config: RunConfig) -> None:
        """Reads the prompts of a file."""
        self._prompts = read_prompts(config.prompts_file) if config.prompts_file else None

    def answer(self, planned: Planned, config: RunConfig, outbox: Outbox) -> Outcome:
        """Emits the schedule."""
        s = self._set
        rng = random.Random(config.seed * 1_000_003 + planned.index)
        n = config.output_tokens
        reason = "length"
        if not config.ignore_eos and 0 < s["eos_at"] < n:
            n, reason = round(s["eos_at"]), "eos"
        prompt = self._prompt_tokens(planned, config)
        t0_ns = now_ns()
        outbox.begin(
            ev.RequestStart(
                planned.no,
                planned.run,
                planned.id,
                t0_ns,
                prompt,
                config.output_tokens,
                warmup=planned.warmup,
                label=planned.label,
            ),
            _letters if config.keep_text else None,
            keep_ids=config.keep_text,
        )
        prefill_ns = t0_ns + round(s["ttft_ms"] * 0.95e6)
        due_ns = t0_ns + round(s["ttft_ms"] * 1e6)
        failing = s["fail_at"] and not planned.warmup and planned.index >= config.warmup + s["fail_from"] - 1
        produced = 0
        step = 0
        while produced < n:
            self._wait(due_ns)
            t_ns = due_ns if self._exact else now_ns()
            k = min(round(s["k"]), n - produced)
            outbox.step(t_ns, [97 + (produced + i) % 26 for i in range(k)])
            if step == 0:
                outbox.emit(ev.Span(planned.run, "prefill", t0_ns, prefill_ns, planned.no))
                outbox.emit(ev.Span(planned.run, "sample", prefill_ns, t_ns, planned.no))
            produced += k
            step += 1
            if failing and produced >= s["fail_at"]:
                return Outcome("error", "error", f"The synthetic model fails at token {produced}, as asked.")
            if s["die_at"] and not planned.warmup and produced >= s["die_at"]:
                outbox.flush()
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
            if s["gc_every"] and step % s["gc_every"] == 0:
                gc.collect()
            gap_ms = s["itl_ms"] + s["slope_us"] * 1e-3 * produced
            if s["jitter_ms"]:
                gap_ms = max(0.0, gap_ms + rng.gauss(0.0, s["jitter_ms"]))
            if s["stall_every"] and step % s["stall_every"] == 0:
                gap_ms += s["stall_ms"]
            if s["step_ms"] and produced >= s["step_at"]:
                gap_ms += s["step_ms"]
            due_ns += round(gap_ms * 1e6)
        return Outcome("ok", reason, end_ns=t_ns)

    def between(self) -> list[ev.Event]:
        """There is no allocator."""
        return []

    def finish(self, run: int) -> list[ev.Event]:
        """Nothing to tell of memory."""
        memory = {
            "weights_bytes": None,
            "kv_bytes_end": None,
            "peak_bytes": None,
            "source": None,
            "reason": "synthetic schedule",
        }
        return [ev.Fact("memory", memory, run)]

    def free(self) -> None:
        """Drops the objects made for the collector."""
        self._heap = []

    def _prompt_tokens(self, planned: Planned, config: RunConfig) -> int:
        if self._prompts:
            return max(1, len(self._prompts[planned.index % len(self._prompts)].encode()))
        if config.prompt is not None:
            return max(1, len(config.prompt.encode()))
        return config.prompt_tokens or 1

    def _wait(self, due_ns: int) -> None:
        """Sleep until `due_ns`; Stopped when the flag is seen (looked at every 20 ms)."""
        if self._stop():
            raise Stopped
        while (left_ns := due_ns - now_ns()) > 0:
            time.sleep(min(left_ns, 20_000_000) / 1e9)
            if self._stop():
                raise Stopped


def _letters(ids: Any) -> str:
    return "".join(chr(i) for i in ids)
