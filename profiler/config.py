"""What a person asks for: one run's configuration. The same in the window, the command line
and in a JSON file (`--config`).

pydantic, since people write it; errors come out as `UsageError` with the field's name and
one sentence.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from profiler.errors import ModelError, UsageError

Dtype = Literal["auto", "fp32", "bf16", "fp16"]
Cache = Literal["dynamic", "static"]


class RunConfig(BaseModel):
    """One run: model, workload, generation, device and measurement.

    Exactly one of `prompt`, `prompt_tokens`, `prompts_file` says what the prompt is; when none
    is given, `prompt_tokens` is 128.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    model: Annotated[str, Field(min_length=1)] = "preset:small"
    """`preset:NAME`, a folder, a .gguf file, a config.json, a hub id, `demo`, `synthetic:...`."""
    name: str = ""

    prompt: str | None = None
    prompt_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    prompts_file: str | None = None
    """JSONL, one object a line with "prompt" (or "text"); the requests take them in turn."""
    chat_template: bool = True
    """Put `prompt` and `prompts_file` through the model's chat template when it has one."""
    output_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 128
    ignore_eos: bool = True
    repeats: Annotated[int, Field(ge=1, le=100_000)] = 3
    warmup: Annotated[int, Field(ge=0, le=1_000)] = 1

    temperature: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = 0.0
    """0 is greedy."""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    cache: Cache = "dynamic"

    dtype: Dtype = "auto"
    device: str = "auto"
    """auto, cpu, mps, cuda, cuda:N."""
    attn: str = "auto"
    """auto, eager, sdpa, flash_attention_2 ..., as transformers names them."""
    threads: Annotated[int, Field(ge=1, le=4096)] | None = None
    """torch's intra-op threads; None leaves the default."""
    trust_remote_code: bool = False
    allow_download: bool = False
    """Fetch a hub model that is not in the local cache."""

    sample_hz: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] = 4.0
    """Telemetry readings a second; 0 is off."""
    measure_reference: bool = True
    """Measure the memory bandwidth before the model is loaded (about 2 s): what MBU is a share of."""
    keep_text: bool = True

    @model_validator(mode="after")
    def _one_prompt(self) -> RunConfig:
        given = [self.prompt is not None, self.prompt_tokens is not None, self.prompts_file is not None]
        if sum(given) > 1:
            raise ValueError("give one of prompt, prompt_tokens and prompts_file, not several")
        if not any(given):
            object.__setattr__(self, "prompt_tokens", 128)
        if self.prompt is not None and not self.prompt.strip():
            raise ValueError("the prompt is empty")
        if 0 < self.sample_hz < 0.1:
            raise ValueError("sample hz: give 0 for no sampling, or at least 0.1")
        return self

    @property
    def total_requests(self) -> int:
        """Warm-ups and repeats."""
        return self.warmup + self.repeats


def make_config(values: dict[str, Any]) -> RunConfig:
    """A checked configuration. UsageError with one sentence, and the field, on bad values."""
    try:
        return RunConfig(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        told = UsageError(_sentence(name, first), detail=str(error), field=name or None)
        if name == "model":
            told.exit_code = ModelError.exit_code
        raise told from None


def _sentence(name: str, error: Any) -> str:
    label = name.replace("_", " ") or "configuration"
    given = error.get("input")
    kind = error["type"]
    context = error.get("ctx", {})
    shown = repr(given) if not isinstance(given, (dict, list)) and len(repr(given)) < 80 else "that"
    if kind in ("greater_than_equal", "less_than_equal"):
        bound = context.get("ge", context.get("le"))
        word = "at least" if "ge" in context else "at most"
        return f"{label}: {shown} cannot work; give a number of {word} {bound}."
    if name == "model":
        return "No model is named; see `dscope models` for what there is."
    if kind == "extra_forbidden":
        return f"{label}: no such setting; the settings are {', '.join(RunConfig.model_fields)}."
    if kind == "literal_error":
        return f"{label}: {shown} is not known; choose {context.get('expected', 'another value')}."
    if kind == "value_error":
        return f"{str(context.get('error', error['msg'])).rstrip('.')}."
    return f"{label}: {shown} is not valid ({error['msg'].rstrip('.').lower()})."


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
