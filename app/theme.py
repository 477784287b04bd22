"""Colours, fonts and the style sheet: what the whole window looks like.

Thread: the GUI thread. A `Palette` is a fact; widgets that paint themselves are told one
through `set_theme(palette)` (see `apply_theme`), everything else follows the style sheet.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from string import Template
from typing import Literal, Protocol

from PySide6.QtCore import QObject, Qt, Signal, SignalInstance
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from app.resources import font_files
from profiler.paths import resource_dir

Mode = Literal["system", "dark", "light"]

UI_FAMILIES = ["Inter", "Segoe UI", "SF Pro Text", "Noto Sans", "DejaVu Sans", "Noto Sans CJK SC"]
MONO_FAMILIES = ["JetBrains Mono", "Cascadia Mono", "SF Mono", "DejaVu Sans Mono", "Noto Sans CJK SC"]


@dataclass(frozen=True)
class Palette:
    """Every colour by its role, as `#rrggbb`. `name` is "dark" or "light"."""

    name: str
    window: str
    rail: str
    surface: str
    raised: str
    hover: str
    border: str
    control_border: str
    axis: str
    grid: str
    text: str
    secondary: str
    muted: str
    accent: str
    accent_tint: str
    primary: str
    primary_hover: str
    on_primary: str
    ok: str
    warning: str
    bad: str
    tooltip: str
    data1: str
    data2: str
    data3: str
    data4: str
    data5: str
    data6: str
    data7: str

    @property
    def dark(self) -> bool:
        """True for the dark palette."""
        return self.name == "dark"

    def color(self, role: str, alpha: int = 255) -> QColor:
        """The colour of a role with `alpha` 0..255. AttributeError: no such role."""
        color = QColor(getattr(self, role))
        color.setAlpha(alpha)
        return color

    def mix(self, role: str, alpha: int, base: str = "surface") -> QColor:
        """A role laid over another with `alpha` 0..255, as one opaque colour (cheaper to fill)."""
        top, under = QColor(getattr(self, role)), QColor(getattr(self, base))
        share = alpha / 255
        return QColor(
            *(
                round(over * share + below * (1 - share))
                for over, below in zip(top.getRgb()[:3], under.getRgb()[:3], strict=True)
            )
        )

    def text_role(self, data_role: str) -> str:
        """The role to write *words* of a data colour in: the light orange is too pale for text."""
        return "warning" if data_role == "data2" and not self.dark else data_role


DARK = Palette(
    name="dark",
    window="#14171C",
    rail="#0F1216",
    surface="#1A1E25",
    raised="#232831",
    hover="#2A303A",
    border="#2A303A",
    control_border="#3B4350",
    axis="#677384",
    grid="#2A303A",
    text="#E9ECF1",
    secondary="#B3BBC7",
    muted="#949EAD",
    accent="#56B4E9",
    accent_tint="#1B2F3F",
    primary="#0072B2",
    primary_hover="#0067A1",
    on_primary="#FFFFFF",
    ok="#3CC7A0",
    warning="#F0B23C",
    bad="#FF8A55",
    tooltip="#2E3540",
    data1="#56B4E9",
    data2="#F0A830",
    data3="#3CC7A0",
    data4="#DB93BB",
    data5="#FF8A55",
    data6="#E8DC56",
    data7="#A3ACB9",
)

LIGHT = Palette(
    name="light",
    window="#F3F5F7",
    rail="#E8EBEF",
    surface="#FFFFFF",
    raised="#F6F7F9",
    hover="#E9ECF0",
    border="#DDE1E7",
    control_border="#C3CAD3",
    axis="#828D9B",
    grid="#E6E9ED",
    text="#1A1F27",
    secondary="#465160",
    muted="#5A6574",
    accent="#0069A6",
    accent_tint="#DCECF7",
    primary="#0072B2",
    primary_hover="#0067A1",
    on_primary="#FFFFFF",
    ok="#007050",
    warning="#885600",
    bad="#B03E00",
    tooltip="#FFFFFF",
    data1="#0072B2",
    data2="#B36F00",
    data3="#007F5F",
    data4="#A3487F",
    data5="#C44A00",
    data6="#7D7000",
    data7="#6B7584",
)


def luminance(color: str) -> float:
    """Relative luminance of `#rrggbb`, 0..1 (WCAG 2.2)."""
    rgb = QColor(color)
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (rgb.redF(), rgb.greenF(), rgb.blueF())
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours, 1..21 (WCAG 2.2)."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def load_fonts() -> list[str]:
    """Register the bundled fonts; returns their families. Needs a QGuiApplication.

    A file that cannot be read is left out: the fall-backs of the family lists take its place.
    """
    families: list[str] = []
    for path in font_files():
        number = QFontDatabase.addApplicationFont(str(path))
        if number >= 0:
            families.extend(QFontDatabase.applicationFontFamilies(number))
    return families


@lru_cache(maxsize=64)
def _font(families: tuple[str, ...], px: int, weight: int) -> QFont:
    font = QFont()
    font.setFamilies(list(families))
    font.setPixelSize(px)
    font.setWeight(QFont.Weight(weight))
    # Figures of equal width, so that live numbers do not jitter.
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def ui_font(px: int = 12, weight: int = 400) -> QFont:
    """The interface font with tabular figures; `px` pixels, `weight` 100..900."""
    return QFont(_font(tuple(UI_FAMILIES), px, weight))


def mono_font(px: int = 12, weight: int = 400) -> QFont:
    """The fixed-width font, for output text, formulas and logs."""
    font = QFont(_font(tuple(MONO_FAMILIES), px, weight))
    font.setStyleHint(QFont.StyleHint.Monospace)
    # Tokens must look like what they are: no `!=` drawn as one sign.
    font.setFeature(QFont.Tag("calt"), 0)
    return font


def build_stylesheet(palette: Palette) -> str:
    """The style sheet of the whole application, in the colours of `palette`.

    The text is `resources/style.qss`, whose `$role` words are the roles of `Palette`.
    """
    template = Template((resource_dir() / "style.qss").read_text(encoding="utf-8"))
    roles = {field.name: getattr(palette, field.name) for field in fields(palette)}
    quote = '"{}"'.format
    return template.substitute(
        roles,
        ui_families=", ".join(map(quote, UI_FAMILIES)),
        mono_families=", ".join(map(quote, MONO_FAMILIES)),
        controls=(resource_dir() / "icons" / "controls").as_posix(),
    )


def build_qpalette(palette: Palette) -> QPalette:
    """What Qt itself paints with (dialogs, selections, placeholders, links)."""
    result = QPalette()
    role = QPalette.ColorRole
    for qt_role, name in (
        (role.Window, "window"),
        (role.WindowText, "text"),
        (role.Base, "raised"),
        (role.AlternateBase, "surface"),
        (role.Text, "text"),
        (role.Button, "raised"),
        (role.ButtonText, "text"),
        (role.BrightText, "bad"),
        (role.Highlight, "primary"),
        (role.HighlightedText, "on_primary"),
        (role.ToolTipBase, "tooltip"),
        (role.ToolTipText, "text"),
        (role.PlaceholderText, "muted"),
        (role.Link, "accent"),
        (role.LinkVisited, "accent"),
    ):
        result.setColor(qt_role, palette.color(name))
    for qt_role in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, qt_role, palette.color("muted"))
    return result


def apply_theme(root: QWidget, palette: Palette) -> None:
    """Tell `root` and every widget below it that has a `set_theme` method its palette."""
    for widget in (root, *root.findChildren(QWidget)):
        set_theme = getattr(widget, "set_theme", None)
        if set_theme is not None:
            set_theme(palette)


class ColorSchemeHints(Protocol):
    """The part of `QStyleHints` that `Theme` reads; tests pass their own."""

    colorSchemeChanged: SignalInstance  # noqa: N815 (Qt's name)

    def colorScheme(self) -> Qt.ColorScheme:
        """What the system asks for now."""
        ...


class Theme(QObject):
    """The palette in force. Follows the system while the mode is "system"."""

    changed = Signal(object)
    """The new `Palette`; only when it really is another one."""

    def __init__(
        self,
        mode: Mode = "system",
        hints: ColorSchemeHints | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._hints = hints if hints is not None else QGuiApplication.styleHints()
        self._mode: Mode = mode
        self._palette = self._wanted()
        self._hints.colorSchemeChanged.connect(self._follow)

    @property
    def palette(self) -> Palette:
        """The palette in force."""
        return self._palette

    @property
    def mode(self) -> Mode:
        """What the user chose."""
        return self._mode

    def set_mode(self, mode: Mode) -> None:
        """Follow the system, or stay dark or light. ValueError for another word."""
        if mode not in ("system", "dark", "light"):
            raise ValueError(f"The theme is 'system', 'dark' or 'light', not {mode!r}.")
        self._mode = mode
        self._follow()

    def install(self, app: QApplication, *, sheet: bool = True) -> None:
        """Style the application, now and at every change. Call once, before windows are made.

        `sheet` False: without the style sheet, for which `put_on_sheet` is to be called. Under a
        sheet Qt styles a widget again, with all that it holds, whenever it is put into another:
        a window is made four times faster without.
        """
        load_fonts()
        app.setStyle("Fusion")
        app.setFont(ui_font(12))
        app.setPalette(build_qpalette(self._palette))
        if sheet:
            self.put_on_sheet(app)
        self.changed.connect(lambda _palette: self._dress(app))

    def put_on_sheet(self, app: QApplication) -> None:
        """The style sheet, when the first window is made and not shown yet."""
        app.setStyleSheet(build_stylesheet(self._palette))

    def _dress(self, app: QApplication) -> None:
        app.setPalette(build_qpalette(self._palette))
        self.put_on_sheet(app)

    def _wanted(self) -> Palette:
        if self._mode == "system":
            return LIGHT if self._hints.colorScheme() == Qt.ColorScheme.Light else DARK
        return LIGHT if self._mode == "light" else DARK

    def _follow(self, *_: object) -> None:
        palette = self._wanted()
        if palette is not self._palette:
            self._palette = palette
            self.changed.emit(palette)
