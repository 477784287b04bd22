"""The driver's ring buffer of utilisation samples: value, age and window of the newest one.

A busy share is an average over a window that just ended (1/6 s to 1 s), not a momentary
value. A chart can only be honest about it when it knows how wide the window is and when it
ended: the width is the median distance of the ring's stamps, the end the newest stamp. The
stamps are microseconds on a clock nobody specifies (usually time since boot), so they are
mapped to ours: a sample is never read before it was made, hence the smallest difference seen
between our clock and the newest stamp is the closest to the true offset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

STALE_WINDOWS = 3
"""A newest sample older than so many windows is no longer the present."""


@dataclass(frozen=True, slots=True)
class BusySample:
    """The newest sample: `value_pct`, the end of its window as `age_ns` before the reading, and
    the window's width (None while fewer than two stamps were seen)."""

    value_pct: float
    age_ns: int
    window_ns: int | None


class BusyRing:
    """One ring buffer (GPU busy or memory busy), followed over time. Pure; thread: one."""

    def __init__(self) -> None:
        self.last_us = 0
        """The newest stamp seen: what the driver is asked for is newer than this."""
        self._value: float | None = None
        self._offset_us: int | None = None
        self._steps_us: deque[int] = deque(maxlen=127)

    def add(self, batch: Iterable[tuple[int, float]], now_ns: int) -> None:
        """Take in samples (stamp in us, percent) that were read at `now_ns` of our clock.

        Stamps seen before, stamps of 0 (unused places) and shares outside 0..100 are left out.
        """
        fresh = sorted((t_us, v) for t_us, v in batch if t_us > self.last_us and 0 <= v <= 100)
        if not fresh:
            return
        for t_us, value in fresh:
            if self.last_us:
                self._steps_us.append(t_us - self.last_us)
            self.last_us, self._value = t_us, value
        offset_us = now_ns // 1000 - self.last_us
        if self._offset_us is None or offset_us < self._offset_us:
            self._offset_us = offset_us

    @property
    def window_ns(self) -> int | None:
        """The median distance of the stamps, ns."""
        return int(median(self._steps_us) * 1000) if self._steps_us else None

    def newest(self, now_ns: int) -> BusySample | None:
        """The newest sample as of `now_ns`; None when there is none, or it is too old to be
        shown as the present (see STALE_WINDOWS)."""
        if self._value is None or self._offset_us is None:
            return None
        age_ns = max(0, now_ns - (self.last_us + self._offset_us) * 1000)
        window_ns = self.window_ns
        # Without a window: as if it were the widest that is known of.
        if age_ns > STALE_WINDOWS * (window_ns or 1_000_000_000):
            return None
        return BusySample(self._value, age_ns, window_ns)
