"""Contrast of every kind of words on every background they are written on (WCAG 2.2), both themes.

The ratio is worked out here, not by the code under test.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from app.theme import DARK, LIGHT, Palette, contrast
from app.widgets.heat import heat_steps

WORDS = 4.5
"""Least ratio for text."""
MARKS = 3.0
"""Least ratio for what is no text but has to be seen: rings, boxes to tick, lines."""

BACKGROUNDS = ("window", "rail", "surface", "raised", "tooltip", "accent_tint")
PAIRS = [
    *((role, ground) for role in ("text", "secondary", "muted") for ground in BACKGROUNDS),
    *(("text", ground) for ground in ("hover", "control_border", "border")),
    *(("secondary", ground) for ground in ("hover",)),
    *((role, ground) for role in ("ok", "warning", "bad") for ground in ("window", "rail", "surface")),
    *((role, ground) for role in ("ok", "warning", "bad") for ground in ("raised", "tooltip")),
    *(("accent", ground) for ground in ("window", "surface", "raised", "tooltip")),
    *(("on_primary", fill) for fill in ("primary", "primary_hover")),
]
PALETTES = pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda palette: palette.name)


def ratio(first: str, second: str) -> float:
    """(L1 + 0.05) / (L2 + 0.05) of two `#rrggbb`."""

    def luminance(color: str) -> float:
        linear = []
        for at in (1, 3, 5):
            share = int(color[at : at + 2], 16) / 255
            linear.append(share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4)
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_the_ratio_is_right() -> None:
    assert ratio("#000000", "#ffffff") == pytest.approx(21.0)
    assert ratio("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#777777", "#ffffff") == pytest.approx(ratio("#777777", "#ffffff"), abs=0.01)


@PALETTES
@pytest.mark.parametrize(("role", "ground"), PAIRS, ids=lambda name: name)
def test_words_can_be_read(palette: Palette, role: str, ground: str) -> None:
    assert ratio(getattr(palette, role), getattr(palette, ground)) >= WORDS


@PALETTES
@pytest.mark.parametrize("number", range(1, 8))
@pytest.mark.parametrize("ground", ["surface", "tooltip"])
def test_words_in_a_data_colour_can_be_read(palette: Palette, number: int, ground: str) -> None:
    role = palette.text_role(f"data{number}")
    assert ratio(getattr(palette, role), getattr(palette, ground)) >= WORDS


@PALETTES
@pytest.mark.parametrize("ground", ["window", "surface", "raised"])
def test_the_focus_ring_can_be_seen(palette: Palette, ground: str) -> None:
    assert ratio(palette.accent, getattr(palette, ground)) >= MARKS


@PALETTES
def test_boxes_to_tick_can_be_seen(palette: Palette) -> None:
    assert ratio(palette.axis, palette.surface) >= MARKS


@PALETTES
def test_tokens_can_be_read_on_every_step(palette: Palette) -> None:
    steps = heat_steps(palette)
    assert len(steps) == 4
    for step in steps:
        fill = palette.surface if step.fill is None else step.fill
        assert ratio(step.text, fill) >= WORDS
        assert ratio(step.symbol, fill) >= WORDS
    # The marked token is inverted.
    assert ratio(palette.surface, palette.text) >= WORDS


@PALETTES
def test_steps_differ_in_lightness(palette: Palette) -> None:
    """So that they can be told apart without seeing colours."""
    fills = [palette.surface if step.fill is None else step.fill for step in heat_steps(palette)]
    for nearer, farther in pairwise(fills):
        assert ratio(nearer, farther) >= 1.2
    away = [ratio(palette.surface, fill) for fill in fills]
    assert away == sorted(away)
