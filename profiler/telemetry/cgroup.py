"""What a Linux control group allows this process: CPU quota, memory limit, and throttling.

Both versions of the interface. A limit may sit on any ancestor: the tightest one counts.
Thread: any. Nothing raises; outside Linux everything is None.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from profiler.telemetry.plain import read_int, read_text

UNLIMITED = 1 << 60
"""Version 1 writes "no limit" as a huge number of bytes."""


class ControlGroup:
    """The control group of process `pid` ("self": ours)."""

    def __init__(
        self, pid: int | str = "self", proc: Path = Path("/proc"), root: Path = Path("/sys/fs/cgroup")
    ) -> None:
        self._cpu, self._memory = _folders(read_text(proc / str(pid) / "cgroup") or "", root)

    def cpu_quota(self) -> float | None:
        """Processors' worth of time that the group may use (1.5: one and a half); None: no limit."""
        quotas = []
        for folder in self._cpu:
            words = (read_text(folder / "cpu.max") or "").split()
            if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
                quota_us, period_us = int(words[0]), int(words[1])
            else:
                quota_us = read_int(folder / "cpu.cfs_quota_us") or -1
                period_us = read_int(folder / "cpu.cfs_period_us") or 0
            if quota_us > 0 and period_us > 0:
                quotas.append(quota_us / period_us)
        return min(quotas) if quotas else None

    def memory_limit_bytes(self) -> int | None:
        """The tightest memory limit, bytes; None: no limit."""
        limits = []
        for folder in self._memory:
            for name in ("memory.max", "memory.limit_in_bytes"):
                value = read_int(folder / name)
                if value is not None and 0 < value < UNLIMITED:
                    limits.append(value)
        return min(limits) if limits else None

    def throttled_ms(self) -> float | None:
        """Time in which the group was held back by its quota since it was made, ms.

        None where the system does not count it.
        """
        for folder in self._cpu:
            for line in (read_text(folder / "cpu.stat") or "").splitlines():
                name, _, value = line.partition(" ")
                if name == "throttled_usec" and value.strip().isdigit():
                    return int(value) / 1e3
                if name == "throttled_time" and value.strip().isdigit():  # version 1, ns
                    return int(value) / 1e6
        return None


def memory_limit_bytes() -> int | None:
    """The tightest memory limit of our own control group, bytes; None: no limit."""
    return ControlGroup().memory_limit_bytes()


def _folders(cgroup: str, root: Path) -> tuple[list[Path], list[Path]]:
    """The folders of the cpu and the memory controller, innermost first, up to the root."""
    cpu: list[Path] = []
    memory: list[Path] = []
    for line in cgroup.splitlines():
        parts = line.split(":", 2)
        if len(parts) != 3:
            continue
        _, controllers, path = parts
        names = controllers.split(",")
        if controllers == "":  # version 2
            chain = list(_up(root, path))
            cpu += chain
            memory += chain
        if "cpu" in names:
            cpu = [*_up(root / controllers, path), *_up(root / "cpu", path), *cpu]
        if "memory" in names:
            memory = [*_up(root / "memory", path), *memory]
    return [path for path in cpu if path.is_dir()], [path for path in memory if path.is_dir()]


def _up(root: Path, path: str) -> Iterator[Path]:
    """`root`/`path` and its ancestors down to `root` itself.

    Inside a container the path may be the host's and not exist here; the root then holds the
    container's own limits.
    """
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    for count in range(len(parts), -1, -1):
        yield root.joinpath(*parts[:count])
