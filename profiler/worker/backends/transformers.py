"""The measured path: `model.generate()` with a streamer of our own, as users run it.

The streamer's first act is to stamp. The text streamers of transformers are not used: they
hold text back until a word is complete. torch and transformers are imported on `load`.
"""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from profiler import events as ev
from profiler.config import RunConfig
from profiler.errors import UsageError
from profiler.worker.backends.base import LoadInfo, Outcome, Planned, ProgressCall, Stopped
from profiler.worker.cuda_identity import device_names
from profiler.worker.detokenise import Detokeniser
from profiler.worker.forward import ForwardWatch
from profiler.worker.memory import PeakMemory, allocator_sample
from profiler.worker.outbox import Outbox, now_ns
from profiler.worker.prompts import read_prompts
from profiler.worker.streamer import LATE_NOTE, StampStreamer

BUSY_CHUNK = 4096
FROZEN = bool(getattr(sys, "frozen", False))
"""Is this the packaged program? It has no compiler, so a static cache runs without torch.compile."""


class TransformersBackend:
    """A model of transformers, one prompt at a time. `stop` is read at every step."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._loaded: Any = None
        self._source: Any = None
        self._texts: list[str] | None = None
        self._eos: list[int] = []
        self._pad: int | None = None
        self._footprint: dict[str, Any] = {}
        self._cache: dict[str, Any] | None = None
        self._vocab_size = 0

    # -- loading --------------------------------------------------------------------------

    def load(self, config: RunConfig, progress: ProgressCall, cancelled: Callable[[], bool]) -> LoadInfo:
        """Imports torch, measures the reference bandwidth, builds or reads the model.

        ModelError with a sentence; Stopped when `cancelled()` was seen.
        """
        from profiler.worker.sources import LoadCancelled, resolve
        from profiler.worker.sources.environment import prepare_environment

        prepare_environment(config.allow_download)
        spans: list[tuple[str, int, int]] = []
        progress("resolve", 0, None, "")
        self._source = resolve(
            config.model,
            trust_remote_code=config.trust_remote_code,
            allow_download=config.allow_download,
            progress=progress,
        )
        progress("import", 0, None, "")
        with _span(spans, "import"):
            from profiler.worker.imports import import_libraries

            import_libraries(cancelled)
            import torch
            import transformers

            from profiler.worker.footprint import footprint, kv_facts
            from profiler.worker.sources import build
            from profiler.worker.torch_facts import torch_facts
        transformers.logging.set_verbosity_error()
        if cancelled():
            raise Stopped
        if config.threads is not None:
            torch.set_num_threads(config.threads)
        reference = self._reference(config, progress, spans)
        if cancelled():
            raise Stopped
        try:
            with _span(spans, "load"):
                self._loaded = build.load(
                    self._source,
                    device=config.device,
                    dtype=config.dtype,
                    attn=config.attn,
                    trust_remote_code=config.trust_remote_code,
                    allow_download=config.allow_download,
                    progress=progress,
                    cancelled=cancelled,
                )
        except LoadCancelled:
            raise Stopped from None
        loaded = self._loaded
        shape = self._source.shape
        self._vocab_size = shape.vocab_size
        self._peak = PeakMemory(loaded.device)
        self._generation_setup()
        self._footprint = {
            **footprint(loaded.model, self._source.stored_bytes),
            **kv_facts(shape, loaded.model),
        }
        self._check_length(config, shape)
        device = torch.device(loaded.device)
        uuids = []
        if device.type == "cuda":
            # Event pairs are recorded on the stream of the current device: it must be the model's.
            torch.cuda.set_device(device)
            uuids = device_names(torch.cuda.get_device_properties(device), device.index or 0)
        notes = list(dict.fromkeys([*self._source.notes, *loaded.notes]))
        if device.type == "cuda" and not uuids:
            notes.append("This torch does not tell which GPU it runs on, so every GPU is sampled.")
        if device.type == "mps":
            notes.append(LATE_NOTE)
        facts = {
            "model": {
                "label": self._source.label,
                "kind": self._source.kind,
                "path": str(self._source.path) if self._source.path else None,
                "family": shape.family,
                "parameters": shape.n_params,
                "layers": shape.n_layers,
                "max_context": shape.max_context,
                "dtype": loaded.dtype_name,
                "device": str(loaded.device),
                "device_name": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
                "attn": loaded.attn,
                "random_weights": loaded.random_weights,
                "stored_bytes": self._source.stored_bytes,
            },
            "footprint": self._footprint,
            "reference": reference,
            "software": torch_facts(),
        }
        return LoadInfo(facts=facts, spans=spans, notes=notes, device_uuids=uuids)

    def _reference(self, config: RunConfig, progress: ProgressCall, spans: list[tuple[str, int, int]]) -> Any:
        from profiler.worker.ruler import reference_fact

        if not config.measure_reference:
            return reference_fact(config, self._source.shape)
        progress("reference", 0, None, "")
        with _span(spans, "reference"):
            return reference_fact(config, self._source.shape)

    def _generation_setup(self) -> None:
        """Every EOS id of the model and its tokenizer; our own copy of the generation settings."""
        model, tokenizer = self._loaded.model, self._loaded.tokenizer
        ids: set[int] = set()
        holders = (
            model.generation_config,
            getattr(model.config, "get_text_config", lambda: model.config)(),
            tokenizer,
        )
        for holder in holders:
            value = getattr(holder, "eos_token_id", None)
            ids.update(value if isinstance(value, (list, tuple)) else [] if value is None else [value])
        self._eos = sorted(i for i in ids if isinstance(i, int) and 0 <= i < self._vocab_size)
        self._pad = _first_id(model.generation_config, tokenizer, "pad_token_id")
        # generate() fills whatever we leave open from the model's own settings (sampling, EOS
        # ids of its author). Ours are to be the only ones.
        from transformers import GenerationConfig

        model.generation_config = GenerationConfig()

    def _check_length(self, config: RunConfig, shape: Any) -> None:
        if config.prompt_tokens is not None:
            check_context(config.prompt_tokens, config.output_tokens, shape.max_context)

    # -- a run ----------------------------------------------------------------------------

    def prepare(self, config: RunConfig) -> None:
        """Reads prompt files and checks lengths that are known beforehand. UsageError."""
        self._texts = None
        if config.prompts_file is not None:
            self._texts = read_prompts(config.prompts_file)
        elif config.prompt is not None:
            self._texts = [config.prompt]
        self._check_length(config, self._source.shape)
        if self._texts:
            # Before the first request: a prompt that is too long is bad input, not a failed run.
            for text in self._texts[: config.total_requests]:
                n = len(self._encode(text, config))
                check_context(n, config.output_tokens, self._source.shape.max_context)
        self._cache = None
        self._peak.forget()

    def _encode(self, text: str, config: RunConfig) -> list[int]:
        tokenizer = self._loaded.tokenizer
        if config.chat_template and getattr(tokenizer, "chat_template", None):
            encoded = tokenizer.apply_chat_template(
                [{"role": "user", "content": text}],
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
            )
            ids = encoded["input_ids"]
        else:
            ids = tokenizer(text)["input_ids"]
        if not ids:
            raise UsageError("The prompt has no tokens for this model; give some text.", field="prompt")
        return list(ids)

    def answer(self, planned: Planned, config: RunConfig, outbox: Outbox) -> Outcome:
        """One `generate` call. See `Backend.answer`."""
        import torch

        from profiler.worker.sources.tokenizer import synthetic_prompt_ids

        loaded = self._loaded
        model, tokenizer = loaded.model, loaded.tokenizer
        synthetic: list[int] | None = None
        if self._texts is None:
            synthetic = synthetic_prompt_ids(
                tokenizer, config.prompt_tokens or 1, config.seed + planned.index, self._vocab_size
            )
        kwargs = self._generate_kwargs(config)
        if config.temperature > 0:
            torch.manual_seed(config.seed + planned.index)
        detokenise = Detokeniser(tokenizer) if config.keep_text else None
        device = torch.device(loaded.device)

        t0_ns = now_ns()
        if synthetic is None:
            assert self._texts is not None
            ids = self._encode(self._texts[planned.index % len(self._texts)], config)
            tokenised_ns = now_ns()
        else:
            ids, tokenised_ns = synthetic, 0
        inputs = torch.tensor([ids], dtype=torch.long, device=device)
        start = ev.RequestStart(
            planned.no,
            planned.run,
            planned.id,
            t0_ns,
            len(ids),
            config.output_tokens,
            warmup=planned.warmup,
            label=planned.label,
        )
        outbox.begin(start, detokenise, keep_ids=config.keep_text)
        if tokenised_ns:
            outbox.emit(ev.Span(planned.run, "tokenize", t0_ns, tokenised_ns, planned.no))

        # generate() compiles the decode step there; a hook would be traced into it.
        compiled = device.type == "cuda" and config.cache == "static" and not FROZEN
        with ForwardWatch(model, device.type, every_step=not compiled) as watch:

            def on_first(first_ns: int) -> None:
                end_ns = watch.prefill_end_ns(first_ns)
                # generate()'s own set-up: checks, masks, the cache.
                outbox.emit(
                    ev.Span(planned.run, "prepare", tokenised_ns or t0_ns, watch.start_ns, planned.no)
                )
                outbox.emit(ev.Span(planned.run, "prefill", watch.start_ns, end_ns, planned.no))
                outbox.emit(ev.Span(planned.run, "sample", end_ns, first_ns, planned.no))

            streamer = StampStreamer(outbox.step, self._stop, on_first)
            outcome = _generate(model, inputs, streamer, kwargs)
            self._look_at_cache(watch, planned.run, outbox)
        _tell_busy(planned.no, watch.busy_us(), outbox)
        if outcome is None:
            short = streamer.produced < config.output_tokens
            outcome = Outcome("ok", "eos" if short else "length", end_ns=streamer.last_ns or now_ns())
        if detokenise is not None:
            outbox.end_text(detokenise.rest)
        return outcome

    def _look_at_cache(self, watch: ForwardWatch, run: int, outbox: Outbox) -> None:
        """Bytes of the live cache, after the request; told once a run, beside the formula's."""
        from profiler.worker.footprint import cache_footprint

        cache, watch.cache = watch.cache, None
        if cache is None:
            return
        first = self._cache is None
        self._cache = cache_footprint(cache)
        if first:
            static = self._cache["tokens"] if self._cache["static"] else None
            fact = {**self._footprint, "static_cache_len": static, "live_cache": self._cache}
            outbox.emit(ev.Fact("footprint", fact, run))

    def _generate_kwargs(self, config: RunConfig) -> dict[str, Any]:
        from transformers import GenerationConfig

        # A model without a pad id gets one here, in our own copy of the settings.
        pad = self._pad if self._pad is not None else self._eos[0] if self._eos else 0
        settings: dict[str, Any] = {
            "max_new_tokens": config.output_tokens,
            "do_sample": config.temperature > 0,
            "eos_token_id": None if config.ignore_eos else (self._eos or None),
            "pad_token_id": pad,
            "num_beams": 1,
        }
        if config.temperature > 0:
            settings["temperature"] = config.temperature
            settings["top_k"] = 0
        if config.cache == "static":
            settings["cache_implementation"] = "static"
            if FROZEN:
                settings["disable_compile"] = True
        kwargs: dict[str, Any] = {"generation_config": GenerationConfig(**settings)}
        if config.ignore_eos and self._eos:
            kwargs["logits_processor"] = [_suppress(self._eos)]
        return kwargs

    def between(self) -> list[ev.Event]:
        """On CUDA, what the allocator holds."""
        sample = allocator_sample(self._loaded.device) if self._loaded is not None else None
        return [] if sample is None else [sample]

    def finish(self, run: int) -> list[ev.Event]:
        """Memory of the run: weights, KV at the end (live cache), peak."""
        memory = {
            "weights_bytes": self._footprint.get("weight_bytes"),
            "kv_bytes_end": self._cache["bytes"] if self._cache else None,
            **self._peak.read(),
        }
        return [ev.Fact("memory", memory, run)]

    def free(self) -> None:
        """Lets the model go."""
        self._loaded = None
        import torch

        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _tell_busy(no: int, busy_us: list[int], outbox: Outbox) -> None:
    """One forward pass a step: with other loops (assisted decoding) the two are not the same."""
    for at in range(0, len(busy_us), BUSY_CHUNK):
        outbox.emit(ev.Busy(no, at, busy_us[at : at + BUSY_CHUNK]))


