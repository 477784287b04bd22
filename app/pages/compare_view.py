"""From the state of a comparison to what its charts and panels take: pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from PySide6.QtCore import QCoreApplication

from app.charts.compare_style import DistributionSeries, LineSeries, QuantileSeries
from app.charts.first_token import FirstTokenBar
from app.pages.compare_data import MIN_REQUESTS, Curve
from app.pages.compare_state import CompareState, Member
from app.panels.compare_cards import CardFacts
from app.panels.compare_export import PairReport
from app.panels.compare_settings import SettingRow
from app.panels.compare_words import POWER, last_part
from profiler.analysis.manifest import MISSING
from profiler.reporting.run_names import telling_apart


def tr(text: str) -> str:
    """Translate, in the context of the page."""
    return QCoreApplication.translate("Compare", text)


def card_facts(state: CompareState, member: Member) -> CardFacts:
    """What a session's card shows."""
    loaded = member.loaded
    runs = () if loaded is None else tuple((run.no, loaded.run_label(run.no)) for run in loaded.runs)
    floor = state.floor if state.floor is not None and member.letter in state.floor else None
    ready = [other.letter for other in state.ready if other is not member]
    return CardFacts(
        member.letter,
        session_name(member),
        "" if loaded is None else detail_words(member),
        member.letter == state.baseline,
        runs,
        member.run_no,
        problem(member),
        member.curves is None and not member.problem,
        "" if floor is None else ", ".join(floor),
        "".join(other for other in ready if floor is None or other not in floor) if member.ready else "",
    )


def problem(member: Member) -> str:
    """What stands in the way of this session, as a sentence; "" for nothing."""
    if member.problem:
        return member.problem
    curves = member.curves
    if curves is not None and curves.requests < MIN_REQUESTS:
        return tr("{0} answered requests: a verdict needs {1}.").format(curves.requests, MIN_REQUESTS)
    return ""


def session_name(member: Member) -> str:
    """The session's name, with the run's where the file has several."""
    loaded, run = member.loaded, member.run
    if loaded is None or run is None:
        return member.path.stem
    name = loaded.name or member.path.stem
    if len(loaded.runs) > 1:
        return tr("{0} · run {1}").format(name, loaded.run_label(run.no))
    return name


def detail_words(member: Member) -> str:
    """`SmolLM2 · L4 · 24 Nov, 14:32`."""
    run, loaded = member.run, member.loaded
    if run is None or loaded is None:
        return ""
    facts = run.facts.get("model")
    told = facts if isinstance(facts, dict) else {}
    device = str(told.get("device_name") or "") or _device(run.environment, str(told.get("device") or ""))
    partial = tr("partial ({0})").format(run.status) if run.status != "finished" else ""
    parts = [run.model, device, _date(loaded.created), partial]
    return " · ".join(part for part in parts if part)


def _device(environment: dict[str, Any], device: str) -> str:
    """The GPU's name, or the processor's, or just `cpu`."""
    if device.startswith("cuda"):
        gpus = environment.get("gpus")
        first = gpus[0] if isinstance(gpus, list) and gpus else None
        name = first.get("name") if isinstance(first, dict) else None
        return str(name or device)
    hardware = environment.get("hardware")
    cpu = hardware.get("cpu") if isinstance(hardware, dict) else None
    name = cpu.get("model") if isinstance(cpu, dict) else None
    return str(name or device) if device in ("cpu", "") else device


def _date(created: str | None) -> str:
    """ISO 8601 as `24 Nov, 14:32` in local time; as it is where it is none."""
    if not created:
        return ""
    try:
        moment = datetime.fromisoformat(created).astimezone()
    except ValueError:
        return created
    return f"{moment.day} {moment:%b, %H:%M}"


def names(state: CompareState) -> dict[str, str]:
    """Letter to name."""
    return {member.letter: session_name(member) for member in state.members}


def line_series(members: Sequence[Member], what: str, time: bool) -> list[LineSeries]:
    """Curves of `itl` or `mbu` by output token or by time, where there are any."""
    result = []
    for member in members:
        curve: Curve | None = getattr(member.curves, f"{what}_by_{'time' if time else 'token'}")
        if curve is not None:
            result.append(LineSeries(member.letter, curve.x, curve.p50, curve.p10, curve.p90))
    return result


def lines_note(members: Sequence[Member]) -> str:
    """`median and p10–p90, n = 40`: requests."""
    counts = sorted({member.curves.requests for member in members if member.curves is not None})
    if not counts:
        return ""
    shown = str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
    return tr("median and p10–p90, n = {0}").format(shown)


