"""Strict JSON out of foreign values: what files, drivers and servers said may hold NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def strict(value: Any) -> Any:
    """`value` with plain Python types, NaN and Infinity as None, other objects as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(item) for item in value]
    if isinstance(value, np.generic):
        return strict(value.item())
    if isinstance(value, np.ndarray):
        return strict(value.tolist())
    return str(value)
