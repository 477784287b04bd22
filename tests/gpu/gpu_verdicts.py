"""What makes a GPU check pass: pure functions of recorded numbers, testable without a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from profiler.analysis.bandwidth import bytes_model_from_facts
from profiler.analysis.busy_windows import decode_intervals
from profiler.analysis.energy import counter_difference, integrate_power
from profiler.analysis.steps import step_view
from profiler.timeline import Run, Timeline
from profiler.units import GB, NS_PER_S

Status = Literal["pass", "FAIL", "not run"]
WITHIN = 0.10
"""Hardware counter against bytes over time, and energy counter against power."""
LEAST_STREAMED_BYTES = 8e9


@dataclass(frozen=True)
class Verdict:
    """One row of the table. `note`: why it did not run, or what to know about the number."""

    check: str
    status: Status
    measured: str = ""
    expected: str = ""
    note: str = ""


def not_run(check: str, why: str) -> Verdict:
    """A check that this machine cannot do; it does not count against the others."""
    return Verdict(check, "not run", note=why)


def compare(
    check: str, measured: float, expected: float, unit: str, low: float, high: float, note: str = ""
) -> Verdict:
    """Passes where measured / expected lies in [low, high]."""
    ratio = measured / expected if expected else float("inf")
    good: Status = "pass" if low <= ratio <= high else "FAIL"
    shown = f"{measured:.4g} {unit} ({100 * ratio:.1f} %)"
    return Verdict(check, good, shown, f"{expected:.4g} {unit}, {100 * low:.0f} to {100 * high:.0f} %", note)


def complete(check: str, run: dict[str, Any], repeats: int, tokens: int) -> Verdict:
    """Did the run of a report end with all its requests and tokens?"""
    rows = [row for row in run["per_request"] if not row["warmup"]]
    produced = [row["output_tokens"] for row in rows]
    good = run["status"] == "finished" and produced == [tokens] * repeats
    itl = run["metrics"]["itl_ms"]
    measured = f"{run['status']}, {sum(n or 0 for n in produced)} tokens"
    note = run["reason"] or ("" if itl["p50"] is None else f"ITL p50 {itl['p50']:.3f} ms, n {itl['n']}")
    return Verdict(check, "pass" if good else "FAIL", measured, f"{repeats * tokens} tokens", note)


def plausible_mbu(check: str, run: dict[str, Any]) -> Verdict:
    """MBU above the measured reference would be a wrong byte count or a wrong reference."""
    mbu = run["metrics"]["mbu"]
    if mbu["run"] is None:
        return not_run(check, str(mbu["reason"]))
    good: Status = "pass" if 0.02 <= mbu["run"] <= 1.05 else "FAIL"
    shown = f"{100 * mbu['run']:.1f} % of {mbu['reference_gb_s']:.4g} GB/s"
    return Verdict(check, good, shown, "2 to 105 %", str(mbu["reason"] or ""))


def same_card(check: str, run: dict[str, Any], uuid: str) -> Verdict:
    """The engine sampled the card that the model used, and no other."""
    read = [str(gpu["uuid"]) for gpu in run["telemetry"]["gpus"]]
    good = [_bare(name) for name in read] == [_bare(uuid)]
    note = str(run["telemetry"]["reason"] or "")
    return Verdict(check, "pass" if good else "FAIL", ", ".join(read) or "none", uuid, note)


def _bare(uuid: str) -> str:
    """Without the driver's prefix: torch tells uuids so."""
    return uuid.lower().removeprefix("gpu-").removeprefix("mig-")


