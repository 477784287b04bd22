"""Which slices may lie on one track of a trace viewer.

On a track slices must nest or be apart; Perfetto drops those that overlap only in part
(google/perfetto#4280), chrome://tracing draws them over each other.
"""

from __future__ import annotations

from collections.abc import Sequence


def tracks(intervals: Sequence[tuple[int, int]], *, nesting: bool = True) -> list[int]:
    """The number (from 0) of a track for each interval (start, end), ns; as few tracks as come easily.

    Two of one track are apart (they may touch) or, with `nesting`, one lies within the other.
    An end before its start counts as the start.
    """
    spans = [(start, max(start, end)) for start, end in intervals]
    # Of those that start together the longest is the outer one.
    order = sorted(range(len(spans)), key=lambda index: (spans[index][0], -spans[index][1], index))
    open_ends: list[list[int]] = []
    chosen = [0] * len(spans)
    for index in order:
        start, end = spans[index]
        for ends in open_ends:
            while ends and ends[-1] <= start:
                ends.pop()
        track = next(
            (number for number, ends in enumerate(open_ends) if not ends or (nesting and end <= ends[-1])),
            len(open_ends),
        )
        if track == len(open_ends):
            open_ends.append([])
        open_ends[track].append(end)
        chosen[index] = track
    return chosen
