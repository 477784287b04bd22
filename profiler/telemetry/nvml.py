"""The one door to NVML: nothing else imports `pynvml`.

Opens the driver's library for a run and closes it after it (an idle handle keeps a laptop's
GPU awake). Every value leaves as a plain number or plain text, every failure as a
`DriverError`; no library, no driver and no card are facts with a sentence, not errors.
Thread: open, read and close may happen on different threads, one at a time.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import psutil

from profiler.telemetry.gpu import DriverError, GpuIdentity, GpuReader
from profiler.telemetry.plain import plain_text
from profiler.telemetry.sampler import ReaderGone

FUNCTION_NOT_FOUND = 13
FIELD_POWER_INSTANT = 186
_VALUE_FIELDS = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
"""NVML's value types and the member of the union that holds each."""
_CLOCKS = {"sm": 1, "memory": 2}
_RINGS = {"gpu": 1, "memory": 2}

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

    A name is torch's uuid of a device, with or without "GPU-" or "MIG-", or a PCI bus id;
    several names for one device are separated by ";" and the first that the driver knows is
    taken. `gpm` False leaves the hardware counters alone (they can disturb a DCGM that runs
    beside us). Does not raise. Costs about 20 driver calls a GPU, and the driver's start.
    """
    try:
        pynvml = import_module("pynvml")
    except ImportError:
        return NvmlOpening([], NO_BINDINGS, None)
    library = _Library(pynvml)
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

    def __init__(self, library: _Library) -> None:
        self._library = library
        self._users = 1

    def use(self) -> None:
        self._users += 1

    def release(self) -> None:
        self._users -= 1
        if self._users == 0:
            with contextlib.suppress(DriverError):
                self._library.call("nvmlShutdown")


class _Library:
    """`pynvml` with every failure as a DriverError."""

    def __init__(self, pynvml: Any) -> None:
        self.pynvml = pynvml
        self._failures: tuple[type[Exception], ...] = tuple(
            kind
            for kind in (getattr(pynvml, name, None) for name in ("NVMLError", "NVMLLibraryMismatchError"))
            if kind is not None  # the second is no NVMLError, and old bindings lack it
        )

    def call(self, name: str, *args: Any) -> Any:
        """`pynvml.name(*args)`. DriverError for whatever goes wrong in there."""
        function = getattr(self.pynvml, name, None)
        if function is None:
            raise DriverError(FUNCTION_NOT_FOUND, f"these NVML bindings have no {name}")
        try:
            return function(*args)
        except self._failures as error:
            raise DriverError(*self._told(error)) from None
        except (OSError, UnicodeDecodeError, ctypes.ArgumentError, TypeError) as error:
            # TypeError: an older binding takes other arguments.
            raise DriverError(None, f"{name} failed: {plain_text(str(error))}") from None

    def text(self, name: str, *args: Any) -> str | None:
        """A string of the driver's as plain text; None when it cannot be read."""
        try:
            function = getattr(self.pynvml, name)
            value = function(*args)
        except UnicodeDecodeError as error:
            value = error.object  # the bindings decode strictly; these are the bytes
        except self._failures:
            return None
        except (OSError, AttributeError, ctypes.ArgumentError, TypeError):
            return None
        return plain_text(value)

    def error(self, code: int) -> DriverError:
        """The DriverError of a code that came as a value."""
        return DriverError(*self._told(self.pynvml.NVMLError(code)))

    def _told(self, error: Exception) -> tuple[int | None, str]:
        code = getattr(error, "value", None)
        if not isinstance(code, int):
            return FUNCTION_NOT_FOUND, plain_text(str(error))
        try:
            words = plain_text(str(error))
        except self._failures:
            words = "no description"
        except (OSError, UnicodeDecodeError):
            words = "no description"
        return code, f"{words} (NVML error {code})"


def _handles(library: _Library, uuids: Sequence[str] | None) -> tuple[list[Any], list[str]]:
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


def _find(library: _Library, wanted: str) -> Any:
    """The handle of one GPU by any of its names. DriverError of the first attempt."""
    first: DriverError | None = None
    for name in wanted.split(";"):
        name = name.strip()
        if ":" in name:
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
    assert first is not None
    raise first


def _readers(
    session: _Session, handles: list[Any], driver: str | None, gpm: bool, reasons: list[str]
) -> list[GpuReader]:
    library = session._library
    readers: list[GpuReader] = []
    taken: set[str] = set()
    for at, handle in enumerate(handles):
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
            uuid=library.text("nvmlDeviceGetUUID", handle),
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
                    _Device(library, handle),
                    gpm=gpm,
                    release=session.release,
                    system_memory=_system_memory,
                )
            )
        except ReaderGone as error:
            session.release()
            reasons.append(str(error))
    return readers


