"""The one door to NVML: nothing else imports `pynvml`.

Opens the driver's library for a run and closes it after it (an idle handle keeps a laptop's
GPU awake). Every value leaves as a plain number or plain text, every failure as a
`DriverError`; no library, no driver and no card are facts with a sentence, not errors.
Thread: open, read and close may happen on different threads, one at a time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psutil

from profiler.telemetry.gpu import GpuReader
from profiler.telemetry.gpu_device import DriverError, GpuIdentity
from profiler.telemetry.nvml_device import Device, Library
from profiler.telemetry.plain import plain_text
from profiler.telemetry.sampler import ReaderGone

_OPENING_REASONS = {
    9: "The NVIDIA driver is not loaded, so there is no GPU telemetry; load it (or reboot) to see it.",
    12: "No NVIDIA driver was found, so there is no GPU telemetry; processor telemetry is on.",
    13: "The NVIDIA driver is too old for GPU telemetry; update the driver to see it.",
    18: "The NVIDIA driver was updated while in use; reboot or reload the driver to see GPU telemetry.",
    4: "The NVIDIA driver refuses access, so there is no GPU telemetry; check the rights to /dev/nvidia*.",
}
NO_BINDINGS = "The package nvidia-ml-py is missing, so there is no GPU telemetry; install it to see it."
NO_GPU = "The NVIDIA driver lists no GPU, so there is no GPU telemetry; processor telemetry is on."


@dataclass(frozen=True, slots=True)
class NvmlOpening:
    """What was opened. `reason`: one sentence when there is no reader, or not every GPU that was
    asked for; None when all is well. Close the readers (the sampler does): the last one closed
    shuts the driver's library down."""

    readers: list[GpuReader]
    reason: str | None
    driver: str | None


def open_nvml(uuids: Sequence[str] | None, *, gpm: bool = True) -> NvmlOpening:
    """Open the GPUs named in `uuids`, or every GPU that the driver lists when it is None.

    A name is torch's uuid of a device, with or without "GPU-" or "MIG-" (its beginning is enough
    where only one GPU begins so, as for CUDA_VISIBLE_DEVICES), a PCI bus id, or a plain index of
    the driver's own order; several names for one device are separated by ";" and the first that
    the driver knows is taken. `gpm` False leaves the hardware counters alone (they can disturb a DCGM that runs
    beside us). Does not raise. Costs about 20 driver calls a GPU, and the driver's start.
    """
    try:
        import pynvml
    except ImportError:
        return NvmlOpening([], NO_BINDINGS, None)
    library = Library(pynvml)
    try:
        library.call("nvmlInit")
    except DriverError as error:
        sentence = _OPENING_REASONS.get(error.code or 0)
        return NvmlOpening([], sentence or f"The NVIDIA driver did not start ({error.text}).", None)
    session = _Session(library)
    try:
        driver = library.text("nvmlSystemGetDriverVersion")
        handles, reasons = _handles(library, uuids)
        readers = _readers(session, handles, driver, gpm, reasons)
        if not readers and not reasons:
            reasons.append(NO_GPU)
        return NvmlOpening(readers, " ".join(reasons) or None, driver)
    finally:
        session.release()


class _Session:
    """Counts who needs the library; the last one out shuts it down."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._users = 1

    def use(self) -> None:
        self._users += 1

    def release(self) -> None:
        self._users -= 1
        if self._users == 0:
            with contextlib.suppress(DriverError):
                self.library.call("nvmlShutdown")


def _handles(library: Library, uuids: Sequence[str] | None) -> tuple[list[Any], list[str]]:
    """Handles of the wanted GPUs, each once, and a sentence for each that cannot be had."""
    handles: list[Any] = []
    reasons: list[str] = []
    if uuids is None:
        try:
            count = library.call("nvmlDeviceGetCount")
        except DriverError as error:
            return [], [f"The NVIDIA driver cannot list its GPUs ({error.text})."]
        for index in range(count):
            try:
                handles.append(library.call("nvmlDeviceGetHandleByIndex", index))
            except DriverError as error:
                reasons.append(f"GPU {index} cannot be opened ({error.text}).")
        return handles, reasons
    for wanted in dict.fromkeys(uuids):
        try:
            handles.append(_find(library, wanted))
        except DriverError as error:
            reasons.append(f"The NVIDIA driver does not know the GPU {plain_text(wanted)} ({error.text}).")
    return handles, reasons


def _find(library: Library, wanted: str) -> Any:
    """The handle of one GPU by any of its names. DriverError of the first attempt."""
    first: DriverError | None = None
    for name in wanted.split(";"):
        name = name.strip()
        if name.isdecimal():
            attempts: list[tuple[str, Any]] = [("nvmlDeviceGetHandleByIndex", int(name))]
        elif ":" in name:
            attempts = [("nvmlDeviceGetHandleByPciBusId", name)]
        elif name.startswith(("GPU-", "MIG-")):
            attempts = [("nvmlDeviceGetHandleByUUID", name)]
        else:
            attempts = [("nvmlDeviceGetHandleByUUID", prefix + name) for prefix in ("GPU-", "MIG-")]
        for function, argument in attempts:
            try:
                return library.call(function, argument)
            except DriverError as error:
                first = first or error
        handle = _by_beginning(library, name)
        if handle is not None:
            return handle
    assert first is not None
    raise first


def _by_beginning(library: Library, name: str) -> Any:
    """The handle of the one GPU whose uuid begins with `name`; None for none or several."""
    if not name.startswith(("GPU-", "MIG-")) or len(name) <= len("GPU-"):
        return None
    try:
        handles = [
            library.call("nvmlDeviceGetHandleByIndex", index)
            for index in range(library.call("nvmlDeviceGetCount"))
        ]
    except DriverError:
        return None
    found = [h for h in handles if (library.text("nvmlDeviceGetUUID", h) or "").startswith(name)]
    return found[0] if len(found) == 1 else None


def _readers(
    session: _Session, handles: list[Any], driver: str | None, gpm: bool, reasons: list[str]
) -> list[GpuReader]:
    library = session.library
    readers: list[GpuReader] = []
    taken: set[str] = set()
    seen: set[str] = set()
    for at, handle in enumerate(handles):
        uuid = library.text("nvmlDeviceGetUUID", handle)
        if uuid is not None and uuid in seen:
            continue  # asked for by two of its names
        seen.add(uuid or "")
        try:
            index: int | None = library.call("nvmlDeviceGetIndex", handle)
        except DriverError:
            index = None
        number = at if index is None else index
        while f"gpu{number}" in taken:  # MIG parts have numbers of their own
            number += 1
        taken.add(f"gpu{number}")
        identity = GpuIdentity(
            index=index,
            uuid=uuid,
            name=library.text("nvmlDeviceGetName", handle),
            pci_bus_id=_pci_bus_id(library, handle),
            driver=driver,
        )
        session.use()
        try:
            readers.append(
                GpuReader(
                    f"gpu{number}",
                    identity,
                    Device(library, handle),
                    gpm=gpm,
                    release=session.release,
                    system_memory=_system_memory,
                )
            )
        except ReaderGone as error:
            session.release()
            reasons.append(str(error))
    return readers


def _pci_bus_id(library: Library, handle: Any) -> str | None:
    try:
        return plain_text(library.call("nvmlDeviceGetPciInfo", handle).busId) or None
    except DriverError:
        return None


def _system_memory() -> tuple[int, int]:
    memory = psutil.virtual_memory()
    return int(memory.total - memory.available), int(memory.total)
