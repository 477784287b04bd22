"""Blocks of tokens with parts of our own road switched off: what do we cost?

On one loaded model, within one answer, every `BLOCK` tokens the variant changes: `bare` stamps
into a list and does nothing else; the others hand every step to the outbox as in a run. The
engine is told of each change and switches sampler and subscriber. The order is random within
each cycle of all variants, so that a drift of the machine hits all alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from profiler import events as ev
from profiler.config import RunConfig
from profiler.worker.backends.base import Backend, Outcome, Planned, Stopped
from profiler.worker.outbox import Outbox, now_ns

BLOCK = 16
"""Tokens of a block."""
SETTLE = 4
"""Gaps at the start of a block that are not counted: the switch itself happens in them (the
engine looks every 200 ms)."""
CYCLES_A_REQUEST = 6
VARIANT_STAGE = "variant"
"""Stage of the Progress event that tells of a change; its text is the variant."""


class BlockOutbox:
    """Stands between the decoder and the outbox and switches at block boundaries.

    Used by the decoder's thread like an `Outbox`. `blocks` collects (cycle, variant, stamps in ns).
    """

    def __init__(self, outbox: Outbox, variants: Sequence[str], rng: random.Random, cycle0: int) -> None:
        self._outbox = outbox
        self._variants = list(variants)
        self._rng = rng
        self._cycle = cycle0 - 1
        self._order: list[str] = []
        self._stamps: list[int] = []
        self._variant = ""
        self._full = True
        self.blocks: list[tuple[int, str, list[int]]] = []

    def step(self, t_ns: int, ids: Sequence[int] | int) -> None:
        """The decoder's hot path: the same list append in every variant, the outbox in all but `bare`."""
        self._stamps.append(t_ns)
        if self._full:
            self._outbox.step(t_ns, ids)
        if len(self._stamps) > BLOCK:
            self._switch(t_ns)

    def _switch(self, t_ns: int) -> None:
        if self._variant:
            self.blocks.append((self._cycle, self._variant, self._stamps[SETTLE:]))
        if not self._order:
            self._cycle += 1
            self._order = self._variants[:]
            self._rng.shuffle(self._order)
        self._variant = self._order.pop()
        self._full = self._variant != "bare"
        # The last stamp of a block is the first of the next: its gaps begin there.
        self._stamps = [t_ns]
        self._outbox.emit(ev.Progress(VARIANT_STAGE, text=self._variant), now=True)

    def begin(self, start: ev.RequestStart, detokenise: Any, *, keep_ids: bool = True) -> None:
        """As `Outbox.begin`."""
        self._outbox.begin(start, detokenise, keep_ids=keep_ids)

    def emit(self, event: ev.Event, *, now: bool = False) -> None:
        """As `Outbox.emit`."""
        self._outbox.emit(event, now=now)

    def end_text(self, rest: Callable[[], str]) -> None:
        """As `Outbox.end_text`."""
        self._outbox.end_text(rest)

    def flush(self, timeout_s: float = 10.0) -> bool:
        """As `Outbox.flush`."""
        return self._outbox.flush(timeout_s)


def measure(
    backend: Backend,
    config: RunConfig,
    variants: Sequence[str],
    run: int,
    first_no: int,
    outbox: Outbox,
    stop: Callable[[], bool],
) -> Outcome:
    """Answers prompts until `stop`; after each, a Fact "overhead_blocks" with its blocks.

    The first answer is a warm-up whose blocks are not told. `backend.prepare` comes before.
    """
    rng = random.Random(config.seed)
    tokens = BLOCK * (len(variants) * CYCLES_A_REQUEST + 1) + 1
    settings = replace(config, output_tokens=tokens, ignore_eos=True)
    cycle = 0
    index = 0
    while not stop():
        switch = BlockOutbox(outbox, variants, rng, cycle)
        warmup = index == 0
        length = settings if not warmup else replace(settings, output_tokens=2 * BLOCK)
        planned = Planned(first_no + index, run, f"b{index}", index, warmup, f"Answer {index}")
        try:
            outcome = backend.answer(planned, length, switch)  # type: ignore[arg-type]
        except Stopped:
            outcome = Outcome("cancelled", "stopped")
        end_ns = outcome.end_ns if outcome.end_ns is not None else now_ns()
        outbox.emit(ev.RequestEnd(planned.no, end_ns, outcome.status, outcome.stop_reason, outcome.error))
        if outcome.status == "error":
            return outcome
        if not warmup:
            # Whole cycles only: a cycle that was cut has no partner to compare with.
            whole = [block for block in switch.blocks if _whole(block[0], switch.blocks, len(variants))]
            cycle += CYCLES_A_REQUEST + 1
            outbox.emit(ev.Fact("overhead_blocks", [list(block) for block in whole], run), now=True)
        index += 1
    return Outcome("ok")


def _whole(cycle: int, blocks: Sequence[tuple[int, str, list[int]]], n: int) -> bool:
    return sum(1 for block in blocks if block[0] == cycle) == n
