"""What a run will do, in one sentence, and about how long it will take. Pure: facts in, words out."""

from __future__ import annotations

from pathlib import PurePath

from PySide6.QtCore import QCoreApplication

from profiler.analysis.run_time import Estimate, ModelFacts
from profiler.config import RunConfig
from profiler.units import THIN, format_number


def time_words(estimate: Estimate) -> str:
    """`about 40 s`, `at least 2 min, by the memory's speed`, `time unknown before the first run`."""
    tr = QCoreApplication.translate
    if estimate.seconds is None:
        return tr("Estimate", "time unknown before the first run")
    if estimate.basis == "memory":
        return tr("Estimate", "at least {0}, by the memory's speed").format(round_time(estimate.seconds))
    return tr("Estimate", "about {0}").format(round_time(estimate.seconds))


def short_time(estimate: Estimate) -> str:
    """`about 40 s`, `at least 2 min`; "" where the time is not known."""
    tr = QCoreApplication.translate
    if estimate.seconds is None:
        return ""
    text = tr("Estimate", "at least {0}") if estimate.basis == "memory" else tr("Estimate", "about {0}")
    return text.format(round_time(estimate.seconds))


def round_time(seconds: float) -> str:
    """A time as rough as an estimate is: whole seconds below 10, then steps of 5 s, of a minute,
    of a tenth of an hour."""
    if seconds < 10:
        return f"{max(round(seconds), 1)}{THIN}s"
    if seconds < 57.5:
        return f"{5 * round(seconds / 5)}{THIN}s"
    if seconds < 5400:
        return f"{max(round(seconds / 60), 1)}{THIN}min"
    return f"{format_number(seconds / 3600, 2)}{THIN}h"


def run_sentence(config: RunConfig, facts: ModelFacts, estimate: Estimate) -> str:
    """`Loads SmolLM2 135M shape (134.5 M, bf16) and answers a 128-token prompt 4 times, 128 tokens
    each: about 40 s.`"""
    tr = QCoreApplication.translate
    length = (
        tr("Estimate", "{0} tokens each") if config.ignore_eos else tr("Estimate", "up to {0} tokens each")
    )
    words = tr("Estimate", "Loads {0} and answers {1} {2}, {3}: {4}.")
    return words.format(
        _model_words(config, facts),
        _prompt_words(config),
        _times_words(config),
        length.format(f"{config.output_tokens:,}"),
        time_words(estimate),
    )


def _model_words(config: RunConfig, facts: ModelFacts) -> str:
    details = [count_words(facts.parameters)] if facts.parameters else []
    dtype = facts.dtype if config.dtype == "auto" else config.dtype
    if dtype and facts.parameters:
        details.append(dtype)
    name = facts.label or model_name(config.model)
    return f"{name} ({', '.join(details)})" if details else name


def _prompt_words(config: RunConfig) -> str:
    tr = QCoreApplication.translate
    if config.prompt is not None:
        return tr("Estimate", "your prompt")
    if config.prompts_file is not None:
        return tr("Estimate", "the prompts of {0}").format(PurePath(config.prompts_file).name)
    return tr("Estimate", "a {0}-token prompt").format(f"{config.prompt_tokens:,}")


def _times_words(config: RunConfig) -> str:
    tr = QCoreApplication.translate
    total = config.total_requests
    times = tr("Estimate", "once") if total == 1 else tr("Estimate", "{0} times").format(f"{total:,}")
    if config.warmup:
        times += tr("Estimate", " ({0} to warm up)").format(config.warmup)
    return times


def config_line(config: RunConfig) -> str:
    """A configuration on one line: `preset:small · 128 → 512 tokens · 5 repeats · bf16 · cuda`."""
    tr = QCoreApplication.translate
    prompt = f"{config.prompt_tokens:,}" if config.prompt_tokens is not None else tr("Estimate", "text")
    if config.prompts_file is not None:
        prompt = PurePath(config.prompts_file).name
    parts = [
        model_name(config.model),
        tr("Estimate", "{0} → {1} tokens").format(prompt, f"{config.output_tokens:,}"),
        tr("Estimate", "1 repeat")
        if config.repeats == 1
        else tr("Estimate", "{0} repeats").format(config.repeats),
    ]
    usual = RunConfig()
    for name in ("dtype", "attn", "cache", "device"):
        value = getattr(config, name)
        if value != getattr(usual, name):
            parts.append(value)
    if config.temperature > 0:
        parts.append(tr("Estimate", "sampling at {0}").format(f"{config.temperature:g}"))
    if config.threads is not None:
        parts.append(tr("Estimate", "{0} threads").format(config.threads))
    return " · ".join(parts)


def model_name(model: str) -> str:
    """A model's name as one says it: the last part of a path, a preset without its prefix."""
    path = PurePath(model)
    if path.is_absolute() or model.startswith(("./", "../", "~")):
        return f"{path.parent.name}/{path.name}" if path.name == "config.json" else path.name
    return model.removeprefix("preset:")


def count_words(value: float) -> str:
    """A number of parameters: `134.5 M`, `8.03 B`."""
    if value >= 1e9:
        return f"{format_number(value / 1e9, 3)}{THIN}B"
    if value >= 1e6:
        return f"{format_number(value / 1e6, 4 if value >= 1e8 else 3)}{THIN}M"
    return format_number(value)
