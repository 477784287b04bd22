"""The host's readings from written files and scripted counters."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from profiler.telemetry.cgroup import ControlGroup
from profiler.telemetry.host import HostReader, busy_pct
from profiler.telemetry.plain import plain_text
from profiler.telemetry.rapl import PackageEnergy

S = 1_000_000_000


class Times(tuple[float, ...]):
    """user, nice, system, idle, iowait, guest, as psutil's named tuple."""

    idle = property(lambda self: self[3])
    iowait = property(lambda self: self[4])
    guest = property(lambda self: self[5])


def write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def host(tmp_path: Path, script: list[list[Any]], **options: Any) -> HostReader:
    remaining = iter(script)
    options.setdefault("clock", lambda: 0)
    return HostReader(
        cpu_times=lambda: next(remaining), proc=tmp_path, powercap=tmp_path / "powercap", **options
    )


def test_busy_share_is_primed(tmp_path: Path) -> None:
    # In 1 s of two processors: the first busy for 0.75 s, the second for 0.25 s (of it 0.1 s as a
    # guest, counted in user already); the rest idle or waiting for a disk.
    before = [Times((10, 0, 5, 100, 1, 0)), Times((20, 0, 5, 100, 1, 3))]
    after = [Times((10.5, 0, 5.25, 100.25, 1, 0)), Times((20.25, 0, 5, 100.5, 1.25, 3.1))]
    values = host(tmp_path, [before, after]).read()
    assert values["cpu0_pct"] == 75.0
    assert values["cpu1_pct"] == 25.0
    assert values["cpu_busy_pct"] == 50.0


def test_no_tick_between_two_readings(tmp_path: Path) -> None:
    before, after = [Times((1, 0, 0, 9, 0, 0))], [Times((1.5, 0, 0, 9.5, 0, 0))]
    reader = host(tmp_path, [before, before, after])
    assert "cpu_busy_pct" not in reader.read()
    assert reader.read()["cpu_busy_pct"] == 50.0


def test_a_processor_that_went_away(tmp_path: Path) -> None:
    two, one = [Times((1, 0, 0, 9, 0, 0))] * 2, [Times((2, 0, 0, 10, 0, 0))]
    values = host(tmp_path, [two, one]).read()
    assert "cpu0_pct" not in values


def test_busy_pct() -> None:
    assert busy_pct((1.0, 10.0), (1.5, 11.0)) == 50.0
    assert busy_pct((1.0, 10.0), (1.0, 10.0)) is None  # no tick passed
    assert busy_pct((1.0, 10.0), (0.9, 11.0)) == 0.0  # counters may step back a tick
    assert busy_pct(None, (1.0, 2.0)) is None


def test_pressure(tmp_path: Path) -> None:
    write(tmp_path / "pressure/cpu", "some avg10=12.34 avg60=0 avg300=0 total=5\nfull avg10=1 total=1\n")
    steady = [Times((1, 0, 0, 9, 0, 0))]
    reader = host(tmp_path, [steady, steady])
    values = reader.read()
    assert values["cpu_pressure_pct"] == 12.34
    assert values["memory_pressure_pct"] is None
    missing = reader.describe()["unavailable"]
    assert "memory_pressure_pct" in missing and "cpu_pressure_pct" not in missing


def test_slow_metrics_once_a_second(tmp_path: Path) -> None:
    clock = SimpleNamespace(now_ns=0)
    steady = [Times((1, 0, 0, 9, 0, 0))]
    reader = host(tmp_path, [steady] * 7, clock=lambda: clock.now_ns)
    slow = []
    for quarter in range(6):
        clock.now_ns = quarter * S // 4
        if "cpu_freq_mhz" in reader.read():
            slow.append(quarter)
    assert slow == [0, 4]


def test_our_own_process() -> None:
    reader = HostReader(os.getpid())
    values = reader.read()
    assert isinstance(values["rss_bytes"], int) and values["rss_bytes"] > 1_000_000
    assert values["memory_available_bytes"]
    reader.close()


def test_major_faults_with_an_odd_process_name(tmp_path: Path) -> None:
    pid = os.getpid()
    write(tmp_path / str(pid) / "stat", f"{pid} (a b) c) R 1 2 3 4 5 6 700 8 42 10 11 12")
    steady = [Times((1, 0, 0, 9, 0, 0))]
    assert host(tmp_path, [steady, steady], pid=pid).read()["major_page_faults"] == 42


def test_a_process_that_is_gone(tmp_path: Path) -> None:
    steady = [Times((1, 0, 0, 9, 0, 0))]
    reader = host(tmp_path, [steady, steady], pid=2**22 + 1)
    assert "rss_bytes" not in reader.read()
    assert "cannot be read" in reader.describe()["unavailable"]["rss_bytes"]


