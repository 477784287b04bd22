"""The name by which the driver's tools know a CUDA device: no torch.

Indexes differ between CUDA and NVML (CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER), hence a device
is named by its uuid. Where torch is too old to tell it, its PCI address does; where it tells
neither, what CUDA_VISIBLE_DEVICES says. `telemetry.nvml.open_nvml` takes all three.
"""

from __future__ import annotations

import os
from typing import Any


def device_names(properties: Any, ordinal: int) -> list[str]:
    """`device_name` in this process's environment, as a list of one; [] where it cannot be told."""
    visible, order = os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("CUDA_DEVICE_ORDER")
    name = device_name(properties, ordinal, visible, order)
    return [] if name is None else [name]


def device_name(properties: Any, ordinal: int, visible: str | None, order: str | None) -> str | None:
    """The name of CUDA device `ordinal`, or None where it cannot be told without guessing.

    `properties` as of `torch.cuda.get_device_properties`; `visible` and `order` are the values
    of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.
    """
    uuid = getattr(properties, "uuid", None)
    if uuid is not None and str(uuid).strip():
        return str(uuid)
    domain, bus, device = (
        getattr(properties, f"pci_{part}_id", None) for part in ("domain", "bus", "device")
    )
    if isinstance(bus, int) and isinstance(device, int):
        return f"{domain if isinstance(domain, int) else 0:08X}:{bus:02X}:{device:02X}.0"
    return visible_device(ordinal, visible, order)


def visible_device(ordinal: int, visible: str | None, order: str | None) -> str | None:
    """What CUDA_VISIBLE_DEVICES says of CUDA device `ordinal`: a uuid (or its beginning), or an
    index in the driver's order as decimal digits; None where neither can be told.

    An index means the driver's only with CUDA_DEVICE_ORDER=PCI_BUS_ID: CUDA's own order is by
    speed. As CUDA does, everything from the first entry that is none is left out, and a list
    with a repeated entry is empty.
    """
    by_bus = order == "PCI_BUS_ID"
    if visible is None:
        return str(ordinal) if by_bus else None
    entries: list[str] = []
    for text in visible.split(","):
        entry = text.strip()
        if not (entry.isdecimal() or entry.startswith(("GPU-", "MIG-"))):
            break  # "-1", "", "NoDevFiles": this one and all after it are hidden
        entries.append(str(int(entry)) if entry.isdecimal() else entry)
    if len(set(entries)) != len(entries) or not 0 <= ordinal < len(entries):
        return None
    name = entries[ordinal]
    return None if name.isdecimal() and not by_bus else name
