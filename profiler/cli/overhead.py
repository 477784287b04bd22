"""`dscope overhead`: what Decodescope itself costs, measured on this machine.

Bare loop, full road, full without sampler: in this process. Full with a window attached: the
window's program is started and does the same with its own engine; Qt is never imported here.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from profiler import events as ev
from profiler.cli.console import err, out, plain
from profiler.cli.files import print_json
from profiler.config import RunConfig, make_config
from profiler.engine.own_cost import save_own_cost
from profiler.errors import DecodescopeError
from profiler.units import MINUS

NO_RATIO: dict[str, Any] = {
    "itl_mean_ratio": None,
    "itl_mean_ratio_ci95": None,
    "itl_p50_ratio": None,
    "itl_p99_ratio": None,
    "itl_p99_undisturbed_ratio": None,
    "others_cpu_pct": None,
    "blocks": 0,
}


def overhead(
    model: Annotated[
        str, typer.Option(help="The model to measure with; see `dscope models`.")
    ] = "preset:small",
    device: Annotated[str | None, typer.Option(help="auto, cpu, mps, cuda or cuda:N.")] = None,
    dtype: Annotated[str | None, typer.Option(help="auto, fp32, bf16 or fp16.")] = None,
    threads: Annotated[int | None, typer.Option(metavar="N", help="torch's threads.")] = None,
    budget: Annotated[
        float, typer.Option(metavar="S", min=1, max=3600, help="At most so many seconds a side.")
    ] = 240,
    window: Annotated[bool, typer.Option("--window/--no-window", help="Measure with a window, too.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Strict JSON on stdout.")] = False,
) -> int:
    """Measure what Decodescope itself adds to the gaps, in paired blocks of 16 tokens."""
    given = {"model": model, "device": device, "dtype": dtype, "threads": threads}
    config = make_config(
        {
            **{key: value for key, value in given.items() if value is not None},
            "prompt_tokens": 16,
            "measure_reference": False,
            "warmup": 0,
            "repeats": 1,
        }
    )
    console = err()
    console.print("Bare loop, full road, full without sampler ...")
    variants = measure(config, ("bare", "full", "no_sampler"), budget)
    if window:
        console.print("Full road with a window attached ...")
    variants.append(_window(config, budget) if window else _no_window("not asked for"))
    value = {"schema": "decodescope.overhead/1", "model": model, "variants": variants}
    save_own_cost(value)
    if as_json:
        print_json(value)
    else:
        _show(variants)
    return 0


def measure(config: RunConfig, variants: Sequence[str], budget_s: float) -> list[dict[str, Any]]:
    """Rows of `engine.own_cost` from an engine in this process. Raises the engine's refusal."""
    from profiler.engine.core import Engine

    replies: list[ev.Reply] = []

    def publish(events: Sequence[ev.Event]) -> None:
        replies.extend(event for event in events if isinstance(event, ev.Reply) and event.id == 1)

    engine = Engine(publish=publish)
    try:
        engine.command(
            1, "overhead", {"config": config.to_dict(), "variants": list(variants), "budget_s": budget_s}
        )
        while not replies:
            engine.poll(0.25)
    finally:
        engine.close()
    (reply,) = replies
    if not reply.ok:
        error = DecodescopeError(reply.message or "The measurement failed.", reply.detail)
        error.exit_code = reply.exit_code or 4
        raise error
    rows: list[dict[str, Any]] = reply.value["variants"]
    return rows


def _no_window(reason: str) -> dict[str, Any]:
    return {"variant": "window", **NO_RATIO, "reason": reason}


def window_command() -> list[str] | None:
    """How to start the window's program; None where Qt is not installed."""
    if getattr(sys, "frozen", False):
        name = "decodescope.exe" if sys.platform == "win32" else "decodescope"
        path = Path(sys.executable).with_name(name)
        return [str(path)] if path.exists() else None
    if importlib.util.find_spec("PySide6") is None or importlib.util.find_spec("app") is None:
        return None
    return [sys.executable, "-m", "app"]


def _window(config: RunConfig, budget_s: float) -> dict[str, Any]:
    command = window_command()
    if command is None:
        return _no_window("Qt is not installed here")
    environment = dict(os.environ)
    if sys.platform == "linux" and not (environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")):
        environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory(prefix="decodescope-") as folder:
        result, settings = Path(folder) / "own-cost.json", Path(folder) / "config.json"
        settings.write_text(ev.dump_json(config.to_dict()), encoding="utf-8")
        arguments = ["--config", str(settings), "--own-cost", str(result), "--own-cost-budget", str(budget_s)]
        try:
            done = subprocess.run(
                [*command, *arguments],
                capture_output=True,
                text=True,
                env=environment,
                check=False,
                timeout=budget_s + 300,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return _no_window(f"the window could not be measured ({type(error).__name__})")
        if done.returncode != 0 or not result.exists():
            words = done.stderr.strip().splitlines()
            return _no_window(words[-1] if words else f"the window ended with code {done.returncode}")
        rows = json.loads(result.read_text(encoding="utf-8"))["variants"]
    row: dict[str, Any] = next(
        (row for row in rows if row["variant"] == "window"), _no_window("no figures came")
    )
    return row


def percent(ratio: float) -> str:
    """1.004 as +0.4 %."""
    value = 100 * (ratio - 1)
    sign = MINUS if round(value, 1) < 0 else "+"
    return f"{sign}{abs(value):.1f} %"


def _show(variants: Sequence[dict[str, Any]]) -> None:
    names = {"full": "full road", "no_sampler": "without sampler", "window": "with a window"}
    table = Table(box=None, pad_edge=False)
    for heading in (
        "against the bare loop",
        "ITL mean",
        "95 %",
        "p50",
        "p99",
        "p99 undisturbed",
        "our CPU share",
        "blocks",
    ):
        table.add_column(heading)
    for row in variants:
        if row["itl_mean_ratio"] is None:
            table.add_row(names[row["variant"]], plain(f"not measured: {row['reason']}"))
            continue
        low, high = row["itl_mean_ratio_ci95"]
        table.add_row(
            names[row["variant"]],
            percent(row["itl_mean_ratio"]),
            f"{percent(low)} to {percent(high)}",
            percent(row["itl_p50_ratio"]),
            percent(row["itl_p99_ratio"]),
            "-" if row["itl_p99_undisturbed_ratio"] is None else percent(row["itl_p99_undisturbed_ratio"]),
            f"{row['others_cpu_pct']:.1f} % of the machine",
            str(row["blocks"]),
        )
    out().print(table)
