"""What a GPU's driver is asked, as plain numbers: the seam between NVML and the reader.

`nvml_device.py` answers through the bindings, tests answer from a script.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

NOT_SUPPORTED = 3
NOT_FOUND = 6
"""From the ring buffer: nothing new since the last time; common on an idle GPU."""
LOST = frozenset({15, 16})
"""GPU is lost; GPU requires reset."""
PERMANENT = frozenset({NOT_SUPPORTED, 4, 13, 25, 29})
"""Not supported, no permission, function not found, version mismatch, invalid state."""


class DriverError(Exception):
    """A driver call failed. `code` is NVML's number, None where the failure is not NVML's."""

    def __init__(self, code: int | None, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class GpuIdentity:
    """Who a GPU is. Strings are plain text; None where the driver does not tell."""

    index: int | None
    uuid: str | None
    name: str | None
    pci_bus_id: str | None
    driver: str | None


class GpuDevice(Protocol):
    """The driver's calls for one GPU, as plain numbers in base units. Each may raise DriverError."""

    def samples(self, kind: str, since_us: int) -> list[tuple[int, float]]:
        """The ring buffer of `kind` ("gpu", "memory"): (stamp us, percent), newer than `since_us`."""
        ...

    def busy_pct(self) -> tuple[float, float]:
        """The snapshot call: GPU and memory busy share."""
        ...

    def instant_power_w(self) -> float: ...
    def average_power_w(self) -> float: ...
    def energy_j(self) -> float: ...
    def clock_mhz(self, kind: str) -> int:
        """`kind`: "sm", "memory"."""
        ...

    def max_clock_mhz(self, kind: str) -> int: ...
    def temperature_c(self) -> int: ...
    def memory_bytes(self) -> tuple[int, int]:
        """Used, total."""
        ...

    def event_reasons(self) -> int: ...
    def power_limit_w(self) -> float:
        """The limit in force."""
        ...

    def default_power_limit_w(self) -> float: ...
    def memory_bus_bits(self) -> int: ...
    def gpm_supported(self) -> bool: ...
    def gpm_sample(self) -> Any:
        """A new GPM sample, to be given to `gpm_metrics` and `gpm_free`."""
        ...

    def gpm_metrics(self, older: Any, newer: Any, ids: list[int]) -> dict[int, float | None]:
        """Metric id to value between two samples; None where the driver gives none."""
        ...

    def gpm_free(self, sample: Any) -> None: ...
