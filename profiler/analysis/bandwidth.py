"""The memory limit: bytes that a decode step must read, against measured bandwidth.

    B(n)     = W + b * sum over layers of c_l * len_l(n)
    MBU      = B / (gap * BW_ref)         of a run: sum of B / (sum of gaps * BW_ref)
    floor(n) = B(n) / BW_ref

A fraction, never clamped: above 1 it is shown with a note. GB is 1e9 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from profiler.analysis.jitter import pooled
from profiler.analysis.steps import FloatArray, IntArray
from profiler.analysis.trend import UNKNOWN_LENGTH
from profiler.units import GB, MIB, NS_PER_MS, NS_PER_S

MAX_OVER_ADVERTISED = 1.05
"""A reference further above the advertised peak than this measured a cache."""
CACHE_FACTOR = 2
"""Weights below this many last-level caches are not read from memory at each step."""


@dataclass(frozen=True, slots=True)
class BytesModel:
    """What one decode step moves at least, bytes.

    `kv_layers`: (bytes a token, window or None) by layer or group of layers. `state_bytes`:
    constant state of a sequence as it lies in memory; a step reads and writes it.
    `static_cache_len`: allocated length of a static cache, which is read whole at each step.
    """

    weight_bytes_per_step: float
    kv_layers: tuple[tuple[float, int | None], ...] = ()
    state_bytes: float = 0.0
    static_cache_len: int | None = None

    @property
    def kv_bytes_per_token(self) -> float:
        """Bytes that one more token adds, windows left out."""
        return sum(per_token for per_token, _ in self.kv_layers)

    @property
    def growth_bytes_per_token(self) -> float:
        """Bytes by which a step grows with each token: 0 where the cache is static."""
        if self.static_cache_len is not None:
            return 0.0
        return sum(per_token for per_token, window in self.kv_layers if window is None)

    def step_bytes(self, kv_len: npt.ArrayLike, batch: npt.ArrayLike = 1) -> FloatArray:
        """B for contexts of `kv_len` tokens, float64 of the same shape; `batch` alike sequences."""
        n = np.asarray(kv_len, np.float64)
        if self.static_cache_len is not None:
            n = np.full(n.shape, float(self.static_cache_len))
        total = np.full(n.shape, 2.0 * self.state_bytes)
        for per_token, window in self.kv_layers:
            total += per_token * (n if window is None else np.minimum(n, window))
        return np.asarray(self.weight_bytes_per_step + np.asarray(batch) * total, np.float64)

    def floor_ms(self, n: npt.ArrayLike, gb_s: float, batch: float = 1) -> FloatArray:
        """Shortest possible gap at context length `n` with `gb_s` of bandwidth, ms."""
        return self.step_bytes(n, batch) / (gb_s * GB) * 1e3


def bytes_model_from_facts(footprint: Any) -> tuple[BytesModel | None, str | None]:
    """The bytes model of the run fact "footprint", or None with the reason.

    Needs `weight_bytes_per_step` and `kv_layers` (a list, empty for a model without a cache);
    an absent list is unknown, not nothing. Layers of one window are added up.
    """
    if not isinstance(footprint, dict):
        return None, "the bytes of the model are not known"
    if footprint.get("reason"):
        return None, str(footprint["reason"])
    weights = _number(footprint.get("weight_bytes_per_step"))
    if weights is None or weights <= 0:
        return None, "the bytes of the model are not known"
    told = footprint.get("kv_layers")
    no_cache = str(footprint.get("kv_reason") or "the bytes of the model's cache are not known")
    if not isinstance(told, list):
        return None, no_cache
    layers: dict[int | None, float] = {}
    for layer in told:
        per_token = _number(layer.get("bytes_per_token")) if isinstance(layer, dict) else None
        if per_token is None:
            return None, no_cache
        window = _number(layer.get("window"))
        key = None if window is None else int(window)
        layers[key] = layers.get(key, 0.0) + per_token
    static = _number(footprint.get("static_cache_len"))
    state = _number(footprint.get("state_bytes"))
    grouped = tuple((per_token, window) for window, per_token in layers.items())
    return BytesModel(weights, grouped, state or 0.0, None if static is None else int(static)), None


@dataclass(frozen=True, slots=True)
class Reference:
    """The bandwidth that 100 % means. `gb_s` None: MBU is off, `reason` says why."""

    gb_s: float | None
    source: str | None = None
    advertised_gb_s: float | None = None
    llc_bytes: float | None = None
    reason: str | None = None


def reference_from_facts(fact: Any) -> Reference:
    """The run fact "reference". One far above the advertised peak measured a cache: rejected."""
    if not isinstance(fact, dict):
        return Reference(None, reason="memory bandwidth was not measured")
    gb_s, advertised = _number(fact.get("gb_s")), _number(fact.get("advertised_gb_s"))
    reason = fact.get("reason")
    if gb_s is None or gb_s <= 0:
        gb_s, reason = None, reason or "memory bandwidth was not measured"
    elif advertised is not None and advertised > 0 and gb_s > MAX_OVER_ADVERTISED * advertised:
        reason = (
            f"the measured {gb_s:.0f} GB/s is above the advertised {advertised:.0f} GB/s: it measured a cache"
        )
        gb_s = None
    else:
        reason = None
    source = fact.get("source")
    return Reference(
        gb_s, None if source is None else str(source), advertised, _number(fact.get("llc_bytes")), reason
    )


def step_mbu(
    gaps_ns: npt.ArrayLike,
    kv_lens: IntArray,
    bytes_model: BytesModel,
    bw_gb_s: float,
    batch: npt.ArrayLike = 1,
) -> FloatArray:
    """MBU of each step, a fraction, float64[n]; NaN for a gap of 0 or an unknown length.

    `kv_lens` is the context's length at the end of each gap, `batch` one number or one a gap.
    """
    gaps = np.asarray(gaps_ns, np.float64)
    seconds = np.where((gaps > 0) & (kv_lens >= 0), gaps / NS_PER_S, np.nan)
    return np.asarray(bytes_model.step_bytes(kv_lens, batch) / (seconds * bw_gb_s * GB), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class BandwidthSteps:
    """One request's gaps, the context's length at the end of each, sequences decoded together."""

    gaps_ms: FloatArray
    kv_len: IntArray
    batch: int = 1


def run_mbu(requests: Sequence[BandwidthSteps], footprint: Any, reference_fact: Any) -> dict[str, Any]:
    """The report's `mbu`: None with `reason` where a fact is missing.

    `run` and `p50` are fractions; `floor_ms` is the floor at `floor_kv_len`, the median length
    of the measured steps. Steps of unknown length are left out.
    """
    model, no_model = bytes_model_from_facts(footprint)
    reference = reference_from_facts(reference_fact)
    result: dict[str, Any] = {
        "run": None,
        "p50": None,
        "weight_bytes_per_step": None if model is None else model.weight_bytes_per_step,
        "kv_bytes_per_token": None if model is None else model.kv_bytes_per_token,
        "reference_gb_s": reference.gb_s,
        "reference_source": reference.source,
        "advertised_gb_s": reference.advertised_gb_s,
        "floor_ms": None,
        "floor_kv_len": None,
        "ttft_floor_ms": None,
        "reason": no_model or reference.reason,
    }
    if model is None or reference.gb_s is None:
        return result
    gaps = pooled([item.gaps_ms for item in requests])
    lengths = pooled([item.kv_len for item in requests])
    batches = np.repeat([item.batch for item in requests], [len(item.gaps_ms) for item in requests])
    known = lengths >= 0
    if not known.any() or not gaps[known].any():
        result["reason"] = "no gap was measured"
        if len(gaps):
            result["reason"] = "no time passed between steps" if known.any() else UNKNOWN_LENGTH
        return result
    gaps, lengths, batches = gaps[known], lengths[known], batches[known]
    moved = model.step_bytes(lengths, batches)
    each = step_mbu(gaps * NS_PER_MS, lengths, model, reference.gb_s, batches)
    result["run"] = float(moved.sum() / (gaps.sum() * 1e-3 * reference.gb_s * GB))
    result["p50"] = float(np.median(each[gaps > 0]))
    length = float(np.median(lengths))
    result["floor_kv_len"] = length
    cache = reference.llc_bytes
    if cache is not None and model.weight_bytes_per_step < CACHE_FACTOR * cache:
        result["reason"] = (
            f"the weights ({model.weight_bytes_per_step / MIB:.0f} MiB) fit in the last-level cache "
            f"({cache / MIB:.0f} MiB) or nearly so: memory sets no floor"
        )
    else:
        result["floor_ms"] = float(model.floor_ms(length, reference.gb_s, float(np.median(batches))))
    return result


def slope_factor(slope_us_per_token: float | None, footprint: Any, reference_fact: Any) -> float | None:
    """How many times the ideal KV traffic the slope amounts to: b * BW_ref / c. None: not known."""
    model, _ = bytes_model_from_facts(footprint)
    gb_s = reference_from_facts(reference_fact).gb_s
    if slope_us_per_token is None or model is None or gb_s is None or model.growth_bytes_per_token <= 0:
        return None
    return slope_us_per_token * 1e-6 * gb_s * GB / model.growth_bytes_per_token


def _number(value: Any) -> float | None:
    """A finite number of a JSON fact, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)
