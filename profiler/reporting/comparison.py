"""Two or more recorded runs, compared: what `dscope compare` and the Compare page show.

Strict JSON, schema `decodescope.compare/1`: keys are added, never removed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from profiler.analysis.bandwidth import bytes_model_from_facts, reference_from_facts
from profiler.analysis.comparison import Side, compare, noise_floor
from profiler.analysis.jitter import fit_gaps
from profiler.analysis.latency import RequestMetrics, request_metrics
from profiler.analysis.manifest import environment_differences
from profiler.analysis.steps import StepView, step_view
from profiler.analysis.strict import strict
from profiler.timeline import Request, Run

SCHEMA = "decodescope.compare/1"
MAX_RUNS = 6
SCALARS = ("ttft_ms", "tpot_ms", "e2e_ms", "output_tok_s")
WORKLOAD = ("prompt", "prompt_tokens", "prompts_file", "output_tokens", "ignore_eos", "batch_size")
"""Settings that make two workloads different ones."""


def compare_runs(
    a: Run,
    b: Run,
    *,
    noise: tuple[Run, Run] | None = None,
    noise_floor: dict[str, float] | None = None,
) -> dict[str, Any]:
    """B against A: `schema, a, b, rows, environment_differences, notes`, strict JSON.

    `noise`: an A/A pair (two runs without any change between them); a difference that is no
    larger than theirs is not claimed. `noise_floor` says the same by metric, where it is known.
    Reads the steps of all requests; about 1 s for 40 requests of 512 tokens a side.
    """
    return compare_many(a, [b], noise=noise, noise_floor=noise_floor)[0]


def compare_many(
    baseline: Run,
    others: Sequence[Run],
    *,
    noise: tuple[Run, Run] | None = None,
    noise_floor: dict[str, float] | None = None,
) -> list[dict[str, Any]]:
    """`compare_runs` of each of `others` against the same baseline."""
    floor = noise_floor if noise is None else floor_of(*noise)
    first = side_of(baseline)
    results = []
    for other in others:
        differences = environment_differences(baseline, other)
        value = {
            "schema": SCHEMA,
            "a": _who(baseline),
            "b": _who(other),
            "rows": compare(first, side_of(other), noise_floor=floor),
            "environment_differences": differences,
            "noise_floor": floor,
            "notes": _notes(baseline, other, differences, floor),
        }
        value = strict(value)
        json.dumps(value, allow_nan=False)  # a value that is no JSON is a bug of ours: ValueError
        results.append(value)
    return results


def floor_of(a: Run, b: Run) -> dict[str, float]:
    """By metric, how far two runs without any change between them lie apart, as a share."""
    return noise_floor(compare(side_of(a), side_of(b)))


def side_of(run: Run) -> Side:
    """The ok, measured requests of a run, as `analysis.comparison` takes them."""
    parts = []
    for request in run.measured:
        view = step_view(request)
        metrics = request_metrics(request, view=view)
        if metrics.status == "ok":
            parts.append((request, view, metrics))
    gaps = [metrics.itl_ms for _, _, metrics in parts]
    fits = [fit_gaps(m.itl_ms, view.gap_kv_len) for _, view, m in parts if len(m.itl_ms)]
    model, no_model = bytes_model_from_facts(run.facts.get("footprint"))
    reference = reference_from_facts(run.facts.get("reference"))
    moved, seconds = _moved(parts, model)
    return Side(
        scalars={name: _column([m for _, _, m in parts], name) for name in SCALARS},
        gaps_ms=gaps,
        residuals_ms=[fit.residuals_ms for fit in fits],
        moved_bytes=moved,
        moved_s=seconds,
        reference_gb_s=None if model is None else reference.gb_s,
        mbu_reason=no_model or reference.reason,
        workload=_workload(run, [(request, metrics) for request, _, metrics in parts]),
    )


def _moved(
    parts: Sequence[tuple[Request, StepView, RequestMetrics]], model: Any
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Bytes that each request's steps moved, and the seconds they took."""
    moved, seconds = np.zeros(len(parts)), np.zeros(len(parts))
    for number, (_, view, metrics) in enumerate(parts):
        known = view.gap_kv_len >= 0
        if model is not None and len(metrics.itl_ms) == len(known) and known.any():
            moved[number] = float(np.sum(model.step_bytes(view.gap_kv_len[known])))
            seconds[number] = float(metrics.itl_ms[known].sum()) / 1e3
    return moved, seconds


def _column(each: Sequence[RequestMetrics], name: str) -> np.ndarray[Any, Any]:
    values = [getattr(metrics, name) for metrics in each]
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _workload(run: Run, parts: Sequence[tuple[Request, RequestMetrics]]) -> dict[str, Any]:
    found: dict[str, Any] = {key: run.config[key] for key in WORKLOAD if key in run.config}
    prompts = [request.prompt_tokens for request, _ in parts if request.prompt_tokens is not None]
    tokens = [metrics.output_tokens for _, metrics in parts if metrics.output_tokens is not None]
    if prompts:
        found["median_prompt_tokens"] = float(np.median(prompts))
    if tokens:
        found["median_output_tokens"] = float(np.median(tokens))
    return found


def _who(run: Run) -> dict[str, Any]:
    facts = run.facts.get("model")
    return {
        "id": run.no,
        "name": run.name,
        "model": run.model,
        "status": run.status,
        "device": facts.get("device") if isinstance(facts, dict) else None,
        "requests": len(run.measured),
    }


def _notes(
    a: Run, b: Run, differences: Sequence[dict[str, Any]], floor: dict[str, float] | None
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
        notes.append("The A/A pair cannot be compared itself: it gives no noise floor.")
    for letter, run in (("A", a), ("B", b)):
        if run.status not in ("finished", "running"):
            notes.append(f"{letter} is partial ({run.status}).")
    return notes