def test_no_process_is_no_complaint(tmp_path: Path) -> None:
    steady = [Times((1, 0, 0, 9, 0, 0))]
    reader = host(tmp_path, [steady, steady])
    reader.read()
    assert "rss_bytes" not in reader.describe()["unavailable"]


# -- energy ------------------------------------------------------------------------------


def zone(root: Path, name: str, label: str, energy_uj: int, range_uj: int) -> Path:
    write(root / name / "name", label + "\n")
    write(root / name / "energy_uj", f"{energy_uj}\n")
    write(root / name / "max_energy_range_uj", f"{range_uj}\n")
    return root / name / "energy_uj"


def test_energy_of_two_packages_with_a_wrap(tmp_path: Path) -> None:
    first = zone(tmp_path, "intel-rapl:0", "package-0", 1_000_000, 10_000_000)
    second = zone(tmp_path, "intel-rapl:1", "package-1", 9_500_000, 10_000_000)
    zone(tmp_path, "intel-rapl:0:0", "dram", 5, 10)
    zone(tmp_path, "intel-rapl:2", "psys", 5, 10)
    energy = PackageEnergy(tmp_path)
    assert energy.reason is None and energy.read_j() == 0.0
    first.write_text("3000000")
    second.write_text("500000")  # wrapped: 0.5 J up to the end, 0.5 J after
    assert energy.read_j() == 3.0
    first.write_text("3000001")
    assert energy.read_j() == 3.000001


def test_energy_without_a_counter(tmp_path: Path) -> None:
    energy = PackageEnergy(tmp_path / "none")
    assert energy.read_j() is None
    assert energy.reason == "This system has no processor energy counter (RAPL)."


def test_energy_that_only_root_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1, 10)

    def refuse(path: Path) -> int:
        raise PermissionError(13, "Permission denied")

    # The tests may run as root, who may read everything.
    monkeypatch.setattr(PackageEnergy, "_read_uj", staticmethod(refuse))
    energy = PackageEnergy(tmp_path)
    assert energy.read_j() is None
    assert energy.reason is not None and "administrator" in energy.reason


# -- control groups ----------------------------------------------------------------------


def test_version_2_takes_the_tightest_of_the_ancestors(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/cgroup", "0::/outer/inner\n")
    root = tmp_path / "cgroup"
    write(root / "outer/inner/cpu.max", "max 100000\n")
    write(root / "outer/cpu.max", "150000 100000\n")
    write(root / "outer/inner/memory.max", "max\n")
    write(root / "outer/memory.max", "2147483648\n")
    write(root / "outer/inner/cpu.stat", "usage_usec 5\nnr_throttled 3\nthrottled_usec 12500\n")
    group = ControlGroup("self", tmp_path / "proc", root)
    assert group.cpu_quota() == 1.5
    assert group.memory_limit_bytes() == 2_147_483_648
    assert group.throttled_ms() == 12.5


def test_version_1(tmp_path: Path) -> None:
    write(tmp_path / "proc/7/cgroup", "4:memory:/a\n3:cpu,cpuacct:/a\n1:name=systemd:/\n")
    root = tmp_path / "cgroup"
    write(root / "cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n")
    write(root / "cpu,cpuacct/a/cpu.cfs_period_us", "100000\n")
    write(root / "cpu,cpuacct/a/cpu.stat", "nr_throttled 1\nthrottled_time 3000000\n")
    write(root / "memory/a/memory.limit_in_bytes", "9223372036854771712\n")
    write(root / "memory/memory.limit_in_bytes", "1073741824\n")
    group = ControlGroup(7, tmp_path / "proc", root)
    assert group.cpu_quota() == 0.5
    assert group.memory_limit_bytes() == 1_073_741_824
    assert group.throttled_ms() == 3.0


def test_no_limits(tmp_path: Path) -> None:
    write(tmp_path / "proc/7/cgroup", "3:cpu:/\n")
    write(tmp_path / "cgroup/cpu/cpu.cfs_quota_us", "-1\n")
    write(tmp_path / "cgroup/cpu/cpu.cfs_period_us", "100000\n")
    group = ControlGroup(7, tmp_path / "proc", tmp_path / "cgroup")
    assert group.cpu_quota() is None
    group = ControlGroup(7, tmp_path / "nothing", tmp_path / "nothing")
    assert group.cpu_quota() is None
    assert group.memory_limit_bytes() is None
    assert group.throttled_ms() is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"Ge\xffForce", "Ge\ufffdForce"),
        ("a\udcffb", "a\ufffdb"),
        ("a\ud800b", "a?b"),
        ("a\x1b[31m\nb\x00", "a [31m b"),
        (" äöü ", "äöü"),
    ],
)
def test_plain_text(value: str | bytes, text: str) -> None:
    assert plain_text(value) == text
    plain_text(value).encode("utf-8")


def test_plain_text_is_cut() -> None:
    assert plain_text("x" * 1000) == "x" * 300
