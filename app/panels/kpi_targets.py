"""What the tiles say about targets: the foot line, the mark and its words.

Pure: a tile and what `profiler.analysis.targets` found in, the tile with its verdict out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication

from profiler.analysis.targets import Targets, judge
from profiler.units import DASH, THIN, format_number

if TYPE_CHECKING:
    from app.panels.kpi_values import Kpi

NO_BREAK = "\u202f"
"""A thin space at which a line never breaks."""
SECONDS_FROM_MS = 10_000
"""Limits from here on are told in seconds."""
TILE_OF = {"ttft_ms": "ttft", "itl_p99_ms": "itl_p99", "fluctuation": "jitter", "e2e_ms": "throughput"}
"""The tile that shows a target: fluctuation with the jitter, the whole answer with the throughput."""


@dataclass(frozen=True)
class Verdict:
    """Words about one target: `foot` for the tile (`short_foot` for a narrow one), `words` for
    screen readers, `sentence` for the tip."""

    mark: str
    foot: str
    short_foot: str
    words: str
    sentence: str


def with_target(tile: Kpi, judged: dict[str, Any] | None) -> Kpi:
    """The tile with its target's foot, mark and words; as it was where none is set."""
    name = next((name for name, key in TILE_OF.items() if key == tile.key), None)
    rows = (judged or {}).get("metrics") or {}
    row = rows.get(name) if name is not None else None
    if name is None or not row or row["target"] is None or tile.text == DASH:
        return tile
    verdict = verdict_of(name, row)
    tip = f"{verdict.sentence} {tile.tip}{all_targets((judged or {}).get('goodput'))}"
    # A mark that says something is wrong with the number itself stays.
    mark = verdict.mark if tile.mark == "none" else tile.mark
    return replace(
        tile, foot=verdict.foot, short_foot=verdict.short_foot, mark=mark, verdict=verdict.words, tip=tip
    )


def verdict_of(name: str, row: dict[str, Any]) -> Verdict:
    """The words for one entry of `targets.judge` whose target is set."""
    tr = QCoreApplication.translate
    limit = limit_text(name, row["target"])
    value = None if row["value"] is None else limit_text(name, row["value"])
    met, of = row["met"], row["of"]
    foot, short = tr("Targets", "target ≤ {0}").format(limit), f"≤ {limit}"
    if name == "fluctuation" and value is not None:
        foot = tr("Targets", "fluct. {0} ≤ {1}").format(value, limit)
        number = format_number(100 * row["value"], 2)
        short = tr("Targets", "fluct. {0} ≤ {1}").format(number, limit)
        if row["value"] >= 1:
            # Three figures leave no room for the word; the tip has it.
            short = f"{number} ≤ {limit}"
    elif name == "e2e_ms" and value is not None:
        short = f"{format_number(row['value'] / 1000, 3)} ≤ {limit}"
        foot = tr("Targets", "answer {0}").format(short)
    elif 0 < met < of:
        foot, short = tr("Targets", "{0} of {1} ≤ {2}").format(met, of, limit), f"{met}/{of} ≤ {limit}"
    share = _requests(met, of) if of else ""
    if row["pass"] is None:
        why = str(row["reason"] or "")
        words = tr("Targets", "not judged: {0}").format(why)
        return Verdict("none", foot, short, words, tr("Targets", "Target {0}, {1}.").format(limit, words))
    if row["pass"]:
        mark, words = "ok", tr("Targets", "meets its target")
        sentence = tr("Targets", "Meets its target of {0}").format(limit)
    else:
        mark, words = "bad", tr("Targets", "misses its target")
        sentence = tr("Targets", "Misses its target of {0}").format(limit)
    if share:
        words += f": {share}"
        sentence += ": " + tr("Targets", "{0} meet it").format(share)
    return Verdict(mark, foot, short, words, sentence + ".")


def range_judged(judged: dict[str, Any] | None, metrics: dict[str, Any]) -> dict[str, Any] | None:
    """The same targets held against a range of tokens: gaps only, and no requests to count."""
    rows = (judged or {}).get("metrics") or {}
    limits = {name: (rows.get(name) or {}).get("target") for name in ("fluctuation", "itl_p99_ms")}
    if not any(limits.values()):
        return None
    return {"metrics": judge([], metrics, Targets(None, limits["fluctuation"], limits["itl_p99_ms"], None))}


def all_targets(good: dict[str, Any] | None) -> str:
    """A sentence about goodput, with a space before it; "" where there is nothing to say."""
    if not good or good.get("share") is None:
        return ""
    return " " + goodput_words(good)


def goodput_words(good: dict[str, Any]) -> str:
    """`3 of 5 requests meet all targets (goodput 60 %).` of a goodput whose share is known."""
    text = QCoreApplication.translate("Targets", "{0} meet all targets (goodput {1}{2}%).")
    return text.format(_requests(good["met"], good["of"]), _short(100 * good["share"]), NO_BREAK)


def _requests(met: int, of: int) -> str:
    tr = QCoreApplication.translate
    text = tr("Targets", "{0} of 1 request") if of == 1 else tr("Targets", "{0} of {1} requests")
    return text.format(met, of)


def limit_text(name: str, value: float) -> str:
    """A value in the unit that targets are told in: `500 ms`, `2 s` of an answer, `20 %`, `12 s`."""
    if name == "fluctuation":
        return f"{_short(100 * value)}{THIN}%"
    if name == "e2e_ms" or value >= SECONDS_FROM_MS:
        return f"{_short(value / 1000)}{THIN}s"
    return f"{_short(value)}{THIN}ms"


def _short(value: float) -> str:
    """Three figures without the zeroes behind the point: a limit is a round number."""
    text = format_number(value, 3)
    return text.rstrip("0").rstrip(".") if "." in text else text
