"""A comparison as text for other programs: Markdown, CSV, JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.panels.compare_words import (
    difference_words,
    interval_words,
    metric_words,
    reason_in_letters,
    setting_name,
    setting_value,
    tr,
    value_words,
    verdict_words,
)
from profiler.reporting.outside_text import markdown_escape

COLUMNS = ("metric", "a", "b", "difference", "ratio", "ci95_low", "ci95_high", "p_value", "verdict", "reason")


@dataclass(frozen=True)
class PairReport:
    """One pair: letters, names, and what `compare_runs` said."""

    a: str
    b: str
    name_a: str
    name_b: str
    values: dict[str, Any]


def as_markdown(pairs: Sequence[PairReport], foot: str) -> str:
    """Tables for an issue tracker, one a pair."""
    lines: list[str] = []
    for pair in pairs:
        lines += [
            f"**{markdown_escape(pair.b)} ({markdown_escape(pair.name_b)}) against {markdown_escape(pair.a)} ({markdown_escape(pair.name_a)})**",
            "",
        ]
        head = (tr("Metric"), pair.a, pair.b, f"{pair.b} − {pair.a}", "95 % CI", tr("Verdict"))
        lines += ["| " + " | ".join(head) + " |", "|---|---:|---:|---:|---:|---|"]
        for row in pair.values["rows"]:
            words = metric_words(row["metric"])
            cells = (
                f"{words.name} ({words.unit})" if words.unit else words.name,
                value_words(row, "a"),
                value_words(row, "b"),
                difference_words(row),
                interval_words(row),
                verdict_cell(row, pair.a, pair.b),
            )
            lines.append("| " + " | ".join(markdown_escape(cell) for cell in cells) + " |")
        differences = [item for item in pair.values["environment_differences"] if item["important"]]
        if differences:
            lines += ["", tr("What differs:")]
            for item in differences:
                a, b = setting_value(item["a"]), setting_value(item["b"])
                lines.append(
                    f"- {markdown_escape(setting_name(item['path']))}: {markdown_escape(a)} → {markdown_escape(b)}"
                )
        lines.append("")
    lines.append(markdown_escape(foot))
    return "\n".join(lines) + "\n"


def verdict_cell(row: dict[str, Any], a: str, b: str) -> str:
    """The verdict; where there is none, with its reason, since a report has no tool tips."""
    text = verdict_words(row).text
    if row["verdict"] not in (None, "not_comparable") or not row.get("reason"):
        return text
    return f"{text}: {reason_in_letters(str(row['reason']), a, b)}"


def as_csv(pairs: Sequence[PairReport]) -> str:
    """One line a metric and pair, numbers in full. Cells that a spreadsheet would run are quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("baseline", "session", "baseline_name", "session_name", *COLUMNS))
    for pair in pairs:
        for row in pair.values["rows"]:
            low, high = row["ci95"] or (None, None)
            values = {**row, "ci95_low": low, "ci95_high": high}
            cells = [pair.a, pair.b, pair.name_a, pair.name_b, *(values.get(name) for name in COLUMNS)]
            writer.writerow([_cell(value) for value in cells])
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return "" if value is None else value


def as_json(pairs: Sequence[PairReport]) -> str:
    """What `dscope compare --json` prints, one object a pair, with letters and names."""
    value = [
        {"a": pair.a, "b": pair.b, "name_a": pair.name_a, "name_b": pair.name_b, **pair.values}
        for pair in pairs
    ]
    return json.dumps({"pairs": value}, allow_nan=False, indent=2, ensure_ascii=False) + "\n"
