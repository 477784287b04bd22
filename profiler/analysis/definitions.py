"""What each number means, in one table: for `dscope explain`, the window's cards, the README.

A row is one metric. `formula` is short enough for one line in a fixed-width font; t0 is the
request's start, steps (t_i, k_i) i = 1..m its arrivals of k_i >= 1 tokens, n the sum of k_i.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """One metric. `name` is its key in the report, `source` why it is defined so."""

    name: str
    label: str
    unit: str
    formula: str
    counts: str
    leaves_out: str
    missing_when: str
    source: str


_OK = "Requests that ended well."
_NOT_OK = "Warm-ups; failed, cancelled, cut off and invalid requests."
_RULES = "Decodescope, MEASUREMENT"

DEFINITIONS: tuple[Definition, ...] = (
    Definition(
        "ttft_ms",
        "TTFT",
        "ms",
        "t_1 - t0",
        "Tokenising, prefill and the first sampled token, from the hand-over to the first id on the host.",
        "Loading the model. An empty first chunk is no token.",
        "no token came, or the answer was not streamed",
        "vllm#7242, evalscope#1645",
    ),
    Definition(
        "itl_ms",
        "ITL",
        "ms",
        "t_i - t_(i-1), i = 2..m",
        "Every gap between two steps of one request, pooled over requests. Gaps of 0 too.",
        "TTFT; gaps between requests. A step of several tokens is one gap.",
        "a request has fewer than two steps",
        "sglang#12064, optimum-benchmark#223",
    ),
    Definition(
        "itl_per_token_ms",
        "ITL per token",
        "ms",
        "(t_i - t_(i-1)) / k_i",
        "Each gap shared out over the tokens that came at its end.",
        "TTFT. Never stands in place of the gaps themselves.",
        "fewer than two steps, or the tokens of a step were not told",
        "aiperf#1279",
    ),
    Definition(
        "itl_request_mean_ms",
        "Mean ITL of a request",
        "ms",
        "mean of the request's gaps",
        "One value a request, so that a long answer does not outvote short ones.",
        "TTFT.",
        "a request has fewer than two steps",
        _RULES,
    ),
    Definition(
        "tpot_ms",
        "TPOT",
        "ms",
        "(t_m - t_1) / (n - k_1)",
        "Time a token after the first step.",
        "The first step's time and its tokens.",
        "one token or one event came",
        "vllm#27485, ipex-llm#12271",
    ),
    Definition(
        "e2e_ms",
        "End to end",
        "ms",
        "t_m - t0",
        "From the hand-over to the last token; not streamed: to the end of the answer.",
        "What follows the last token: empty chunks, the closing of the stream.",
        "no token came",
        "evalscope#1645",
    ),
    Definition(
        "output_tokens",
        "Output tokens",
        "tokens",
        "n = sum of k_i",
        "Token ids as they came.",
        "Text is never tokenised again. The total is of ok requests without warm-ups.",
        "the server told no count",
        _RULES,
    ),
    Definition(
        "decode_tok_s",
        "Decode rate",
        "tok/s",
        "(n - k_1) / (t_m - t_1)",
        "Tokens a second once the answer has begun.",
        "TTFT and the first step's tokens.",
        "TPOT is missing, or no time passed",
        _RULES,
    ),
    Definition(
        "output_tok_s",
        "Throughput",
        "tok/s",
        "n / (t_m - t0)",
        "All tokens over the whole request, TTFT included.",
        "Time between requests.",
        "no time passed",
        _RULES,
    ),
    Definition(
        "effective_tok_s",
        "Effective throughput",
        "tok/s",
        "n / (TTFT + n * TPOT)",
        "All tokens, each at TPOT, behind one TTFT.",
        "Time between requests.",
        "TTFT or TPOT is missing, or both are 0",
        "the brief",
    ),
    Definition(
        "fluctuation",
        "Fluctuation",
        "",
        "(p95 - p50) / p50 of the gaps",
        "How uneven one answer comes; above 0.20 the conversation stutters.",
        "TTFT.",
        "fewer than two gaps, or the median gap is 0",
        "the brief",
    ),
    Definition(
        "prompt_tok_s",
        "Prefill rate",
        "tok/s",
        "(prompt - cached) / prefill time",
        "Prompt tokens that were really processed.",
        "Tokens served from a prompt cache; tokenising; sampling.",
        "the prefill was not timed, or nothing was processed",
        _RULES,
    ),
    Definition(
        "shortfall",
        "Shortfall",
        "tokens",
        "requested - produced",
        "How much shorter the answer is than asked for, with the stop reason.",
        "-",
        "no length was requested",
        _RULES,
    ),
    Definition(
        "run_tok_s",
        "Run throughput",
        "tok/s",
        "output tokens / (last token - first t0)",
        "Tokens of ok requests over the wall time of all measured requests, pauses included.",
        _NOT_OK,
        "no request ended well",
        _RULES,
    ),
    Definition(
        "requests_per_s",
        "Requests a second",
        "1/s",
        "ok requests / (last token - first t0)",
        _OK,
        _NOT_OK,
        "no request ended well",
        _RULES,
    ),
    Definition(
        "jitter_ms",
        "Jitter (MAD)",
        "ms",
        "1.4826 * MAD of the gaps around their trend",
        "The spread of the gaps; a few stalls do not move it.",
        "Growth of the gaps with the length of the context.",
        "there is no gap",
        "Theil-Sen and MAD, as in robust statistics",
    ),
    Definition(
        "p99_minus_p50_ms",
        "p99 - p50",
        "ms",
        "p99 - p50 of the gaps around their trend",
        "How far the slowest steps are from the usual ones.",
        "Growth of the gaps with the length of the context.",
        "there is no gap",
        _RULES,
    ),
    Definition(
        "cv",
        "Coefficient of variation",
        "",
        "std of the gaps around their trend / median gap",
        "Spread, stalls included.",
        "Growth of the gaps with the length of the context.",
        "fewer than two gaps, or the median gap is 0",
        _RULES,
    ),
    Definition(
        "longest_stall_ms",
        "Longest stall",
        "ms",
        "max of the gaps",
        "The raw maximum, nothing taken away.",
        "TTFT.",
        "there is no gap",
        _RULES,
    ),
    Definition(
        "spikes",
        "Spikes",
        "",
        "r - med > 10 % of the median gap and 0.6745 (r - med) / MAD > 3.5",
        "Gaps far above their request's trend. Flagged and counted, never deleted.",
        "Slow drift.",
        "never",
        "Iglewicz and Hoaglin 1993",
    ),
    Definition(
        "slope_us_per_token",
        "Trend",
        "µs/token",
        "b in gap = a + b * kv_len (Theil-Sen), median over requests",
        "What each further token of context costs, with a 95 % interval that allows for runs of noise.",
        "Stalls: the fit is by medians.",
        "the length of the context is unknown or does not change",
        "Sen 1968; Davison and Hinkley 1997, 8.2.3",
    ),
    Definition(
        "slope_factor",
        "Slope factor",
        "",
        "b * reference bandwidth / KV bytes a token",
        "How many times the ideal cache traffic the trend amounts to: a dynamic cache is copied each step.",
        "-",
        "no trend, no measured bandwidth, or a cache of constant length",
        _RULES,
    ),
    Definition(
        "itl_trimmed_weighted_ms",
        "Trimmed weighted ITL",
        "ms",
        "mean of gaps <= P90 + 3 IQR, weight i",
        "The brief's dynamic threshold: later tokens weigh more.",
        "Gaps above the threshold; their number stands beside it.",
        "there is no gap",
        "the brief",
    ),
    Definition(
        "mbu",
        "MBU",
        "",
        "sum of B(n) / (sum of gaps * reference bandwidth)",
        "Bytes that each step must read at least (weights, and the cache at its length), "
        "as a share of the bandwidth measured on this machine.",
        "Bytes that a better program would not move; prefill.",
        "bytes or bandwidth are not known",
        "roofline; ratio of sums, never a mean of ratios",
    ),
    Definition(
        "floor_ms",
        "Physical limit",
        "ms",
        "B(n) / reference bandwidth",
        "The shortest gap that memory allows at this length.",
        "Computing, launching, sampling.",
        "bandwidth was not measured, or the model fits in the cache",
        _RULES,
    ),
    Definition(
        "ttft_floor_ms",
        "Compute limit of TTFT",
        "ms",
        "FLOPs of the prompt / FLOP rate of a large matrix product in the model's dtype",
        "The shortest TTFT that this device's arithmetic allows: 2 FLOPs a parameter and token (the "
        "output table for the last token only, of the experts the active ones), plus attention.",
        "Norms, softmax, tokenising, sampling, launching.",
        "the rate was not measured, or in another dtype; the prompt's length is not known",
        _RULES,
    ),
    Definition(
        "joules_per_token",
        "Energy per token",
        "J",
        "energy of the measured window / output tokens",
        "All energy of the device from first t0 to last token, prefill and pauses included.",
        "The rest of the machine.",
        "the device tells neither energy nor power",
        "NVML, RAPL",
    ),
    Definition(
        "disturbed_steps_pct",
        "Disturbed steps",
        "%",
        "steps overlapped by a redraw or a sampler reading / all steps",
        "How much of the run our own program may have touched.",
        "Other programs.",
        "there is no step",
        _RULES,
    ),
)

_BY_NAME = {definition.name: definition for definition in DEFINITIONS}


def find(name: str) -> Definition | None:
    """The definition of a metric by its key (`itl_ms`, `itl_ms.p50`, `metrics.mbu.run`) or label."""
    wanted = name.strip().lower()
    parts = wanted.split(".")
    for candidate in (wanted, *parts, *(f"{part}_ms" for part in parts)):
        if candidate in _BY_NAME:
            return _BY_NAME[candidate]
    return next((d for d in DEFINITIONS if d.label.lower() == wanted), None)
