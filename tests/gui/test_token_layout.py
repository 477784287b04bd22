"""Lines of tokens: breaking, numbering, finding; and what odd pieces look like."""

from __future__ import annotations

import random

import pytest

from app.widgets.token_glyphs import CHUNK, glyphs_of, readable
from app.widgets.token_layout import TokenLayout


def wide(text: str) -> int:
    """Every sign beyond ASCII takes two columns."""
    return sum(1 if sign.isascii() else 2 for sign in text)


def lines(layout: TokenLayout) -> list[str]:
    return ["".join(part.unit.text for part in layout.line(at)) for at in range(layout.line_count)]


def filled(columns: int, *pieces: str) -> TokenLayout:
    layout = TokenLayout(wide, columns)
    layout.append(pieces, range(1, len(pieces) + 1))
    return layout


class TestGlyphs:
    @pytest.mark.parametrize(
        ("piece", "shown"),
        [
            ("word", "word"),
            (" the", " the"),
            ("  ", "··"),
            ("\t", "→"),
            ("\n", "↵"),
            ("\n\n", "↵↵"),
            (".\r\n", ".↵"),
            ("", "▫"),
            ("a\tb", "a→b"),
            ("\x00\x1b[31m", "␀␛[31m"),
            ("\x7f", "␡"),
            ("\x9b", "‹U+009B›"),
            ("\u202eevil", "‹U+202E›evil"),
            ("\ud800", "\ufffd"),
            ("\u0301", "◌\u0301"),
            ("<b>&amp;", "<b>&amp;"),
        ],
    )
    def test_every_sign_is_seen_and_none_is_in_force(self, piece: str, shown: str) -> None:
        assert readable(piece) == shown

    def test_width_of_signs_is_asked_for_where_it_is_not_one(self) -> None:
        assert [unit.cols for unit in glyphs_of("山x", wide).units] == [3]
        assert [unit.cols for unit in glyphs_of("\u200d", lambda _: 0).units] == [1]

    def test_long_odd_text_is_cut_between_signs_that_belong_together(self) -> None:
        units = glyphs_of("山" * 20 + "e\u0301" * 3, wide).units
        assert [len(unit.text) for unit in units] == [CHUNK, 10]
        flag = "\U0001f1e9\U0001f1ea"
        text = "山" * (CHUNK - 1) + flag
        assert [unit.text for unit in glyphs_of(text, wide).units] == [text]

    def test_a_tower_of_marks_ends(self) -> None:
        units = glyphs_of("Z" + "\u0311" * 1000, wide).units
        assert max(len(unit.text) for unit in units) == 4 * CHUNK
        assert all(unit.tall for unit in units)

    def test_an_endless_piece_shows_its_beginning(self) -> None:
        assert len(readable("x" * 100_000)) == 4001


class TestLines:
    def test_breaks_before_a_word(self) -> None:
        layout = filled(12, "one", " two", " three", " four")
        assert lines(layout) == ["one two", " three four"]

    def test_a_word_of_several_tokens_moves_as_a_whole(self) -> None:
        layout = filled(12, "one", " two", " thr", "r", "ee")
        assert lines(layout) == ["one two thrr", "ee"]  # 4 columns at most move: a third of 12
        layout = filled(18, "one two three", " th", "r", "ee")
        assert lines(layout) == ["one two three", " three"]

    def test_a_line_break_ends_the_line(self) -> None:
        layout = filled(20, "a", "\n", "b\nc", "\n\n")
        assert lines(layout) == ["a↵", "b↵", "c↵", "↵", ""]

    def test_a_piece_longer_than_a_line_is_cut(self) -> None:
        layout = filled(10, "ab", "x" * 25, "cd")
        assert lines(layout) == ["ab", "x" * 10, "x" * 10, "xxxxxcd"]
        assert layout.lines_of(2) == (1, 3)
        assert layout.lines_of(3) == (3, 3)

    def test_wide_signs_count_twice(self) -> None:
        assert lines(filled(5, "山", "山", "山")) == ["山山", "山"]

    def test_numbers_are_found_where_they_are_drawn(self) -> None:
        layout = filled(12, "one", " two", " three", " four")
        assert [layout.number_at(0, col) for col in (0, 2.9, 3, 6.5, 7)] == [1, 1, 2, 2, None]
        assert layout.number_at(0, 11, near=True) == 2
        assert layout.number_at(1, 0) == 3
        assert layout.number_at(2, 0) is None and layout.number_at(-1, 0) is None
        assert layout.col_of(4) == 6
        assert layout.lines_of(5) is None and layout.lines_of(0) is None

    def test_text_without_a_number_is_text(self) -> None:
        layout = TokenLayout(wide, 20)
        layout.append(["a", "rest", "b"], [1, 0, 2])
        assert layout.number_at(0, 2) is None
        assert layout.col_of(2) == 5
        assert layout.last_number == 2 and layout.piece(2) == "b"

    def test_appending_tells_the_first_line_that_changed(self) -> None:
        layout = filled(12, "one", " two", "\n")
        assert layout.append([" three"], [4]) == 1

    @pytest.mark.parametrize("columns", [1, 2, 7, 40])
    def test_one_by_one_is_as_all_at_once_and_as_laid_out_anew(self, columns: int) -> None:
        rng = random.Random(columns)
        some = ["a", " bc", "", "\n", "x" * 50, "山", " 山", "  ", "\u0301", "don't", "\n\nz "]
        pieces = [rng.choice(some) for _ in range(300)]
        at_once = filled(columns, *pieces)
        one_by_one = TokenLayout(wide, columns)
        for number, piece in enumerate(pieces, 1):
            one_by_one.append([piece], [number])
        other = filled(33, *pieces)
        assert other.set_columns(columns) and not other.set_columns(columns)
        assert lines(at_once) == lines(one_by_one) == lines(other)
        shown = "".join(lines(at_once))
        assert shown == "".join(readable(piece) for piece in pieces)
        for number in range(1, 301):
            first, last = at_once.lines_of(number) or (-1, -1)
            assert 0 <= first <= last < at_once.line_count
            assert at_once.number_at(first, at_once.col_of(number)) == number
        longest = max(at_once.end_col(at) for at in range(at_once.line_count))
        assert longest <= max(columns, 4)  # a unit is at least as wide as itself
