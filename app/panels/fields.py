"""Form fields: a name above a control, a sentence below it when the value cannot work."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QDoubleSpinBox,
    QGridLayout,
    QLabel,
    QSizePolicy,
    QSpinBox,
    QWidget,
)

from app.panels.parts import column, row, set_property, set_text
from app.widgets import Button, make_label


class Field(QWidget):
    """`control` under its `name`; `set_error` puts one sentence below it.

    `hide_name`: only screen readers are told, since the name stands right above.
    """

    def __init__(self, name: str, control: QWidget, key: str, *, hide_name: bool = False) -> None:
        super().__init__()
        self.key = key
        self.control = control
        self._error: QLabel | None = None
        self._layout = column(self, spacing=4)
        self._name = make_label(name, "field")
        self._name.setBuddy(control)
        self._layout.addWidget(self._name)
        self._name.setVisible(not hide_name)
        self._layout.addWidget(control)
        control.setAccessibleName(name)
        _Quiet.watch(control)

    def set_error(self, sentence: str | None) -> None:
        """Show why the value cannot work; None: it can."""
        sentence = sentence[:1].upper() + sentence[1:] if sentence else None
        if sentence and self._error is None:
            self._error = make_label("", "bad", wrap=True)
            self._error.setObjectName(f"error-{self.key}")
            self._layout.addWidget(self._error)
        if self._error is not None:
            set_text(self._error, sentence or "")
            self._error.setVisible(bool(sentence))
        self.control.setAccessibleDescription(sentence or "")
        set_property(self.control, "invalid", "true" if sentence else "false")

    @property
    def error(self) -> str:
        """The sentence that is shown, or ""."""
        return self._error.text() if self._error is not None and not self._error.isHidden() else ""


class _Quiet(QObject):
    """Keeps the wheel from changing a value that was only scrolled past."""

    @classmethod
    def watch(cls, control: QWidget) -> None:
        if isinstance(control, (QSpinBox, QDoubleSpinBox, QComboBox)):
            control.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            control.installEventFilter(cls(control))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QWheelEvent) and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return False


class Choice(QComboBox):
    """A combo box over (value, text) pairs."""

    def __init__(self, choices: Sequence[tuple[object, str]] = ()) -> None:
        super().__init__()
        self.setMinimumContentsLength(4)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(64)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.set_choices(choices)

    def set_choices(self, choices: Sequence[tuple[object, str]]) -> None:
        """Replace the list; the value stays when it is still there. No signal."""
        value = self.value()
        blocked = self.blockSignals(True)
        self.clear()
        for data, text in choices:
            self.addItem(text, data)
        if value is not None:
            self.set_value(value)
        self.blockSignals(blocked)

    def value(self) -> object:
        """The value of the chosen pair; None in an empty list."""
        return self.currentData()

    def set_value(self, value: object) -> None:
        """Choose by value; a value that is not in the list is added under its own name."""
        index = next((i for i in range(self.count()) if self.itemData(i) == value), -1)
        if index < 0:
            self.addItem(str(value), value)
            index = self.count() - 1
        self.setCurrentIndex(index)


TYPED_MAX = 2**31 - 1
"""The largest whole number that a Qt box holds."""


class Number(QSpinBox):
    """Whole numbers. Takes one that is too large or too small while it is typed, so that why it
    cannot work is told beside the field; the arrows stay between `low` and `high`."""

    def __init__(self, low: int, high: int, value: int) -> None:
        super().__init__()
        self._low, self._high = low, high
        self.setRange(min(low, 0), TYPED_MAX)
        self.setValue(value)
        self.setGroupSeparatorShown(True)

    def stepBy(self, steps: int) -> None:
        self.setValue(min(max(self.value() + steps * self.singleStep(), self._low), self._high))
        self.selectAll()


class Decimal(QDoubleSpinBox):
    """Decimal numbers as `Number`, without zeroes at the end. The lowest is never left."""

    def __init__(self, low: float, high: float, value: float, step: float, decimals: int = 2) -> None:
        super().__init__()
        self._high = high
        self.setDecimals(decimals)
        self.setRange(low, 1e9)
        self.setSingleStep(step)
        self.setValue(value)

    def stepBy(self, steps: int) -> None:
        self.setValue(min(self.value() + steps * self.singleStep(), self._high))
        self.selectAll()

    def textFromValue(self, value: float) -> str:
        text = super().textFromValue(value)
        point = self.locale().decimalPoint()
        return text.rstrip("0").rstrip(point) if point in text else text


def number(low: int, high: int, value: int, suffix: str = "", special: str = "") -> Number:
    """A whole number; `special` is shown instead of the lowest value."""
    box = Number(low, high, value)
    _tidy(box)
    if suffix:
        box.setSuffix(suffix)
    if special:
        box.setSpecialValueText(special)
    return box


def decimal(
    low: float, high: float, value: float, step: float, suffix: str = "", decimals: int = 2
) -> Decimal:
    """A decimal number."""
    box = Decimal(low, high, value, step, decimals)
    _tidy(box)
    if suffix:
        box.setSuffix(suffix)
    return box


def _tidy(box: QAbstractSpinBox) -> None:
    # The style sheet resets the padding of the editor inside; and a box must not be as wide
    # as its largest number.
    box.lineEdit().setTextMargins(6, 0, 0, 0)
    box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    box.setMinimumWidth(64)


class Group(QWidget):
    """A titled part of the setup that folds; its fields lie on a grid of two columns.

    `folded`: closed at first, with `set_summary`'s words in its head.
    """

    edited = Signal()

    def __init__(self, title: str, folded: bool = False) -> None:
        super().__init__()
        layout = column(self, (12, 8, 2, 12), 8)
        self._header = Button(title.replace("&", "&&"), "plain", "chevron-down", "secondary")
        self._header.setStyleSheet("text-align: left; font-size: 13px; font-weight: 600; padding: 1px 0;")
        self._header.setAccessibleName(title)
        self._header.clicked.connect(lambda: self.set_folded(not self.is_folded))
        self._summary = make_label("", "muted")
        self._summary.hide()
        self.body = QWidget()
        self.grid = QGridLayout(self.body)
        self.grid.setContentsMargins(0, 0, 0, 0)
        self.grid.setHorizontalSpacing(8)
        self.grid.setVerticalSpacing(8)
        self.grid.setColumnStretch(0, 1)
        self.grid.setColumnStretch(1, 1)
        head = row(margins=(0, 0, 10, 0), spacing=6)
        head.addWidget(self._header, 1)
        head.addWidget(self._summary)
        layout.addLayout(head)
        layout.addWidget(self.body)
        if folded:
            self.set_folded(True)

    def add(self, widget: QWidget, row: int, column_no: int, span: int = 1) -> None:
        """Put a widget on the grid (row, column, columns that it spans)."""
        self.grid.addWidget(widget, row, column_no, 1, span, Qt.AlignmentFlag.AlignTop)

    def set_summary(self, text: str) -> None:
        """A few words at the right of the head."""
        set_text(self._summary, text)
        self._summary.setVisible(bool(text))
        self._header.setAccessibleDescription(text)

    @property
    def summary(self) -> str:
        """The words at the right of the head."""
        return self._summary.text()

    @property
    def is_folded(self) -> bool:
        """Is only the head shown?"""
        return self.body.isHidden()

    def set_folded(self, folded: bool) -> None:
        """Close the group, or open it."""
        self.body.setVisible(not folded)
        self._header.set_icon_name("chevron-right" if folded else "chevron-down", "secondary")
        self.layout().setContentsMargins(12, 8, 2, 8 if folded else 12)
