"""The compute limit of TTFT: the prompt's arithmetic, at the rate that this device reaches.

    TTFT floor = FLOPs of the prompt / FLOP rate_ref

The rate is that of a large matrix product in the model's dtype, measured on the same device
before the model was loaded (MEASUREMENT, "The physical limits"). Pure functions of run facts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from profiler.shapes import PromptWork, prompt_work_from_fact

NOT_MEASURED = "the rate of arithmetic was not measured"
NO_WORK = "the arithmetic of the model's prompt is not known"
NO_LENGTH = "the length of the prompts is not known"
_TERA = 1e12


def compute_rate(reference_fact: Any, dtype: str | None = None) -> tuple[float | None, str | None]:
    """(TFLOP/s, None), or (None, why not), of the run fact "reference".

    `dtype`: what the model computes in, where that is known; a rate of another dtype is no
    measure for it.
    """
    compute = reference_fact.get("compute") if isinstance(reference_fact, dict) else None
    if not isinstance(compute, dict):
        return None, NOT_MEASURED
    rate = compute.get("tflop_s")
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not math.isfinite(rate) or rate <= 0:
        return None, str(compute.get("reason") or NOT_MEASURED)
    measured = compute.get("dtype")
    if dtype is not None and measured is not None and measured != dtype:
        return None, f"the rate of arithmetic was measured in {measured}, the model computes in {dtype}"
    return float(rate), None


def prompt_floor_ms(work: PromptWork, prompt_tokens: int, tflop_s: float, batch: int = 1) -> float:
    """Shortest possible TTFT of `batch` prompts of so many tokens each, processed together, ms."""
    return batch * work.flops(prompt_tokens) / (tflop_s * _TERA) * 1e3


def ttft_floor(
    prompts: Sequence[tuple[int | None, int]], footprint: Any, reference_fact: Any, dtype: str | None = None
) -> dict[str, Any]:
    """The report's `ttft_floor_ms`, of (prompt tokens, prompts processed together) by request.

    The median of the requests' floors, with the median length as `ttft_floor_prompt_tokens`,
    the rate as `reference_tflop_s`, and `ttft_floor_reason` where there is none.
    """
    work = prompt_work_from_fact(footprint.get("prompt_work") if isinstance(footprint, dict) else None)
    rate, no_rate = compute_rate(reference_fact, dtype)
    known = [(tokens, batch) for tokens, batch in prompts if tokens is not None and tokens > 0]
    result: dict[str, Any] = {
        "ttft_floor_ms": None,
        "ttft_floor_prompt_tokens": None,
        "reference_tflop_s": rate,
        "ttft_floor_reason": NO_WORK if work is None else no_rate,
    }
    if work is None or rate is None:
        return result
    if not known:
        return result | {"ttft_floor_reason": NO_LENGTH if prompts else "no request counts"}
    floors = [prompt_floor_ms(work, tokens, rate, batch) for tokens, batch in known]
    return result | {
        "ttft_floor_ms": float(np.median(floors)),
        "ttft_floor_prompt_tokens": float(np.median([tokens for tokens, _ in known])),
    }
