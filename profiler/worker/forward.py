"""Stamps around the forward passes of one request: what the device did, what the host took.

On the CPU two host stamps around each call. On CUDA an event pair from a ring made beforehand,
read when the answer is over: no synchronisation is added to a step. A step's gap is then device
busy plus host and launch.
"""

from __future__ import annotations

from typing import Any

from profiler.worker.outbox import now_ns

RING = 4096
"""Event pairs on CUDA; later steps of a longer answer carry no busy time."""


class ForwardWatch:
    """A context around one `generate` call on `model`. Thread: the one that decodes.

    Keeps the live cache of the request in `cache`, to read its bytes afterwards. With
    `every_step` False only the first pass is stamped and the hooks are gone after it: where the
    decode step is compiled (static cache on CUDA) a hook would be traced into it.
    """

    def __init__(self, model: Any, device_type: str, *, every_step: bool = True) -> None:
        self._model = model
        self._cuda = device_type == "cuda"
        self._every_step = every_step
        self._handles: list[Any] = []
        self._begin_ns = 0
        self._busy_ns: list[int] = []
        self._pairs: list[tuple[Any, Any]] = []
        self._used = 0
        self.start_ns = 0
        self.end_ns = 0
        self.cache: Any = None

    def __enter__(self) -> ForwardWatch:
        if self._cuda:
            import torch

            size = RING if self._every_step else 1
            self._pairs = [
                (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
                for _ in range(size)
            ]
        self._handles = [
            self._model.register_forward_pre_hook(self._before),
            self._model.register_forward_hook(self._after),
        ]
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()

    def _remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _before(self, *_: object) -> None:
        if self._cuda and self._used < len(self._pairs):
            self._pairs[self._used][0].record()
        self._begin_ns = now_ns()

    def _after(self, _module: object, _args: object, output: Any) -> None:
        end_ns = now_ns()
        if self._cuda:
            if self._used < len(self._pairs):
                self._pairs[self._used][1].record()
                self._used += 1
        else:
            self._busy_ns.append(end_ns - self._begin_ns)
        if not self.start_ns:
            self.start_ns, self.end_ns = self._begin_ns, end_ns
            self.cache = getattr(output, "cache", None) or getattr(output, "past_key_values", None)
            if not self._every_step:
                self._remove()

    def prefill_end_ns(self, first_ns: int) -> int:
        """When the prompt was through the model, never after the first token's stamp, ns."""
        if self._cuda and self._used:
            first, last = self._pairs[0]
            last.synchronize()
            elapsed_ns: int = round(first.elapsed_time(last) * 1e6)
            return int(min(max(self.start_ns + elapsed_ns, self.end_ns), first_ns))
        return min(self.end_ns, first_ns)

    def busy_us(self) -> list[int]:
        """Busy time of each forward pass of the answer, us, in order (the prefill first).

        After the answer; on CUDA it waits for the device.
        """
        if not self._cuda:
            return [round(ns / 1000) for ns in self._busy_ns]
        if not self._used:
            return []
        self._pairs[self._used - 1][1].synchronize()
        return [round(a.elapsed_time(b) * 1000) for a, b in self._pairs[: self._used]]