def no_bandwidth(members: Sequence[Member]) -> str:
    """Why no session has a bandwidth, as a sentence."""
    for member in members:
        if member.curves is not None and member.curves.mbu_reason:
            return f"{member.letter}: {member.curves.mbu_reason}"
    return ""


def distributions(members: Sequence[Member]) -> list[DistributionSeries]:
    """Pooled gaps of each session."""
    return [DistributionSeries(m.letter, m.curves.sorted_gaps_ms) for m in members if m.curves is not None]


def quantile_series(state: CompareState) -> list[QuantileSeries]:
    """Differences by quantile of every session that is judged already."""
    result = []
    for letter in state.others:
        pair = state.pair(letter)
        if pair is not None and pair.quantiles is not None:
            result.append(QuantileSeries(letter, *(np.asarray(part, float) for part in pair.quantiles)))
    return result


def first_token_bars(members: Sequence[Member]) -> list[FirstTokenBar]:
    """One bar a session: the medians of its stages, and of its first token."""
    return [
        FirstTokenBar(
            member.letter,
            member.curves.stages_ms if member.curves is not None else (),
            None if member.curves is None else member.curves.ttft_ms,
            status="failed" if member.curves is None or member.curves.ttft_ms is None else "done",
        )
        for member in members
    ]


def setting_rows(state: CompareState) -> list[SettingRow]:
    """All settings of the ready sessions: those that differ first, in order of weight.

    The same fact told in several places (the version of torch) is one row.
    """
    members = state.ready
    base = state.member(state.baseline)
    if base is None or base.curves is None:
        return []
    order: dict[str, bool] = {}
    for letter in state.others:
        pair = state.pair(letter)
        for item in pair.differences if pair is not None else ():
            order[item["path"]] = order.get(item["path"], False) or bool(item["important"])
    settings = {member.letter: member.curves.settings for member in members if member.curves is not None}
    paths = {path for flat in settings.values() for path in flat}
    found: list[SettingRow] = []
    seen: set[tuple[str, str]] = set()
    # Of all pairs: the power cap, what else changes speed, the rest; within these as they came.
    differing = sorted(order, key=lambda path: (last_part(path) not in POWER, not order[path]))
    for path in [*differing, *sorted(paths - order.keys())]:
        values = {letter: flat.get(path, MISSING) for letter, flat in settings.items()}
        told = (last_part(path), repr(values))
        if told in seen:
            continue
        seen.add(told)
        mine = values.get(state.baseline)
        differs = tuple(letter for letter, value in values.items() if value != mine) if path in order else ()
        found.append(SettingRow(path, values, differs, order.get(path, False)))
    return found


def pair_reports(state: CompareState) -> list[PairReport]:
    """Every judged pair, for reports."""
    told = names(state)
    reports = []
    for letter in state.others:
        pair = state.pair(letter)
        if pair is None:
            continue
        names_now = [told[state.baseline], told[letter]]
        sides = [
            pair.values.get(side, {}) | {"name": name} for side, name in zip("ab", names_now, strict=True)
        ]
        # In a report there is no card beside the name that tells the date.
        parts = zip(names_now, telling_apart(*sides), strict=True)
        named = [" · ".join(part for part in pieces if part) for pieces in parts]
        reports.append(PairReport(state.baseline, letter, named[0], named[1], pair.values))
    return reports


def foot_words(state: CompareState) -> str:
    """How the intervals came about, and what is not claimed."""
    base, other = state.member(state.baseline), state.member(state.chosen)
    if base is None or other is None or base.curves is None or other.curves is None:
        return ""
    words = tr(
        "Bootstrap over {0} and {1} requests. Grey zone: within ±2 %. Arrow: goes on beyond ±20 %."
    ).format(base.curves.requests, other.curves.requests)
    floor = state.noise_floor()
    if state.floor is not None:
        a, b = state.floor
        if floor is None:
            words = tr("Working out the noise floor from {0} and {1}…").format(a, b)
        else:
            itl = floor.get("itl_ms.p50")
            shown = "" if itl is None else tr(" (ITL p50 {0} %)").format(f"{100 * itl:.1f}")
            words = tr(
                "Noise floor from {0} and {1}{2}: differences inside it are not claimed. "
                "Bootstrap over {3} and {4} requests."
            ).format(a, b, shown, base.curves.requests, other.curves.requests)
    return words