def _pci_bus_id(library: _Library, handle: Any) -> str | None:
    try:
        return plain_text(library.call("nvmlDeviceGetPciInfo", handle).busId) or None
    except DriverError:
        return None


def _system_memory() -> tuple[int, int]:
    memory = psutil.virtual_memory()
    return int(memory.total - memory.available), int(memory.total)


class _Device:
    """`GpuDevice` over the bindings: units converted, structures unpacked."""

    def __init__(self, library: _Library, handle: Any) -> None:
        self._library = library
        self._handle = handle

    def _get(self, name: str, *args: Any) -> Any:
        return self._library.call(name, self._handle, *args)

    def _either(self, first: str, second: str, *args: Any) -> Any:
        """The call under its new or its old name: bindings and drivers differ in age."""
        try:
            return self._get(first, *args)
        except DriverError as error:
            if error.code != FUNCTION_NOT_FOUND:
                raise
            return self._get(second, *args)

    def samples(self, kind: str, since_us: int) -> list[tuple[int, float]]:
        value_type, samples = self._get("nvmlDeviceGetSamples", _RINGS[kind], since_us)
        field = _VALUE_FIELDS.get(value_type, "uiVal")
        return [(int(s.timeStamp), float(getattr(s.sampleValue, field))) for s in samples]

    def busy_pct(self) -> tuple[float, float]:
        rates = self._get("nvmlDeviceGetUtilizationRates")
        return float(rates.gpu), float(rates.memory)

    def instant_power_w(self) -> float:
        value = self._get("nvmlDeviceGetFieldValues", [FIELD_POWER_INSTANT])[0]
        if value.nvmlReturn != 0:
            raise self._library.error(int(value.nvmlReturn))
        field = _VALUE_FIELDS.get(value.valueType, "uiVal")
        return float(getattr(value.value, field)) / 1000

    def average_power_w(self) -> float:
        return float(self._get("nvmlDeviceGetPowerUsage")) / 1000

    def energy_j(self) -> float:
        return float(self._get("nvmlDeviceGetTotalEnergyConsumption")) / 1000

    def clock_mhz(self, kind: str) -> int:
        return int(self._get("nvmlDeviceGetClockInfo", _CLOCKS[kind]))

    def max_clock_mhz(self, kind: str) -> int:
        return int(self._get("nvmlDeviceGetMaxClockInfo", _CLOCKS[kind]))

    def temperature_c(self) -> int:
        return int(self._either("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV", 0))

    def memory_bytes(self) -> tuple[int, int]:
        version = getattr(self._library.pynvml, "nvmlMemory_v2", None)
        try:
            memory = self._get("nvmlDeviceGetMemoryInfo", version)
        except DriverError as error:
            # Version 1 counts what the driver reserves as used; better than nothing.
            if version is None or error.code not in (FUNCTION_NOT_FOUND, 25, 2):
                raise
            memory = self._get("nvmlDeviceGetMemoryInfo")
        return int(memory.used), int(memory.total)

    def event_reasons(self) -> int:
        return int(
            self._either(
                "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"
            )
        )

    def power_limit_w(self) -> float:
        return float(self._get("nvmlDeviceGetEnforcedPowerLimit")) / 1000

    def default_power_limit_w(self) -> float:
        return float(self._get("nvmlDeviceGetPowerManagementDefaultLimit")) / 1000

    def memory_bus_bits(self) -> int:
        return int(self._get("nvmlDeviceGetMemoryBusWidth"))

    def gpm_supported(self) -> bool:
        return bool(self._get("nvmlGpmQueryDeviceSupport").isSupportedDevice)

    def gpm_sample(self) -> Any:
        sample = self._library.call("nvmlGpmSampleAlloc")
        try:
            return self._get("nvmlGpmSampleGet", sample)
        except DriverError:
            with contextlib.suppress(DriverError):
                self.gpm_free(sample)
            raise

    def gpm_metrics(self, older: Any, newer: Any, ids: list[int]) -> dict[int, float | None]:
        request = self._library.pynvml.c_nvmlGpmMetricsGet_t()
        request.version = self._library.pynvml.NVML_GPM_METRICS_GET_VERSION
        request.numMetrics = len(ids)
        request.sample1, request.sample2 = older, newer
        for at, number in enumerate(ids):
            request.metrics[at].metricId = number
        self._library.call("nvmlGpmMetricsGet", request)
        result: dict[int, float | None] = {}
        for at, number in enumerate(ids):
            metric = request.metrics[at]
            good = metric.nvmlReturn == 0 and math.isfinite(metric.value)
            result[number] = float(metric.value) if good else None
        return result

    def gpm_free(self, sample: Any) -> None:
        self._library.call("nvmlGpmSampleFree", sample)
