"""Four steps of a gap against a median, and their colours: the scale of the coloured text.

The steps differ in lightness, so that they can be told apart without seeing colours; the last
one is set in a heavier weight as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QCoreApplication

from app.theme import Palette

THRESHOLDS = (0.02, 0.05, 0.15)
"""Upper ends of steps 0, 1 and 2 as shares above the median; step 3 is all above."""
STEPS = len(THRESHOLDS) + 1
_ALPHA = (55, 105)
_SOLID = {"dark": ("#F0A830", "#14171C"), "light": ("#945A00", "#FFFFFF")}


@dataclass(frozen=True)
class HeatStep:
    """Colours of a step, `#rrggbb`: `fill` behind the token (None: nothing), `text`, and `symbol`
    for signs that stand for white space."""

    fill: str | None
    text: str
    symbol: str


def heat_steps(palette: Palette) -> tuple[HeatStep, ...]:
    """The four steps, from "not slower" to the slowest, on the palette's surface."""
    fill, text = _SOLID["dark" if palette.dark else "light"]
    tints = (HeatStep(palette.mix("data2", alpha).name(), palette.text, palette.text) for alpha in _ALPHA)
    return (HeatStep(None, palette.text, palette.muted), *tints, HeatStep(fill, text, text))


def heat_words() -> tuple[str, ...]:
    """What the legend says to each step."""
    tr = QCoreApplication.translate
    return (
        tr("Heat", "≤ +2 %"),
        tr("Heat", "+2 to 5 %"),
        tr("Heat", "+5 to 15 %"),
        tr("Heat", "> +15 %"),
    )


def heat_levels(gaps_ms: npt.NDArray[np.float64], median_ms: float | None) -> npt.NDArray[np.int64]:
    """Step 0..3 of each gap, int64[n]. Without a median above 0, and where a gap is NaN: 0."""
    if median_ms is None or not median_ms > 0:
        return np.zeros(len(gaps_ms), np.int64)
    edges = np.array([(1.0 + share) * median_ms for share in THRESHOLDS])
    levels = np.searchsorted(edges, gaps_ms, side="left")
    return np.where(np.isnan(gaps_ms), 0, levels).astype(np.int64)
