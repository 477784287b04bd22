"""Why a GPU did not run faster: the driver's clock event reasons over the measured requests, in words.

Only hardware slowdown, thermal and power-brake reasons are alarms; a software power cap is
normal under load. A power limit below the default is no alarm either, but explains much.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from profiler.telemetry.reasons import alarm_names, reason_names
from profiler.timeline import SampleColumns
from profiler.units import THIN, format_number

METRIC = "clock_event_reasons"
Window = tuple[int, int]


def clock_events(columns: SampleColumns | None, window: Window | None, reason: str) -> dict[str, Any]:
    """`{readings, events: [{name, alarm, share_pct}], reason}`: the share of the readings within
    `window` (ns) that carried each reason, the commonest first.

    `events` is None with `reason` where nothing was read; [] when the clocks were free.
    """
    masks: list[int] = []
    if columns is not None and window is not None:
        values = columns.values(METRIC)
        first = int(np.searchsorted(columns.t_ns, window[0]))
        last = int(np.searchsorted(columns.t_ns, window[1], side="right"))
        values = values[first:last]
        masks = [int(value) for value in values[np.isfinite(values)]]
    if not masks:
        return {"readings": 0, "events": None, "reason": reason}
    alarms = {name for mask in masks for name in alarm_names(mask)}
    counted = Counter(name for mask in masks for name in reason_names(mask))
    events = [
        {"name": name, "alarm": name in alarms, "share_pct": 100 * count / len(masks)}
        for name, count in counted.most_common()
    ]
    return {"readings": len(masks), "events": events, "reason": None}


def gpu_notes(gpus: list[dict[str, Any]]) -> list[str]:
    """One sentence a fact about the report's `gpus` that the numbers need beside them: alarms, a
    power limit below the default, a GPU that stopped answering in mid-run."""
    notes = []
    for gpu in gpus:
        name = f"GPU {gpu['index']}" if gpu["index"] is not None else "The GPU"
        for event in gpu["clock_events"]["events"] or []:
            if event["alarm"]:
                share = f"{format_number(event['share_pct'], 2)}{THIN}%"
                notes.append(f"{name} was held back by {event['name']} in {share} of the readings.")
        cap_pct = gpu["power_cap_pct_of_default"]
        if cap_pct is not None and cap_pct < 100:
            cap = f"{format_number(cap_pct, 3)}{THIN}%"
            notes.append(f"The power limit of {name} is {cap} of its default; times are longer for it.")
        if gpu["state"] in ("stale", "gone") and gpu["state_reason"]:
            notes.append(f"{gpu['state_reason']} Its readings end there; the run is complete.")
    return notes
