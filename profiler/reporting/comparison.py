"""Two or more recorded runs, compared: what `dscope compare` and the Compare page show.

Strict JSON, schema `decodescope.compare/1`: keys are added, never removed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from profiler.analysis.comparison import compare, different_workload, noise_floor
from profiler.analysis.comparison_unjudged import unjudged_rows
from profiler.analysis.manifest import environment_differences
from profiler.analysis.strict import strict
from profiler.reporting.comparison_sides import Recording, side_of, sides_of
from profiler.reporting.run_names import started
from profiler.timeline import Run

SCHEMA = "decodescope.compare/1"
MAX_RUNS = 6


def compare_runs(
    a: Recording,
    b: Recording,
    *,
    noise: Sequence[tuple[Recording, Recording]] = (),
    noise_floor: dict[str, float] | None = None,
) -> dict[str, Any]:
    """B against A: `schema, a, b, rows, environment_differences, noise_floor, notes`, strict JSON.

    `noise`: A/A pairs (two runs without any change between them); a difference that is no larger
    than the largest of theirs is not claimed. `noise_floor` says the same by metric, where it is
    known. Reads the steps of all requests; about 1 s for 40 requests of 512 tokens a side.
    """
    return compare_many(a, [b], noise=noise, noise_floor=noise_floor)[0]


def compare_many(
    baseline: Recording,
    others: Sequence[Recording],
    *,
    noise: Sequence[tuple[Recording, Recording]] = (),
    noise_floor: dict[str, float] | None = None,
) -> list[dict[str, Any]]:
    """`compare_runs` of each of `others` against the same baseline."""
    floor = floor_of(noise) if noise else noise_floor
    first, figures = sides_of(baseline)
    results = []
    for other in others:
        second, other_figures = sides_of(other)
        differences = environment_differences(baseline.run, other.run)
        rows = compare(first, second, noise_floor=floor)
        workload = different_workload(first.workload, second.workload)
        value = {
            "schema": SCHEMA,
            "a": _who(baseline),
            "b": _who(other),
            "rows": rows + unjudged_rows(figures, other_figures, workload),
            "environment_differences": differences,
            "noise_floor": floor,
            "notes": _notes(baseline.run, other.run, differences, floor, len(noise)),
        }
        value = strict(value)
        json.dumps(value, allow_nan=False)  # a value that is no JSON is a bug of ours: ValueError
        results.append(value)
    return results


def floor_of(pairs: Sequence[tuple[Recording, Recording]]) -> dict[str, float]:
    """By metric, how far two runs without any change between them lie apart at most, as a share."""
    floor: dict[str, float] = {}
    for a, b in pairs:
        for metric, share in noise_floor(compare(side_of(a), side_of(b))).items():
            floor[metric] = max(share, floor.get(metric, 0.0))
    return floor


def _who(recording: Recording) -> dict[str, Any]:
    run, timeline = recording.run, recording.timeline
    facts = run.facts.get("model")
    return {
        "id": run.no,
        "name": run.name,
        "model": run.model,
        "status": run.status,
        "device": facts.get("device") if isinstance(facts, dict) else None,
        "requests": len(run.measured),
        "started": None if timeline is None else started(timeline, run),
        "created": recording.created,
    }


def _notes(
    a: Run, b: Run, differences: Sequence[dict[str, Any]], floor: dict[str, float] | None, pairs: int
) -> list[str]:
    notes = []
    changed = [str(item["path"]).rsplit(".", 1)[-1] for item in differences if item["important"]]
    if len(set(changed)) > 1:
        named = ", ".join(dict.fromkeys(changed))
        notes.append(
            f"A and B differ in {len(set(changed))} settings that change speed ({named}): a difference "
            "cannot be put down to one of them."
        )
    notes.append(
        "Each side is one process: what varies from start to start is not in the intervals. Repeat each "
        "side in a fresh process, in turn, for a claim that must hold."
    )
    notes.append("Each interval is made for 99 %, so that the table as a whole holds with 95 %.")
    if floor is None:
        notes.append("No A/A pair was given: the noise floor of this machine is not known.")
    elif not floor:
        which = "The A/A pair cannot" if pairs <= 1 else f"None of the {pairs} A/A pairs can"
        notes.append(f"{which} be compared itself: no noise floor is known.")
    elif pairs > 1:
        notes.append(f"The noise floor of a metric is the largest difference of {pairs} A/A pairs.")
    for letter, run in (("A", a), ("B", b)):
        if run.status not in ("finished", "running"):
            notes.append(f"{letter} is partial ({run.status}).")
    return notes
