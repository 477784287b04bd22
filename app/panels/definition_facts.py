"""What a definition card says: the table's row, the numbers of the shown run, other tools' words.

Pure: facts in, texts out. The row is that of `dscope explain`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from PySide6.QtCore import QCoreApplication

from app.other_reports import Reports
from profiler.analysis.bandwidth import bytes_model_from_facts, reference_from_facts
from profiler.analysis.definitions import Definition, find
from profiler.analysis.steps import step_view
from profiler.reporting.other_definitions import TOOLS
from profiler.reporting.other_tools import definitions_elsewhere
from profiler.timeline import Run
from profiler.units import GB, THIN, format_bytes, format_number

METRICS = {
    "ttft": "ttft_ms",
    "itl_p50": "itl_ms",
    "itl_p99": "itl_ms",
    "jitter": "jitter_ms",
    "tpot": "tpot_ms",
    "mbu": "mbu",
    "throughput": "decode_tok_s",
    "energy": "joules_per_token",
}
"""The metric (a key of the report) behind each tile."""
STATISTIC = {"itl_p99": "p99"}
"""What a tile shows of its metric, the median unless told here."""
SHORT_NAMES = {"vllm": "vLLM", "optimum": "Optimum", "llama-bench": "llama-bench"}
NOT_AVAILABLE = "n/a"


@dataclass(frozen=True)
class Tag:
    """One tool: `vLLM 18.9 ms` or `vLLM n/a`, and its definition for the tool tip."""

    text: str
    tip: str
    known: bool


@dataclass(frozen=True)
class CardFacts:
    """One card, as texts. `worked`: the formula with the run's numbers, "" where there are none."""

    title: str
    subtitle: str
    formula: str
    worked: str
    rows: tuple[tuple[str, str], ...]
    tags: tuple[Tag, ...]

    def as_text(self) -> str:
        """The whole card for the clipboard."""
        head = f"{self.title} ({self.subtitle})" if self.subtitle else self.title
        lines = [head, self.formula, *([self.worked] if self.worked else [])]
        lines += [f"{heading}: {text}" for heading, text in self.rows]
        lines += [tag.text if tag.known else f"{tag.text}. {tag.tip}" for tag in self.tags]
        return "\n".join(lines) + "\n"


def definition_of(key: str) -> Definition:
    """The row behind a tile. KeyError for another key."""
    definition = find(METRICS[key])
    if definition is None:
        raise KeyError(key)
    return definition


def card_facts(
    key: str, name: str, run: Run | None, values: dict[str, Any] | None, reports: Reports | None
) -> CardFacts:
    """The card of the tile `key`, called `name`, with the numbers of `run` where there are any.

    `values`: what `run_metrics` says of it. `reports`: by tool, None while the run goes on.
    """
    tr = QCoreApplication.translate
    definition = definition_of(key)
    rows = [
        (tr("Definition", "Unit"), definition.unit or tr("Definition", "none (a share)")),
        (tr("Definition", "Counts"), definition.counts),
        (tr("Definition", "Leaves out"), definition.leaves_out),
        (tr("Definition", "Missing when"), definition.missing_when),
        (tr("Definition", "Source"), definition.source),
    ]
    if key == "mbu":
        rows[0] = (rows[0][0], tr("Definition", "a share, shown in %"))
        source = _reference_words(values)
        if source:
            rows[-1] = (rows[-1][0], f"{definition.source}; {source}")
    return CardFacts(
        name,
        _long_names().get(key, ""),
        f"{name} = {definition.formula}",
        worked_line(key, run, values),
        tuple((heading, text) for heading, text in rows if text not in ("", "-")),
        tuple(tags_of(definition.name, STATISTIC.get(key, "p50"), reports)),
    )


def _long_names() -> dict[str, str]:
    tr = QCoreApplication.translate
    return {
        "ttft": tr("Definition", "time to first token"),
        "itl_p50": tr("Definition", "inter-token latency, median"),
        "itl_p99": tr("Definition", "inter-token latency, 99th percentile"),
        "jitter": tr("Definition", "spread of the gaps"),
        "tpot": tr("Definition", "time per output token"),
        "mbu": tr("Definition", "model bandwidth utilisation"),
        "throughput": tr("Definition", "rate while decoding"),
        "energy": tr("Definition", "energy per output token"),
    }


