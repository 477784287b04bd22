"""What every bench script does at its end: print its figures, and write them where asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

Value = float | int | str | bool | None


def tell(figures: Mapping[str, Value | list[str]], path: Path | None = None) -> None:
    """A line a figure on standard output; all of them as JSON at `path`."""
    for key, value in figures.items():
        shown = f"{value:14,.3f}" if isinstance(value, float) else f"{value!s:>14}"
        print(f"{key:32} {shown}", flush=True)
    if path is not None:
        path.write_text(json.dumps(figures, indent=1, allow_nan=False) + "\n", encoding="utf-8")
