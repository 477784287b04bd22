"""Palette, style sheet, fonts, icons, and the theme that follows the system."""

from __future__ import annotations

from dataclasses import fields

import pytest
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QFontDatabase, QFontInfo, QFontMetricsF
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.resources import app_icon, font_files, icon, icon_names, pixmap
from app.theme import (
    DARK,
    LIGHT,
    Palette,
    Theme,
    apply_theme,
    build_stylesheet,
    contrast,
    load_fonts,
    mono_font,
    ui_font,
)
from app.widgets import StatusMark
from profiler.paths import resource_dir

BACKGROUNDS = ("window", "rail", "surface", "raised", "tooltip")


class FakeHints(QObject):
    """The part of QStyleHints that Theme reads."""

    colorSchemeChanged = Signal(object)  # noqa: N815

    def __init__(self, scheme: Qt.ColorScheme) -> None:
        super().__init__()
        self._scheme = scheme

    def colorScheme(self) -> Qt.ColorScheme:
        return self._scheme

    def change(self, scheme: Qt.ColorScheme) -> None:
        self._scheme = scheme
        self.colorSchemeChanged.emit(scheme)


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda palette: palette.name)
class TestContrast:
    @pytest.mark.parametrize("background", BACKGROUNDS)
    @pytest.mark.parametrize("role", ["text", "secondary", "muted"])
    def test_words_reach_4_5_on_every_background(self, palette: Palette, role: str, background: str) -> None:
        assert contrast(getattr(palette, role), getattr(palette, background)) >= 4.5

    @pytest.mark.parametrize("role", ["accent", "ok", "warning", "bad"])
    def test_states_reach_4_5_on_cards_and_fields(self, palette: Palette, role: str) -> None:
        assert contrast(getattr(palette, role), palette.surface) >= 4.5
        assert contrast(getattr(palette, role), palette.raised) >= 4.5

    @pytest.mark.parametrize("fill", ["primary", "primary_hover"])
    def test_words_on_the_primary_button(self, palette: Palette, fill: str) -> None:
        assert contrast(palette.on_primary, getattr(palette, fill)) >= 4.5

    @pytest.mark.parametrize("number", range(1, 8))
    def test_data_lines_reach_4_on_cards(self, palette: Palette, number: int) -> None:
        assert contrast(getattr(palette, f"data{number}"), palette.surface) >= 4.0

    def test_words_in_data_colours(self, palette: Palette) -> None:
        role = palette.text_role("data2")
        assert contrast(getattr(palette, role), palette.surface) >= 4.5
        assert contrast(getattr(palette, role), palette.tooltip) >= 4.5

    def test_boxes_to_tick_and_axes_can_be_seen(self, palette: Palette) -> None:
        assert contrast(palette.axis, palette.surface) >= 3.0


def test_contrast_of_black_and_white_is_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#ffffff", "#ffffff") == pytest.approx(1.0)


def test_mix_is_half_way() -> None:
    palette = Palette(**{field.name: "#000000" for field in fields(Palette)})
    lit = Palette(**{**palette.__dict__, "text": "#ffffff"})
    assert lit.mix("text", 51).getRgb() == (51, 51, 51, 255)


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda palette: palette.name)
def test_stylesheet_has_no_open_words_and_its_pictures_exist(palette: Palette) -> None:
    sheet = build_stylesheet(palette)
    assert "$" not in sheet
    assert palette.window in sheet and palette.accent in sheet
    used = {part.split('"')[0] for part in sheet.split('url("')[1:]}
    assert len(used) == 4
    for path in used:
        assert (resource_dir() / path).is_file(), path


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda palette: palette.name)
def test_the_arrows_of_fields_have_the_theme_s_colour(palette: Palette) -> None:
    for name in ("chevron-down", "chevron-up"):
        path = resource_dir() / "icons" / "controls" / f"{name}-{palette.name}.svg"
        assert palette.secondary in path.read_text(encoding="utf-8")


