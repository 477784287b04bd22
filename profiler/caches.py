"""The processor's last-level cache: how large a buffer must be to be sure to miss it.

Thread: any. Costs a few small file reads a processor. Nothing raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FALLBACK_BYTES = 32 << 20
"""Assumed where the system does not tell: common in today's desktops and servers."""

CPU_ROOT = Path("/sys/devices/system/cpu")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class LastLevelCache:
    """`bytes` of all last-level caches together that serve the given processors, `one_bytes` of
    one of them, `instances` of them, at `level`. `source`: "sysfs" or "assumed"."""

    bytes: int
    one_bytes: int
    instances: int
    level: int | None
    source: str


def last_level_cache(cpus: list[int] | None = None, root: Path = CPU_ROOT) -> LastLevelCache:
    """The last-level cache of `cpus` (None: all processors in `root`), from Linux' sysfs.

    A processor with several chiplets has one cache each, and threads spread over them can use
    all: hence the sum over distinct caches. A virtual machine may claim more than there is.
    """
    folders = [root / f"cpu{cpu}" for cpu in cpus] if cpus is not None else sorted(root.glob("cpu[0-9]*"))
    found: dict[tuple[int, str], int] = {}
    for folder in folders:
        for index in sorted((folder / "cache").glob("index*")):
            kind, level, size = (_text(index / name) for name in ("type", "level", "size"))
            if kind == "Instruction" or not level.isdigit() or _size(size) == 0:
                continue
            found[(int(level), _text(index / "shared_cpu_list") or folder.name)] = _size(size)
    if not found:
        return LastLevelCache(FALLBACK_BYTES, FALLBACK_BYTES, 1, None, "assumed")
    top = max(level for level, _ in found)
    sizes = [size for (level, _), size in found.items() if level == top]
    return LastLevelCache(sum(sizes), max(sizes), len(sizes), top, "sysfs")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _size(text: str) -> int:
    """Bytes of "32768K"; 0 for anything else."""
    number, unit = text[:-1], text[-1:]
    if text.isdigit():
        return int(text)
    return int(number) * _UNITS[unit] if number.isdigit() and unit in _UNITS else 0
