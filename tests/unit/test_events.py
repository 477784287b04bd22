from __future__ import annotations

import json

import numpy as np
import pytest

from profiler import events as ev


def test_every_event_survives_the_pipe() -> None:
    sent: list[ev.Event] = [
        ev.RunStart(1, 5, "n", "m", {"a": 1}, {"b": None}),
        ev.RequestStart(2, 1, "r1", 7, 16, 4, True, True, "b1", "Warm-up 1"),
        ev.Span(1, "prefill", 7, 9, 2, {"x": 1.5}),
        ev.Text(2, ["a", "", "\ud800 lone surrogate", "日本"]),
        ev.Sample(8, "gpu0", {"power_w": 250.0, "x": None}, 12),
        ev.Interval("gc", 1, 2, {"generation": 2}),
        ev.Fact("k", [1, "x"], None),
        ev.Note(1, "note"),
        ev.Progress("load", 1, 2, "s"),
        ev.State("running", 3),
        ev.Log("warning", 3, "s", "m", "d"),
        ev.Failure("run", 3, "m", "d", "model", 3),
        ev.Reply(1, True, {"v": 1}),
        ev.Recording("p", "recording"),
        ev.Resync("p", 1),
        ev.RequestEnd(2, 9, "ok", "length"),
        ev.RunEnd(1, 9, "finished"),
    ]
    messages = ev.encode(sent)
    assert len(messages) == 1
    assert ev.decode(messages[0]) == sent


def test_steps_are_packed_and_keep_their_place() -> None:
    steps = ev.make_steps(3, 10, [2**62, 2**62 + 1], [1, 3], [17, 20], [5, -1, 7, 8], [0, 1])
    messages = ev.encode([ev.Note(1, "a"), steps, ev.Note(1, "b")])
    assert [message[:1] for message in messages] == [b"J", b"S", b"J"]
    (got,) = ev.decode(messages[1])
    assert isinstance(got, ev.Steps)
    assert (got.no, got.index0) == (3, 10)
    for name in ("t_ns", "k", "kv_len", "flags", "ids"):
        assert np.array_equal(getattr(got, name), getattr(steps, name))


def test_a_step_costs_few_bytes() -> None:
    n = 1000
    (message,) = ev.encode([ev.make_steps(1, 0, list(range(n)), ids=[1] * n)])
    assert len(message) / n < 22


def test_nan_is_refused_and_unknown_types_are_told() -> None:
    with pytest.raises(ValueError, match="JSON"):
        ev.encode([ev.Sample(1, "gpu0", {"x": float("nan")})])
    with pytest.raises(ValueError, match="unknown event type"):
        ev.decode(b'J[{"type":"surprise"}]')
    with pytest.raises(ValueError, match="starts with"):
        ev.decode(b"X")
    with pytest.raises(ValueError, match="wrong length"):
        ev.decode(ev.encode([ev.make_steps(1, 0, [1, 2])])[0][:-1])


def test_unknown_keys_are_left_out() -> None:
    value = {"type": "note", "run": 1, "text": "x", "new_in_a_later_version": 5}
    assert ev.decode(b"J" + json.dumps([value]).encode()) == [ev.Note(1, "x")]
