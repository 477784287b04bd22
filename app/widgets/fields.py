"""Fields with what a style sheet cannot say."""

from __future__ import annotations

from PySide6.QtWidgets import QDoubleSpinBox, QSpinBox, QWidget

TEXT_MARGIN_PX = 6


class SpinBox(QSpinBox):
    """Whole numbers with a comma for thousands and a unit, e.g. "1,024 tokens"."""

    def __init__(
        self, low: int, high: int, value: int, unit: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setRange(low, high)
        self.setGroupSeparatorShown(True)
        self.setAccelerated(True)
        if unit:
            self.setSuffix(f" {unit}")
        self.setValue(value)
        # Padding in a style sheet also insets the arrows; the margin of the editor does not.
        self.lineEdit().setTextMargins(TEXT_MARGIN_PX, 0, 0, 0)


class DoubleSpinBox(QDoubleSpinBox):
    """Decimal numbers with a unit."""

    def __init__(
        self,
        low: float,
        high: float,
        value: float,
        unit: str = "",
        decimals: int = 1,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setDecimals(decimals)
        self.setRange(low, high)
        if unit:
            self.setSuffix(f" {unit}")
        self.setValue(value)
        self.lineEdit().setTextMargins(TEXT_MARGIN_PX, 0, 0, 0)
