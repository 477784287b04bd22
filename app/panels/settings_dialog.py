"""Settings: appearance, the library, privacy, what a second start does."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QDialog, QGridLayout, QWidget

from app.panels.parts import column, row
from app.settings import Settings
from app.widgets import Button, DoubleSpinBox, make_label

TEXT_SCALES = (1.0, 1.15, 1.3, 1.5)


class SettingsDialog(QDialog):
    """Every choice takes effect at once, but the text size: at the next start."""

    theme_chosen = Signal(str)
    changed = Signal()

    def __init__(self, settings: Settings, theme: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self.setWindowTitle(self.tr("Settings"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        outer = column(self, (20, 16, 20, 16), 12)
        outer.addWidget(make_label(self.tr("Settings"), "page"))
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(20)
        self._grid.setVerticalSpacing(10)
        self._grid.setColumnStretch(1, 1)
        outer.addLayout(self._grid)
        self._add_looks(theme)
        self._add_library()
        self._add_rest()
        outer.addStretch(1)
        foot = row(None, 0, 8)
        foot.addStretch(1)
        close = Button(self.tr("Close"))
        close.clicked.connect(self.accept)
        foot.addWidget(close)
        outer.addLayout(foot)

    def _add_looks(self, theme: str) -> None:
        self.theme = QComboBox()
        for mode, text in (
            ("system", self.tr("As the system")),
            ("dark", self.tr("Dark")),
            ("light", self.tr("Light")),
        ):
            self.theme.addItem(text, mode)
        self.theme.setCurrentIndex(self.theme.findData(theme))
        self.theme.currentIndexChanged.connect(lambda _: self.theme_chosen.emit(self.theme.currentData()))
        self._add(self.tr("Colours"), self.theme)
        self.text_scale = QComboBox()
        for scale in TEXT_SCALES:
            self.text_scale.addItem(f"{round(100 * scale)} %", scale)
        self.text_scale.setCurrentIndex(max(self.text_scale.findData(self._settings.text_scale()), 0))
        self.text_scale.currentIndexChanged.connect(self._keep_text_scale)
        self._add(self.tr("Text size"), self.text_scale, self.tr("Takes effect at the next start."))

    def _add_library(self) -> None:
        self.quota = _number(self._settings.quota_gb(), 0, 10_000, self.tr(" GB"), self.tr("no limit"))
        self.quota.valueChanged.connect(self._settings.set_quota_gb)
        self._add(
            self.tr("Unnamed recordings may take"),
            self.quota,
            self.tr("Beyond this the Sessions page asks what may go. Nothing is deleted by itself."),
        )
        self.age = _number(self._settings.max_age_days(), 0, 36_500, self.tr(" days"), self.tr("no limit"))
        self.age.valueChanged.connect(self._settings.set_max_age_days)
        self._add(self.tr("… and be as old as"), self.age)

    def _add_rest(self) -> None:
        self.second_start = QComboBox()
        self.second_start.addItem(self.tr("opens files in this window"), "window")
        self.second_start.addItem(self.tr("opens another window"), "new")
        self.second_start.setCurrentIndex(self.second_start.findData(self._settings.second_start()))
        self.second_start.currentIndexChanged.connect(
            lambda _: self._settings.set_second_start(self.second_start.currentData())
        )
        self._add(self.tr("A second start"), self.second_start)
        self.hints = QCheckBox(self.tr("Show the hint for newcomers again"))
        self.hints.setChecked(not self._settings.hint_seen("profile"))
        self.hints.toggled.connect(self._keep_hints)
        self._add("", self.hints)

    def _keep_text_scale(self, _index: int) -> None:
        self._settings.set_text_scale(float(self.text_scale.currentData()))
        self.changed.emit()

    def _keep_hints(self, show: bool) -> None:
        self._settings.set_hint_seen("profile", not show)
        self.changed.emit()

    def _add(self, text: str, control: QWidget, note: str = "") -> None:
        line = self._grid.rowCount()
        label = make_label(text, "secondary")
        label.setBuddy(control)
        control.setAccessibleName(text or control.accessibleName())
        self._grid.addWidget(label, line, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(control, line, 1)
        if note:
            words = make_label(note, "muted")
            words.setWordWrap(True)
            self._grid.addWidget(words, line + 1, 1)


def _number(value: float, low: float, high: float, unit: str, at_zero: str) -> DoubleSpinBox:
    box = DoubleSpinBox(low, high, value, unit.strip(), decimals=0)
    box.setSpecialValueText(at_zero)
    return box
