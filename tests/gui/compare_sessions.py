"""Recorded session files for the tests of the Compare page: made-up gaps, real files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from profiler import events as ev
from profiler.session.store import SessionWriter

MS = 1_000_000
PROMPT = 16
FOOTPRINT = {"weight_bytes_per_step": 250e6, "kv_layers": [{"bytes_per_token": 23_040.0, "window": None}]}
REFERENCE = {"gb_s": 300.0, "source": "measured"}


def gaps(requests: int, tokens: int, centre_ms: float, seed: int, tail: float = 0.0) -> list[np.ndarray]:
    """Gaps of each request with 1 % noise, 0.5 % between requests, and a share `tail` of 25 % stalls."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(requests):
        own = centre_ms * (1 + 0.005 * rng.standard_normal())
        values = own * (1 + 0.01 * rng.standard_normal(tokens - 1))
        values[rng.random(tokens - 1) < tail] *= 1.25
        made.append(values)
    return made


def run_events(
    number: int,
    each: Sequence[np.ndarray],
    *,
    ttft_ms: float = 20.0,
    name: str = "",
    model: str = "SmolLM2 135M",
    config: dict[str, Any] | None = None,
    environment: dict[str, Any] | None = None,
    facts: dict[str, Any] | None = None,
    first_request: int = 1,
) -> list[ev.Event]:
    """The events of a run; each request has tokenize, prefill and sample before its first token."""
    told = {"model": model, "prompt_tokens": PROMPT, "output_tokens": len(each[0]) + 1} | (config or {})
    start = number * 10**12
    result: list[ev.Event] = [ev.RunStart(number, start, name, model, told, environment or {})]
    given = {
        "footprint": FOOTPRINT,
        "reference": REFERENCE,
        "model": {"dtype": "bf16", "device": "cpu", "device_name": "L4"},
    } | (facts or {})
    result += [ev.Fact(key, value, number) for key, value in given.items()]
    t0 = start
    rng = np.random.default_rng(number)
    for index, values in enumerate(each):
        no = first_request + index
        first = t0 + round(ttft_ms * MS * (1 + 0.01 * rng.standard_normal()))
        stamps = first + np.concatenate(([0], np.cumsum(np.round(values * MS).astype(np.int64))))
        count = len(stamps)
        prefill = t0 + round(0.1 * (first - t0)), t0 + round(0.9 * (first - t0))
        result += [
            ev.RequestStart(no, number, f"r{no}", t0, PROMPT, count),
            ev.Span(number, "tokenize", t0, prefill[0], no),
            ev.Span(number, "prefill", prefill[0], prefill[1], no),
            ev.Span(number, "sample", prefill[1], first, no),
            ev.make_steps(no, 0, stamps, kv_len=PROMPT + np.arange(1, count + 1)),
            ev.RequestEnd(no, int(stamps[-1]) + MS, "ok", "length"),
        ]
        t0 = int(stamps[-1]) + 50 * MS
    result.append(ev.RunEnd(number, t0))
    return result


def write_session(path: Path, *runs: list[ev.Event], name: str = "") -> Path:
    """A closed session file of these runs."""
    with SessionWriter.create(path, {"os": "Linux"}, name=name or path.stem) as writer:
        for events in runs:
            writer.write(events)
        writer.close("finished", None)
    return path
