"""One GPU as a source of telemetry: what it can tell, read at two paces, honest about the rest.

Knows nothing of pynvml: it is given a `GpuDevice` (`nvml.py` makes them, tests script them).
Each metric is probed once; one that the card does not support is None with its reason from
then on and costs no more calls, one that fails for a moment is None for that reading.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from profiler.telemetry.gpu_device import (
    LOST,
    NOT_FOUND,
    NOT_SUPPORTED,
    PERMANENT,
    DriverError,
    GpuDevice,
    GpuIdentity,
)
from profiler.telemetry.ring import BusyRing, BusySample
from profiler.telemetry.sampler import Pace, ReaderGone, ReadingFailed, Values

GPM_MIN_NS = 100_000_000
"""Two GPM samples closer than this give noise (driver headers)."""
GPM_MAX_NS = 3_000_000_000
"""A pair further apart spans an outage: it is no reading of the present."""
GPM_METRICS: dict[str, int] = {"dram_bw_pct": 10, "sm_busy_pct": 2, "sm_occupancy_pct": 3, "tensor_pct": 5}

MAX_POWER_W = 2000.0
"""Above this no power reading is believed where the card does not tell its limit."""


@dataclass(frozen=True, slots=True)
class _Metric:
    """A row of the table of plain metrics: one call, one value."""

    name: str
    read: Callable[[GpuDevice], float | int]
    slow: bool = False
    missing: str = ""
    """What to do without it, put behind the driver's own words."""


_METRICS = (
    _Metric("sm_clock_mhz", lambda device: device.clock_mhz("sm")),
    _Metric("memory_clock_mhz", lambda device: device.clock_mhz("memory")),
    _Metric("clock_event_reasons", lambda device: device.event_reasons()),
    _Metric(
        "energy_j", lambda device: device.energy_j(), missing="energy is power integrated over time instead"
    ),
    _Metric("temperature_c", lambda device: device.temperature_c(), slow=True),
    _Metric("power_limit_w", lambda device: device.power_limit_w(), slow=True),
)


@dataclass(slots=True)
class _Limits:
    """What does not change while we look, read once."""

    facts: dict[str, Any] = field(default_factory=dict)

    def get(self, name: str, read: Callable[[], float | int]) -> None:
        try:
            value = read()
        except DriverError as error:
            if error.code in LOST:
                raise
            self.facts[name] = None
        else:
            # A limit of 0 is how drivers say that there is none.
            self.facts[name] = value if value > 0 else None


