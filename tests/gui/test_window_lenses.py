"""The counter's lens, the compute limit of TTFT, and the sentence where telemetry is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_client import MS
from pytestqt.qtbot import QtBot
from window_parts import Bench, bench

from app.charts import BandwidthChart, BandwidthSeries, FirstTokenBar, FirstTokenChart
from app.charts.first_token import _tip
from app.pages.chart_data import BandwidthView, Cache, bandwidth_view
from app.pages.telemetry_data import telemetry_view
from profiler import events as ev
from profiler.config import RunConfig
from profiler.timeline import Timeline

S = 1000 * MS
FOOTPRINT = {
    "weight_bytes": 1_000_000_000,
    "weight_bytes_per_step": 1_000_000_000,
    "kv_layers": [],
    "kv_bytes_per_token": 0,
    "state_bytes": 0,
    "static_cache_len": None,
}
REFERENCE = {"gb_s": 400.0, "source": "measured", "advertised_gb_s": 500.0, "llc_bytes": None, "reason": None}


def timeline_of(
    device: str = "cuda:0",
    gpu: dict[str, Any] | None = None,
    reason: str | None = None,
    state: dict[str, Any] | None = None,
    reference: dict[str, Any] | None = None,
    samples: dict[int, dict[str, float | None]] | None = None,
    hz: float = 4.0,
    end: bool = True,
) -> Timeline:
    """One request from 1 s on: its first token at 2 s, and one each 10 ms up to token 101 at 3 s."""
    gpus = [] if gpu is None else [{"source": "gpu0", "index": 0, "unavailable": {}, **gpu}]
    sources = {"host": {"state": "ok", "reason": None}} | ({} if state is None else {"gpu0": state})
    fact = {"hz": hz, "gpus": gpus, "host": {}, "reason": reason, "sampler": {"sources": sources}}
    stamps = 2 * S + 10 * MS * np.arange(101, dtype=np.int64)
    timeline = Timeline()
    events: list[ev.Event] = [
        ev.Fact("telemetry", fact),
        ev.RunStart(1, 0, "m", "m", {}, {}),
        ev.Fact("model", {"device": device}, 1),
        ev.Fact("footprint", FOOTPRINT, 1),
        ev.Fact("reference", REFERENCE if reference is None else reference, 1),
        ev.RequestStart(0, 1, "r1", S, 16, 101, True, False, None, "Repeat 1"),
        ev.make_steps(0, 0, stamps, kv_len=[17 + at for at in range(101)]),
        *(ev.Sample(t_ms * MS, "gpu0", values, 1000) for t_ms, values in (samples or {}).items()),
    ]
    for event in events:
        timeline.apply(event)
    if end:
        timeline.apply(ev.RequestEnd(0, 3 * S, "ok", "length"))
        timeline.apply(ev.RunEnd(1, 3 * S, "finished", None))
    return timeline


def notice_of(timeline: Timeline) -> str | None:
    run = timeline.last_run
    assert run is not None
    return telemetry_view(timeline, run, None, 3 * S)[3]


def bandwidth_of(timeline: Timeline) -> BandwidthView:
    run = timeline.last_run
    assert run is not None
    return bandwidth_view(timeline, run, Cache())


# -- the sentence --------------------------------------------------------------------------

INSTEAD = "CPU readings are shown instead."
WATTS: dict[int, dict[str, float | None]] = {2500: {"power_w": 30.0}}


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"reason": "The NVIDIA driver was updated while in use; reboot or reload the driver."},
         f"The NVIDIA driver was updated while in use; reboot or reload the driver. {INSTEAD}"),
        ({"reason": "No NVIDIA driver was found; processor telemetry is on."},
         f"No NVIDIA driver was found. {INSTEAD}"),
        ({"reason": "the package is missing"}, f"The package is missing. {INSTEAD}"),
        ({}, f"No NVIDIA GPU here, so GPU clocks, power and memory-busy time are not recorded. {INSTEAD}"),
        ({"hz": 0.0}, "The sampler was switched off for this run."),
        ({"gpu": {}, "device": "cpu"}, "The model runs on the CPU, so its readings are shown."),
        ({"gpu": {}}, None),
        ({"gpu": {}, "samples": WATTS}, None),
        # Nothing was ever read: 999 on every call from the start.
        ({"gpu": {}, "state": {"state": "stale", "reason": "GPU 0 does not answer (unknown error)."}},
         f"GPU 0 does not answer (unknown error). {INSTEAD}"),
        ({"gpu": {}, "device": "cpu", "state": {"state": "gone", "reason": "GPU 0 is lost."}},
         f"GPU 0 is lost. {INSTEAD}"),
        # It was read for a while: its rows stand, and the sentence says why they end.
        ({"gpu": {}, "samples": WATTS, "state": {"state": "gone", "reason": "GPU 0 is lost."}},
         "GPU 0 is lost."),
        ({"gpu": {}, "samples": WATTS, "state": {"state": "stale", "reason": "GPU 0 does not answer."}},
         "GPU 0 does not answer."),
        ({"gpu": {}, "samples": WATTS, "state": {"state": "ok", "reason": None}}, None),
        ({"gpu": {}, "samples": WATTS, "reason": "GPU 1 cannot be opened (no permission)."},
         "GPU 1 cannot be opened (no permission)."),
        ({"gpu": {"unavailable": {"power_w": "not supported", "dram_bw_pct": "no"}}, "samples": WATTS},
         "Not read on this GPU: Power (not supported)."),
    ],
)  # fmt: skip
def test_the_notice_says_what_is_not_read_and_why(told: dict[str, Any], said: str | None) -> None:
    assert notice_of(timeline_of(**told)) == said


# -- the counter's lens --------------------------------------------------------------------

COUNTED: dict[int, dict[str, float | None]] = {
    1900: {"dram_bw_pct": 10.0},  # prefill
    2100: {"dram_bw_pct": 50.0},  # its interval began in prefill
    2300: {"dram_bw_pct": 60.0},  # 2.1 to 2.3 s: tokens 11 to 31
    2500: {"dram_bw_pct": None},
    2700: {"dram_bw_pct": 72.0},  # 2.5 to 2.7 s: tokens 51 to 71
    3100: {"dram_bw_pct": 5.0},  # it ends after decoding
}


def test_the_counter_is_compared_in_gb_s() -> None:
    view = bandwidth_of(timeline_of(gpu={}, samples=COUNTED))
    assert view.gpm is not None and view.gpm_reason is None
    # 60 % of 500 GB/s are 300 GB/s, 75 % of the 400 GB/s measured here; 72 % likewise 90 %.
    assert view.gpm[0].tolist() == pytest.approx([21.0, 61.0])
    assert view.gpm[1].tolist() == pytest.approx([75.0, 90.0])


def test_the_peak_of_the_driver_where_the_reference_has_none() -> None:
    reference = REFERENCE | {"advertised_gb_s": None}
    gpu = {"limits": {"advertised_gb_s": 600.0}}
    view = bandwidth_of(timeline_of(gpu=gpu, reference=reference, samples=COUNTED))
    assert view.gpm is not None
    assert view.gpm[1].tolist() == pytest.approx([90.0, 108.0])


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({}, "Needs an NVIDIA GPU."),
        ({"gpu": {}, "samples": COUNTED, "device": "cpu"}, "The model runs on the CPU."),
        ({"gpu": {}, "samples": WATTS}, "The driver does not tell it."),
        ({"gpu": {"unavailable": {"dram_bw_pct": "GPM needs Hopper."}}, "samples": WATTS},
         "GPM needs Hopper."),
        ({"gpu": {}, "samples": COUNTED, "reference": REFERENCE | {"advertised_gb_s": None}},
         "The advertised peak bandwidth, of which the counter tells a share, is not known."),
        ({"gpu": {}, "samples": COUNTED, "reference": {"gb_s": None, "reason": "too little memory"}},
         "Too little memory."),
        ({"gpu": {}, "samples": {1900: {"dram_bw_pct": 50.0}, 3500: {"dram_bw_pct": 50.0}}},
         "Too short for this counter."),
    ],
)  # fmt: skip
def test_a_missing_counter_has_its_reason(told: dict[str, Any], said: str) -> None:
    view = bandwidth_of(timeline_of(**told))
    assert (view.gpm, view.gpm_reason) == (None, said)


def test_a_running_request_waits_for_its_first_reading() -> None:
    view = bandwidth_of(timeline_of(gpu={}, samples={1900: {"dram_bw_pct": 50.0}}, end=False))
    assert view.gpm is not None and view.gpm_reason is None
    assert len(view.gpm[0]) == 0


def test_the_chart_tells_the_counter_in_both_units(qtbot: QtBot) -> None:
    chart = BandwidthChart()
    qtbot.addWidget(chart)
    chart.resize(510, 264)
    series = BandwidthSeries("Repeat 1", np.arange(2.0, 102.0), np.full(100, 62.5))
    gpm = np.array([21.0, 61.0]), np.array([75.0, 90.0])
    chart.refresh([series], 101, 400.0, "measured here", [], gpm=gpm)
    assert chart.summary() == (
        "Memory bandwidth: median 62.5 % of 400 GB/s (measured here), the GPU's own counter 82.5 %."
    )
    assert [run.text for run in chart._gpm_line(30)[0]] == ["GPM 75.0 %", "  300 GB/s"]
    assert [run.text for run in chart._gpm_line(50)[0]] == ["GPM 90.0 %", "  360 GB/s"]
    assert chart._gpm_line(20) == chart._gpm_line(62) == []
    assert "GPM DRAM" in [item.label for item in chart.legend.items]
    chart.refresh([series], 101, 400.0, gpm_reason="Needs an NVIDIA GPU.")
    assert chart._gpm_line(30) == []
    assert chart.legend.items[-1].label == "GPM n/a"


# -- the compute limit of TTFT -----------------------------------------------------------------


@pytest.fixture
def first_token(qtbot: QtBot) -> FirstTokenChart:
    chart = FirstTokenChart()
    qtbot.addWidget(chart)
    chart.resize(510, 264)
    return chart


BAR = FirstTokenBar("Repeat 1", (("prefill", 490.0),), 500.0)


def test_the_compute_limit_is_a_line_a_word_and_a_sentence(first_token: FirstTokenChart) -> None:
    first_token.refresh([BAR], limit_ms=287.0)
    assert first_token.summary() == (
        "Time to first token: median 500 ms over 1 requests, compute limit 287 ms."
    )
    assert first_token.legend.items[-1].label == "limit"
    # 287 of 500 ms.
    assert _tip(BAR, 287.0) == (
        "<p>Repeat 1 500 ms<br>prefill 490 ms<br>compute limit 287 ms, 57 % of the limit&#x27;s speed</p>"
    )
    assert not first_token.grab().isNull()
    first_token.refresh([BAR])
    assert first_token.summary() == "Time to first token: median 500 ms over 1 requests."
    assert [item.label for item in first_token.legend.items] == ["prefill"]


@pytest.mark.parametrize(("limit_ms", "on_axis"), [(0.4, True), (700.0, True), (5000.0, False)])
def test_a_limit_near_the_axis_widens_it(
    first_token: FirstTokenChart, limit_ms: float, on_axis: bool
) -> None:
    first_token.refresh([BAR], limit_ms=limit_ms)
    assert (limit_ms <= first_token._frame().x_high) is on_axis
    assert not first_token.grab().isNull()


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[Bench]:
    with bench(qtbot, tmp_path) as made:
        yield made


def test_the_window_draws_the_limit_of_the_run(window: Bench) -> None:
    window.window.set_config(RunConfig(prompt_tokens=16, output_tokens=11, repeats=2, warmup=0))
    window.window.start()
    window.client.begin(gpu=True)
    # 16 tokens x 2 x 125e6 parameters = 4 GFLOP, at 0.1 TFLOP/s 40 ms; no attention.
    work = {"body_parameters": 125_000_000, "head_parameters": 0, "attention": []}
    known = {"kv_layers": [{"bytes_per_token": 23_040, "window": None}], "kv_bytes_per_token": 23_040}
    window.client.feed(
        [
            ev.Fact("footprint", FOOTPRINT | known | {"prompt_work": work}, 1),
            ev.Fact("reference", REFERENCE | {"compute": {"tflop_s": 0.1, "dtype": None}}, 1),
        ]
    )
    for _ in range(2):
        window.client.request(gap_ms=10.0, noise=False, gpu=True)
    window.client.finish()
    window.settle(lambda: window.controller.values_final)
    window.page.refresh()
    assert window.page.first_token.summary().endswith("over 2 requests, compute limit 40.0 ms.")
