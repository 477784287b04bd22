"""What the window itself costs a model: the figures kept on this machine, in words.

They are measured by `RunController.measure_own_cost` or by `dscope overhead`.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QCoreApplication

from profiler.config import RunConfig
from profiler.units import MINUS, THIN, format_number

VARIANT = "window"
SCHEMA = "decodescope.overhead/1"
BUDGET_S = 90.0
WIDEST_HALF_WIDTH = 0.05
"""With an interval wider than this either way, the ratio itself would say nothing."""
_TAKEN = ("model", "device", "dtype", "attn", "threads", "cache", "trust_remote_code", "allow_download")


def own_cost_config(config: RunConfig) -> RunConfig:
    """The model and device of a configuration, with a prompt and length fit for the measurement."""
    values = {name: getattr(config, name) for name in _TAKEN}
    return RunConfig(**values, prompt_tokens=16, measure_reference=False, warmup=0, repeats=1)


def with_window_rows(before: dict[str, Any] | None, model: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What to keep: these rows, and of an earlier measurement with the same model its other ones."""
    kept = before.get("variants", []) if before is not None and before.get("model") == model else []
    names = {row.get("variant") for row in rows}
    others = [row for row in kept if isinstance(row, dict) and row.get("variant") not in names]
    return {"schema": SCHEMA, "model": model, "variants": [*others, *rows]}


def window_row(value: dict[str, Any] | None) -> dict[str, Any] | None:
    """The row of the window; None where it was not measured."""
    rows = (value or {}).get("variants")
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and row.get("variant") == VARIANT:
            return row if isinstance(row.get("itl_mean_ratio"), (int, float)) else None
    return None


def own_cost_words(value: dict[str, Any] | None) -> tuple[str, str]:
    """`own cost: ITL +0.4 % (measured)` and a sentence with the interval for the tool tip."""
    tr = QCoreApplication.translate
    row = window_row(value)
    if value is None or row is None:
        tip = tr(
            "OwnCost",
            "What this window costs the model has not been measured on this machine. It takes about "
            "a minute and a half: blocks of 16 tokens with the window and without it, in turn.",
        )
        return tr("OwnCost", "own cost: not measured"), tip
    text = tr("OwnCost", "own cost: ITL {0} (measured)").format(_per_cent(row["itl_mean_ratio"]))
    tip = tr("OwnCost", "Mean time between tokens with this window against the bare loop: {0}").format(
        _per_cent(row["itl_mean_ratio"])
    )
    bounds = row.get("itl_mean_ratio_ci95")
    if isinstance(bounds, list) and len(bounds) == 2:
        if (bounds[1] - bounds[0]) / 2 > WIDEST_HALF_WIDTH:
            text = tr("OwnCost", "own cost: lost in noise (measured)")
        tip += tr("OwnCost", ", 95 % interval {0} to {1}").format(*map(_per_cent, bounds))
    if row.get("blocks"):
        tip += tr("OwnCost", "; {0} blocks of each").format(row["blocks"])
    if value.get("model"):
        tip += tr("OwnCost", ", model {0}").format(value["model"])
    tip += "."
    if isinstance(row.get("others_cpu_pct"), (int, float)):
        share = format_number(row["others_cpu_pct"], 2)
        tip += " " + tr("OwnCost", "All our processes but the model's took {0} % of the machine.").format(
            share
        )
    return text, tip


def _per_cent(ratio: float) -> str:
    """`+0.4 %` of 1.004."""
    change = round(100 * (ratio - 1), 1)
    sign = MINUS if change < 0 else "+"
    return f"{sign}{abs(change):.1f}{THIN}%"