def test_bundled_fonts_load_and_have_figures_of_equal_width(qapp: object) -> None:
    load_fonts()
    assert {"Inter", "JetBrains Mono"} <= set(QFontDatabase.families())
    for weight in (400, 500, 600):
        font = ui_font(12, weight)
        assert QFontInfo(font).family() == "Inter"
        metrics = QFontMetricsF(font)
        assert metrics.horizontalAdvance("1111") == metrics.horizontalAdvance("0000")
    assert QFontInfo(mono_font(12)).family() == "JetBrains Mono"


def test_fonts_come_with_their_licence_and_stay_small() -> None:
    files = font_files()
    assert sum(path.stat().st_size for path in files) < 3_000_000
    folder = resource_dir() / "fonts"
    for family in ("Inter", "JetBrainsMono"):
        assert any(path.name.startswith(family) for path in files)
        assert "SIL OPEN FONT LICENSE" in (folder / f"OFL-{family}.txt").read_text(encoding="utf-8")


def test_a_font_that_was_changed_does_not_change_the_next_one(qapp: object) -> None:
    ui_font(12).setPixelSize(40)
    assert ui_font(12).pixelSize() == 12


def test_icons_are_drawn_in_the_colour_asked_for(qapp: object) -> None:
    names = icon_names()
    assert {"profile", "compare", "experiments", "sessions", "play", "stop", "save", "warning"} <= set(names)
    for name in names:
        image = pixmap(name, "#ff0000", 24).toImage()
        colours = {
            image.pixelColor(x, y).name()
            for x in range(24)
            for y in range(24)
            if image.pixelColor(x, y).alpha() == 255
        }
        if name != "app":
            assert colours == {"#ff0000"}, name
    assert not icon("play", "#ffffff", 16, "#888888").isNull()
    assert not app_icon().isNull()


def test_an_unknown_icon_is_an_error(qapp: object) -> None:
    with pytest.raises(KeyError, match="no icon called 'nothing'"):
        pixmap("nothing", "#ffffff")


def test_theme_follows_the_system_until_told_otherwise(qapp: object) -> None:
    hints = FakeHints(Qt.ColorScheme.Light)
    theme = Theme("system", hints)
    seen: list[str] = []
    theme.changed.connect(lambda palette: seen.append(palette.name))
    assert theme.palette is LIGHT
    hints.change(Qt.ColorScheme.Dark)
    assert theme.palette is DARK
    hints.change(Qt.ColorScheme.Dark)
    assert seen == ["dark"]
    theme.set_mode("light")
    hints.change(Qt.ColorScheme.Light)
    hints.change(Qt.ColorScheme.Dark)
    assert seen == ["dark", "light"]
    theme.set_mode("system")
    assert theme.palette is DARK
    assert theme.mode == "system"


def test_a_system_that_does_not_say_gets_the_dark_theme(qapp: object) -> None:
    assert Theme("system", FakeHints(Qt.ColorScheme.Unknown)).palette is DARK


def test_theme_refuses_other_words(qapp: object) -> None:
    with pytest.raises(ValueError, match="'system', 'dark' or 'light'"):
        Theme("dark", FakeHints(Qt.ColorScheme.Dark)).set_mode("pink")  # type: ignore[arg-type]


def test_apply_theme_reaches_every_widget_that_paints_itself(qtbot: object) -> None:
    root = QWidget()
    qtbot.addWidget(root)  # type: ignore[attr-defined]
    layout = QVBoxLayout(root)
    inner = QWidget()
    mark = StatusMark("ok")
    QVBoxLayout(inner).addWidget(mark)
    layout.addWidget(inner)
    layout.addWidget(QLabel("no set_theme here"))
    apply_theme(root, LIGHT)
    image = mark.grab().toImage()
    assert image.pixelColor(2, 7).name() == LIGHT.ok.lower()
