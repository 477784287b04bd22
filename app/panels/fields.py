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

from app.panels.parts import column, set_property, set_text
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
        if sentence and self._error is None:
            self._error = make_label("", "bad", wrap=True)
            self._error.setObjectName(f"error-{self.key}")
            self._layout.addWidget(self._error)
        if self._error is not None:
            set_text(self._error, sentence[:1].upper() + sentence[1:] if sentence else "")
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


def number(low: int, high: int, value: int, suffix: str = "", special: str = "") -> QSpinBox:
    """A whole number; `special` is shown instead of the lowest value."""
    box = QSpinBox()
    box.setRange(low, high)
    box.setValue(value)
    box.setGroupSeparatorShown(True)
    box.setKeyboardTracking(False)
    _tidy(box)
    if suffix:
        box.setSuffix(suffix)
    if special:
        box.setSpecialValueText(special)
    return box


def decimal(low: float, high: float, value: float, step: float) -> QDoubleSpinBox:
    """A decimal number."""
    box = QDoubleSpinBox()
    box.setRange(low, high)
    box.setSingleStep(step)
    box.setDecimals(2)
    box.setValue(value)
    box.setKeyboardTracking(False)
    _tidy(box)
    return box


def _tidy(box: QAbstractSpinBox) -> None:
    # The style sheet resets the padding of the editor inside; and a box must not be as wide
    # as its largest number.
    box.lineEdit().setTextMargins(6, 0, 0, 0)
    box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    box.setMinimumWidth(64)


class Group(QWidget):
    """A titled part of the setup that folds; its fields lie on a grid of two columns."""

    edited = Signal()

    def __init__(self, title: str) -> None:
        super().__init__()
        layout = column(self, (12, 8, 2, 12), 8)
        self._header = Button(title.replace("&", "&&"), "plain", "chevron-down", "secondary")
        self._header.setStyleSheet("text-align: left; font-size: 13px; font-weight: 600; padding: 1px 0;")
        self._header.setAccessibleName(title)
        self._header.clicked.connect(self._fold)
        self.body = QWidget()
        self.grid = QGridLayout(self.body)
        self.grid.setContentsMargins(0, 0, 0, 0)
        self.grid.setHorizontalSpacing(8)
        self.grid.setVerticalSpacing(8)
        self.grid.setColumnStretch(0, 1)
        self.grid.setColumnStretch(1, 1)
        layout.addWidget(self._header)
        layout.addWidget(self.body)

    def add(self, widget: QWidget, row: int, column_no: int, span: int = 1) -> None:
        """Put a widget on the grid (row, column, columns that it spans)."""
        self.grid.addWidget(widget, row, column_no, 1, span, Qt.AlignmentFlag.AlignTop)

    def _fold(self) -> None:
        shown = self.body.isHidden()
        self.body.setVisible(shown)
        self._header.set_icon_name("chevron-down" if shown else "chevron-right", "secondary")
