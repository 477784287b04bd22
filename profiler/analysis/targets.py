"""Targets (service level objectives) and goodput: did the run, and each request, meet them?

Pure functions of what `run_metrics` returns: `per_request` rows and `metrics`. The value that
is held against a target is the run's (TTFT and e2e p50, fluctuation p50, pooled ITL p99); the
share is that of the finished requests which meet it by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from profiler.errors import UsageError

NAMES = ("ttft_ms", "fluctuation", "itl_p99_ms", "e2e_ms")
FINISHED = ("ok", "failed")
"""A request that was stopped, cut off or has a wrong clock says nothing about a target."""
OFF_WORDS = ("", "off", "none", "null")
NOT_SET = "no target is set"
_VALUE_OF = {
    "ttft_ms": ("ttft_ms", "p50"),
    "fluctuation": ("fluctuation", "p50"),
    "itl_p99_ms": ("itl_ms", "p99"),
    "e2e_ms": ("e2e_ms", "p50"),
}
"""The figure of the run that each target is held against: distribution and percentile."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Upper limits, met when the value is not above; None is off.

    Times in ms; `fluctuation` is a fraction, (p95 - p50) / p50 of a request's gaps: above
    0.20 a reader sees the text stutter.
    """

    ttft_ms: float | None = 500.0
    fluctuation: float | None = 0.20
    itl_p99_ms: float | None = None
    e2e_ms: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not _is_limit(value):
                raise UsageError(
                    f"target {field.name}: {value!r} cannot work; give a number above 0, or off.",
                    field=field.name,
                )

    def to_json(self) -> dict[str, float | None]:
        """The four limits by name."""
        return {name: getattr(self, name) for name in NAMES}

    @classmethod
    def from_json(cls, value: Any) -> Targets:
        """What `to_json` gave; a name that is absent keeps its default. UsageError on anything else."""
        if not isinstance(value, Mapping):
            raise UsageError("targets: need one JSON object, as {'ttft_ms': 500}.")
        _check_names(value)
        return cls(**dict(value))


def _is_limit(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and value > 0


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if name not in NAMES:
            raise UsageError(f"target {name}: no such target; there are {', '.join(NAMES)}.")


def parse_targets(given: Sequence[str], base: Targets | None = None) -> Targets:
    """Targets from words like `ttft_ms=300`, `fluctuation=15%`, `ttft_ms=off`, laid over `base`
    (the defaults). UsageError with one sentence."""
    values: dict[str, float | None] = {}
    for word in given:
        name, sign, text = (part.strip() for part in word.partition("="))
        if not sign:
            raise UsageError(f"target {word!r}: write it as NAME=VALUE, for example ttft_ms=500.")
        _check_names([name])
        values[name] = _limit(name, text)
    return replace(Targets() if base is None else base, **values)


def _limit(name: str, text: str) -> float | None:
    if text.lower() in OFF_WORDS:
        return None
    percent = text.endswith("%") and name == "fluctuation"
    try:
        value = float(text[:-1] if percent else text)
    except ValueError:
        raise UsageError(f"target {name}: {text!r} is no number; give one above 0, or off.") from None
    return value / 100 if percent else value


def judge(
    per_request: Sequence[Mapping[str, Any]], metrics: Mapping[str, Any], targets: Targets
) -> dict[str, dict[str, Any]]:
    """By target: `target, value, pass, met, of, share, reason`.

    `pass`: is the run's value within the limit; None without a value or a target, `reason` says
    why. `met` of `of` finished, measured requests meet the limit by themselves, `share` is
    their ratio (0..1, None when `of` is 0). A failed request does not meet it; an ok one without
    the value (one token has no fluctuation) is in neither number.
    """
    rows = _finished(per_request)
    result: dict[str, dict[str, Any]] = {}
    for name in NAMES:
        target, value = getattr(targets, name), _run_value(metrics, name)
        verdict = None if target is None or value is None else value <= target
        reason = NOT_SET if target is None else _why_missing(metrics, name) if value is None else None
        answers = [] if target is None else [_meets(row, name, target) for row in rows]
        known = [answer for answer in answers if answer is not None]
        result[name] = {
            "target": target,
            "value": value,
            "pass": verdict,
            "met": sum(known),
            "of": len(known),
            "share": sum(known) / len(known) if known else None,
            "reason": reason,
        }
    return result


def goodput(
    per_request: Sequence[Mapping[str, Any]], metrics: Mapping[str, Any], targets: Targets
) -> dict[str, Any]:
    """`share, met, of, undecided, requests_per_s, reason`: the requests that meet all set targets.

    Counted are finished, measured requests; a failed one does not meet them. One that misses
    no target but lacks the value for some of them is `undecided` and in neither number.
    `requests_per_s`: met requests over the run's wall time (first t0 to last token), None with
    the reason where that is unknown.
    """
    set_targets = {name: limit for name, limit in targets.to_json().items() if limit is not None}
    empty = {"share": None, "met": 0, "of": 0, "undecided": 0, "requests_per_s": None}
    if not set_targets:
        return {**empty, "reason": NOT_SET}
    rows = _finished(per_request)
    answers = [_meets_all(row, set_targets) for row in rows]
    met = sum(answer is True for answer in answers)
    undecided = sum(answer is None for answer in answers)
    of = len(answers) - undecided
    if of == 0:
        why = "no request has finished" if not rows else "the requests lack the values to judge them by"
        return {**empty, "undecided": undecided, "reason": why}
    rate = _rate(rows, met, metrics)
    reason = None if rate is not None else "the wall time of the finished requests is unknown"
    return {
        "share": met / of,
        "met": met,
        "of": of,
        "undecided": undecided,
        "requests_per_s": rate,
        "reason": reason,
    }


def targets_report(
    per_request: Sequence[Mapping[str, Any]], metrics: Mapping[str, Any], targets: Targets
) -> dict[str, Any]:
    """The report's `targets` of a run: `metrics` by target as `judge` has it, and `goodput`."""
    return {
        "metrics": judge(per_request, metrics, targets),
        "goodput": goodput(per_request, metrics, targets),
    }


def _finished(per_request: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in per_request if not row["warmup"] and row["status"] in FINISHED]


def _run_value(metrics: Mapping[str, Any], name: str) -> float | None:
    group, percentile = _VALUE_OF[name]
    found = metrics.get(group)
    value = found.get(percentile) if isinstance(found, Mapping) else None
    return float(value) if isinstance(value, (int, float)) else None


def _why_missing(metrics: Mapping[str, Any], name: str) -> str:
    reasons = metrics.get("reasons")
    told = reasons.get(_VALUE_OF[name][0]) if isinstance(reasons, Mapping) else None
    return str(told or "no request counts")


def _request_value(row: Mapping[str, Any], name: str) -> float | None:
    value = row.get(name)
    return float(value) if isinstance(value, (int, float)) else None


def _meets(row: Mapping[str, Any], name: str, limit: float) -> bool | None:
    if row["status"] != "ok":
        return False
    value = _request_value(row, name)
    return None if value is None else value <= limit


def _meets_all(row: Mapping[str, Any], limits: Mapping[str, float]) -> bool | None:
    answers = [_meets(row, name, limit) for name, limit in limits.items()]
    if False in answers:
        return False
    return None if None in answers else True


def _rate(rows: Sequence[Mapping[str, Any]], met: int, metrics: Mapping[str, Any]) -> float | None:
    """`requests_per_s` counts the ok requests over the same wall time: met a second is its share."""
    ok = sum(row["status"] == "ok" for row in rows)
    rate = metrics.get("requests_per_s")
    return rate * met / ok if isinstance(rate, float) and ok else None