def counter_against_bytes(check: str, timeline: Timeline, run: Run) -> Verdict:
    """GPM's DRAM share x the advertised peak against bytes over time, both in GB/s.

    Only readings whose whole interval (from the reading before to this one) is decoding, and
    only the steps in those intervals.
    """
    model, reason = bytes_model_from_facts(run.facts.get("footprint"))
    source = next((name for name in sorted(timeline.samples) if name.startswith("gpu")), None)
    if model is None or source is None:
        return not_run(check, reason or "no GPU was sampled")
    described = {gpu["source"]: gpu for gpu in timeline.facts["telemetry"]["gpus"]}.get(source, {})
    advertised = described.get("limits", {}).get("advertised_gb_s")
    columns = timeline.samples[source]
    shares = columns.values("dram_bw_pct")
    if not np.isfinite(shares).any() or advertised is None:
        why = described.get("unavailable", {}).get("dram_bw_pct", "no reading of the counter")
        return not_run(check, f"{why}" if advertised is not None else "the peak bandwidth is not told")
    decodes = decode_intervals(run.measured)
    intervals = [
        (int(columns.t_ns[at - 1]), int(columns.t_ns[at]), float(shares[at]))
        for at in range(1, len(shares))
        if np.isfinite(shares[at])
        and any(a <= columns.t_ns[at - 1] and columns.t_ns[at] <= b for a, b in decodes)
    ]
    if len(intervals) < 3:
        return not_run(check, "fewer than three readings of the counter lie wholly inside decoding")
    total_s = sum(b - a for a, b, _ in intervals) / NS_PER_S
    counted = sum((b - a) / NS_PER_S * share / 100 * advertised for a, b, share in intervals) / total_s
    moved, seconds = _streamed(run, model, [(a, b) for a, b, _ in intervals])
    if seconds <= 0:
        return not_run(check, "no step lies inside the counter's intervals")
    by_bytes = moved / seconds / GB
    note = f"{len(intervals)} readings"
    if model.weight_bytes_per_step < LEAST_STREAMED_BYTES:
        note += f"; a step streams only {model.weight_bytes_per_step / GB:.2g} GB"
    return compare(check, by_bytes, counted, "GB/s", 1 - WITHIN, 1 + WITHIN, note)


def _streamed(run: Run, model: Any, intervals: list[tuple[int, int]]) -> tuple[float, float]:
    """Bytes of the steps that end within the intervals, and the time of their gaps, s."""
    moved = seconds = 0.0
    for request in run.measured:
        view = step_view(request)
        ends = view.t_ns[1:]
        inside = np.zeros(len(ends), bool)
        for begin, end in intervals:
            inside |= (view.t_ns[:-1] >= begin) & (ends <= end)
        moved += float(model.step_bytes(view.gap_kv_len[inside]).sum())
        seconds += float(view.gaps_ms[inside].sum()) / 1e3
    return moved, seconds


def energy_against_power(check: str, timeline: Timeline, window: tuple[int, int] | None) -> Verdict:
    """The energy counter over the measured requests against power integrated over the same time."""
    source = next((name for name in sorted(timeline.samples) if name.startswith("gpu")), None)
    if source is None or window is None:
        return not_run(check, "no GPU was sampled" if source is None else "nothing was measured")
    columns = timeline.samples[source]
    counted = counter_difference(columns.t_ns, columns.values("energy_j"), window)
    integrated = integrate_power(columns.t_ns, columns.values("power_w"), window)
    if counted is None or integrated is None:
        return not_run(check, "the card tells no energy" if counted is None else "the card tells no power")
    return compare(check, counted, integrated, "J", 1 - WITHIN, 1 + WITHIN)


def table(verdicts: list[Verdict]) -> str:
    """The verdicts as aligned plain text."""
    rows = [("check", "", "measured", "expected", "note")]
    rows += [(v.check, v.status, v.measured, v.expected, v.note) for v in verdicts]
    widths = [max(len(row[at]) for row in rows) for at in range(4)]
    lines = [
        "  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[4]]).rstrip() for row in rows
    ]
    return "\n".join([lines[0], "-" * min(110, max(map(len, lines))), *lines[1:]])


def exit_code(verdicts: list[Verdict]) -> int:
    """0 when all that could run passed; 1 when one failed, or none could run."""
    statuses = {verdict.status for verdict in verdicts}
    return 0 if "FAIL" not in statuses and "pass" in statuses else 1
