"""The arithmetic of a prompt: how many floating-point operations it needs at least.

    FLOPs = 2 * parameters that multiply * tokens + attention over the causal pairs

(MEASUREMENT, "The physical limits".) The same object is worked out from a config, written into
the run's footprint, and read back by the analysis, so that there is one formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from profiler.shapes.model import ModelShape


@dataclass(frozen=True, slots=True)
class PromptWork:
    """What is multiplied. Counts are parameters (elements) of one sequence's prompt.

    `body_parameters`: multiplied for every token; of the experts only those that one token is
    routed to, which is right for any number of tokens, since each has its own. The input table
    is looked up, not multiplied. `head_parameters`: the output table, multiplied for the last
    token only, as `generate()` does. `attention`: (FLOPs a pair of query and key, window or
    None), layers of one window together.

    Left out, so that this stays a floor: norms, softmax, activations, rotary embeddings,
    sampling, and whatever padding or masked half the kernels really work through. Counting the
    output table for each token ("2 * parameters * tokens", as often quoted) would overstate
    small models with large vocabularies, and a measured TTFT could fall below it.
    """

    body_parameters: int
    head_parameters: int
    attention: tuple[tuple[int, int | None], ...] = ()

    def flops(self, prompt_tokens: int) -> float:
        """FLOPs of a prompt of so many tokens; 0 for none."""
        if prompt_tokens <= 0:
            return 0.0
        pairs = sum(each * causal_pairs(prompt_tokens, window) for each, window in self.attention)
        return 2.0 * self.body_parameters * prompt_tokens + 2.0 * self.head_parameters + pairs

    def to_fact(self) -> dict[str, Any]:
        """As strict JSON, for the run fact "footprint"."""
        return {
            "body_parameters": self.body_parameters,
            "head_parameters": self.head_parameters,
            "attention": [{"flops_per_pair": each, "window": window} for each, window in self.attention],
        }


def prompt_work(shape: ModelShape) -> PromptWork:
    """The work of an architecture."""
    # Tied: one table, used as the head. Untied: two of the same size.
    tables = shape.embedding_params * (1 if shape.tied else 2)
    by_window: dict[int | None, int] = {}
    for layer in shape.layers:
        if layer.flops_per_pair:
            by_window[layer.window] = by_window.get(layer.window, 0) + layer.flops_per_pair
    return PromptWork(
        shape.n_params_active - tables,
        shape.embedding_params,
        tuple((each, window) for window, each in by_window.items()),
    )


def prompt_work_from_fact(fact: Any) -> PromptWork | None:
    """What `to_fact` wrote; None for anything else, since a file may hold what it likes."""
    if not isinstance(fact, dict):
        return None
    body, head = _count(fact.get("body_parameters")), _count(fact.get("head_parameters"))
    told = fact.get("attention")
    if body is None or head is None or not isinstance(told, list):
        return None
    attention = []
    for item in told:
        each = _count(item.get("flops_per_pair")) if isinstance(item, dict) else None
        if each is None:
            return None
        attention.append((each, _count(item.get("window"))))
    return PromptWork(body, head, tuple(attention))


def prompt_flops(shape: ModelShape, prompt_tokens: int) -> float:
    """FLOPs that a prompt needs, at least: see `PromptWork`."""
    return prompt_work(shape).flops(prompt_tokens)


def causal_pairs(n_tokens: int, window: int | None) -> int:
    """Pairs (query, key <= query) among `n_tokens`, at most `window` keys a query."""
    full = n_tokens if window is None else min(n_tokens, window)
    return full * (full + 1) // 2 + (n_tokens - full) * full


def _count(value: Any) -> int | None:
    """A finite number of at least 0, as a whole one; else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if math.isfinite(value) and value >= 0 else None
