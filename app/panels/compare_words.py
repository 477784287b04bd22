"""The words of a comparison: metrics, verdicts, settings. The same for screen, Markdown and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QCoreApplication

from profiler.analysis.manifest import MISSING
from profiler.units import DASH, MINUS, format_number

BAND_PCT = 2.0
"""Differences this small are never claimed (MEASUREMENT, section 7)."""
CLIP_PCT = 20.0
"""Relative intervals are drawn up to here."""


def tr(text: str) -> str:
    """Translate, in the context of the page."""
    return QCoreApplication.translate("Compare", text)


@dataclass(frozen=True)
class MetricWords:
    """How a metric is called and written. `factor`: stored value to shown value."""

    name: str
    unit: str
    factor: float = 1.0
    difference_unit: str = ""
    better: str = "faster"
    worse: str = "slower"


def metric_words(metric: str) -> MetricWords:
    """Name, unit and verdict words of a row of the table; the key itself where it is a new one."""
    less, more = tr("lower"), tr("higher")
    faster, slower = tr("faster"), tr("slower")
    known = {
        "ttft_ms.p50": MetricWords("TTFT p50", "ms", better=faster, worse=slower),
        "ttft_ms.p95": MetricWords("TTFT p95", "ms", better=faster, worse=slower),
        "itl_ms.p50": MetricWords("ITL p50", "ms", better=faster, worse=slower),
        "itl_ms.p95": MetricWords("ITL p95", "ms", better=faster, worse=slower),
        "itl_ms.p99": MetricWords("ITL p99", "ms", better=faster, worse=slower),
        "tpot_ms.p50": MetricWords("TPOT p50", "ms", better=faster, worse=slower),
        "e2e_ms.p50": MetricWords("End to end p50", "ms", better=faster, worse=slower),
        "output_tok_s.p50": MetricWords("Throughput p50", "tok/s", better=more, worse=less),
        "mbu.run": MetricWords("MBU", "%", 100.0, tr("points"), better=more, worse=less),
        "jitter.jitter_ms": MetricWords("Jitter (MAD)", "ms", better=less, worse=more),
        "energy.joules_per_token": MetricWords(tr("Energy"), tr("J/token"), better=less, worse=more),
        "trend.slope_us_per_token": MetricWords(tr("ITL slope"), tr("µs/token"), better=less, worse=more),
    }
    return known.get(metric) or MetricWords(metric, "", better=faster, worse=slower)


@dataclass(frozen=True)
class VerdictWords:
    """What a verdict says. `mark`: better, worse, same, equal or none; `role`: palette role;
    `short`: for a narrow column, "" for the same words."""

    text: str
    mark: str
    role: str
    short: str = ""


def verdict_words(row: dict[str, Any]) -> VerdictWords:
    """The word for a row's verdict; for rates "higher" and "lower"."""
    words = metric_words(row["metric"])
    return {
        "faster": VerdictWords(words.better, "better", "ok"),
        "slower": VerdictWords(words.worse, "worse", "bad"),
        "equivalent": VerdictWords(tr("equivalent"), "equal", "secondary"),
        "no_difference": VerdictWords(tr("no difference shown"), "same", "muted", tr("no difference")),
        None: VerdictWords(tr("no verdict"), "none", "muted"),
    }.get(row["verdict"], VerdictWords(tr("not comparable"), "none", "muted"))


def value_words(row: dict[str, Any], side: str) -> str:
    """The value of side "a" or "b", without its unit; a dash where there is none."""
    value = row[side]
    digits = 4 if row["metric"].endswith(".p50") else 3
    return format_number(None if value is None else value * metric_words(row["metric"]).factor, digits)


def difference_words(row: dict[str, Any]) -> str:
    """`−0.61 ms`."""
    words = metric_words(row["metric"])
    if row["difference"] is None:
        return DASH
    unit = words.difference_unit or words.unit
    return f"{plus(row['difference'] * words.factor)} {unit}".rstrip()


def interval_words(row: dict[str, Any]) -> str:
    """`−4.9 to −4.3 %`, of the ratio."""
    if row["ci95"] is None:
        return DASH
    low, high = (percent(bound) for bound in row["ci95"])
    return tr("{0} to {1} %").format(low, high)


def percent(ratio: float) -> str:
    """A ratio as its difference from 1 in per cent, with a sign; one decimal below 10."""
    value = 100 * (ratio - 1)
    if abs(value) < 0.05:
        return "0.0"
    text = f"{abs(value):,.1f}" if abs(value) < 9.95 else f"{abs(value):,.0f}"
    return f"{MINUS if value < 0 else '+'}{text}"


def plus(value: float, digits: int = 2) -> str:
    """A number of `digits` figures with a sign."""
    text = format_number(abs(value), digits)
    return text if text == "0" else f"{MINUS if value < 0 else '+'}{text}"


def row_tip(row: dict[str, Any], a: str, b: str) -> str:
    """p-value, requests and reason of a row, in sentences."""
    parts = []
    words = verdict_words(row)
    parts.append(f"{metric_words(row['metric']).name}: {words.text}.")
    reason = row.get("reason")
    if reason:
        parts.append(sentence(reason_in_letters(str(reason), a, b)))
    if row.get("p_value") is not None:
        value = row["p_value"]
        shown = tr("below 0.001") if value < 0.001 else f"{value:.3f}"
        parts.append(tr("Mann–Whitney p {0}.").format(shown))
    if row.get("n_a") is not None and row.get("n_b") is not None:
        parts.append(tr("{0} requests of {1}, {2} of {3}.").format(row["n_a"], a, row["n_b"], b))
    return " ".join(parts)