def check_context(prompt_tokens: int, output_tokens: int, max_context: int | None) -> None:
    """UsageError when prompt and answer do not fit into the model's context."""
    if max_context is not None and prompt_tokens + output_tokens > max_context:
        raise UsageError(
            f"{prompt_tokens:,} prompt tokens and {output_tokens:,} output tokens exceed the model's context of "
            f"{max_context:,}; shorten one by {prompt_tokens + output_tokens - max_context:,}.",
            field="output_tokens",
        )


def _generate(model: Any, inputs: Any, streamer: StampStreamer, kwargs: dict[str, Any]) -> Outcome | None:
    """Runs `generate`; None when it came to its end, else how it failed."""
    import torch

    try:
        with torch.inference_mode():
            model.generate(inputs, attention_mask=torch.ones_like(inputs), streamer=streamer, **kwargs)
    except Stopped:
        return Outcome("cancelled", "stopped", end_ns=now_ns())
    except torch.OutOfMemoryError as error:
        return Outcome(
            "error",
            "error",
            "Memory ran out; shorten prompt or output, or choose a smaller model or dtype.",
            f"{error}\n{traceback.format_exc()}",
        )
    except Exception as error:  # noqa: BLE001 - whatever a model raises is the request's outcome
        words = str(error).strip().splitlines()
        first = words[0][:200] if words else type(error).__name__
        return Outcome("error", "error", f"The model failed: {first}", traceback.format_exc())
    return None


def _first_id(config: Any, tokenizer: Any, name: str) -> int | None:
    """The first of the two that knows the id `name`."""
    for holder in (config, tokenizer):
        value = getattr(holder, name, None)
        if isinstance(value, int):
            return value
    return None


def _suppress(ids: Sequence[int]) -> Callable[[Any, Any], Any]:
    """A logits processor that forbids `ids`. In place on generate's own copy of the scores:
    transformers' processor searches the whole vocabulary at every step."""
    columns: list[Any] = []

    def process(_input_ids: Any, scores: Any) -> Any:
        if not columns:
            import torch

            columns.append(torch.tensor(list(ids), device=scores.device))
        return scores.index_fill_(-1, columns[0], float("-inf"))

    return process


@contextlib.contextmanager
def _span(spans: list[tuple[str, int, int]], name: str) -> Iterator[None]:
    start_ns = now_ns()
    yield
    spans.append((name, start_ns, now_ns()))
