"""Clock event reasons in words, and the notes that GPUs put beside the numbers."""

from __future__ import annotations

from typing import Any

from analysis_streams import empty_timeline

from profiler import events as ev
from profiler.reporting.clock_events import clock_events, gpu_notes
from profiler.timeline import SampleColumns


def columns(masks: list[int | None]) -> SampleColumns:
    timeline = empty_timeline()
    for at, mask in enumerate(masks):
        timeline.apply(ev.Sample(10 * at, "gpu0", {"clock_event_reasons": mask}))
    return timeline.samples["gpu0"]


def test_shares_within_the_window() -> None:
    read = columns([0x40, 0x4, 0x44, None, 0x4, 0x0, 0x8])
    assert clock_events(read, (10, 50), "?") == {
        "readings": 4,
        "events": [
            {"name": "power cap", "alarm": False, "share_pct": 75.0},
            {"name": "hardware thermal slowdown", "alarm": True, "share_pct": 25.0},
        ],
        "reason": None,
    }


def test_free_clocks_are_no_missing_clocks() -> None:
    assert clock_events(columns([0, 0]), (0, 10), "?") == {"readings": 2, "events": [], "reason": None}
    nothing = {"readings": 0, "events": None, "reason": "not supported"}
    assert clock_events(columns([None]), (0, 10), "not supported") == nothing
    assert clock_events(None, (0, 10), "not supported") == nothing
    assert clock_events(columns([4]), None, "not supported") == nothing


def gpu(**values: Any) -> dict[str, Any]:
    return {
        "index": 1,
        "clock_events": {"events": []},
        "power_cap_pct_of_default": 100.0,
        "state": "ok",
        "state_reason": None,
        **values,
    }


def test_a_card_in_order_has_no_note() -> None:
    cap = {"name": "power cap", "alarm": False, "share_pct": 100.0}
    assert gpu_notes([gpu(clock_events={"events": [cap]}), gpu(power_cap_pct_of_default=None)]) == []


def test_notes_of_a_card_that_was_held_back() -> None:
    brake = {"name": "power brake", "alarm": True, "share_pct": 12.5}
    (first, second, third) = gpu_notes(
        [
            gpu(
                clock_events={"events": [brake]},
                power_cap_pct_of_default=57.5,
                state="gone",
                state_reason="GPU 1 was lost.",
            )
        ]
    )
    assert first == "GPU 1 was held back by power brake in 12\u2009% of the readings."
    assert second == "The power limit of GPU 1 is 57.5\u2009% of its default; times are longer for it."
    assert third == "GPU 1 was lost. Its readings end there; the run is complete."
