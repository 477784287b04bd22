"""Draws every state of every chart into PNG files, for a person to look at. Not a test.

    QT_QPA_PLATFORM=offscreen PYTHONPATH=. python tests/gui/gallery.py FOLDER [--ratio 2]

All data is made up, from a fixed seed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtWidgets import QApplication, QGridLayout, QWidget

from app.charts import (
    BandwidthChart,
    BandwidthSeries,
    BusyWindow,
    ChartCard,
    FirstTokenBar,
    FirstTokenChart,
    TelemetryChart,
    TelemetryRow,
    TokenLatencyChart,
    TokenSeries,
    TrendLine,
    Zone,
)
from app.theme import DARK, LIGHT, Palette, Theme, apply_theme

SIZES = {"small": (400, 230), "normal": (510, 264), "large": (700, 420)}
NOTICE = (
    "No NVIDIA GPU here, so GPU clocks, power and memory-busy time are not recorded. "
    "CPU readings are shown instead."
)

Charts = tuple[TokenLatencyChart, FirstTokenChart, BandwidthChart, TelemetryChart]


def gaps_ms(number: int, seed: int, centre: float = 13.1) -> np.ndarray:
    """Made-up gaps with a slope and a few stalls."""
    rng = np.random.default_rng(seed)
    gaps = centre * (1 + 0.011 * rng.standard_normal(number)) + 2.6e-4 * np.arange(number)
    if number > 20:
        gaps[rng.integers(0, number, 2)] += 0.35 * centre
    return gaps


def bandwidth_series(label: str, gaps: np.ndarray, warmup: bool = False) -> BandwidthSeries:
    """Utilisation that belongs to gaps, at about 7.5 % of 300 GB/s."""
    return BandwidthSeries(label, np.arange(len(gaps), dtype=float) + 2, 7.5 * 13.1 / gaps, warmup)


def first_bar(label: str, total_ms: float, **more: object) -> FirstTokenBar:
    """A bar of three spans."""
    spans = (("tokenize", 0.1 * total_ms), ("prefill", 0.86 * total_ms), ("sample", 0.04 * total_ms))
    return FirstTokenBar(label, spans, total_ms, **more)  # type: ignore[arg-type]


def telemetry_rows(until_s: float, gpu: bool = True) -> list[TelemetryRow]:
    """Readings at 4 Hz up to a time."""
    t = np.arange(0, until_s, 0.25)
    rng = np.random.default_rng(5)
    busy = (t % 4 > 0.5).astype(float)
    if not gpu:
        return [
            TelemetryRow(
                "CPU clock", "MHz", t, 2000 + 2200 * busy + 30 * rng.standard_normal(len(t)), "data1", 4
            ),
            TelemetryRow("CPU busy", "%", t, 50 * busy + 4 * rng.random(len(t)), "data4", 2, low=0),
            TelemetryRow("Process memory", "GiB", t, 0.5 + 0.33 * (1 - np.exp(-t)), "data3", 3, low=0),
            TelemetryRow("Temperature", "°C", t, 55 + 0.6 * t, "data5", 3),
        ]
    clock = np.where(busy > 0, 2040.0, 1980.0)
    power = 15 + 16.7 * busy + rng.random(len(t))
    return [
        TelemetryRow("SM clock", "MHz", t, clock, "data1", 4),
        TelemetryRow("Power", "W", t, power, "data2"),
        TelemetryRow("Temperature", "°C", t, np.floor(48 + t * 0.3), "data5"),
        TelemetryRow("GPU busy", "%", t, 42 * busy, "data3", 2, "busy", 0),
        TelemetryRow("CPU busy", "%", t, 16 + 2 * rng.random(len(t)), "data4", 2, "busy", 0),
    ]


def busy_windows(until: int) -> list[BusyWindow]:
    """Steps of 18 tokens; the first is not all decode."""
    levels = (10, 9, 10, 11, 10, 9, 9, 11, 10, 9, 10)
    return [
        BusyWindow(number * 18, min((number + 1) * 18, until), levels[number % 11], number > 0)
        for number in range(until // 18)
    ]


def state_loading(charts: Charts) -> None:
    """Axes without data."""
    token, first, bandwidth, telemetry = charts
    token.refresh([], 512)
    first.refresh([FirstTokenBar("Warm-up 1", status="waiting"), FirstTokenBar("Repeat 1", status="waiting")])
    bandwidth.refresh([], 512, 300, "data sheet", [])
    telemetry.refresh([], [], 20)


def state_one_token(charts: Charts) -> None:
    """One request of one token: no gap at all."""
    token, first, bandwidth, telemetry = charts
    token.refresh([TokenSeries("Repeat 1", np.empty(0))], 1)
    first.refresh([first_bar("Repeat 1", 20.9)], 500)
    empty = np.empty(0)
    reason = "One token only: there is no step to measure."
    bandwidth.refresh([BandwidthSeries("Repeat 1", empty, empty)], 1, 300, "data sheet", [], reason=reason)
    telemetry.refresh(telemetry_rows(0.6), [Zone("R1", 0.2, 0.5)], 1)


def state_live(charts: Charts) -> None:
    """The third repeat of five, at token 212, with a crosshair."""
    token, first, bandwidth, telemetry = charts
    gaps = [gaps_ms(511, 1), gaps_ms(511, 2), gaps_ms(511, 3), gaps_ms(211, 4)]
    labels = ["Warm-up 1", "Repeat 1", "Repeat 2", "Repeat 3"]
    series = [
        TokenSeries(label, gap, number == 0)
        for number, (label, gap) in enumerate(zip(labels, gaps, strict=True))
    ]
    trend = TrendLine(2, 13.1, 512, 13.23, "+0.26 µs per token", "95 % CI 0.19 to 0.33")
    token.refresh(series, 512, 3, trend=trend)
    token.set_crosshair(148)
    first.refresh(
        [
            first_bar("Warm-up 1", 412, warmup=True, cold=True),
            first_bar("Warm-up 2", 21.6, warmup=True),
            first_bar("Repeat 1", 20.9),
            first_bar("Repeat 2", 20.8),
            first_bar("Repeat 3", 20.9, status="running"),
            FirstTokenBar("Repeat 4", status="waiting"),
            FirstTokenBar("Repeat 5", status="waiting"),
        ],
        500,
    )
    model = [bandwidth_series(label, gap) for label, gap in zip(labels, gaps, strict=True)]
    bandwidth.refresh(
        model, 512, 300, "data sheet", busy_windows(212), running_index=3, gpm_reason="GPM needs Hopper."
    )
    bandwidth.set_crosshair(148)
    zones = [
        Zone("W1", 0, 1),
        Zone("W2", 1.2, 2.2),
        Zone("R1", 2.4, 8),
        Zone("R2", 8.3, 14),
        Zone("R3", 14.3, 19.3, True),
    ]
    telemetry.refresh(telemetry_rows(19.3), zones, 22)


def state_cpu(charts: Charts) -> None:
    """A live CPU run: no NVIDIA GPU, a measured reference, target in reach, the limit drawn."""
    token, first, bandwidth, telemetry = charts
    gaps = [gaps_ms(255, 7, 70.0), gaps_ms(120, 8, 70.0)]
    series = [TokenSeries("Repeat 1", gaps[0]), TokenSeries("Repeat 2", gaps[1])]
    token.refresh(series, 256, 1, floor_ms=43.0 + 0.004 * np.arange(256))
    first.refresh(
        [
            first_bar("Warm-up 1", 390, warmup=True, cold=True),
            first_bar("Repeat 1", 265),
            first_bar("Repeat 2", 267, status="running"),
            FirstTokenBar("Repeat 3", status="waiting"),
        ],
        500,
    )
    model = [
        BandwidthSeries(entry.label, np.arange(len(entry.gaps_ms)) + 2.0, 100 * 43 / entry.gaps_ms)
        for entry in series
    ]
    why = "It needs an NVIDIA GPU."
    bandwidth.refresh(model, 256, 12.3, "measured here", None, why, running_index=1)
    zones = [Zone("W1", 0, 1.5), Zone("R1", 1.8, 6), Zone("R2", 6.4, 9, True)]
    telemetry.refresh(telemetry_rows(9, gpu=False), zones, 11, NOTICE)


def _finished(charts: Charts, repeats: int, tokens: int) -> None:
    token, first, bandwidth, telemetry = charts
    labels = [f"Repeat {number + 1}" for number in range(repeats)]
    gaps = [gaps_ms(tokens - 1, number + 10, 5.1) for number in range(repeats)]
    series = [TokenSeries(label, gap) for label, gap in zip(labels, gaps, strict=True)]
    trend = TrendLine(2, 5.1, tokens, 5.13, "+0.05 µs per token", "95 % CI 0.04 to 0.06")
    token.refresh(series, tokens, trend=trend)
    bars = [first_bar("Warm-up 1", 1887, warmup=True, cold=True)]
    bars += [first_bar(label, 57.5 + 0.3 * (number % 5)) for number, label in enumerate(labels)]
    first.refresh(bars, 500)
    model = [
        BandwidthSeries(entry.label, np.arange(len(entry.gaps_ms)) + 2.0, 62.5 * 5.1 / entry.gaps_ms)
        for entry in series
    ]
    windows = [
        BusyWindow(start, min(start + 37, tokens), 70 + (start % 5), 0 < start < tokens - 40)
        for start in range(0, tokens, 37)
    ]
    at = np.arange(2, tokens, 4.0)
    gpm = (at, 67 + 0.4 * np.sin(at))
    bandwidth.refresh(model, tokens, 4800, "data sheet", windows, gpm=gpm, measured_peak_gb_s=4240)
    length = 3.0
    zones = [Zone(f"R{number + 1}", number * length, number * length + 2.8) for number in range(repeats)]
    telemetry.refresh(telemetry_rows(repeats * length), zones, repeats * length)


def state_finished_3(charts: Charts) -> None:
    """Three repeats of 512 tokens."""
    _finished(charts, 3, 512)


def state_finished_30(charts: Charts) -> None:
    """Thirty repeats of 300 tokens."""
    _finished(charts, 30, 300)


STATES: dict[str, Callable[[Charts], None] | None] = {
    "empty": None,
    "loading": state_loading,
    "one-token": state_one_token,
    "live": state_live,
    "cpu": state_cpu,
    "finished-3": state_finished_3,
    "finished-30": state_finished_30,
}


def make_charts() -> Charts:
    """One of each, empty."""
    return TokenLatencyChart(), FirstTokenChart(), BandwidthChart(), TelemetryChart()


def draw(state: str, palette: Palette, size: tuple[int, int]) -> QWidget:
    """The four charts in a state, two by two, each of `size` px."""
    charts = make_charts()
    fill = STATES[state]
    if fill is not None:
        fill(charts)
    page = QWidget()
    page.setProperty("surface", "window")
    grid = QGridLayout(page)
    grid.setContentsMargins(10, 10, 10, 10)
    grid.setSpacing(8)
    for number, chart in enumerate(charts):
        assert isinstance(chart, ChartCard)
        chart.setFixedSize(*size)
        grid.addWidget(chart, number // 2, number % 2)
    apply_theme(page, palette)
    return page


def main() -> None:
    """Draw all states into the folder of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ratio", default="1", help="device pixel ratio")
    parser.add_argument("--only", default="", help="states with this word in their name")
    options = parser.parse_args()
    os.environ["QT_SCALE_FACTOR"] = options.ratio
    options.folder.mkdir(parents=True, exist_ok=True)
    app = QApplication([])
    theme = Theme("dark")
    theme.install(app)
    for palette in (DARK, LIGHT):
        theme.set_mode("dark" if palette.dark else "light")
        for state in STATES:
            for name, size in SIZES.items():
                file = f"{state}-{palette.name}-{name}.png"
                if options.only in file:
                    page = draw(state, palette, size)
                    page.grab().save(str(options.folder / file))
                    page.deleteLater()
                    app.processEvents()


if __name__ == "__main__":
    main()
