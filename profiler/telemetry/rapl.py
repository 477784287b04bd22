"""Energy of the processor package from Linux' powercap (RAPL), where it may be read.

Mostly readable by root only since CVE-2020-8694. We never ask for rights and never guess
from a TDP: what cannot be read is missing, with the reason.
"""

from __future__ import annotations

from pathlib import Path

from profiler.telemetry.plain import read_int, read_text

POWERCAP = Path("/sys/class/powercap")


class PackageEnergy:
    """Joules of all processor packages together since the first reading.

    `reason` is None when it works, else one sentence. Thread: one. `read_j` costs one small
    file a package.
    """

    def __init__(self, root: Path = POWERCAP) -> None:
        self._zones: list[tuple[Path, int | None]] = []
        self._last_uj: list[int] = []
        self._total_uj = 0
        self.reason: str | None = None
        try:
            names = sorted(path for path in root.iterdir() if ":" in path.name)
        except OSError:
            self.reason = "This system has no processor energy counter (RAPL)."
            return
        for zone in names:
            # Subzones (core, dram) are parts of a package, psys holds the packages again.
            if not (read_text(zone / "name") or "").startswith("package"):
                continue
            self._zones.append((zone / "energy_uj", read_int(zone / "max_energy_range_uj")))
        if not self._zones:
            self.reason = "This processor offers no package energy counter (RAPL)."
            return
        try:
            self._last_uj = [self._read_uj(path) for path, _ in self._zones]
        except PermissionError:
            self._fail("The processor's energy counter is readable by the administrator only.")
        except (OSError, ValueError) as error:
            self._fail(f"The processor's energy counter cannot be read ({error}).")

    def read_j(self) -> float | None:
        """Joules since this object was made; None where `reason` says why.

        The counter wraps (after minutes to hours); a wrap is added up as long as readings
        come more often than that.
        """
        if self.reason is not None:
            return None
        for at, (path, range_uj) in enumerate(self._zones):
            try:
                now_uj = self._read_uj(path)
            except (OSError, ValueError) as error:
                self._fail(f"The processor's energy counter stopped answering ({error}).")
                return None
            step_uj = now_uj - self._last_uj[at]
            if step_uj < 0:
                if range_uj is None:
                    self._fail("The processor's energy counter went backwards.")
                    return None
                step_uj += range_uj
            self._total_uj += step_uj
            self._last_uj[at] = now_uj
        return self._total_uj / 1e6

    def _fail(self, reason: str) -> None:
        self.reason = reason
        self._zones = []

    @staticmethod
    def _read_uj(path: Path) -> int:
        return int(path.read_text(encoding="ascii", errors="replace"))
