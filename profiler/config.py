"""What a person asks for: one run's configuration. The same in the window, the command line
and in a JSON file (`--config`).

Every value is checked when a configuration is made; what cannot work comes out as `UsageError`
with the field's name and one sentence. No pydantic: importing it takes 0.1 to 0.2 s, in the window before
its first paint and in each process that a run starts.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from profiler.errors import ModelError, UsageError

Dtype = Literal["auto", "fp32", "bf16", "fp16"]
Cache = Literal["dynamic", "static"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """One run: model, workload, generation, device and measurement.

    Exactly one of `prompt`, `prompt_tokens`, `prompts_file` says what the prompt is; when none
    is given, `prompt_tokens` is 128. Raises UsageError when a value cannot work; what a JSON file
    may hold instead of a number or a flag ("3", 3.0, "yes") is understood.
    """

    model: str = "preset:small"
    """`preset:NAME`, a folder, a .gguf file, a config.json, a hub id, `demo`, `synthetic:...`."""
    name: str = ""

    prompt: str | None = None
    prompt_tokens: int | None = None
    prompts_file: str | None = None
    """JSONL, one object a line with "prompt" (or "text"); the requests take them in turn."""
    chat_template: bool = True
    """Put `prompt` and `prompts_file` through the model's chat template when it has one."""
    output_tokens: int = 128
    ignore_eos: bool = True
    repeats: int = 3
    warmup: int = 1

    temperature: float = 0.0
    """0 is greedy."""
    seed: int = 0
    cache: Cache = "dynamic"

    dtype: Dtype = "auto"
    device: str = "auto"
    """auto, cpu, mps, cuda, cuda:N."""
    attn: str = "auto"
    """auto, eager, sdpa, flash_attention_2 ..., as transformers names them."""
    threads: int | None = None
    """torch's intra-op threads; None leaves the default."""
    trust_remote_code: bool = False
    allow_download: bool = False
    """Fetch a hub model that is not in the local cache."""

    sample_hz: float = 4.0
    """Telemetry readings a second; 0 is off."""
    measure_reference: bool = True
    """Measure the memory bandwidth before the model is loaded (about 2 s): what MBU is a share of."""
    keep_text: bool = True

    def __post_init__(self) -> None:
        for name, take in _RULES.items():
            try:
                object.__setattr__(self, name, take(getattr(self, name)))
            except _RefusedError as refused:
                raise _refusal(name, refused) from None
        given = [self.prompt is not None, self.prompt_tokens is not None, self.prompts_file is not None]
        if sum(given) > 1:
            raise UsageError("give one of prompt, prompt_tokens and prompts_file, not several.")
        if not any(given):
            object.__setattr__(self, "prompt_tokens", 128)
        if self.prompt is not None and not self.prompt.strip():
            raise UsageError("the prompt is empty.")
        if 0 < self.sample_hz < 0.1:
            raise UsageError("sample hz: give 0 for no sampling, or at least 0.1.")

    @property
    def total_requests(self) -> int:
        """Warm-ups and repeats."""
        return self.warmup + self.repeats

    def to_dict(self, *, exclude_none: bool = False) -> dict[str, Any]:
        """The settings by name, all of them strict JSON; `make_config` makes the same of them."""
        values = {name: getattr(self, name) for name in FIELDS}
        return {k: v for k, v in values.items() if v is not None} if exclude_none else values


FIELDS = tuple(field.name for field in dataclasses.fields(RunConfig))
"""The names of all settings, in order."""


# -- what a value may be ----------------------------------------------------------------------------


class _RefusedError(Exception):
    """Says after the setting's name why its value cannot work."""


_Rule = Callable[[Any], Any]
_N = TypeVar("_N", int, float)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _RefusedError(f"{_shown(value)} is not valid (give a text)")
    return value


def _named(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _RefusedError("no name")
    return value


def _flag(value: Any) -> bool:
    if isinstance(value, str):
        value = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}.get(
            value.lower(), value
        )
    if isinstance(value, bool) or value in (0, 1):
        return bool(value)
    raise _RefusedError(f"{_shown(value)} is not valid (give true or false)")


