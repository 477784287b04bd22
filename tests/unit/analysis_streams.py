"""Short-hand for event streams in the analysis tests: literal milliseconds in."""

from __future__ import annotations

from collections.abc import Sequence

from profiler import events as ev
from profiler.timeline import Request, Timeline

MS = 1_000_000


def empty_timeline() -> Timeline:
    """A timeline with run 1 in it."""
    timeline = Timeline()
    timeline.apply(ev.RunStart(1, 0, "run"))
    return timeline


def add_request(
    timeline: Timeline,
    no: int,
    steps_ms: Sequence[float],
    *,
    t0_ms: float = 0,
    k: Sequence[int] | None = None,
    kv_len: Sequence[int] | None = None,
    flags: Sequence[int] | None = None,
    prompt: int | None = None,
    asked: int | None = None,
    end: str | None = "ok",
    end_ms: float | None = None,
    streamed: bool = True,
    warmup: bool = False,
    batch: str | None = None,
) -> Request:
    """A request of run 1 named "r<no>", with steps at these times (ms) and an end after the last."""
    t_ns = [round(t * MS) for t in steps_ms]
    timeline.apply(
        ev.RequestStart(no, 1, f"r{no}", round(t0_ms * MS), prompt, asked, streamed, warmup, batch)
    )
    timeline.apply(ev.make_steps(no, 0, t_ns, k, kv_len, flags=flags))
    if end is not None:
        end_ns = round(end_ms * MS) if end_ms is not None else max([*t_ns, round(t0_ms * MS)])
        timeline.apply(ev.RequestEnd(no, end_ns, end, "length" if end == "ok" else end))
    return timeline.requests[no]


def one_request(steps_ms: Sequence[float], **settings: object) -> Request:
    """A request alone, number 1."""
    return add_request(empty_timeline(), 1, steps_ms, **settings)  # type: ignore[arg-type]
