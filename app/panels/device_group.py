"""Setup, fourth part: where the model computes, and how often the hardware is read."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QCheckBox

from app.panels.fields import Choice, Field, Group, number


class DeviceGroup(Group):
    """Device, threads, sampler rate, reference measurement."""

    def __init__(self) -> None:
        super().__init__(self.tr("Device & measurement"))
        self.device = Choice([("auto", self.tr("Automatic")), ("cpu", "CPU")])
        self.threads = number(0, 4096, 0, special=self.tr("Default"))
        self.sample_hz = Choice(
            [
                (0.0, self.tr("Off")),
                (1.0, "1 Hz"),
                (2.0, "2 Hz"),
                (4.0, "4 Hz"),
                (10.0, "10 Hz"),
            ]
        )
        self.sample_hz.set_value(4.0)
        self.reference = QCheckBox(self.tr("Measure the memory's speed first (2 s)"))
        self.reference.setChecked(True)
        self.fields = {
            "device": Field(self.tr("Device"), self.device, "device"),
            "sample_hz": Field(self.tr("Sampler rate"), self.sample_hz, "sample_hz"),
            "threads": Field(self.tr("CPU threads"), self.threads, "threads"),
        }
        self.add(self.fields["device"], 0, 0, 2)
        self.add(self.fields["sample_hz"], 1, 0)
        self.add(self.fields["threads"], 1, 1)
        self.add(self.reference, 2, 0, 2)
        self.device.currentIndexChanged.connect(lambda _index: self.edited.emit())
        self.sample_hz.currentIndexChanged.connect(lambda _index: self.edited.emit())
        self.threads.valueChanged.connect(lambda _value: self.edited.emit())
        self.reference.toggled.connect(lambda _on: self.edited.emit())

    def set_machine(self, machine: dict[str, Any]) -> None:
        """The engine's answer to `machine`: its devices become the choices."""
        choices: list[tuple[object, str]] = [("auto", self.tr("Automatic"))]
        for device in machine.get("devices") or []:
            name = device.get("name")
            if isinstance(name, str):
                text = str(device.get("label") or "")
                prefix = name if name.startswith("cuda") else name.upper()
                choices.append((name, f"{prefix} · {text}" if text and text.lower() != name else prefix))
        if len(choices) > 1:
            self.device.set_choices(choices)

    def values(self) -> dict[str, Any]:
        """This part's settings of a RunConfig."""
        return {
            "device": self.device.value(),
            "threads": self.threads.value() or None,
            "sample_hz": self.sample_hz.value(),
            "measure_reference": self.reference.isChecked(),
        }

    def set_values(self, values: dict[str, Any]) -> None:
        """Show the settings of a RunConfig."""
        self.device.set_value(values["device"])
        self.threads.setValue(values["threads"] or 0)
        self.sample_hz.set_value(values["sample_hz"])
        self.reference.setChecked(values.get("measure_reference", True))
