"""The bindings' calls made safe: every failure a `DriverError`, every value plain, units converted.

Is given the `pynvml` module by `nvml.py`, the one place that imports it.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from typing import Any

from profiler.telemetry.gpu_device import DriverError
from profiler.telemetry.plain import plain_text

FUNCTION_NOT_FOUND = 13
FIELD_POWER_INSTANT = 186
_VALUE_FIELDS = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
"""NVML's value types and the member of the union that holds each."""
_CLOCKS = {"sm": 1, "memory": 2}
_RINGS = {"gpu": 1, "memory": 2}


class Library:
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


class Device:
    """`GpuDevice` over the bindings: units converted, structures unpacked."""

    def __init__(self, library: Library, handle: Any) -> None:
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
