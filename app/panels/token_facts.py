"""From a request to numbered pieces of text, and what is known of one token, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QCoreApplication

from app.widgets.token_glyphs import SPACE, readable
from profiler import events as ev
from profiler.analysis.steps import StepView
from profiler.timeline import Request
from profiler.units import MINUS, THIN, format_number

MAX_PIECE = 60
"""Signs of a piece that a readout shows."""
_US_PER_MS = 1000


def piece_count(request: Request) -> int:
    """Pieces that can be told by now: one a step; what is left over at the end comes when it ended."""
    if request.end_status is not None or not len(request):
        return len(request.pieces)
    return min(len(request.pieces), len(request))


def aligned(request: Request) -> bool:
    """Is there a piece for each step? An imported trace may tell the text as a whole.

    While the request runs pieces may be behind; that is decided when it has ended.
    """
    return request.end_status is None or len(request.pieces) >= len(request)


def numbers_of(request: Request, first: int, stop: int, given: int) -> list[int]:
    """The numbers of the pieces first..stop-1: from `given` + 1, 0 for one that came with no token.

    Steps are counted, as the charts do: one with several tokens is one place.
    """
    is_step = request.k[first:stop] != 0
    numbers = np.where(is_step, given + np.cumsum(is_step), 0).tolist()
    return numbers + [0] * (stop - first - len(numbers))


def readout_lines(
    request: Request, view: StepView, number: int, piece: str, median_ms: float | None, label: str
) -> list[str]:
    """What is known of a token (from 1), the name first. Plain text, one fact a line."""
    tr = QCoreApplication.translate
    k = int(view.k[number - 1])
    name = _name(view, number, k)
    lines = [f"{name}{THIN}·{THIN}{label}" if label else name, _piece_words(piece)]
    if number == 1:
        if view.in_order:
            wait = (int(view.t_ns[0]) - request.t0_ns) / 1e6
            lines.append(
                tr("TokenFacts", "{0} ms after the start (time to first token)").format(
                    format_number(wait, 4)
                )
            )
    elif number - 2 < len(view.gaps_ms):
        lines.append(_gap_words(float(view.gaps_ms[number - 2]), median_ms))
        split = _split_words(request, view, number)
        if split:
            lines.append(split)
    else:
        lines.append(tr("TokenFacts", "No gap: the clock of this request went backwards."))
    if k > 1:
        lines.append(tr("TokenFacts", "{0} tokens came in this step and share its gap").format(k))
    elif k < 0:
        lines.append(tr("TokenFacts", "How many tokens came at once is not told"))
    kv_len = int(view.kv_len[number - 1])
    if kv_len >= 0:
        lines.append(tr("TokenFacts", "KV length {0} tokens").format(f"{kv_len:,}"))
    at = int(view.at[number - 1])
    if request.flags[at] & ev.DISTURBED:
        lines.append(tr("TokenFacts", "Disturbed: a redraw or a sampler reading fell into it"))
    return lines


def _name(view: StepView, number: int, k: int) -> str:
    tr = QCoreApplication.translate
    if not view.k_known:
        return tr("TokenFacts", "Step {0}").format(f"{number:,}")
    last = int(view.k[:number].sum())
    if k == 1 and last == number:
        return tr("TokenFacts", "Token {0}").format(f"{number:,}")
    tokens = f"{last:,}" if k == 1 else f"{last - k + 1:,}–{last:,}"
    return tr("TokenFacts", "Step {0}, output tokens {1}").format(f"{number:,}", tokens)


def _piece_words(piece: str) -> str:
    if not piece:
        return QCoreApplication.translate("TokenFacts", "No text of its own: it comes with a later token")
    shown = readable(piece)
    words = shown.strip(" ")
    if words:
        # A space at an end is a part of the token, and cannot be seen before a quotation mark.
        before, after = shown.split(words, 1)
        shown = SPACE * len(before) + words + SPACE * len(after)
    return f"“{shown}”" if len(shown) <= MAX_PIECE else f"“{shown[:MAX_PIECE]}…”"


def _gap_words(gap_ms: float, median_ms: float | None) -> str:
    tr = QCoreApplication.translate
    text = tr("TokenFacts", "Gap {0} ms").format(format_number(gap_ms, 4))
    if median_ms is None or median_ms <= 0:
        return text
    excess = round(100 * (gap_ms / median_ms - 1), 1)
    sign = MINUS if excess < 0 else "+"
    return text + tr("TokenFacts", ", {0} % against the median {1} ms").format(
        f"{sign}{abs(excess):,.1f}", format_number(median_ms, 4)
    )


def _split_words(request: Request, view: StepView, number: int) -> str:
    """Forward pass and host part of a gap; "" where that was not taken."""
    busy_us: Any = request.busy_us
    at = int(view.at[number - 1])
    if at >= len(busy_us):
        return ""
    forward = float(busy_us[at]) / _US_PER_MS
    host = max(float(view.gaps_ms[number - 2]) - forward, 0.0)
    return QCoreApplication.translate("TokenFacts", "Forward pass {0} ms, host {1} ms").format(
        format_number(forward, 3), format_number(host, 3)
    )
