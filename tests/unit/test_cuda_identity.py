"""Which GPU a CUDA device is: uuid, else PCI address, else CUDA_VISIBLE_DEVICES."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from profiler.errors import DecodescopeError
from profiler.worker.backends.synthetic import device_uuids, parse
from profiler.worker.cuda_identity import device_name, visible_device


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        ({"uuid": "abc-1", "pci_bus_id": 7, "pci_device_id": 0, "pci_domain_id": 0}, "abc-1"),
        ({"uuid": None, "pci_bus_id": 0xAF, "pci_device_id": 1, "pci_domain_id": 0}, "00000000:AF:01.0"),
        ({"pci_bus_id": 1, "pci_device_id": 0, "pci_domain_id": 0x10000}, "00010000:01:00.0"),
        ({"uuid": ""}, "GPU-two"),
        ({}, "GPU-two"),
    ],
)
def test_the_best_name_that_is_told(properties: dict[str, object], name: str) -> None:
    assert device_name(SimpleNamespace(**properties), 1, "GPU-one,GPU-two", None) == name


BUS = "PCI_BUS_ID"


@pytest.mark.parametrize(
    ("ordinal", "visible", "order", "name"),
    [
        (0, "3", BUS, "3"),
        (1, "2, 0", BUS, "0"),
        (0, "03", BUS, "3"),
        (1, None, BUS, "1"),
        (0, None, None, None),  # CUDA's own order is by speed
        (0, "1", "FASTEST_FIRST", None),
        (0, "GPU-a", None, "GPU-a"),
        (1, "GPU-b,GPU-a", None, "GPU-a"),
        (0, "MIG-c", None, "MIG-c"),
        (1, "GPU-a", None, None),  # there is no second
        (0, "", None, None),
        (0, "-1", BUS, None),
        (1, "1,-1,2", BUS, None),  # all from the first that is none is hidden
        (0, "1,1", BUS, None),  # CUDA then shows none
        (0, "NoDevFiles", None, None),
    ],
)
def test_what_the_variable_says(
    ordinal: int, visible: str | None, order: str | None, name: str | None
) -> None:
    assert visible_device(ordinal, visible, order) == name


def test_the_synthetic_model_names_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_uuids("synthetic") == []
    assert device_uuids("synthetic:itl_ms=1,uuid=GPU-a+b") == ["GPU-a", "b"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-x,GPU-y")
    assert device_uuids("synthetic:uuid=visible") == ["GPU-x"]
    assert parse("synthetic:uuid=GPU-a,itl_ms=3")[0]["itl_ms"] == 3.0
    with pytest.raises(DecodescopeError, match="no setting 'uuids'"):
        parse("synthetic:uuids=a")