def _reference_words(values: dict[str, Any] | None) -> str:
    mbu = _part(values, "mbu")
    if mbu.get("reference_gb_s") is None:
        return ""
    text = f"{format_number(mbu['reference_gb_s'])}{THIN}GB/s"
    where = {"measured": QCoreApplication.translate("Definition", "measured here")}
    source = str(mbu.get("reference_source") or "")
    return f"{text} {where.get(source, source)}".strip()


# -- the formula with numbers -------------------------------------------------------------------


def worked_line(key: str, run: Run | None, values: dict[str, Any] | None) -> str:
    """The tile's formula with the numbers of the run in place; "" where one of them is missing."""
    if run is None or values is None:
        return ""
    if key == "mbu":
        return _worked_mbu(run, values)
    if key == "energy":
        return _worked_energy(values)
    if key in ("itl_p50", "itl_p99"):
        return _worked_gaps(key, values)
    if key == "ttft":
        return _worked_ttft(values)
    if key in ("tpot", "throughput"):
        return _worked_decode(key, values)
    return ""


def _rows(values: dict[str, Any], metric: str) -> list[dict[str, Any]]:
    """The measured requests that have this metric and count."""
    return [
        row
        for row in values.get("per_request", [])
        if not row["warmup"] and row["status"] in ("ok", "running") and row[metric] is not None
    ]


def _of_how_many(count: int) -> str:
    tr = QCoreApplication.translate
    return "" if count == 1 else " " + tr("Definition", "(the middle one of {0})").format(count)


def _worked_ttft(values: dict[str, Any]) -> str:
    rows, p50 = _rows(values, "ttft_ms"), _part(values, "ttft_ms").get("p50")
    if not rows or p50 is None:
        return ""
    shown = f"{_number(p50)}{THIN}ms"
    if len(rows) == 1:
        return shown
    each = [_number(row["ttft_ms"]) for row in rows]
    listed = ", ".join(each) if len(each) <= 6 else f"{', '.join(each[:5])}, … ({len(each)})"
    return QCoreApplication.translate("Definition", "median of {0} ms = {1}").format(listed, shown)


def _worked_decode(key: str, values: dict[str, Any]) -> str:
    metric = METRICS[key]
    rows, p50 = _rows(values, metric), _part(values, metric).get("p50")
    rows = [row for row in rows if row["e2e_ms"] is not None and row["ttft_ms"] is not None]
    if not rows or p50 is None:
        return ""
    row = min(rows, key=lambda row: abs(row[metric] - p50))
    if not row["tpot_ms"]:
        return ""
    span_ms = row["e2e_ms"] - row["ttft_ms"]
    after = round(span_ms / row["tpot_ms"])
    value = _number(row[metric])
    if key == "tpot":
        line = f"{_number(span_ms)}{THIN}ms ÷ {after:,} = {value}{THIN}ms"
    else:
        line = f"{after:,} ÷ {_number(span_ms / 1000)}{THIN}s = {value}{THIN}tok/s"
    return line + _of_how_many(len(rows))


def _worked_gaps(key: str, values: dict[str, Any]) -> str:
    dist = _part(values, "itl_ms")
    if not dist.get("n"):
        return ""
    tr = QCoreApplication.translate
    if key == "itl_p50":
        text = tr("Definition", "median of {0} gaps = {1} ms")
        return text.format(f"{dist['n']:,}", _number(dist["p50"]))
    text = tr("Definition", "99 % of {0} gaps are at most {1} ms")
    return text.format(f"{dist['n']:,}", _number(dist["p99"]))


def _worked_energy(values: dict[str, Any]) -> str:
    energy, tokens = _part(values, "energy"), _part(values, "output_tokens").get("total")
    if energy.get("joules") is None or energy.get("joules_per_token") is None or not tokens:
        return ""
    return f"{_number(energy['joules'])}{THIN}J ÷ {tokens:,} = {_number(energy['joules_per_token'])}{THIN}J"


