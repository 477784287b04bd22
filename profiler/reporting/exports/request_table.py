"""The page's table of requests: one row each, in the order of their start."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Any

from profiler.timeline import Run
from profiler.units import DASH, format_number

MAX_ROWS = 2000
"""More rows than these make a page slow; the rest is counted below the table."""
HEADINGS = (
    "No.",
    "Request",
    "Warm-up",
    "Status",
    "Prompt tokens",
    "Output tokens",
    "TTFT (ms)",
    "TPOT (ms)",
    "ITL p50 (ms)",
    "ITL p99 (ms)",
    "End to end (ms)",
)


def request_table(run: Run, per_request: Sequence[dict[str, Any]]) -> Iterator[str]:
    """HTML of the table; `per_request` as `run_metrics` gives it for the same run.

    A missing value is a dash whose tool tip tells the reason. Texts are escaped.
    """
    if not per_request:
        return
    heads = "".join(f'<th scope="col">{heading}</th>' for heading in HEADINGS)
    yield '<div class="card table"><h3>Requests</h3><div class="rows" tabindex="0" role="region" '
    yield f'aria-label="Requests"><table class="requests"><thead><tr>{heads}</tr></thead><tbody>\n'
    shown = list(zip(run.requests, per_request, strict=True))[:MAX_ROWS]
    for number, (request, row) in enumerate(shown, start=1):
        reasons = row["reasons"]
        cells = [
            f"<td>{number}</td>",
            f'<td class="text">{html.escape(request.label or request.id)}</td>',
            f"<td>{'yes' if request.warmup else 'no'}</td>",
            f'<td class="text"{_title(row["error"])}>{html.escape(row["status"])}</td>',
            _count(row["prompt_tokens"], "the prompt's length is not known"),
            _count(row["output_tokens"], "the tokens were not counted"),
            _time(row["ttft_ms"], reasons.get("ttft_ms")),
            _time(row["tpot_ms"], reasons.get("tpot_ms")),
            _time(row["itl"]["p50"], reasons.get("itl_ms")),
            _time(row["itl_p99_ms"], reasons.get("itl_ms")),
            _time(row["e2e_ms"], reasons.get("e2e_ms")),
        ]
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</tbody></table></div>"
    if len(per_request) > MAX_ROWS:
        yield (
            f'<p class="muted">The first {MAX_ROWS:,} of {len(per_request):,} requests; '
            "the JSON export has all of them.</p>"
        )
    yield "</div>\n"


def _time(value: float | None, reason: str | None) -> str:
    return f"<td{'' if value is not None else _title(reason)}>{format_number(value, 4)}</td>"


def _count(value: int | None, reason: str) -> str:
    return f"<td{_title(reason)}>{DASH}</td>" if value is None else f"<td>{value:,}</td>"


def _title(reason: str | None) -> str:
    return f' title="{html.escape(reason, quote=True)}"' if reason else ""