class GpuReader:
    """A `Reader` for one GPU. Thread: one at a time. Costs 8 to 12 driver calls a reading.

    Raises ReaderGone from the constructor when the GPU is lost already. `release` is called
    once, by `close`. `system_memory` (used, total) stands in where GPU and CPU share memory.
    """

    def __init__(
        self,
        source: str,
        identity: GpuIdentity,
        device: GpuDevice,
        *,
        gpm: bool = True,
        clock: Callable[[], int] = time.perf_counter_ns,
        release: Callable[[], None] = lambda: None,
        system_memory: Callable[[], tuple[int, int]] | None = None,
    ) -> None:
        self.source = source
        self._identity = identity
        self._device = device
        self._clock = clock
        self._release: Callable[[], None] | None = release
        self._system_memory = system_memory
        self._off: set[str] = set()
        self._reasons: dict[str, str] = {}
        self._pace = Pace()
        self._rings = {"gpu": BusyRing(), "memory": BusyRing()}
        self._ring_off: set[str] = set()
        self._power_calls: list[tuple[str, Callable[[], float]]] = [
            ("instant", device.instant_power_w),
            ("average of about 1 s", device.average_power_w),
        ]
        self._power_source: str | None = None
        self._memory_source = "driver"
        self._gpm_last: tuple[int, Any] | None = None
        self._answers = 0
        self._errors: list[DriverError] = []
        self._last_code: int | None = None
        try:
            self._limits = self._read_limits()
            self._gpm = gpm and self._probe_gpm()
            if not gpm:
                self._drop_gpm("The hardware counters (GPM) are switched off.")
            try:
                self.read()
            except ReadingFailed:
                pass  # stale from the start: the sampler says so and tries again
            finally:
                self._pace = Pace()
        except DriverError as error:
            raise ReaderGone(self._gone_sentence(error)) from error

    # -- what it is ---------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Identity, limits and what is missing, strict JSON. No driver calls."""
        identity = self._identity
        windows = [ring.window_ns for ring in (self._rings["memory"], self._rings["gpu"])]
        window_ns = next((window for window in windows if window is not None), None)
        return {
            "source": self.source,
            "index": identity.index,
            "uuid": identity.uuid,
            "name": identity.name,
            "pci_bus_id": identity.pci_bus_id,
            "driver": identity.driver,
            "limits": dict(self._limits),
            "power_source": self._power_source,
            "memory_source": self._memory_source,
            "busy_window_ms": None if window_ns is None else window_ns / 1e6,
            "gpm": self._gpm,
            "unavailable": dict(self._reasons),
        }

    def _read_limits(self) -> dict[str, Any]:
        device, limits = self._device, _Limits()
        limits.get("power_limit_w", device.power_limit_w)
        limits.get("default_power_limit_w", device.default_power_limit_w)
        limits.get("max_sm_clock_mhz", lambda: device.max_clock_mhz("sm"))
        limits.get("max_memory_clock_mhz", lambda: device.max_clock_mhz("memory"))
        limits.get("memory_bus_bits", device.memory_bus_bits)
        limits.get("memory_total_bytes", lambda: device.memory_bytes()[1])
        facts = limits.facts
        cap_w, default_w = facts["power_limit_w"], facts["default_power_limit_w"]
        facts["power_cap_pct_of_default"] = (
            round(100 * cap_w / default_w, 1) if cap_w is not None and default_w is not None else None
        )
        facts["advertised_gb_s"] = advertised_gb_s(facts["max_memory_clock_mhz"], facts["memory_bus_bits"])
        return facts

    # -- reading ------------------------------------------------------------------------

    def read(self) -> Values:
        """One reading. ReaderGone when the GPU is lost, ReadingFailed when no call succeeds."""
        values: Values = {}
        self._answers, self._errors = 0, []
        now_ns = self._clock()
        slow = self._pace.due(now_ns)
        try:
            self._read_power(values)
            self._read_busy(values)
            for metric in _METRICS:
                if slow or not metric.slow:
                    values[metric.name] = self._one(metric.name, metric.missing, metric.read)
            if slow:
                self._read_memory(values)
            if self._gpm:
                self._read_gpm(values)
        except DriverError as error:  # only a lost GPU gets here
            raise ReaderGone(self._gone_sentence(error)) from error
        if self._errors and not self._answers:
            text = self._errors[0].text
            raise ReadingFailed(f"{self._label} does not answer ({text}).")
        return values

    def close(self) -> None:
        """Free what the driver holds for us. May be called twice; does not raise."""
        release, self._release = self._release, None
        if release is None:
            return
        if self._gpm_last is not None:
            self._free(self._gpm_last[1])
            self._gpm_last = None
        release()

    def _call(self, name: str, read: Callable[[], Any], missing: str = "") -> Any:
        """The value, or None with the reason kept. DriverError only for a lost GPU."""
        try:
            value = read()
        except DriverError as error:
            if error.code in LOST:
                raise
            self._last_code = error.code
            self._reasons[name] = f"{error.text}; {missing}" if missing else error.text
            if error.code in PERMANENT:  # an answer too: this metric is not to be had
                self._off.add(name)
                self._answers += 1
            else:
                self._errors.append(error)
            return None
        self._answers += 1
        self._reasons.pop(name, None)
        return value

    def _one(self, name: str, missing: str, read: Callable[[GpuDevice], float | int]) -> float | int | None:
        if name in self._off:
            return None
        value: float | int | None = self._call(name, lambda: read(self._device), missing)
        return value

    def _read_power(self, values: Values) -> None:
        """Power from the first call that works and is believed; that choice is kept for good,
        so that one series never mixes momentary values with averages."""
        values["power_w"] = None
        limit_w = self._limits["power_limit_w"]
        ceiling_w = MAX_POWER_W if limit_w is None else 2 * limit_w
        implausible: str | None = None
        for call in list(self._power_calls):
            label, read = call
            watts = self._call("power_w", read)
            if "power_w" in self._off:  # this call, not the metric: another one may answer
                self._off.discard("power_w")
                self._power_calls.remove(call)
            elif watts is not None and 0 < watts < ceiling_w:
                values["power_w"] = watts
                self._power_source, self._power_calls = label, [call]
                return
            elif watts is not None:
                implausible = f"The driver reports {watts:g} W, which is not plausible."
        if implausible is not None:
            self._reasons["power_w"] = implausible

    def _read_busy(self, values: Values) -> None:
        """Busy shares: from the ring buffers, else from the snapshot call."""
        now_ns = self._clock()
        samples = {kind: self._ring(kind, now_ns) for kind in self._rings}
        snapshot: dict[str, float] = {}
        reason: str | None = None
        if None in samples.values() and "busy" not in self._off:
            pair = self._call("busy", self._device.busy_pct)
            reason = self._reasons.pop("busy", None)
            snapshot = {} if pair is None else {"gpu": pair[0], "memory": pair[1]}
        for kind, sample in samples.items():
            name = f"{kind}_busy_pct"
            values[name] = snapshot.get(kind) if sample is None else sample.value_pct
            if values[name] is not None:
                self._reasons.pop(name, None)
            elif reason is not None:
                self._reasons[name] = reason
        memory = samples["memory"]
        if memory is not None:
            values["busy_age_ms"] = memory.age_ns / 1e6
            values["busy_window_ms"] = None if memory.window_ns is None else memory.window_ns / 1e6

    def _ring(self, kind: str, now_ns: int) -> BusySample | None:
        ring = self._rings[kind]
        if kind in self._ring_off:
            return None
        try:
            ring.add(self._device.samples(kind, ring.last_us), now_ns)
        except DriverError as error:
            if error.code in LOST:
                raise
            if error.code in PERMANENT:
                self._ring_off.add(kind)
                return None  # the snapshot call stands in
            if error.code != NOT_FOUND:
                self._errors.append(error)
                return None
        else:
            self._answers += 1
        return ring.newest(now_ns)

    def _read_memory(self, values: Values) -> None:
        name = "memory_used_bytes"
        values[name] = None
        values["memory_total_bytes"] = self._limits["memory_total_bytes"]
        if name in self._off:
            return
        if self._memory_source == "driver":
            pair = self._call(name, self._device.memory_bytes)
            if pair is not None:
                values[name], values["memory_total_bytes"] = pair
                return
            if self._last_code != NOT_SUPPORTED or self._system_memory is None:
                return
            # GPU and CPU share one memory (GB10, Jetson): the system's figures are the GPU's.
            self._memory_source = "system memory (unified)"
            self._off.discard(name)
            self._reasons.pop(name, None)
        if self._system_memory is not None:
            values[name], total_bytes = self._system_memory()
            values["memory_total_bytes"] = self._limits["memory_total_bytes"] = total_bytes

    # -- hardware counters --------------------------------------------------------------

    def _probe_gpm(self) -> bool:
        try:
            if self._device.gpm_supported():
                return True
            reason = "This GPU has no such hardware counters (GPM needs Hopper or newer, or GeForce 50)."
        except DriverError as error:
            if error.code in LOST:
                raise
            reason = f"The hardware counters (GPM) cannot be read: {error.text}"
        self._drop_gpm(reason)
        return False

    def _drop_gpm(self, reason: str) -> None:
        self._gpm = False
        for name in GPM_METRICS:
            self._reasons[name] = reason

    def _read_gpm(self, values: Values) -> None:
        """Shares between this sample and the one before it; nothing while they are too close."""
        now_ns = self._clock()
        last = self._gpm_last
        if last is not None and now_ns - last[0] < GPM_MIN_NS:
            return
        try:
            sample = self._device.gpm_sample()
        except DriverError as error:
            self._gpm_failed(error, values)
            return
        self._gpm_last = (now_ns, sample)
        if last is None:
            return
        try:
            if now_ns - last[0] > GPM_MAX_NS:
                return
            shares = self._device.gpm_metrics(last[1], sample, list(GPM_METRICS.values()))
        except DriverError as error:
            self._gpm_failed(error, values)
            return
        finally:
            self._free(last[1])
        self._answers += 1
        for name, number in GPM_METRICS.items():
            share = shares.get(number)
            if share is not None and 0 <= share <= 105:
                values[name] = share
                self._reasons.pop(name, None)
            else:
                values[name] = None
                self._reasons[name] = (
                    "The driver gives no value for this counter."
                    if share is None
                    else f"The driver reports {share:g} %, which is not plausible."
                )

    def _gpm_failed(self, error: DriverError, values: Values) -> None:
        if error.code in LOST:
            raise error
        reason = f"The hardware counters (GPM) cannot be read: {error.text}"
        if error.code in PERMANENT:
            self._drop_gpm(reason)
        else:
            self._errors.append(error)
        for name in GPM_METRICS:
            values[name] = None
            self._reasons[name] = reason

    def _free(self, sample: Any) -> None:
        try:
            self._device.gpm_free(sample)
        except DriverError:
            pass  # a few hundred bytes of the driver's; nothing depends on it

    @property
    def _label(self) -> str:
        index, name = self._identity.index, self._identity.name or "NVIDIA GPU"
        return f"GPU {index} ({name})" if index is not None else name

    def _gone_sentence(self, error: DriverError) -> str:
        return f"{self._label} was lost ({error.text}); it is not read any more."


def advertised_gb_s(max_memory_clock_mhz: float | None, bus_bits: float | None) -> float | None:
    """The advertised peak of the memory, GB/s: 2 * clock * width / 8 (A100-80GB: 2039)."""
    if max_memory_clock_mhz is None or bus_bits is None:
        return None
    return round(2 * max_memory_clock_mhz * 1e6 * bus_bits / 8 / 1e9, 1)
