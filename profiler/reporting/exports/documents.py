"""The report as JSON and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from profiler.reporting.exports.writing import write_text
from profiler.reporting.outside_text import markdown_escape
from profiler.reporting.report import report
from profiler.timeline import Timeline
from profiler.units import format_number

FIGURES = (
    ("TTFT", "ttft_ms", "ms", 1.0),
    ("ITL", "itl_ms", "ms", 1.0),
    ("TPOT", "tpot_ms", "ms", 1.0),
    ("End to end", "e2e_ms", "ms", 1.0),
    ("Decode rate", "decode_tok_s", "tok/s", 1.0),
    ("Fluctuation", "fluctuation", "%", 100.0),
)
SETTINGS = (
    "model",
    "prompt_tokens",
    "output_tokens",
    "repeats",
    "warmup",
    "dtype",
    "device",
    "attn",
    "cache",
    "threads",
    "temperature",
    "seed",
)


def write_json(timeline: Timeline, path: Path, overwrite: bool = False, name: str = "") -> None:
    """What `dscope report --json` prints."""
    value = report(timeline, session_name=name)
    write_text(path, overwrite, [json.dumps(value, indent=1, allow_nan=False, ensure_ascii=True), "\n"])


def write_markdown(timeline: Timeline, path: Path, overwrite: bool = False, name: str = "") -> None:
    """A page for an issue tracker; what came from outside is escaped."""
    write_text(path, overwrite, [markdown(timeline, name)])


def markdown(timeline: Timeline, name: str = "") -> str:
    """The Markdown of a session, every run a section."""
    value = report(timeline, session_name=name)
    lines = [f"# {markdown_escape(name) if name else 'Decodescope session'}", ""]
    for run in value["runs"]:
        lines += _run(run)
    if not value["runs"]:
        lines.append("No run was recorded.")
    return "\n".join(lines).rstrip() + "\n"


def _run(run: dict[str, Any]) -> Iterator[str]:
    counts = run["requests"]
    yield f"## {markdown_escape(run['name'] or run['model'] or 'run')}"
    yield ""
    others = [
        f"{counts[key]} {key}" for key in ("failed", "cancelled", "incomplete", "invalid") if counts[key]
    ]
    told = ", ".join([f"{counts['ok']} ok", *others, f"{counts['warmup']} warm-ups"])
    yield f"{markdown_escape(run['model'])}, {markdown_escape(run['status'])}; requests: {told}."
    yield ""
    yield "| | p50 | p95 | p99 | max | n |"
    yield "|---|---:|---:|---:|---:|---:|"
    for label, key, unit, factor in FIGURES:
        found = run["metrics"][key]
        shown = [_number(found[part], factor) for part in ("p50", "p95", "p99", "max")]
        yield f"| {label} ({unit}) | {' | '.join(shown)} | {found['n']} |"
    yield ""
    yield from (f"- {line}" for line in _lines(run["metrics"]))
    yield from (f"- {markdown_escape(note)}" for note in run["notes"])
    yield ""
    config = run["config"]
    settings = [f"{key.replace('_', ' ')} {config[key]}" for key in SETTINGS if config.get(key) is not None]
    if settings:
        yield f"Setup: {markdown_escape(', '.join(settings))}."
        yield ""
    machine = machine_words(run["environment"])
    if machine:
        yield f"Machine: {markdown_escape(', '.join(machine))}."
        yield ""


def _lines(metrics: dict[str, Any]) -> Iterator[str]:
    jitter, mbu, trend = metrics["jitter"], metrics["mbu"], metrics["trend"]
    if jitter["jitter_ms"] is not None:
        yield (
            f"Jitter (MAD) {_number(jitter['jitter_ms'])} ms, longest stall "
            f"{_number(jitter['longest_stall_ms'])} ms, {jitter['spikes']} spikes"
        )
    if mbu["run"] is not None:
        limit = "" if mbu["floor_ms"] is None else f", physical limit {_number(mbu['floor_ms'])} ms a token"
        yield f"MBU {_number(mbu['run'], 100)} % of {_number(mbu['reference_gb_s'])} GB/s{limit}"
    if trend["identifiable"] and trend["slope_us_per_token"] is not None:
        yield f"ITL grows by {_number(trend['slope_us_per_token'])} µs per token"


def machine_words(environment: dict[str, Any]) -> list[str]:
    """Processor, GPUs and software, as far as they are told."""
    found: list[str] = []
    hardware = environment.get("hardware")
    cpu = hardware.get("cpu") if isinstance(hardware, dict) else None
    if isinstance(cpu, dict) and cpu.get("model"):
        found.append(str(cpu["model"]))
    gpus = environment.get("gpus")
    if isinstance(gpus, list):
        found += [str(gpu["name"]) for gpu in gpus if isinstance(gpu, dict) and gpu.get("name")]
    software = environment.get("software")
    if isinstance(software, dict):
        found += [
            f"{key} {software[key]}" for key in ("python", "torch", "transformers") if software.get(key)
        ]
    return found


def _number(value: float | None, factor: float = 1.0) -> str:
    return "—" if value is None else format_number(value * factor, 4)
