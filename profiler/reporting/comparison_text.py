"""A comparison in words: for a terminal (rich) and as Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from profiler.reporting.outside_text import markdown_escape
from profiler.reporting.run_names import telling_apart
from profiler.telemetry.plain import plain_text
from profiler.units import MINUS, format_number

UNITS = {
    "mbu.run": ("%", 100.0),
    "output_tok_s.p50": ("tok/s", 1.0),
    "energy.joules_per_token": ("J/token", 1.0),
    "trend.slope_us_per_token": ("µs/token", 1.0),
}
"""Unit and factor of a metric; ms elsewhere."""
VERDICTS: dict[str | None, str] = {
    "slower": "slower",
    "faster": "faster",
    "equivalent": "equivalent",
    "no_difference": "no difference",
    "not_comparable": "not comparable",
    None: "no verdict",
}
MARKS: dict[str | None, str] = {
    "slower": "▲",
    "faster": "✓",
    "equivalent": "=",
    "no_difference": "=",
    "not_comparable": "—",
    None: "—",
}
UNDECIDED = (None, "not_comparable")
"""Verdicts that say nothing without their reason."""
SHOWN_DIFFERENCES = 12
MAX_CHARS = 2000


def comparison_text(value: dict[str, Any], letter: str = "B") -> Iterator[RenderableType]:
    """What differs first, then the table, then the notes."""
    a, b = _titles(value)
    yield Text(f"A: {a}")
    yield Text(f"{letter}: {b}")
    yield from _differences(value["environment_differences"], letter)
    yield _table(value["rows"], letter)
    yield from _reasons(value["rows"], letter)
    for note in value["notes"]:
        yield Text(f"• {_plain(note)}")


def _differences(differences: Sequence[dict[str, Any]], letter: str) -> Iterator[RenderableType]:
    if not differences:
        yield Text("What differs: nothing that the manifests hold.")
        return
    important = [item for item in differences if item["important"]]
    yield Text(_count(important, differences))
    table = Table(box=None, pad_edge=False)
    for heading in ("setting", "A", letter):
        table.add_column(heading, overflow="fold")
    for item in (important or differences)[:SHOWN_DIFFERENCES]:
        table.add_row(*(Text(_plain(_value(item[key]))) for key in ("path", "a", "b")))
    yield table


def _table(rows: Sequence[dict[str, Any]], letter: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("metric", "A", letter, f"{letter} / A", "95 % interval", "verdict"):
        left = heading in ("metric", "verdict")
        # On a narrow terminal the interval takes a second line, and nothing is cut off.
        table.add_column(heading, justify="left" if left else "right", no_wrap=heading != "95 % interval")
    for row in rows:
        _, one, two, _, ratio, interval, _ = _cells(row)
        # Names carry their units; only a share is written in per cent.
        metric = f"{row['metric']} (%)" if row["metric"] == "mbu.run" else row["metric"]
        verdict = f"{MARKS[row['verdict']]} {VERDICTS[row['verdict']]}"
        table.add_row(*map(Text, (metric, one, two, ratio, interval, verdict)))
    return table


def _reasons(rows: Sequence[dict[str, Any]], letter: str) -> Iterator[RenderableType]:
    """Why there is no verdict: each reason once, below the table, where there is room for it."""
    found: dict[tuple[str | None, str], list[str]] = {}
    for row in rows:
        if row["verdict"] in UNDECIDED and row["reason"]:
            found.setdefault((row["verdict"], row["reason"]), []).append(row["metric"])
    for (verdict, reason), metrics in found.items():
        which = "all rows" if len(metrics) == len(rows) else ", ".join(metrics)
        words = VERDICTS[verdict]
        yield Text(f"{words[:1].upper()}{words[1:]} ({which}): {_plain(_in_letters(reason, letter))}.")


def comparison_markdown(value: dict[str, Any], letter: str = "B") -> str:
    """For an issue tracker. What came from files is escaped."""
    a, b = map(markdown_escape, _titles(value))
    lines = [f"### {letter} against A", "", f"- A: {a}", f"- {letter}: {b}", ""]
    differences = value["environment_differences"]
    important = [item for item in differences if item["important"]]
    if differences:
        lines += [
            _count(important, differences),
            "",
            f"| setting | A | {letter} |",
            "|---|---|---|",
        ]
        for item in (important or differences)[:SHOWN_DIFFERENCES]:
            cells = (str(item["path"]), _value(item["a"]), _value(item["b"]))
            lines.append("| " + " | ".join(map(markdown_escape, cells)) + " |")
        lines.append("")
    lines += [
        f"| metric | A | {letter} | {letter} − A | {letter} / A | 95 % interval | p | verdict |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in value["rows"]:
        verdict = VERDICTS[row["verdict"]]
        if row["verdict"] is None:
            verdict = f"{MARKS[None]} {verdict}"
        if row["verdict"] in UNDECIDED and row["reason"]:
            verdict += f": {_in_letters(row['reason'], letter)}"
        lines.append("| " + " | ".join(map(markdown_escape, (*_cells(row), verdict))) + " |")
    lines += ["", *(f"- {markdown_escape(note)}" for note in value["notes"]), ""]
    return "\n".join(lines)


def _count(important: Sequence[Any], differences: Sequence[Any]) -> str:
    word = "setting that changes" if len(important) == 1 else "settings that change"
    return f"What differs: {len(important)} {word} speed, {len(differences)} in all"


def _titles(value: dict[str, Any]) -> tuple[str, str]:
    """What each side is called; with date and time where both are called alike."""
    apart = telling_apart(value["a"], value["b"])
    return _title(value["a"], apart[0]), _title(value["b"], apart[1])


def _title(who: dict[str, Any], apart: str) -> str:
    parts = [
        who.get("name") or who.get("model") or "run",
        apart,
        who.get("model"),
        who.get("device"),
        who.get("path"),
    ]
    return _plain(" · ".join(dict.fromkeys(str(part) for part in parts if part)))


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    unit, factor = UNITS.get(row["metric"], ("ms", 1.0))
    shown = [
        "—" if row[key] is None else format_number(row[key] * factor, 4) for key in ("a", "b", "difference")
    ]
    if row["difference"] is not None and row["difference"] > 0:
        shown[2] = f"+{shown[2]}"
    ratio = "—" if row["ratio"] is None else percent(row["ratio"])
    interval = "—" if row["ci95"] is None else _interval(*row["ci95"])
    p_value = "—" if row["p_value"] is None else f"{row['p_value']:.2g}"
    return (f"{row['metric']} ({unit})", *shown, ratio, interval, p_value)


def _interval(low: float, high: float) -> str:
    """0.96 and 1.02 as −4.0 to +2.0 %."""
    return f"{percent(low).removesuffix(' %')} to {percent(high)}"


def percent(ratio: float) -> str:
    """1.004 as +0.4 %."""
    value = 100 * (ratio - 1)
    sign = MINUS if round(value, 1) < 0 else "+"
    return f"{sign}{abs(value):.1f} %"


def _in_letters(reason: str, letter: str) -> str:
    """The engine's second side is always called B."""
    return reason if letter == "B" else re.sub(r"\bB\b", letter, reason)


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"


def _plain(text: str) -> str:
    """Text from a file without what a terminal would carry out."""
    return plain_text(text, MAX_CHARS)
