from __future__ import annotations

import threading

from profiler import events as ev
from profiler.worker.outbox import Outbox


def _collect() -> tuple[list[ev.Event], Outbox]:
    got: list[ev.Event] = []
    return got, Outbox(lambda message: got.extend(ev.decode(message)))


def test_order_and_packing() -> None:
    got, outbox = _collect()
    outbox.begin(ev.RequestStart(7, 1, "r1", 100, prompt_tokens=16), None)
    outbox.step(110, [5])
    outbox.step(120, [6, 7])
    outbox.emit(ev.Span(1, "prefill", 100, 105, 7))
    outbox.step(130, [8])
    outbox.emit(ev.RequestEnd(7, 130, "ok", "length"))
    outbox.close()
    steps = [event for event in got if isinstance(event, ev.Steps)]
    assert [type(event).__name__ for event in got if not isinstance(event, ev.Steps)] == [
        "RequestStart",
        "Span",
        "RequestEnd",
    ]
    assert isinstance(got[0], ev.RequestStart) and isinstance(got[-1], ev.RequestEnd)
    assert steps[0].index0 == 0
    assert [t for s in steps for t in s.t_ns.tolist()] == [110, 120, 130]
    assert [k for s in steps for k in s.k.tolist()] == [1, 2, 1]
    assert [k for s in steps for k in s.kv_len.tolist()] == [17, 19, 20]
    assert [i for s in steps for i in s.ids.tolist()] == [5, 6, 7, 8]


def test_text_has_one_piece_a_step_and_comes_from_the_writing_thread() -> None:
    got, outbox = _collect()
    threads: set[str] = set()

    def detokenise(ids: object) -> str:
        threads.add(threading.current_thread().name)
        return str(ids)

    outbox.begin(ev.RequestStart(1, 1, "r1", 0, 1), detokenise)
    outbox.step(1, [1])
    outbox.step(2, [2, 3])
    outbox.close()
    pieces = [piece for event in got if isinstance(event, ev.Text) for piece in event.pieces]
    assert pieces == ["[1]", "[2, 3]"]
    assert threads == {"outbox"}


def test_a_blocked_pipe_does_not_block_the_decoder() -> None:
    gate = threading.Event()
    got: list[ev.Event] = []

    def send(message: bytes) -> None:
        gate.wait()
        got.extend(ev.decode(message))

    outbox = Outbox(send, flush_ns=0)
    outbox.begin(ev.RequestStart(1, 1, "r1", 0, 1), None)
    for i in range(50_000):
        outbox.step(i, [i])
    assert got == []  # all 50,000 were taken while nothing could be written
    gate.set()
    outbox.close(30)
    assert sum(len(event) for event in got if isinstance(event, ev.Steps)) == 50_000


def test_unknown_ids_are_counted() -> None:
    got, outbox = _collect()
    outbox.begin(ev.RequestStart(1, 1, "r1", 0, None), None)
    outbox.step(5, 3)
    outbox.close()
    (steps,) = [event for event in got if isinstance(event, ev.Steps)]
    assert steps.k.tolist() == [3]
    assert steps.kv_len.tolist() == [ev.UNKNOWN]
    assert steps.ids.tolist() == []


def test_a_gone_engine_ends_the_writing() -> None:
    def send(_: bytes) -> None:
        raise BrokenPipeError

    outbox = Outbox(send)
    outbox.begin(ev.RequestStart(1, 1, "r1", 0, 1), None)
    outbox.step(1, [1])
    assert outbox.flush(5)
    outbox.close(5)


def test_what_cannot_be_sent_becomes_a_line_for_the_log() -> None:
    got, outbox = _collect()

    def detokenise(_: object) -> str:
        raise TypeError("a hole in the vocabulary")

    outbox.begin(ev.RequestStart(1, 1, "r1", 0, 1), detokenise)
    outbox.step(5, [7])
    outbox.emit(ev.Fact("x", float("nan"), 1))
    outbox.emit(ev.Note(1, "after"))
    outbox.close()
    assert [event.pieces for event in got if isinstance(event, ev.Text)] == [["‹7›"]]
    (log,) = [event for event in got if isinstance(event, ev.Log)]
    assert "fact" in log.message
    assert got[-1] == ev.Note(1, "after")


def test_a_writer_that_fails_for_good_says_so() -> None:
    fatal = threading.Event()

    def send(_: bytes) -> None:
        raise RuntimeError

    outbox = Outbox(send, on_fatal=fatal.set)
    outbox.emit(ev.Note(1, "x"), now=True)
    assert fatal.wait(5)