def _number(least: float, most: float) -> _Rule:
    def take(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise _RefusedError(f"{_shown(value)} is not valid (give a number)")
        try:
            number = float(value)
        except (ValueError, OverflowError):
            raise _RefusedError(f"{_shown(value)} is not valid (give a number)") from None
        if not math.isfinite(number):
            raise _RefusedError(f"{_shown(value)} is not valid (give a finite number)")
        return _within(number, value, least, most)

    return take


def _whole(least: int, most: int) -> _Rule:
    def take(value: Any) -> int:
        problem = _RefusedError(f"{_shown(value)} is not valid (give a whole number)")
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise problem
        try:
            number = int(value)
        except (ValueError, OverflowError):
            raise problem from None
        if isinstance(value, float) and number != value:
            raise problem
        return _within(number, value, least, most)

    return take


def _within(number: _N, given: Any, least: float, most: float) -> _N:
    if number < least:
        raise _RefusedError(f"{_shown(given)} cannot work; give a number of at least {least}")
    if number > most:
        raise _RefusedError(f"{_shown(given)} cannot work; give a number of at most {most}")
    return number


def _choice(*names: str) -> _Rule:
    def take(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            words = f"{', '.join(map(repr, names[:-1]))} or {names[-1]!r}"
            raise _RefusedError(f"{_shown(value)} is not known; choose {words}")
        return value

    return take


def _maybe(rule: _Rule) -> _Rule:
    return lambda value: None if value is None else rule(value)


_RULES: dict[str, _Rule] = {
    "model": _named,
    "name": _text,
    "prompt": _maybe(_text),
    "prompt_tokens": _maybe(_whole(1, 10_000_000)),
    "prompts_file": _maybe(_text),
    "chat_template": _flag,
    "output_tokens": _whole(1, 10_000_000),
    "ignore_eos": _flag,
    "repeats": _whole(1, 100_000),
    "warmup": _whole(0, 1_000),
    "temperature": _number(0, 100),
    "seed": _whole(0, 2**63 - 1),
    "cache": _choice("dynamic", "static"),
    "dtype": _choice("auto", "fp32", "bf16", "fp16"),
    "device": _text,
    "attn": _text,
    "threads": _maybe(_whole(1, 4096)),
    "trust_remote_code": _flag,
    "allow_download": _flag,
    "sample_hz": _number(0, 10),
    "measure_reference": _flag,
    "keep_text": _flag,
}


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, (dict, list)) else ""
    return text if 0 < len(text) < 80 else "that"


def _refusal(name: str, refused: _RefusedError) -> UsageError:
    if name == "model":
        error = UsageError("No model is named; see `dscope models` for what there is.", field=name)
        error.exit_code = ModelError.exit_code
        return error
    return UsageError(f"{name.replace('_', ' ')}: {refused}.", field=name)


def make_config(values: dict[str, Any]) -> RunConfig:
    """A checked configuration. UsageError with one sentence, and the field, on bad values."""
    config = RunConfig(**{name: value for name, value in values.items() if name in FIELDS})
    for name in values:
        if name not in FIELDS:
            raise UsageError(
                f"{name.replace('_', ' ')}: no such setting; the settings are {', '.join(FIELDS)}.",
                field=name,
            )
    return config


def read_config(path: Path) -> dict[str, Any]:
    """The settings of a JSON file. UsageError when it cannot be read or is no JSON object."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read; check the path given to --config.", str(error), "config"
        ) from None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is not JSON ({error}); write one object of settings.", None, "config"
        ) from None
    if not isinstance(value, dict):
        raise UsageError(f"{path} must hold one JSON object of settings.", None, "config")
    # The command line's own names are understood, too.
    names = {name: _OPTION_NAMES.get(name.replace("-", "_"), name.replace("-", "_")) for name in value}
    return {names[name]: setting for name, setting in value.items()}


_OPTION_NAMES = {"prompts": "prompts_file", "reference": "measure_reference"}
"""Options that are called otherwise than the setting."""
