"""Telemetry of one run: opens NVML and the host's counters, samples, and lets them go.

NVML is opened for a run and shut down after it: an idle handle keeps a laptop's GPU awake.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from profiler import events as ev
from profiler.patience import be_patient
from profiler.telemetry.host import HostReader
from profiler.telemetry.nvml import open_nvml
from profiler.telemetry.sampler import Reader, Sampler


class Sampling:
    """`emit` is called on the sampler's thread. `hz` 0: nothing is sampled.

    `uuids` are those of the GPUs that the model uses; empty with a model on the CPU: then
    every NVIDIA GPU is sampled, since a busy neighbour explains much.
    """

    def __init__(
        self, emit: Callable[[ev.Event], None], hz: float, worker_pid: int, uuids: list[str]
    ) -> None:
        self._hz = hz
        self._opening = open_nvml(uuids or None) if hz > 0 else None
        host = HostReader()
        host.watch(worker_pid)
        readers: list[Reader] = [*(self._opening.readers if self._opening else []), host]
        self._readers = readers
        # With the model on our own processor, the sampler waits for its turn.
        begin = None if uuids else be_patient
        self._sampler = Sampler(readers, hz, emit, begin=begin)

    def start(self) -> None:
        """Starts the thread (unless `hz` is 0)."""
        if self._hz > 0:
            self._sampler.start()

    @property
    def has_first(self) -> bool:
        """The first reading is there (or none will come)."""
        return self._hz <= 0 or self._sampler.wait_first(0.0)

    def facts(self) -> dict[str, Any]:
        """The session fact "telemetry": what is read, and why some of it is not."""
        gpus = [reader.describe() for reader in self._readers if reader.source != "host"]
        host = next(reader.describe() for reader in self._readers if reader.source == "host")
        reason = self._opening.reason if self._opening is not None else "the sampler was switched off"
        driver = self._opening.driver if self._opening is not None else None
        return {
            "hz": self._hz,
            "gpus": gpus,
            "host": host,
            "reason": reason,
            "driver": driver,
            "sampler": self._sampler.status(),
        }

    def pause(self, paused: bool) -> None:
        """Read nothing for a while."""
        self._sampler.pause(paused)

    def stop(self) -> None:
        """Ends the thread and closes the readers (unless a driver call hangs: then they stay open)."""
        self._sampler.stop()
