"""Texts kept as bytes are the same texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.columns import Column, Pieces

TEXTS = st.lists(st.text(st.characters(codec=None), max_size=6), max_size=30)
"""Any code points, halves of surrogate pairs among them."""


@given(TEXTS, st.integers(0, 30), st.integers(-35, 35), st.integers(-35, 35))
def test_pieces_are_a_sequence_of_str(texts: list[str], cut: int, a: int, b: int) -> None:
    pieces = Pieces(texts[:cut])
    pieces.extend(texts[cut:])
    assert list(pieces) == texts and len(pieces) == len(texts)
    assert pieces == texts and pieces == Pieces(texts)
    assert pieces[a:b] == texts[a:b] and pieces[a:b:2] == texts[a:b:2]
    assert [pieces[i] for i in range(len(texts))] == texts
    assert pieces.text == "".join(texts)
    if texts:
        assert pieces[-1] == texts[-1]


def test_pieces_know_their_bounds() -> None:
    pieces = Pieces(["a", "", "é世", "\ud83d", "\ude00"])
    assert not Pieces() and Pieces().text == "" and Pieces()[0:3] == []
    with pytest.raises(IndexError):
        pieces[5]
    assert pieces != ["a"] and pieces != "aé" and pieces != 3
    assert pieces.text == "aé世\ud83d\ude00"


def test_many_pieces_come_in_order() -> None:
    texts = [str(i) for i in range(10_000)]
    assert list(Pieces(texts)) == texts


def test_a_column_grows_and_takes_a_value_between() -> None:
    column = Column("int64", room=0)
    column.append(1)
    column.append(3)
    before = column.view
    column.insert(1, 2)
    assert column.view.tolist() == [1, 2, 3] and before.tolist() == [1, 3]
