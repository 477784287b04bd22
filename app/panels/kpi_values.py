"""The eight key figures, from the metrics object of MEASUREMENT.md section 9.

Pure: metrics in, texts out. Live and final come from the same function
(`profiler.analysis.run.run_metrics`), and the report from the same again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QCoreApplication

from app.panels.kpi_targets import range_judged, with_target
from profiler.units import DASH, THIN, format_number

KEYS = ("ttft", "itl_p50", "itl_p99", "jitter", "tpot", "mbu", "throughput", "energy")


@dataclass(frozen=True)
class Kpi:
    """One tile: `value` is the metric as the report has it (its unit), None when missing."""

    key: str
    value: float | None
    text: str
    unit: str
    foot: str = ""
    tip: str = ""
    mark: str = "none"
    short_foot: str = ""
    """The foot line where the whole one does not fit."""
    verdict: str = ""
    """What the mark means, in words: `meets its target`."""


def kpi_names() -> dict[str, str]:
    """The tiles' names, in order."""
    tr = QCoreApplication.translate
    return {
        "ttft": tr("Kpi", "TTFT"),
        "itl_p50": tr("Kpi", "ITL p50"),
        "itl_p99": tr("Kpi", "ITL p99"),
        "jitter": tr("Kpi", "Jitter (MAD)"),
        "tpot": tr("Kpi", "TPOT"),
        "mbu": tr("Kpi", "MBU"),
        "throughput": tr("Kpi", "Throughput"),
        "energy": tr("Kpi", "Energy/token"),
    }


def short_names() -> dict[str, str]:
    """Names for narrow tiles, where they differ."""
    tr = QCoreApplication.translate
    return {
        "jitter": tr("Kpi", "Jitter"),
        "throughput": tr("Kpi", "Tokens/s"),
        "energy": tr("Kpi", "Energy"),
    }


def kpi_values(metrics: dict[str, Any] | None, judged: dict[str, Any] | None = None) -> dict[str, Kpi]:
    """The tiles by key; every one is missing when `metrics` is None.

    `judged`: what `profiler.analysis.targets.targets_report` says of the same run.
    """
    m = metrics or {}
    tiles = (
        _ttft(_part(m, "ttft_ms")),
        _itl_p50(_part(m, "itl_ms")),
        _itl_p99(_part(m, "itl_ms")),
        _jitter(_part(m, "jitter"), _part(m, "fluctuation")),
        _tpot(_part(m, "tpot_ms")),
        _mbu(_part(m, "mbu")),
        _throughput(_part(m, "decode_tok_s"), _part(m, "output_tok_s")),
        _energy(_part(m, "energy")),
    )
    return {tile.key: with_target(tile, judged) for tile in tiles}


OF_A_RANGE = ("itl_p50", "itl_p99", "jitter", "tpot", "mbu", "throughput")
"""Tiles that can speak of a range of tokens; the first token and the energy are of the whole run."""


def kpi_values_of_range(
    whole: dict[str, Kpi], metrics: dict[str, Any], judged: dict[str, Any] | None
) -> dict[str, Kpi]:
    """The tiles of a range of tokens (`metrics`), with the whole run's value in the foot line.

    A target's mark then is about the range; its share of requests stays with the whole run.
    """
    ranged = kpi_values(metrics, range_judged(judged, metrics))
    return {
        key: _with_whole(ranged[key], kpi) if key in OF_A_RANGE else _of_whole(kpi)
        for key, kpi in whole.items()
    }


def _with_whole(ranged: Kpi, whole: Kpi) -> Kpi:
    tr = QCoreApplication.translate
    text = whole.text if whole.unit == ranged.unit or whole.text == DASH else shown(whole)
    return replace(
        ranged,
        foot=tr("Kpi", "whole run {0}").format(text),
        short_foot=tr("Kpi", "run {0}").format(text),
    )


def _of_whole(kpi: Kpi) -> Kpi:
    if kpi.text == DASH:
        return kpi
    return replace(kpi, foot=QCoreApplication.translate("Kpi", "whole run"), short_foot="")


def _part(metrics: dict[str, Any], name: str) -> dict[str, Any]:
    value = metrics.get(name)
    return value if isinstance(value, dict) else {}


def _missing(key: str, reason: str) -> Kpi:
    return Kpi(key, None, DASH, "", QCoreApplication.translate("Kpi", "not available"), reason)


def _sentence(reason: str) -> str:
    """A reason of the analysis (a clause) as a sentence."""
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}."


def _repeats(dist: dict[str, Any]) -> str:
    n, std = dist.get("n") or 0, dist.get("std")
    tr = QCoreApplication.translate
    if std is None:
        return tr("Kpi", "1 repeat") if n == 1 else tr("Kpi", "{0} repeats").format(n)
    return f"± {format_number(std, 2)}, n = {n}"


def _ttft(dist: dict[str, Any]) -> Kpi:
    tr = QCoreApplication.translate
    value = dist.get("p50")
    if value is None:
        return _missing("ttft", tr("Kpi", "No measured request has produced a token yet."))
    tip = tr("Kpi", "Time from handing over the prompt to the first token, median over the repeats.")
    return Kpi("ttft", value, *_ms(value, 3), _repeats(dist), tip)


def _itl_p50(dist: dict[str, Any]) -> Kpi:
    tr = QCoreApplication.translate
    value = dist.get("p50")
    if value is None:
        return _missing("itl_p50", tr("Kpi", "A gap needs two tokens of a measured request."))
    foot = f"p95 {format_number(dist.get('p95'), 3)}"
    tip = tr("Kpi", "Time from one token to the next, median over all gaps of all repeats.")
    return Kpi("itl_p50", value, *_ms(value, 4), foot, tip)


