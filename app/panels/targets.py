"""Setup: the targets (SLO) that the figures are held against. They change no run."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.panels.fields import Decimal, Group, decimal
from app.panels.kpi_targets import goodput_words
from app.panels.parts import column, row, set_text
from app.widgets import make_label
from profiler.analysis.targets import NAMES, Targets
from profiler.errors import UsageError

SCALE = {"ttft_ms": 1.0, "fluctuation": 100.0, "itl_p99_ms": 1.0, "e2e_ms": 1e-3}
"""Shown is the target times this: percent of a fraction, seconds of ms."""
WHEN_SWITCHED_ON = {"ttft_ms": 500.0, "fluctuation": 0.20, "itl_p99_ms": 50.0, "e2e_ms": 10_000.0}
"""What stands in a box whose target is off."""


class TargetsGroup(Group):
    """One row a target: on or off, and the limit."""

    changed = Signal(object)
    """The new `Targets`."""

    def __init__(self) -> None:
        super().__init__(self.tr("Targets (SLO)"), folded=True)
        names = {
            "ttft_ms": (self.tr("TTFT, at most"), self.tr(" ms")),
            "fluctuation": (self.tr("Fluctuation, at most"), " %"),
            "itl_p99_ms": (self.tr("ITL p99, at most"), self.tr(" ms")),
            "e2e_ms": (self.tr("Whole answer, at most"), self.tr(" s")),
        }
        self.switches: dict[str, QCheckBox] = {}
        self.limits: dict[str, Decimal] = {}
        rows = QWidget()
        stack = column(rows, spacing=6)
        for name, (label, unit) in names.items():
            stack.addLayout(self._row(name, label, unit))
        self.verdict: QLabel = make_label("", "muted", wrap=True)
        self.verdict.hide()
        stack.addWidget(self.verdict)
        self.add(rows, 0, 0, 2)
        self.set_targets(Targets())

    def _row(self, name: str, label: str, unit: str) -> QHBoxLayout:
        switch = QCheckBox(label)
        limit = decimal(0.001, 1e7, WHEN_SWITCHED_ON[name] * SCALE[name], _step(name), unit, 3)
        limit.setAccessibleName(label)
        limit.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        limit.setFixedWidth(104)
        self.switches[name], self.limits[name] = switch, limit
        switch.toggled.connect(self._on_change)
        limit.valueChanged.connect(self._on_change)
        line = row(spacing=8)
        line.addWidget(switch, 1)
        line.addWidget(limit)
        return line

    @property
    def targets(self) -> Targets:
        """What is set."""
        return Targets(
            **{
                name: self.limits[name].value() / SCALE[name] if self.switches[name].isChecked() else None
                for name in NAMES
            }
        )

    def set_targets(self, targets: Targets) -> None:
        """Show targets; no signal."""
        blockers = [QSignalBlocker(box) for box in (*self.switches.values(), *self.limits.values())]
        for name in NAMES:
            value = getattr(targets, name)
            self.switches[name].setChecked(value is not None)
            if value is not None:
                self.limits[name].setValue(value * SCALE[name])
        for blocker in blockers:
            blocker.unblock()
        self._show()

    def set_json(self, value: Any) -> None:
        """Show what `Targets.to_json` gave; the defaults when it is anything else. No signal."""
        try:
            self.set_targets(Targets.from_json(value))
        except UsageError:
            self.set_targets(Targets())

    def show_goodput(self, good: dict[str, Any] | None) -> None:
        """Say below the rows how many requests of the shown run meet all targets; None: no run."""
        if not good or good["share"] is None:
            set_text(self.verdict, "")
        else:
            set_text(self.verdict, self.tr("This run: {0}").format(goodput_words(good)))
        self.verdict.setVisible(bool(self.verdict.text()))

    def _on_change(self) -> None:
        self._show()
        self.changed.emit(self.targets)

    def _show(self) -> None:
        for name, switch in self.switches.items():
            self.limits[name].setEnabled(switch.isChecked())
        on = sum(switch.isChecked() for switch in self.switches.values())
        self.set_summary(self.tr("{0} set").format(on) if on else self.tr("none set"))


def _step(name: str) -> float:
    return {"ttft_ms": 50.0, "fluctuation": 5.0, "itl_p99_ms": 5.0, "e2e_ms": 1.0}[name]