def _worked_mbu(run: Run, values: dict[str, Any]) -> str:
    """Mean bytes of a step over the mean gap: the same ratio as that of the sums."""
    model, _ = bytes_model_from_facts(run.facts.get("footprint"))
    reference = reference_from_facts(run.facts.get("reference"))
    mbu = _part(values, "mbu").get("run")
    if model is None or reference.gb_s is None or mbu is None:
        return ""
    total_bytes, total_ms, steps = 0.0, 0.0, 0
    for request in run.measured:
        if request.batch_id is not None:
            return ""  # the weights are read once for several: no one line says that
        if request.end_status not in (None, "ok"):
            continue
        view = step_view(request)
        known = view.gap_kv_len >= 0
        total_bytes += float(np.sum(model.step_bytes(view.gap_kv_len[known])))
        total_ms += float(np.sum(view.gaps_ms[known]))
        steps += int(np.count_nonzero(known))
    if not steps or total_ms <= 0:
        return ""
    each, gap = format_bytes(total_bytes / steps, binary=False), f"{_number(total_ms / steps)}{THIN}ms"
    result = 100 * total_bytes / (total_ms * 1e-3 * reference.gb_s * GB)
    peak = f"{format_number(reference.gb_s)}{THIN}GB/s"
    return f"{each} ÷ ({gap} × {peak}) = {format_number(result)}{THIN}%"


# -- other tools ---------------------------------------------------------------------------------


def tags_of(metric: str, statistic: str, reports: Reports | None) -> list[Tag]:
    """One tag a tool, those that have such a figure first. Without `reports` they carry no value."""
    tr = QCoreApplication.translate
    figures: dict[str, list[Any]] = {}
    for tool, figure in definitions_elsewhere(metric):
        figures.setdefault(tool.name, []).append(figure)
    tags = []
    for tool in TOOLS.values():
        short = SHORT_NAMES.get(tool.name, tool.label)
        for figure in figures.get(tool.name, []):
            told = _told(reports, tool.name, figure.name)
            words, reason = _value_words(told, statistic, figure.unit)
            # One tool may have two figures that are taken for ours: then each says which it is.
            name = short if len(figures[tool.name]) == 1 else f"{short} {figure.label}"
            differs = figure.differs or tr("Definition", "The same as ours.")
            tip = f"{figure.label}: {figure.formula}. {differs}"
            if reason:
                tip += " " + tr("Definition", "Not available: {0}.").format(reason)
            if reports is None:
                tip += " " + tr("Definition", "The value comes when the run is over.")
            tags.append(Tag(f"{name} {words}".strip(), tip, bool(words) and words != NOT_AVAILABLE))
    none = tr("Definition", "{0} reports no such figure.")
    missing = [tool for tool in TOOLS.values() if tool.name not in figures]
    for tool in missing:
        short = SHORT_NAMES.get(tool.name, tool.label)
        tags.append(Tag(f"{short} {NOT_AVAILABLE}", none.format(tool.label), False))
    return tags


def _told(reports: Reports | None, tool: str, figure: str) -> dict[str, Any] | None:
    told = (reports or {}).get(tool, {}).get("figures", {}).get(figure)
    return told if isinstance(told, dict) else None


def _value_words(told: dict[str, Any] | None, statistic: str, unit: str) -> tuple[str, str]:
    """`18.9 ms`, and why there is none. A tool that shows one number only is shown with that."""
    if told is None:
        return "", ""
    statistics = told["statistics"]
    value = told["value"] if statistics is None else statistics.get(statistic)
    if value is None:
        return NOT_AVAILABLE, str(told["reason"] or "")
    return f"{format_number(value)}{THIN}{unit}", ""


def _part(values: dict[str, Any] | None, name: str) -> dict[str, Any]:
    part = (values or {}).get("metrics", {}).get(name)
    return part if isinstance(part, dict) else {}


def _number(value: float) -> str:
    return format_number(value, 4)
