"""Text from outside stays text in what is shared, and tells no names where none are wanted."""

from __future__ import annotations

import pytest

from profiler.reporting.outside_text import LEFT_OUT, markdown_escape, without_names


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain text, 5 %", "plain text, 5 %"),
        ("a|b", "a\\|b"),
        ("<img src=x> & co", "&lt;img src=x&gt; &amp; co"),
        ("two\nlines\t", "two lines"),
        ("# no *heading* [x](y) ![z] ~~s~~", "\\# no \\*heading\\* \\[x\\](y) \\!\\[z\\] \\~\\~s\\~\\~"),
        ("`code` a_b \\", "\\`code\\` a\\_b \\\\"),
        ("@team", "@\u200bteam"),
        ("\x1b[2Jx", "\\[2Jx"),
        ("", ""),
    ],
)
def test_markdown_stays_text_on_one_line(text: str, escaped: str) -> None:
    assert markdown_escape(text) == escaped


def test_long_text_is_not_cut() -> None:
    assert markdown_escape("x" * 5000) == "x" * 5000


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("/home/jane/m.gguf", "~/m.gguf"),
        ("/Users/jane.doe/m and /root/x", "~/m and ~/x"),
        ("C:\\Users\\John Smith\\m", "~\\m"),
        ("Bob's bobsled on anna-pc", f"{LEFT_OUT}'s bobsled on {LEFT_OUT}"),
        ("/rooted", "/rooted"),
    ],
)
def test_home_folders_and_names_as_words_are_left_out(text: str, cleaned: str) -> None:
    assert without_names(text, ("anna-pc", "bob")) == cleaned
