"""The road at scale: python tests/bench/bench_scale.py [--tokens N] [--rate R] [--hours H] [--json FILE]

1. `live`: the synthetic backend at R tokens a second through worker, engine and file to a client that
   keeps a Timeline, as the window does. Lag of a token: from its stamp in the worker to the moment at
   which the client has received the message that it is in. Memory is resident memory of each process;
   that of engine and worker from a fifth of the run to its last token (the figures at the end read the
   whole session once: `engine_after_figures`, what is still held then).
2. `record`: what a token costs in the worker, by a loop over `Outbox.step` against the same loop
   without it, and with the processor time of the writing thread added.
3. `hours`: H hours at 50 tokens a second in simulated time. The events that a run makes (a batch of
   steps and of text five times a second, readings of host and one GPU at 4 Hz, a redraw a second) go
   through the same codec, recorder and Timeline as fast as these take them; only worker and pipes
   are left out. What readings and redraws take in the file grows with the time, not with the tokens:
   it is told an hour.

Prints one line a figure, then what is out of its limit; exit code 1 if anything is.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import psutil
from processes import Session, settings

from profiler import events as ev
from profiler.engine.recorder import Recorder
from profiler.session.reader import SessionReader
from profiler.timeline import Timeline
from profiler.worker.outbox import Outbox

NS_PER_S = 1_000_000_000
LIMITS = {
    "live.lost": 0,
    "live.lag_p99_ms": 250.0,
    "live.client_bytes_a_token": 64.0,
    "live.engine_growth_mb": 32.0,
    "live.worker_growth_mb": 32.0,
    "live.file_bytes_a_token": 40.0,
    "record.us_a_token": 5.0,
    "hours.lost": 0,
    "hours.timeline_bytes_a_token": 64.0,
    "hours.file_bytes_a_token": 40.0,
    "hours.recorder_growth_mb": 32.0,
}
"""What the figures must not exceed."""


def resident(pid: int | None = None) -> int:
    """Resident memory of a process, bytes."""
    return int(psutil.Process(pid).memory_info().rss)


class Growth:
    """Resident memory of a process over a run: how much more its most was than at a fifth of the run."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._seen: list[int] = []

    def look(self) -> None:
        """Take a reading, if the process is still there."""
        try:
            self._seen.append(int(self._process.memory_info().rss))
        except psutil.Error:
            pass

    @property
    def last_mb(self) -> float:
        """The last reading, MB."""
        return self._seen[-1] / 1e6

    @property
    def mb(self) -> float:
        """MB; 0 where it shrank."""
        early = self._seen[len(self._seen) // 5]
        return max(max(self._seen[len(self._seen) // 5 :]) - early, 0) / 1e6


def live(tokens: int, rate: float) -> dict[str, Any]:
    """Part 1."""
    with tempfile.TemporaryDirectory() as name:
        os.environ["DECODESCOPE_HOME"] = name
        session = Session(Path(name) / "sessions")
        client = session.client
        session.reply(client.send("machine"))
        model = f"synthetic:ttft_ms=1,rate={rate:g}"
        short = settings(model, output_tokens=1000, repeats=1, warmup=0)
        client.send("run", config=short)  # everything is imported and has its buffers
        session.wait_for(ev.RunEnd)
        time.sleep(1.0)
        session.drain()
        session.events = []
        engine, worker = Growth(psutil.Process(client.pid)), Growth(session.worker)
        timeline = Timeline()
        milliseconds = np.zeros(20_000, np.int64)
        gc.collect()
        before = resident()
        client.send("run", config=settings(model, output_tokens=tokens, repeats=1, warmup=0))
        looked_ns, resyncs, path, over, ended = 0, 0, "", False, False
        begun_ns = time.perf_counter_ns()
        while not over:
            events = client.receive(0.5)
            now_ns = time.perf_counter_ns()
            for event in events:
                if isinstance(event, ev.Steps):
                    lag_ms = (now_ns - event.t_ns) // 1_000_000
                    np.add.at(milliseconds, np.clip(lag_ms, 0, len(milliseconds) - 1), 1)
                resyncs += isinstance(event, ev.Resync)
                path = event.path if isinstance(event, ev.Recording) else path
                over = over or isinstance(event, (ev.RunEnd, ev.Failure))
            timeline.apply_all(events)
            ended = ended or any(isinstance(event, ev.RequestEnd) for event in events)
            if not ended and now_ns - looked_ns > NS_PER_S // 2:
                looked_ns = now_ns
                engine.look()
                worker.look()
        took_s = (time.perf_counter_ns() - begun_ns) / 1e9
        at_end = Growth(psutil.Process(client.pid))
        at_end.look()
        after = resident()
        request = timeline.requests[1]
        size = Path(path).stat().st_size
        with SessionReader.open(path) as reader:
            saved = reader.timeline().requests[1]
            same = np.array_equal(saved.t_ns, request.t_ns) and np.array_equal(saved.ids, request.ids)
        session.close()
    cumulated = np.cumsum(milliseconds) / max(milliseconds.sum(), 1)
    span_s = (int(request.t_ns[-1]) - int(request.t_ns[0])) / 1e9
    return {
        "live.tokens": len(request),
        "live.lost": tokens - len(request) + (0 if same else tokens) + resyncs,
        "live.tokens_a_second": len(request) / span_s,
        "live.seconds": took_s,
        "live.lag_p50_ms": float(np.searchsorted(cumulated, 0.5)) + 1,
        "live.lag_p99_ms": float(np.searchsorted(cumulated, 0.99)) + 1,
        "live.lag_max_ms": float(np.flatnonzero(milliseconds)[-1]) + 1,
        "live.client_bytes_a_token": (after - before) / tokens,
        "live.engine_growth_mb": engine.mb,
        "live.worker_growth_mb": worker.mb,
        "live.engine_after_figures_mb": at_end.last_mb - engine.last_mb,
        "live.file_bytes_a_token": size / tokens,
    }


def record(tokens: int = 200_000, rate: float = 20_000.0) -> dict[str, Any]:
    """Part 2: per token, us; the writing thread's part is its processor time."""
    reading, writing = os.pipe()
    reader = subprocess.Popen(["cat"], stdin=reading, stdout=subprocess.DEVNULL)
    os.close(reading)
    thread_ns: list[int] = []

    def send(message: bytes) -> None:
        os.write(writing, len(message).to_bytes(4, "little") + message)
        thread_ns.append(time.thread_time_ns())

    outbox = Outbox(send)
    outbox.begin(
        ev.RequestStart(1, 1, "r1", 0, 16, tokens), lambda ids: "".join(chr(97 + i % 26) for i in ids)
    )
    block = round(rate / 100)
    costs: list[float] = []
    ids = [[i] for i in range(block)]
    for _ in range(tokens // block):
        start_ns = time.perf_counter_ns()
        for one in ids:
            outbox.step(time.perf_counter_ns(), one)
        with_ns = time.perf_counter_ns() - start_ns
        start_ns = time.perf_counter_ns()
        for _one in ids:
            time.perf_counter_ns()
        costs.append((with_ns - (time.perf_counter_ns() - start_ns)) / block / 1e3)
        threading.Event().wait(max(0.01 - with_ns / 1e9, 0))
    outbox.close()
    os.close(writing)
    reader.wait()
    step_us = statistics.median(costs)
    writer_us = (thread_ns[-1] - thread_ns[0]) / tokens / 1e3
    return {
        "record.step_us": step_us,
        "record.writer_us": writer_us,
        "record.us_a_token": step_us + writer_us,
    }


HOST = {
    "cpu_busy_pct": 50.85,
    "memory_available_bytes": 24_524_488_704,
    "package_energy_j": None,
    "rss_bytes": 29_954_048,
    "major_page_faults": 0,
    "involuntary_switches": 35,
}
GPU = {
    "power_w": 251.38,
    "gpu_busy_pct": 97,
    "memory_busy_pct": 64,
    "memory_used_bytes": 17_179_869_184,
    "sm_clock_mhz": 1410,
    "memory_clock_mhz": 1593,
    "temperature_c": 61,
    "dram_bw_pct": None,
}
WORDS = [" the", " model", " of", "ing", " latency", ",", " a", ".", " tokens", " memory"]


def simulated(hours: float, rate: float = 50.0) -> Any:
    """The events of `hours` at `rate` tokens a second, in batches of a fifth of a second."""
    each = round(rate / 5)
    batches = round(hours * 3600 * 5)
    yield [ev.RunStart(1, 0, "simulated", "simulated"), ev.RequestStart(1, 1, "r1", 0, 16, each * batches)]
    rng = np.random.default_rng(0)
    fifth = NS_PER_S // 5
    for batch in range(batches):
        start_ns = batch * fifth
        stamps = start_ns + np.arange(1, each + 1) * (fifth // each) + rng.integers(0, 90_000, each)
        index = batch * each
        kv_len = np.arange(17 + index, 17 + index + each, dtype=np.int32)
        ids = rng.integers(0, 128_000, each, dtype=np.int32)
        events: list[ev.Event] = [
            ev.make_steps(1, index, stamps, kv_len=kv_len, ids=ids),
            ev.Text(1, [WORDS[i % len(WORDS)] for i in ids.tolist()], index),
        ]
        if batch * 4 % 5 < 4:
            events += [
                ev.Sample(
                    start_ns, "host", {**HOST, "cpu_busy_pct": round(float(rng.random()) * 100, 2)}, 900_000
                ),
                ev.Sample(start_ns, "gpu0", {**GPU, "power_w": round(float(rng.random()) * 300, 2)}, 400_000),
                ev.Interval("sampler", start_ns, start_ns + 1_300_000),
            ]
        if batch % 5 == 0:
            events.append(ev.Interval("redraw", start_ns, start_ns + 20_000_000))
        yield events
    end_ns = batches * fifth
    yield [ev.RequestEnd(1, end_ns, "ok", "length"), ev.RunEnd(1, end_ns)]


def hours(hours: float) -> dict[str, Any]:
    """Part 3."""
    with tempfile.TemporaryDirectory() as name:
        recorder = Recorder(Path(name) / "long.dscope", {}, "long")
        telemetry = Recorder(Path(name) / "telemetry.dscope", {}, "telemetry")
        timeline = Timeline()
        tokens = 0
        start_ns = time.perf_counter_ns()
        growth = Growth(psutil.Process())
        for i, events in enumerate(simulated(hours)):
            recorder.write(events)
            recorder.tick(i * NS_PER_S // 5)
            telemetry.write([event for event in events if isinstance(event, (ev.Sample, ev.Interval))])
            telemetry.tick(i * NS_PER_S // 5)
            tokens += sum(len(event) for event in events if isinstance(event, ev.Steps))
            if i % 500 == 0:
                growth.look()
        path = recorder.close()
        telemetry_bytes = telemetry.close().stat().st_size
        took_s = (time.perf_counter_ns() - start_ns) / 1e9
        gc.collect()
        before = resident()
        for events in simulated(hours):
            for message in ev.encode(events):
                timeline.apply_all(ev.decode(message))
        gc.collect()
        after = resident()
        size = path.stat().st_size
        with SessionReader.open(path) as reader:
            saved = reader.timeline().requests[1]
            same = (
                np.array_equal(saved.t_ns, timeline.requests[1].t_ns)
                and saved.pieces == timeline.requests[1].pieces
            )
    return {
        "hours.tokens": tokens,
        "hours.lost": tokens - len(timeline.requests[1]) + (0 if same else tokens),
        "hours.seconds_recording": took_s,
        "hours.timeline_bytes_a_token": (after - before) / tokens,
        "hours.file_bytes_a_token": (size - telemetry_bytes) / tokens,
        "hours.telemetry_mb_an_hour": telemetry_bytes / hours / 1e6,
        "hours.file_mb": size / 1e6,
        "hours.recorder_growth_mb": growth.mb,
    }


def main() -> int:
    """Measure and print; 1 where a limit is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=20_000.0)
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for part in (lambda: live(options.tokens, options.rate), record, lambda: hours(options.hours)):
        told = part()
        figures.update(told)
        for key, value in told.items():
            limit = f"  limit {LIMITS[key]:,.6g}" if key in LIMITS else ""
            print(f"{key:32} {value:14,.2f}{limit}", flush=True)
    broken = [key for key, limit in LIMITS.items() if figures[key] > limit]
    for key in broken:
        print(f"OUT OF ITS LIMIT: {key}")
    if options.json:
        options.json.write_text(json.dumps({**figures, "broken": broken}, indent=1) + "\n", encoding="utf-8")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
