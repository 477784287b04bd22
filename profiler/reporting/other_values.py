"""What the figures of other tools take from one request: stamps and spans, and nothing guessed.

Each function gives a number, or a list to pool, or `Missing` with the reason. Thread: any; pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from profiler.analysis.latency import COUNT_UNKNOWN, NOT_STREAMED, ONE_TOKEN, RequestMetrics
from profiler.analysis.steps import StepView
from profiler.timeline import Request
from profiler.units import NS_PER_MS, NS_PER_S

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a figure cannot be given, in a few words."""

    reason: str


Given: TypeAlias = float | FloatArray | Missing


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One measured request that ended well: what is recorded, and what our own metrics say of it."""

    request: Request
    metrics: RequestMetrics
    view: StepView


def ttft_ms(answer: Answer) -> Given:
    value = answer.metrics.ttft_ms
    return Missing(answer.metrics.reasons["ttft_ms"]) if value is None else value


def e2e_ms(answer: Answer) -> Given:
    value = answer.metrics.e2e_ms
    return Missing(answer.metrics.reasons["e2e_ms"]) if value is None else value


def gaps_ms(answer: Answer) -> Given:
    if not answer.request.streamed:
        return Missing(NOT_STREAMED)
    gaps = answer.metrics.itl_ms
    return gaps if len(gaps) else Missing(answer.metrics.reasons["itl_ms"])


def second_ms(answer: Answer) -> Given:
    gaps = gaps_ms(answer)
    return gaps if isinstance(gaps, Missing) else float(np.asarray(gaps)[0])


def after_first_ms(answer: Answer) -> Given:
    """(t_m - t_1) / (n - 1): 0, not missing, where all tokens came in one chunk. So do the tools."""
    if not answer.request.streamed:
        return Missing(NOT_STREAMED)
    n = answer.metrics.output_tokens
    if n is None:
        return Missing(COUNT_UNKNOWN)
    if n <= 1:
        return Missing(ONE_TOKEN)
    return (int(answer.view.t_ns[-1]) - int(answer.view.t_ns[0])) / NS_PER_MS / (n - 1)


def after_first_tok_s(answer: Answer) -> Given:
    value = after_first_ms(answer)
    if isinstance(value, Missing):
        return value
    return 1000.0 / float(value) if value else Missing("no time passed")


def e2e_per_token_ms(answer: Answer) -> Given:
    value, n = e2e_ms(answer), answer.metrics.output_tokens
    if isinstance(value, Missing):
        return value
    return value / n if n else Missing(COUNT_UNKNOWN)


def tokens(answer: Answer) -> float:
    return float(answer.metrics.output_tokens or 0)


def tokens_after_first(answer: Answer) -> float:
    return max(tokens(answer) - 1.0, 0.0)


def _closed_ns(answer: Answer) -> int | Missing:
    """To the end event: the close of the stream."""
    request = answer.request
    if request.end_ns is None or request.end_ns < int(answer.view.t_ns[-1]):
        return Missing("the end event lies before the last token")
    return request.end_ns - request.t0_ns


def closed_ms(answer: Answer) -> Given:
    value = _closed_ns(answer)
    return value if isinstance(value, Missing) else value / NS_PER_MS


def closed_tok_s(answer: Answer) -> Given:
    value, n = _closed_ns(answer), answer.metrics.output_tokens
    if isinstance(value, Missing):
        return value
    if n is None:
        return Missing(COUNT_UNKNOWN)
    return n * NS_PER_S / value if value else Missing("no time passed")


def _span_end_ns(answer: Answer, name: str) -> int | None:
    return max((span.end_ns for span in answer.request.spans if span.name == name), default=None)


def forward_ms(answer: Answer) -> Given:
    """From the call of generate() (tokens are ready) to the end of the first forward pass."""
    end_ns = _span_end_ns(answer, "prefill")
    if end_ns is None:
        return Missing("the prefill was not timed")
    tokenised_ns = _span_end_ns(answer, "tokenize")
    start_ns = answer.request.t0_ns if tokenised_ns is None else tokenised_ns
    return (end_ns - start_ns) / NS_PER_MS if end_ns > start_ns else Missing("the spans are out of order")


def rest_ms(answer: Answer) -> Given:
    """From the end of the first forward pass to the end of the answer."""
    end_ns, closed_ns = _span_end_ns(answer, "prefill"), _closed_ns(answer)
    if end_ns is None:
        return Missing("the prefill was not timed")
    if isinstance(closed_ns, Missing):
        return closed_ns
    rest_ns = answer.request.t0_ns + closed_ns - end_ns
    return rest_ns / NS_PER_MS if rest_ns > 0 else Missing("the spans are out of order")


def forward_tok_s(answer: Answer) -> Given:
    value, prompt = forward_ms(answer), answer.request.prompt_tokens
    if isinstance(value, Missing):
        return value
    return prompt * 1000.0 / value if prompt else Missing("the prompt's length is not known")


def rest_tok_s(answer: Answer) -> Given:
    value, n = rest_ms(answer), answer.metrics.output_tokens
    if isinstance(value, Missing):
        return value
    if n is None:
        return Missing(COUNT_UNKNOWN)
    return (n - 1) * 1000.0 / value if n > 1 else Missing(ONE_TOKEN)


def length_of(each: Callable[[Answer], Given]) -> Callable[[Answer], float]:
    """A weight that makes the mean of rates a ratio of sums."""

    def weight(answer: Answer) -> float:
        value = each(answer)
        return 0.0 if isinstance(value, Missing) else float(value)

    return weight


def prompt_tok_s(answer: Answer) -> Given:
    value = answer.metrics.prompt_tok_s
    return Missing(answer.metrics.reasons["prompt_tok_s"]) if value is None else value


def never(reason: str) -> Callable[[Answer], Given]:
    return lambda _: Missing(reason)
