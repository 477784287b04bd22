"""How other tools define their figures: one row a figure, each with its formula in words.

The rows were read off the tools' own sources (named in `Tool.source`); what a row takes from a
request stands in `other_values`. Thread: any; constants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from profiler.reporting import other_values as get
from profiler.reporting.other_values import Answer, Given


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a tool.

    `formula` in words; `differs` says how it differs from our metric `ours` (a key of the report;
    None: we have none like it; "" in `differs`: it is the same). Either `each` gives a value (or
    a list to pool) for one request, or, with `each` None, the figure is our metric of the run
    itself. `weight`: what a request counts in the mean (None: each the same). `only_mean`: the
    tool shows one number and no distribution. `also`: metrics of ours that it may be taken for.
    """

    name: str
    label: str
    unit: str
    formula: str
    ours: str | None
    differs: str = ""
    each: Callable[[Answer], Given] | None = None
    weight: Callable[[Answer], float] | None = None
    only_mean: bool = False
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `stepped`: its percentiles are values that occurred, not interpolated between two."""

    name: str
    label: str
    source: str
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()
    stepped: bool = False
    counts_empty_chunks: bool = False


_TTFT = "first chunk with text - request start"
_GAPS = "time between two chunks, all chunks of all requests pooled"
_BY_TOKENS = (
    "Divides by the tokens but one, ours by the tokens after the first step: they differ when the "
    "first chunk holds several tokens. An answer in one chunk counts as 0, in ours it is missing."
)
_ITLS = ("itl_ms", "itl_request_mean_ms")
_RUN_TOKENS = Figure(
    "output_tok_s",
    "Output token throughput",
    "tok/s",
    "output tokens of ok requests / (last token - first request start)",
    "run_tok_s",
    "The tool's own clock runs from its first request to its last answer, its closing included.",
)
_RUN_REQUESTS = Figure(
    "requests_per_s",
    "Request throughput",
    "1/s",
    "ok requests / (last token - first request start)",
    "requests_per_s",
    "The tool's own clock runs from its first request to its last answer, its closing included.",
)

VLLM = Tool(
    "vllm",
    "vLLM bench serve",
    "vllm/benchmarks/serve.py, vllm/benchmarks/lib/endpoint_request_func.py",
    (
        Figure("ttft_ms", "TTFT", "ms", _TTFT, "ttft_ms", each=get.ttft_ms),
        Figure(
            "tpot_ms",
            "TPOT",
            "ms",
            "(end-to-end latency - TTFT) / (output tokens - 1), one value a request",
            "tpot_ms",
            _BY_TOKENS,
            get.after_first_ms,
        ),
        Figure("itl_ms", "ITL", "ms", _GAPS, "itl_ms", each=get.gaps_ms),
        Figure("e2el_ms", "E2EL", "ms", "last chunk with text - request start", "e2e_ms", each=get.e2e_ms),
        _RUN_TOKENS,
        _RUN_REQUESTS,
    ),
    counts_empty_chunks=True,
)

AIPERF = Tool(
    "aiperf",
    "AIPerf",
    "aiperf/metrics/types",
    (
        Figure("ttft_ms", "TTFT", "ms", _TTFT, "ttft_ms", each=get.ttft_ms),
        Figure(
            "ttst_ms", "Time to second token", "ms", "second chunk - first chunk", None, each=get.second_ms
        ),
        Figure(
            "itl_ms",
            "Inter token latency",
            "ms",
            "(request latency - TTFT) / (output tokens - 1), one value a request",
            "tpot_ms",
            f"Near to our TPOT, not to our ITL. {_BY_TOKENS}",
            get.after_first_ms,
            also=_ITLS,
        ),
        Figure("icl_ms", "Inter chunk latency", "ms", _GAPS, "itl_ms", each=get.gaps_ms),
        Figure(
            "request_latency_ms",
            "Request latency",
            "ms",
            "last chunk with text - request start",
            "e2e_ms",
            each=get.e2e_ms,
        ),
        Figure(
            "output_tok_s_per_user",
            "Output token throughput per user",
            "tok/s",
            "1 / inter token latency, one value a request",
            "decode_tok_s",
            "Tokens but one, ours the tokens after the first step: they differ when the first chunk holds "
            "several tokens.",
            get.after_first_tok_s,
        ),
        _RUN_TOKENS,
        _RUN_REQUESTS,
    ),
)

GUIDELLM = Tool(
    "guidellm",
    "GuideLLM",
    "guidellm/schemas/request_stats.py, guidellm/benchmark/schemas/metrics.py",
    (
        Figure("ttft_ms", "TTFT", "ms", _TTFT, "ttft_ms", each=get.ttft_ms),
        Figure(
            "itl_ms",
            "ITL",
            "ms",
            "(last token - first token) / (output tokens - 1), one value a request, which counts in the "
            "statistics as often as it has gaps",
            "tpot_ms",
            f"Near to our TPOT, not to our ITL; long answers count more. {_BY_TOKENS}",
            get.after_first_ms,
            get.tokens_after_first,
            also=_ITLS,
        ),
        Figure(
            "tpot_ms",
            "TPOT",
            "ms",
            "(last token - request start) / output tokens, one value a request, which counts in the "
            "statistics as often as it has tokens",
            "tpot_ms",
            "TTFT is a part of it; ours begins after the first step.",
            get.e2e_per_token_ms,
            get.tokens,
        ),
        Figure(
            "request_latency_ms",
            "Request latency",
            "ms",
            "end of the stream - request start",
            "e2e_ms",
            "To the end of the stream; ours ends at the last token. GuideLLM shows seconds.",
            get.closed_ms,
        ),
        Figure(
            "output_tok_s",
            "Output tokens a second of a request",
            "tok/s",
            "output tokens / request latency",
            "output_tok_s",
            "To the end of the stream; ours ends at the last token.",
            get.closed_tok_s,
        ),
    ),
    (
        "Percentiles are values that occurred, not interpolated; rounding inside GuideLLM can give the "
        "next value instead.",
    ),
    stepped=True,
)

LLMPERF = Tool(
    "llmperf",
    "LLMPerf",
    "llmperf/ray_clients/openai_chat_completions_client.py, token_benchmark_ray.py",
    (
        Figure("ttft_ms", "TTFT", "ms", _TTFT, "ttft_ms", each=get.ttft_ms),
        Figure(
            "inter_token_latency_ms",
            "Inter token latency",
            "ms",
            "(TTFT + all later gaps) / output tokens, one value a request",
            "itl_request_mean_ms",
            "TTFT is a part of it; in ours it never is.",
            get.e2e_per_token_ms,
            also=("itl_ms", "tpot_ms"),
        ),
        Figure(
            "end_to_end_latency_ms",
            "End-to-end latency",
            "ms",
            "end of the stream - request start",
            "e2e_ms",
            "To the end of the stream; ours ends at the last token.",
            get.closed_ms,
        ),
        Figure(
            "request_output_tok_s",
            "Request output throughput",
            "tok/s",
            "output tokens / end-to-end latency",
            "output_tok_s",
            "To the end of the stream; ours ends at the last token.",
            get.closed_tok_s,
        ),
    ),
    (
        "LLMPerf counts tokens with a tokenizer of its own, in the text; here they are the ids that came. "
        "It shows seconds.",
    ),
)

OPTIMUM = Tool(
    "optimum",
    "optimum-benchmark",
    "optimum_benchmark/trackers/latency.py",
    (
        Figure(
            "prefill_ms",
            "Prefill latency",
            "ms",
            "end of the first forward pass - call of generate()",
            "ttft_ms",
            "Tokenising before it and sampling after it are left out; in ours both are in.",
            get.forward_ms,
        ),
        Figure(
            "prefill_tok_s",
            "Prefill throughput",
            "tok/s",
            "prompt tokens / prefill latency, sums over requests",
            "prompt_tok_s",
            "The set-up of generate() is a part of it.",
            get.forward_tok_s,
            get.length_of(get.forward_ms),
            only_mean=True,
        ),
        Figure(
            "per_token_ms",
            "Per-token latency",
            "ms",
            "time between the ends of two forward passes, before sampling, pooled",
            "itl_ms",
            "The boundary lies before sampling, ours after it; the sums differ only at the ends.",
            get.never("tokens are stamped after sampling, the end of each forward pass is not recorded"),
        ),
        Figure(
            "decode_ms",
            "Decode latency",
            "ms",
            "end of generate() - end of the first forward pass",
            None,
            "Sampling of the first token is a part of it.",
            get.rest_ms,
        ),
        Figure(
            "decode_tok_s",
            "Decode throughput",
            "tok/s",
            "(output tokens - 1) / decode latency, sums over requests",
            "decode_tok_s",
            "Sampling of the first token is a part of the time.",
            get.rest_tok_s,
            get.length_of(get.rest_ms),
            only_mean=True,
        ),
    ),
    ("optimum-benchmark counts a batch as one; here each of its prompts is a request.",),
)

LLAMA_BENCH = Tool(
    "llama-bench",
    "llama-bench",
    "llama.cpp, tools/llama-bench/llama-bench.cpp",
    (
        Figure(
            "pp_tok_s",
            "pp (prompt processing)",
            "tok/s",
            "prompt tokens / time of the forward passes over the prompt",
            "prompt_tok_s",
            "",
            get.prompt_tok_s,
        ),
        Figure(
            "tg_tok_s",
            "tg (text generation)",
            "tok/s",
            "generated tokens / time of their forward passes, from an empty context, without sampling",
            "decode_tok_s",
            "No prompt and no sampling in it; ours has both, and is the nearest there is.",
            get.never("a gap holds sampling and the context of the prompt, which llama-bench leaves out"),
        ),
    ),
    ("llama-bench feeds random tokens: it neither tokenises nor samples.",),
)

TOOLS: dict[str, Tool] = {t.name: t for t in (VLLM, AIPERF, GUIDELLM, LLMPERF, OPTIMUM, LLAMA_BENCH)}
"""All tools, by the name that `dscope report --as` takes."""
