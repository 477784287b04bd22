"""Where the keys lead in a text of tokens."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import Qt

from app.widgets.token_layout import TokenLayout

BIG_STEP = 16
"""Tokens that Shift with an arrow moves."""
KEYS = frozenset(
    {Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End}
)


def token_by_key(
    layout: TokenLayout,
    token: int,
    key: Qt.Key,
    modifiers: Qt.KeyboardModifier,
    late: npt.NDArray[np.int64],
) -> int | None:
    """The token (from 1) that a key of `KEYS` leads to from `token`; None: none there.

    `late`: the slow tokens in order, which Control with an arrow goes through.
    """
    last = layout.last_number
    token = min(max(token, 1), last)
    if key == Qt.Key.Key_Home:
        return 1
    if key == Qt.Key.Key_End:
        return last
    if key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
        lines = layout.lines_of(token)
        if lines is None:
            return None
        line = lines[0] - 1 if key == Qt.Key.Key_Up else lines[1] + 1
        return layout.number_at(line, layout.col_of(token), near=True)
    direction = -1 if key == Qt.Key.Key_Left else 1
    if modifiers & Qt.KeyboardModifier.ControlModifier:
        later = int(np.searchsorted(late, token, side="right" if direction > 0 else "left"))
        at = later if direction > 0 else later - 1
        return int(late[at]) if 0 <= at < len(late) and late[at] <= last else None
    step = BIG_STEP if modifiers & Qt.KeyboardModifier.ShiftModifier else 1
    return min(max(token + direction * step, 1), last)
