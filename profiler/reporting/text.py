"""The report for a terminal: one compact table a run, a dash and its reason where a value is missing.

Text from outside (names, errors, notes) goes in as plain text: no markup, no escapes.
"""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from profiler.analysis.definitions import find
from profiler.reporting.targets_text import targets_text
from profiler.telemetry.plain import plain_text
from profiler.units import DASH, THIN, format_bytes, format_number

_DISTRIBUTIONS = (
    "ttft_ms",
    "itl_ms",
    "itl_per_token_ms",
    "tpot_ms",
    "e2e_ms",
    "decode_tok_s",
    "output_tok_s",
    "effective_tok_s",
    "fluctuation",
)
_NOTE_CHARS = 500
_GPU_SHOWN = (
    ("power_w", "W"),
    ("gpu_busy_pct", "% busy"),
    ("memory_busy_pct", "% of time in memory"),
    ("dram_bw_pct", "% of DRAM bandwidth"),
    ("temperature_c", "°C"),
)


def report_text(report: dict[str, Any]) -> list[RenderableType]:
    """Renderables for `rich`, in order, of a report as `reporting.report` makes it."""
    session = report["session"]
    name = session["name"] or session["path"] or ""
    parts: list[RenderableType] = [Text(_plain(name), style="bold")] if name else []
    if not report["runs"]:
        parts.append(Text("This session holds no run."))
    for run in report["runs"]:
        parts += _run(run)
    return parts


def _run(run: dict[str, Any]) -> list[RenderableType]:
    title = " · ".join(_plain(part) for part in (run["name"], run["model"], run["status"]) if part)
    parts: list[RenderableType] = [Text(f"\nRun {run['id']} · {title}", style="bold")]
    if run["reason"]:
        parts.append(Text(_plain(run["reason"])))
    parts += [Text(_requests(run)), _distributions(run["metrics"]), _rest(run)]
    parts += targets_text(run.get("targets"))
    for row in run["per_request"]:
        if row["status"] not in ("ok", "running"):
            why = row["reasons"].get("status") or row["status"]
            parts.append(Text(_plain(f"Request {row['id']}: {why}"), style="yellow"))
    parts += [Text(f"• {_plain(note, _NOTE_CHARS)}") for note in run["notes"]]
    return parts


def _requests(run: dict[str, Any]) -> str:
    counts = [f"{n} {status}" for status, n in run["requests"].items() if n or status == "ok"]
    tokens = f"{run['metrics']['output_tokens']['total']:,}"
    text = f"{', '.join(counts)} requests; {tokens} output tokens"
    if run["empty_events"]:
        text += f"; {run['empty_events']} empty events"
    return text


def _distributions(metrics: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for column in ("n", "p50", "p90", "p95", "p99", "min", "max"):
        table.add_column(column, justify="right")
    table.add_column("", overflow="fold")
    for name in _DISTRIBUTIONS:
        values = metrics[name]
        if name == "itl_per_token_ms" and values == metrics["itl_ms"]:
            continue  # every step brought one token: the same numbers twice
        if values["n"] == 0:
            missing = [Text(DASH)] * 6
            table.add_row(Text(_label(name)), "0", *missing, Text(_plain(metrics["reasons"].get(name, ""))))
            continue
        shown = [
            format_number(values[key], 4 if key == "p50" else 3)
            for key in ("p50", "p90", "p95", "p99", "min", "max")
        ]
        remark = "few values: p99 is about the largest" if values["low_n"] and name == "itl_ms" else ""
        table.add_row(Text(_label(name)), f"{values['n']:,}", *shown, remark)
    return table


def _rest(run: dict[str, Any]) -> Table:
    """The figures that are one number a run."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column("")
    table.add_column("", justify="right")
    table.add_column("", overflow="fold")
    metrics = run["metrics"]
    jitter, trend, mbu = metrics["jitter"], metrics["trend"], metrics["mbu"]
    energy, memory, disturbed = metrics["energy"], metrics["memory"], run["disturbance"]
    no_gap = metrics["reasons"].get("itl_ms")

    def add(label: str, value: str, remark: str | None = None) -> None:
        table.add_row(Text(label), Text(value), Text(_plain(remark or "")))

    add(
        "Throughput of the run",
        _value(metrics["run_tok_s"], "tok/s"),
        metrics["reasons"].get("run_tok_s")
        or f"{format_number(metrics['requests_per_s'])} requests a second",
    )
    spikes = f"{jitter['spikes']} spikes, longest gap {_value(jitter['longest_stall_ms'], 'ms')}"
    add("Jitter (MAD)", _value(jitter["jitter_ms"], "ms"), no_gap or spikes)
    add("Trend", _value(trend["slope_us_per_token"], "µs/token"), _trend_remark(trend))
    share = None if mbu["run"] is None else 100 * mbu["run"]
    add("MBU", _value(share, "%"), _mbu_remark(mbu))
    add(
        "Physical limit", _value(mbu["floor_ms"], "ms"), mbu["reason"] or f"at {mbu['floor_kv_len']:g} tokens"
    )
    add("Memory at its peak", format_bytes(memory["peak_bytes"]), memory["source"] or memory["reason"])
    add(
        "Energy per token",
        _value(energy["joules_per_token"], "J"),
        energy["reason"] or f"{_value(energy['joules'], 'J')} in all; {energy['source']}",
    )
    shares = [
        request["step_time"]["busy_share"]
        for request in run["per_request"]
        if not request["warmup"] and request["step_time"]["busy_share"] is not None
    ]
    if shares:
        busy = 100 * sum(shares) / len(shares)
        add("Device busy", _value(busy, "%"), f"of the gaps; {_value(100 - busy, '%')} is host and launch")
    add(
        "Disturbed steps",
        _value(disturbed["disturbed_steps_pct"], "%"),
        f"ITL p99 {_value(disturbed['itl_p99_ms'], 'ms')}, "
        f"without them {_value(disturbed['itl_p99_undisturbed_ms'], 'ms')}",
    )
    telemetry = run["telemetry"]
    for gpu in telemetry["gpus"]:
        add(f"GPU {gpu['index']}", _plain(gpu["name"] or DASH), _gpu_remark(gpu["metrics"]))
    if telemetry["reason"]:
        add("GPU", DASH, telemetry["reason"])
    return table


def _trend_remark(trend: dict[str, Any]) -> str:
    interval = trend["slope_ci95_us_per_token"]
    shown = "" if interval is None else f"95 % {format_number(interval[0])} to {format_number(interval[1])}"
    return "; ".join(part for part in (shown, trend["reason"]) if part)


def _mbu_remark(mbu: dict[str, Any]) -> str:
    if mbu["run"] is None:
        return str(mbu["reason"])
    source = f" ({mbu['reference_source']})" if mbu["reference_source"] else ""
    return f"of {_value(mbu['reference_gb_s'], 'GB/s')}{source}"


def _gpu_remark(metrics: dict[str, Any]) -> str:
    return ", ".join(
        f"{format_number(metrics[name]['mean'])} {unit}" for name, unit in _GPU_SHOWN if metrics[name]["n"]
    )


def _label(name: str) -> str:
    definition = find(name)
    assert definition is not None  # a test holds the two tables together
    return f"{definition.label} ({definition.unit})" if definition.unit else definition.label


def _value(value: float | None, unit: str) -> str:
    return DASH if value is None else f"{format_number(value)}{THIN}{unit}"


def _plain(text: str, max_chars: int = 300) -> str:
    return plain_text(str(text), max_chars)
