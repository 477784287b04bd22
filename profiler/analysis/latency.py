"""The metrics of one request, from its stamps alone.

t0 is the request's start; steps (t_i, k_i), i = 1..m, are its arrivals of at least one token;
n is the sum of k_i. Missing is None with a reason, never a guess. Definitions: `definitions.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from profiler.analysis.jitter import trimmed_weighted_mean
from profiler.analysis.steps import StepView, step_view
from profiler.timeline import Request
from profiler.units import NS_PER_MS, NS_PER_S

FloatArray = npt.NDArray[np.float64]

STATUSES = ("ok", "failed", "cancelled", "incomplete", "invalid", "running")
SCALARS = (
    "ttft_ms",
    "tpot_ms",
    "e2e_ms",
    "decode_tok_s",
    "output_tok_s",
    "effective_tok_s",
    "fluctuation",
    "prompt_tok_s",
    "shortfall",
)
"""The metrics that are one number a request."""

NO_TOKEN = "no token"
BACKWARDS = "clock went backwards"
ONE_TOKEN = "one token"
ONE_EVENT = "one event"
NOT_STREAMED = "not streamed"
STILL_RUNNING = "still running"
ASSUMED_FIRST = "assumes one token in the first chunk"
COUNT_UNKNOWN = "the number of tokens was not told"
_EMPTY: FloatArray = np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class RequestMetrics:
    """What one request's stamps say. Times in ms, rates in tokens a second.

    `status` is one of STATUSES. Unless it is ok or running all metrics are None and the
    lists empty; `output_tokens` is then what arrived (None: not told by the server).
    `itl_per_token_ms` is None where a step's token count is unknown. `shortfall` is
    requested minus produced tokens. `dropped` belongs to `itl_trimmed_weighted_ms`.
    `reasons` says by metric why it is missing, or what a value that is there assumes;
    "status" says why the request does not count.
    """

    status: str
    output_tokens: int | None
    empty_events: int
    ttft_ms: float | None = None
    itl_ms: FloatArray = field(default_factory=lambda: _EMPTY)
    itl_per_token_ms: FloatArray | None = field(default_factory=lambda: _EMPTY)
    tpot_ms: float | None = None
    e2e_ms: float | None = None
    decode_tok_s: float | None = None
    output_tok_s: float | None = None
    effective_tok_s: float | None = None
    fluctuation: float | None = None
    prompt_tok_s: float | None = None
    shortfall: int | None = None
    itl_trimmed_weighted_ms: float | None = None
    dropped: int = 0
    reasons: dict[str, str] = field(default_factory=dict)


def request_metrics(
    request: Request,
    *,
    running: bool = False,
    usage_tokens: int | None = None,
    view: StepView | None = None,
) -> RequestMetrics:
    """The metrics of a request, by section 3 of the contract.

    `running`: a request without an end is still at work, not cut off; what its steps say so
    far is given, what needs its end (e2e and what is made of it) is not. `usage_tokens`: the
    total that a server told where chunks did not tell theirs (else the last known `kv_len`
    less the prompt says it). `view`: `step_view(request)`, where a caller has it already.
    """
    view = step_view(request) if view is None else view
    status, why = _status(request, view, running)
    n = _produced(request, view, usage_tokens)
    if status not in ("ok", "running"):
        reasons = dict.fromkeys((*SCALARS, "itl_ms", "itl_trimmed_weighted_ms"), why)
        return RequestMetrics(status, n, view.empty_events, reasons={"status": why, **reasons})
    return _counted(request, view, status, n)


def _status(request: Request, view: StepView, running: bool) -> tuple[str, str]:
    """Status and the reason why it is not ok. An error is never hidden behind a bad clock."""
    if request.end_status == "error":
        return "failed", f"failed: {request.error}" if request.error else "failed"
    ended_early = not request.streamed and request.end_ns is not None and request.end_ns < request.t0_ns
    if not view.in_order or ended_early:
        return "invalid", BACKWARDS
    if request.end_status == "cancelled":
        return "cancelled", "cancelled"
    if request.end_status is None:
        return ("running", "") if running else ("incomplete", "never ended")
    if len(view) == 0:
        return "failed", NO_TOKEN
    return "ok", ""


def _produced(request: Request, view: StepView, usage_tokens: int | None) -> int | None:
    """n: from ids where each step told its own, else the server's total. None: not told."""
    if view.k_known:
        return int(view.k.sum())
    if usage_tokens is not None:
        return usage_tokens
    lengths = request.kv_len[request.kv_len >= 0]
    if request.prompt_tokens is None or len(lengths) == 0:
        return None
    produced = int(lengths[-1]) - request.prompt_tokens
    return produced if produced >= 0 else None