def common_reason(rows: Sequence[dict[str, Any]], a: str, b: str) -> str:
    """Why no row can be compared, where one reason is for all of them; else "".

    Rows on which no verdict is ever given say nothing about the others.
    """
    judged = [row for row in rows if row["verdict"] is not None]
    reasons = {str(row.get("reason") or "") for row in judged}
    if len(reasons) != 1 or any(row["verdict"] != "not_comparable" for row in judged):
        return ""
    return sentence(reason_in_letters(reasons.pop(), a, b))


def reason_in_letters(reason: str, a: str, b: str) -> str:
    """The reason as the table's letters have it: the engine's sides are always called A and B."""
    if (a, b) == ("A", "B"):
        return reason
    marks = {"A": f"{a}", "B": f"{b}"}
    return " ".join(
        marks.get(word.rstrip(":;,."), word.rstrip(":;,.")) + word[len(word.rstrip(":;,.")) :]
        for word in reason.split(" ")
    )


def sentence(text: str) -> str:
    """A phrase with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


# -- settings ------------------------------------------------------------------------------

_SETTINGS = {
    "power_limit_w": "Power cap (W)",
    "power_cap_pct_of_default": "Power cap (% of default)",
    "driver": "GPU driver",
    "torch": "torch",
    "torch_cuda": "CUDA of torch",
    "transformers": "transformers",
    "dtype": "Precision",
    "device": "Device",
    "device_name": "Device name",
    "threads": "Threads",
    "interop_threads": "Threads between operations",
    "governor": "CPU governor",
    "boost": "CPU boost",
    "attn": "Attention",
    "cache": "KV cache",
    "model": "Model",
    "usable_cpus": "Usable CPUs",
    "cpu_capability": "CPU instructions",
    "prompt_tokens": "Prompt tokens",
    "prompt": "Prompt",
    "output_tokens": "Output tokens",
    "temperature": "Sampling temperature",
    "ignore_eos": "Ignore end of text",
    "sample_hz": "Telemetry (Hz)",
    "gc": "Garbage collection",
    "repeats": "Repeats",
    "warmup": "Warm-ups",
    "seed": "Seed",
}
_ONE_KNOB = {
    "power_cap_pct_of_default": "power_limit_w",
    "torch_cuda": "torch",
    "device_name": "device",
}
"""Settings that cannot differ without the other: counted as one."""
_LEFT_OUT = ("environment", "config", "facts", "hardware", "software", "packages", "limits")
_SHORT = {"gpus": "GPU", "cpu": "CPU", "numa_nodes": "NUMA"}
POWER = ("power_limit_w", "power_cap_pct_of_default")


def last_part(path: str) -> str:
    """`torch` of `environment.software.torch`."""
    return path.rpartition(".")[2]


def setting_name(path: str) -> str:
    """What a setting is called on the screen: its last two parts where it has no name of ours."""
    last = last_part(path)
    if path.endswith("cpu.model"):
        return tr("Processor")
    if last in _SETTINGS:
        return tr(_SETTINGS[last])
    parts = [part for part in path.split(".") if part not in _LEFT_OUT and not part.isdigit()]
    words = " ".join(_SHORT.get(part, part.replace("_", " ")) for part in parts[-2:])
    return f"{words[:1].upper()}{words[1:]}"


def setting_value(value: Any) -> str:
    """A setting's value in plain words."""
    if value is None or value == MISSING:
        return DASH
    if isinstance(value, bool):
        return tr("on") if value else tr("off")
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return ", ".join(setting_value(item) for item in value)
    return str(value)


def knobs(differences: Sequence[dict[str, Any]]) -> list[str]:
    """Which settings that change speed really differ, one name for what goes together."""
    found: list[str] = []
    for item in differences:
        if item["important"]:
            last = last_part(item["path"])
            last = _ONE_KNOB.get(last, last)
            if last not in found:
                found.append(last)
    return [tr(_SETTINGS.get(name, name.replace("_", " "))) for name in found]


def in_sentence(names: Sequence[str]) -> str:
    """`precision, torch and KV cache`."""
    names = [name if name[:2].isupper() else name[:1].lower() + name[1:] for name in names]
    if len(names) < 2:
        return "".join(names)
    return tr("{0} and {1}").format(", ".join(names[:-1]), names[-1])


def confounded(a: str, b: str, differences: Sequence[dict[str, Any]]) -> str:
    """The warning that more than one setting changed; "" where that is not so."""
    names = knobs(differences)
    if len(names) < 2:
        return ""
    shown = in_sentence(names if len(names) <= 4 else [*names[:3], tr("{0} more").format(len(names) - 3)])
    return tr(
        "{0} and {1} differ in {2} settings ({3}). The difference cannot be put down to one of them. "
        "Run a session that changes only one."
    ).format(a, b, len(names), shown)


def power_warning(a: str, b: str, differences: Sequence[dict[str, Any]]) -> str:
    """The sentence about another power cap; "" where it is the same."""
    for wanted, unit in zip(POWER, ("W", tr("% of the default")), strict=True):
        for item in differences:
            if last_part(item["path"]) == wanted:
                return tr(
                    "Other power caps: {0} ran at {1} {2}, {3} at {4} {2}. A difference may come from that alone."
                ).format(a, setting_value(item["a"]), unit, b, setting_value(item["b"]))
    return ""
