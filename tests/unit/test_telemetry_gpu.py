"""A GPU reader over a scripted device: the same rules as with the pretend driver, no compiler."""

from __future__ import annotations

import json
from typing import Any

import pytest

from profiler.telemetry.gpu import GpuReader, advertised_gb_s
from profiler.telemetry.gpu_device import DriverError, GpuIdentity
from profiler.telemetry.reasons import alarm_names, reason_names
from profiler.telemetry.ring import BusyRing, BusySample
from profiler.telemetry.sampler import ReaderGone, ReadingFailed

MS = 1_000_000


class Device:
    """Answers from a dict; `errors` maps a call to an error code ("*" for every call)."""

    def __init__(self, **answers: Any) -> None:
        self.errors: dict[str, int] = {}
        self.calls: list[str] = []
        self.freed: list[int] = []
        self._gpm = 0
        self.answers: dict[str, Any] = {
            "samples": [],
            "busy_pct": (90.0, 40.0),
            "instant_power_w": 250.0,
            "average_power_w": 240.0,
            "energy_j": 1000.0,
            "clock_mhz": 1410,
            "max_clock_mhz": 1593,
            "temperature_c": 60,
            "memory_bytes": (14, 80),
            "event_reasons": 0,
            "power_limit_w": 300.0,
            "default_power_limit_w": 300.0,
            "memory_bus_bits": 5120,
            "gpm_supported": False,
            "gpm_metrics": {10: 91.0, 2: 99.0, 3: 20.0, 5: 0.0},
            **answers,
        }

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*args: Any) -> Any:
            self.calls.append(name)
            code = self.errors.get(name, self.errors.get("*"))
            if code is not None:
                raise DriverError(code, f"Error {code}")
            if name == "gpm_sample":
                self._gpm += 1
                return self._gpm
            if name == "gpm_free":
                return self.freed.append(args[0])
            return self.answers[name]

        return call


class Clock:
    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


def make(device: Device, clock: Clock | None = None, **options: Any) -> GpuReader:
    identity = GpuIdentity(0, "GPU-1", "Card", None, "570.00")
    return GpuReader("gpu0", identity, device, clock=clock or Clock(), **options)


def test_values_and_description() -> None:
    reader = make(Device())
    assert reader.read() == {
        "power_w": 250.0,
        "gpu_busy_pct": 90.0,
        "memory_busy_pct": 40.0,
        "sm_clock_mhz": 1410,
        "memory_clock_mhz": 1410,
        "clock_event_reasons": 0,
        "energy_j": 1000.0,
        "temperature_c": 60,
        "power_limit_w": 300.0,
        "memory_used_bytes": 14,
        "memory_total_bytes": 80,
    }
    json.dumps(reader.describe(), allow_nan=False)


def test_slow_metrics_once_a_second() -> None:
    device, clock = Device(), Clock()
    reader = make(device, clock)
    device.calls.clear()
    with_temperature = []
    for quarter in range(9):
        clock.now_ns = quarter * 250 * MS
        if "temperature_c" in reader.read():
            with_temperature.append(quarter)
    assert with_temperature == [0, 4, 8]


def test_not_supported_is_asked_once() -> None:
    device = Device()
    device.errors = {"energy_j": 3}
    reader = make(device)
    for _ in range(5):
        assert reader.read()["energy_j"] is None
    assert device.calls.count("energy_j") == 1
    assert reader.describe()["unavailable"]["energy_j"].startswith("Error 3; energy is power integrated")


def test_a_passing_failure_is_null_once() -> None:
    device = Device()
    reader = make(device)
    device.errors = {"energy_j": 10}
    assert reader.read()["energy_j"] is None
    assert "energy_j" in reader.describe()["unavailable"]
    device.errors = {}
    assert reader.read()["energy_j"] == 1000.0
    assert "energy_j" not in reader.describe()["unavailable"]


def test_every_call_unknown() -> None:
    device = Device()
    reader = make(device)
    device.errors = {"*": 999}
    with pytest.raises(ReadingFailed, match=r"GPU 0 \(Card\) does not answer \(Error 999\)"):
        reader.read()
    device.errors = {}
    assert reader.read()["power_w"] == 250.0


def test_a_card_that_supports_nothing_is_all_null() -> None:
    device = Device()
    device.errors = {"*": 3}
    reader = make(device)
    first, second = reader.read(), reader.read()
    assert all(value is None for value in [*first.values(), *second.values()])
    assert set(first) <= {*reader.describe()["unavailable"], "memory_total_bytes"}


@pytest.mark.parametrize("call", ["instant_power_w", "samples", "energy_j", "gpm_sample", "gpm_metrics"])
@pytest.mark.parametrize("code", [15, 16])
def test_lost(call: str, code: int) -> None:
    device, clock = Device(gpm_supported=True), Clock()
    reader = make(device, clock)
    device.errors = {call: code}
    clock.now_ns = 200 * MS
    with pytest.raises(ReaderGone, match="was lost"):
        reader.read()
    reader.close()


