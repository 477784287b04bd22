"""How long a run will take, judged before it starts.

Pure: a configuration and what is known of model and machine in, seconds out. They come from
the last run of the same model on the same device; else there is only a lower bound, from the
bytes that a token must read and the memory's measured speed; else none, and none is invented.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from profiler.config import RunConfig
from profiler.timeline import Run
from profiler.units import GB, NS_PER_S

Basis = Literal["run", "memory", "none"]
KEPT_RUNS = 32


@dataclass(frozen=True)
class KnownRun:
    """What a finished run taught. `load_s`: until its first request (imports, load, reference).

    `device_asked` is the setting, so that "auto" is found again.
    """

    model: str
    dtype: str
    device_asked: str
    prompt_tokens: int | None
    ttft_ms: float
    tpot_ms: float | None
    load_s: float | None
    reference_gb_s: float | None

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two runs alike for an estimate."""
        return self.model, self.dtype, self.device_asked

    def to_json(self) -> dict[str, Any]:
        """Plain values by name."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> KnownRun | None:
        """What `to_json` gave; None for anything else."""
        names = {field.name for field in fields(cls)}
        if not isinstance(value, Mapping) or set(value) != names:
            return None
        words = all(isinstance(value[name], str) for name in ("model", "dtype", "device_asked"))
        numbers = (value[name] for name in ("prompt_tokens", "tpot_ms", "load_s", "reference_gb_s"))
        sound = words and _is_number(value["ttft_ms"]) and all(n is None or _is_number(n) for n in numbers)
        return cls(**value) if sound else None


@dataclass(frozen=True)
class ModelFacts:
    """What the engine's look at a model told (`inspect`); None where it did not."""

    label: str | None = None
    parameters: float | None = None
    dtype: str | None = None
    weight_bytes: float | None = None
    kv_bytes_per_token: float | None = None

    @classmethod
    def from_reply(cls, value: Mapping[str, Any]) -> ModelFacts:
        """The facts in an `inspect` reply's value."""
        words = {n: value[n] for n in ("label", "dtype") if isinstance(value.get(n), str)}
        numbers = ("parameters", "weight_bytes", "kv_bytes_per_token")
        return cls(**words, **{name: value[name] for name in numbers if _is_number(value.get(name))})


@dataclass(frozen=True)
class Estimate:
    """Seconds a run will take. `basis` "run": about; "memory": at least; "none": not known."""

    seconds: float | None
    basis: Basis


def _is_number(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0


def known_run(config: RunConfig, run: Run, values: Mapping[str, Any]) -> KnownRun | None:
    """What the finished `run` of `config` teaches, from its metrics (`values`); None without a token."""
    metrics = values.get("metrics") or {}
    ttft_ms = (metrics.get("ttft_ms") or {}).get("p50")
    if ttft_ms is None:
        return None
    load = [span for span in run.spans if span.name in ("import", "reference", "load", "build", "compile")]
    reference = run.facts.get("reference")
    speed = reference.get("gb_s") if isinstance(reference, dict) else None
    prompts = [request.prompt_tokens for request in run.measured if request.prompt_tokens is not None]
    return KnownRun(
        model=config.model,
        dtype=config.dtype,
        device_asked=config.device,
        prompt_tokens=max(prompts) if prompts else None,
        ttft_ms=ttft_ms,
        tpot_ms=(metrics.get("tpot_ms") or {}).get("p50"),
        load_s=sum(span.end_ns - span.t_ns for span in load) / NS_PER_S if load else None,
        reference_gb_s=speed if _is_number(speed) else None,
    )


def with_run(known: Sequence[KnownRun], new: KnownRun) -> list[KnownRun]:
    """The list with `new` in front, in place of one that was alike. A model that was still loaded
    teaches nothing of loading: what was known of it stays."""
    before = next((run for run in known if run.key == new.key), None)
    if before is not None and new.load_s is None:
        new = KnownRun(**{**asdict(new), "load_s": before.load_s})
    return [new, *(run for run in known if run.key != new.key)][:KEPT_RUNS]


def estimate_time(config: RunConfig, facts: ModelFacts, known: Sequence[KnownRun]) -> Estimate:
    """Seconds from Start to the end. `known`: newest first."""
    alike = next((run for run in known if run.key == (config.model, config.dtype, config.device)), None)
    if alike is not None:
        return Estimate(_from_run(config, alike), "run")
    same_device = (run.reference_gb_s for run in known if run.device_asked == config.device)
    speed_gb_s = next((speed for speed in same_device if speed), None)
    if facts.weight_bytes is None or speed_gb_s is None or not config.ignore_eos:
        return Estimate(None, "none")  # an answer that ends by itself has no least length
    length = (config.prompt_tokens or 0) + config.output_tokens / 2
    step_bytes = facts.weight_bytes + (facts.kv_bytes_per_token or 0.0) * length
    steps = config.total_requests * config.output_tokens
    return Estimate(steps * step_bytes / (speed_gb_s * GB), "memory")


def _from_run(config: RunConfig, alike: KnownRun) -> float:
    longer = 1.0
    if config.prompt_tokens is not None and alike.prompt_tokens:
        longer = max(config.prompt_tokens / alike.prompt_tokens, 1.0)
    request_ms = alike.ttft_ms * longer + (alike.tpot_ms or 0.0) * (config.output_tokens - 1)
    return (alike.load_s or 0.0) + config.total_requests * request_ms / 1000