def _itl_p99(dist: dict[str, Any]) -> Kpi:
    tr = QCoreApplication.translate
    value = dist.get("p99")
    if value is None:
        return _missing("itl_p99", tr("Kpi", "A gap needs two tokens of a measured request."))
    n = dist.get("n") or 0
    tip, short_foot = tr("Kpi", "One gap in a hundred is longer."), ""
    if dist.get("low_n"):
        tip = tr("Kpi", "Fewer than 100 gaps: this is no more than the largest few.")
        foot = tr("Kpi", "only {0} gaps").format(n)
    else:
        longest = format_number(dist.get("max"), 3)
        foot, short_foot = tr("Kpi", "longest {0}").format(longest), tr("Kpi", "max {0}").format(longest)
    return Kpi("itl_p99", value, *_ms(value, 3), foot, tip, short_foot=short_foot)


def _jitter(jitter: dict[str, Any], fluctuation: dict[str, Any]) -> Kpi:
    tr = QCoreApplication.translate
    value = jitter.get("jitter_ms")
    if value is None:
        reason = jitter.get("reason") or tr("Kpi", "Jitter needs several gaps of a measured request.")
        return _missing("jitter", _sentence(str(reason)))
    share = fluctuation.get("p50")
    foot = "" if share is None else tr("Kpi", "fluct. {0} %").format(format_number(100 * share, 2))
    tip = tr(
        "Kpi",
        "Spread of the gaps after the growth with length is taken out: 1.4826 times the median "
        "absolute deviation.",
    )
    if 0 < value < 0.1:
        return Kpi("jitter", value, format_number(1000 * value, 2), "µs", foot, tip)
    return Kpi("jitter", value, format_number(value, 2 if value < 1 else 3), "ms", foot, tip)


def _tpot(dist: dict[str, Any]) -> Kpi:
    tr = QCoreApplication.translate
    value = dist.get("p50")
    if value is None:
        return _missing("tpot", tr("Kpi", "Time per output token needs an answer of two tokens or more."))
    tip = tr("Kpi", "From the first to the last token, divided by the tokens after the first; median.")
    return Kpi("tpot", value, *_ms(value, 4), _repeats(dist), tip)


def _mbu(mbu: dict[str, Any]) -> Kpi:
    tr = QCoreApplication.translate
    value = mbu.get("run")
    if value is None:
        reason = mbu.get("reason") or tr("Kpi", "The memory's speed was not measured.")
        return _missing("mbu", _sentence(str(reason)))
    reference = mbu.get("reference_gb_s")
    foot = short_foot = ""
    if reference is not None:
        used, whole = format_number(value * reference, 2), format_number(reference, 2)
        foot = tr("Kpi", "{0} of {1} GB/s").format(used, whole)
        short_foot = tr("Kpi", "of {0} GB/s").format(whole)
    tip = tr(
        "Kpi",
        "Bytes that a token must read (weights and cache) against what the memory can deliver in that time.",
    )
    mark = "none"
    if value > 1:
        mark, foot, short_foot = "warning", tr("Kpi", "above 100 %"), ""
        tip += " " + tr(
            "Kpi",
            "Above 100 %: caches serve part of the bytes, or the memory was measured too slow.",
        )
    return Kpi("mbu", value, format_number(100 * value, 3), "%", foot, tip, mark, short_foot)


def _throughput(decode: dict[str, Any], whole: dict[str, Any]) -> Kpi:
    tr = QCoreApplication.translate
    value = decode.get("p50")
    if value is None:
        return _missing("throughput", tr("Kpi", "Throughput needs an answer of two tokens or more."))
    all_of_it = whole.get("p50")
    foot = short_foot = ""
    if all_of_it is not None:
        number = format_number(all_of_it, 3)
        foot, short_foot = tr("Kpi", "with TTFT {0}").format(number), tr("Kpi", "w/ TTFT {0}").format(number)
    tip = tr(
        "Kpi", "Tokens a second while decoding, median over the repeats. With TTFT: of the whole request."
    )
    return Kpi("throughput", value, format_number(value, 3), "tok/s", foot, tip, short_foot=short_foot)


def _energy(energy: dict[str, Any]) -> Kpi:
    tr = QCoreApplication.translate
    value = energy.get("joules_per_token")
    if value is None:
        reason = energy.get("reason") or tr("Kpi", "No energy counter or power reading is available here.")
        return _missing("energy", _sentence(str(reason)))
    text, unit = (format_number(value, 3), "J") if value >= 1 else (format_number(1000 * value, 3), "mJ")
    tip = tr("Kpi", "Energy of the measured requests divided by their tokens.")
    source = str(energy.get("source") or "")
    if source:
        tip += " " + tr("Kpi", "Source: {0}.").format(source)
    if "processor" in source:
        foot, short_foot = tr("Kpi", "CPU package only"), tr("Kpi", "CPU only")
    else:
        foot, short_foot = tr("Kpi", "GPU board only"), tr("Kpi", "GPU only")
    return Kpi("energy", value, text, unit, foot, tip, short_foot=short_foot)


def _ms(value: float, digits: int) -> tuple[str, str]:
    return format_number(value, digits), "ms"


def shown(tile: Kpi) -> str:
    """Value and unit as one reads them: `20.9 ms`."""
    return f"{tile.text}{THIN}{tile.unit}" if tile.unit else tile.text