def test_power_keeps_one_source() -> None:
    # Not believed when probed: the average is taken, and kept when the other would do.
    device = Device(instant_power_w=593.0, power_limit_w=80.0, average_power_w=20.0)
    reader = make(device)
    assert reader.read()["power_w"] == 20.0
    device.answers["instant_power_w"] = 30.0
    assert reader.read()["power_w"] == 20.0
    assert reader.describe()["power_source"] == "average of about 1 s"
    device.answers["average_power_w"] = 160.0  # twice the limit is out
    assert reader.read()["power_w"] is None
    assert reader.describe()["unavailable"]["power_w"] == "The driver reports 160 W, which is not plausible."
    device.answers["average_power_w"] = 159.0
    assert reader.read()["power_w"] == 159.0
    device.answers["average_power_w"] = 0.0
    assert reader.read()["power_w"] is None


def test_cap_below_the_default() -> None:
    limits = make(Device(power_limit_w=230.0, default_power_limit_w=350.0)).describe()["limits"]
    assert limits["power_cap_pct_of_default"] == 65.7
    limits = make(Device(power_limit_w=0.0)).describe()["limits"]
    assert limits["power_limit_w"] is None and limits["power_cap_pct_of_default"] is None


def test_unified_memory() -> None:
    device = Device()
    device.errors = {"memory_bytes": 3}
    reader = make(device, system_memory=lambda: (5, 9))
    values = reader.read()
    assert (values["memory_used_bytes"], values["memory_total_bytes"]) == (5, 9)
    assert reader.describe()["memory_source"] == "system memory (unified)"
    # Without permission it is not unified, only unknown.
    device = Device()
    device.errors = {"memory_bytes": 4}
    reader = make(device, system_memory=lambda: (5, 9))
    assert reader.read()["memory_used_bytes"] is None


def test_counters_between_two_samples() -> None:
    device, clock = Device(gpm_supported=True), Clock()
    reader = make(device, clock)  # the first sample is taken here
    clock.now_ns = 99 * MS
    assert "dram_bw_pct" not in reader.read()
    clock.now_ns = 250 * MS
    values = reader.read()
    assert (values["dram_bw_pct"], values["sm_busy_pct"], values["tensor_pct"]) == (91.0, 99.0, 0.0)
    clock.now_ns = 4000 * MS  # across an outage: not the present
    assert "dram_bw_pct" not in reader.read()
    reader.close()
    reader.close()
    assert device.freed == [1, 2, 3]


def test_counter_out_of_range() -> None:
    device, clock = Device(gpm_supported=True, gpm_metrics={10: 4e9, 2: None}), Clock()
    reader = make(device, clock)
    clock.now_ns = 250 * MS
    assert reader.read()["dram_bw_pct"] is None
    missing = reader.describe()["unavailable"]
    assert "not plausible" in missing["dram_bw_pct"] and "no value" in missing["sm_busy_pct"]


def test_close_releases_once() -> None:
    released = []
    reader = make(Device(), release=lambda: released.append(1))
    reader.close()
    reader.close()
    assert released == [1]


def test_ring_in_a_reader() -> None:
    device, clock = Device(samples=[(1_000_000, 10.0), (1_500_000, 20.0)]), Clock()
    reader = make(device, clock)
    values = reader.read()
    assert values["gpu_busy_pct"] == 20.0
    assert (values["busy_window_ms"], values["busy_age_ms"]) == (500.0, 0.0)
    device.errors = {"samples": 6}  # nothing new
    clock.now_ns = 400 * MS
    values = reader.read()
    assert (values["memory_busy_pct"], values["busy_age_ms"]) == (20.0, 400.0)
    clock.now_ns = 1501 * MS  # more than three windows old: the snapshot call
    values = reader.read()
    assert values["memory_busy_pct"] == 40.0 and "busy_age_ms" not in values


def test_ring_window_and_age() -> None:
    ring = BusyRing()
    assert ring.newest(0) is None
    # Stamps of a clock that is 7 s ahead; the reading comes 30 ms after the newest one.
    ring.add([(0, 55.0), (7_000_000, 10.0), (7_166_667, 50.0), (7_333_333, 101.0)], 200 * MS)
    # 101 % is refused; one distance is known.
    assert ring.newest(200 * MS) == BusySample(50.0, 0, 166_667_000)
    # The next comes with less delay: the offset is corrected, ages grow.
    ring.add([(7_333_334, 60.0)], 340 * MS)
    assert ring.newest(340 * MS) == BusySample(60.0, 0, 166_667_000)
    assert ring.newest(350 * MS) == BusySample(60.0, 10 * MS, 166_667_000)
    # This one is read 50 ms late: the smallest offset stays.
    ring.add([(7_500_001, 70.0), (7_333_334, 1.0)], 506_667_000 + 50 * MS)
    newest = ring.newest(506_667_000 + 50 * MS)
    assert newest is not None and newest.age_ns == 50 * MS


@pytest.mark.parametrize(
    ("clock_mhz", "bits", "gb_s"),
    [(1593, 5120, 2039.0), (2619, 6144, 4022.8), (None, 5120, None), (1593, None, None)],
)
def test_advertised(clock_mhz: int | None, bits: int | None, gb_s: float | None) -> None:
    assert advertised_gb_s(clock_mhz, bits) == gb_s


def test_reasons_in_words() -> None:
    assert reason_names(0) == []
    assert reason_names(0x4 | 0x40 | 0x8000) == ["power cap", "hardware thermal slowdown", "bit 0x8000"]
    assert alarm_names(0x4 | 0x1) == []
    assert alarm_names(0x8 | 0x80 | 0x4) == ["hardware slowdown", "power brake"]