def _counted(request: Request, view: StepView, status: str, n: int | None) -> RequestMetrics:
    reasons: dict[str, str] = {}
    m = len(view)
    first, last = (int(view.t_ns[0]), int(view.t_ns[-1])) if m else (0, 0)
    gaps = view.gaps_ms

    ttft = None
    if not request.streamed:
        reasons["ttft_ms"] = NOT_STREAMED
    elif m == 0:
        reasons["ttft_ms"] = STILL_RUNNING
    else:
        ttft = (first - request.t0_ns) / NS_PER_MS

    tpot, decode_rate = _decode(view, n, last - first, reasons)
    e2e_ns = _end_to_end_ns(request, status, last, reasons)
    output_rate = None
    if e2e_ns is None:
        reasons["output_tok_s"] = reasons["e2e_ms"]
    elif n is None:
        reasons["output_tok_s"] = COUNT_UNKNOWN
    elif e2e_ns == 0:
        reasons["output_tok_s"] = "no time passed"
    else:
        output_rate = n * NS_PER_S / e2e_ns

    effective = None
    if status == "running":
        reasons["effective_tok_s"] = STILL_RUNNING
    elif ttft is None or tpot is None or n is None:
        reasons["effective_tok_s"] = reasons["ttft_ms" if ttft is None else "tpot_ms"]
    elif ttft + n * tpot == 0:
        reasons["effective_tok_s"] = "no time passed"
    else:
        effective = n * 1000 / (ttft + n * tpot)

    per_token = gaps / view.k[1:] if m and not bool((view.k[1:] < 0).any()) else None
    if m == 0:
        per_token = gaps
    elif per_token is None:
        reasons["itl_per_token_ms"] = COUNT_UNKNOWN
    if len(gaps) == 0:
        reasons["itl_ms"] = reasons["itl_trimmed_weighted_ms"] = ONE_EVENT if n != 1 else ONE_TOKEN
    trimmed, dropped = trimmed_weighted_mean(gaps)
    return RequestMetrics(
        status=status,
        output_tokens=n,
        empty_events=view.empty_events,
        ttft_ms=ttft,
        itl_ms=gaps,
        itl_per_token_ms=per_token,
        tpot_ms=tpot,
        e2e_ms=None if e2e_ns is None else e2e_ns / NS_PER_MS,
        decode_tok_s=decode_rate,
        output_tok_s=output_rate,
        effective_tok_s=effective,
        fluctuation=_fluctuation(gaps, reasons),
        prompt_tok_s=_prompt_rate(request, reasons),
        shortfall=_shortfall(request, status, n, reasons),
        itl_trimmed_weighted_ms=trimmed,
        dropped=dropped,
        reasons=reasons,
    )


def _decode(
    view: StepView, n: int | None, span_ns: int, reasons: dict[str, str]
) -> tuple[float | None, float | None]:
    """tpot_ms and decode_tok_s: the time and the tokens after the first step."""
    why = None
    after_first = 0
    if n is None:
        why = COUNT_UNKNOWN
    elif len(view) == 0:
        why = STILL_RUNNING
    elif len(view) == 1:
        why = ONE_TOKEN if n <= 1 else ONE_EVENT
    else:
        after_first = n - int(view.k[0]) if view.k_known else n - 1
        if after_first <= 0:
            why = ONE_TOKEN
    if why is not None:
        reasons["tpot_ms"] = reasons["decode_tok_s"] = why
        return None, None
    if not view.k_known:
        reasons["tpot_ms"] = ASSUMED_FIRST
    tpot = span_ns / NS_PER_MS / after_first
    if span_ns == 0:
        reasons["decode_tok_s"] = "no time passed"
        return tpot, None
    return tpot, after_first * NS_PER_S / span_ns


def _end_to_end_ns(request: Request, status: str, last_ns: int, reasons: dict[str, str]) -> int | None:
    """To the last token, not to the stream's close; not streamed: to the end event."""
    if status == "running":
        reasons["e2e_ms"] = STILL_RUNNING
        return None
    if request.streamed:
        return last_ns - request.t0_ns
    assert request.end_ns is not None  # an ok request has ended
    return request.end_ns - request.t0_ns


def _fluctuation(gaps: FloatArray, reasons: dict[str, str]) -> float | None:
    """(p95 - p50) / p50 of the gaps."""
    if len(gaps) < 2:
        reasons["fluctuation"] = "fewer than 2 gaps"
        return None
    p50, p95 = np.percentile(gaps, (50, 95))
    if p50 == 0:
        reasons["fluctuation"] = "the median gap is 0"
        return None
    return float((p95 - p50) / p50)


def _prompt_rate(request: Request, reasons: dict[str, str]) -> float | None:
    """Prompt tokens really processed a second of prefill; a span's detail may tell `cached_tokens`."""
    prefill_ns = request.span_ns("prefill")
    details = [span.detail or {} for span in request.spans if span.name == "prefill"]
    cached = sum(int(detail.get("cached_tokens") or 0) for detail in details)
    if request.prompt_tokens is None:
        reasons["prompt_tok_s"] = "the prompt's length is not known"
    elif not prefill_ns or prefill_ns < 0:
        reasons["prompt_tok_s"] = "the prefill was not timed"
    elif request.prompt_tokens - cached <= 0:
        reasons["prompt_tok_s"] = "no prompt token was processed"
    else:
        return (request.prompt_tokens - cached) * NS_PER_S / prefill_ns
    return None


def _shortfall(request: Request, status: str, n: int | None, reasons: dict[str, str]) -> int | None:
    """Requested minus produced tokens; the stop reason stands in `reasons` when it is not 0."""
    if status == "running":
        reasons["shortfall"] = STILL_RUNNING
    elif request.max_new_tokens is None:
        reasons["shortfall"] = "no length was requested"
    elif n is None:
        reasons["shortfall"] = COUNT_UNKNOWN
    else:
        missing = request.max_new_tokens - n
        if missing and request.stop_reason:
            reasons["shortfall"] = f"stopped: {request.stop_reason}"
        return missing
    return None
