from __future__ import annotations

import threading

from profiler import events as ev
from profiler.engine.publisher import Publisher


class _Pipe:
    """A subscriber that reads only while `open` is set."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.got: list[ev.Event] = []

    def send(self, message: bytes) -> None:
        self.entered.set()
        self.open.wait()
        self.got.extend(ev.decode(message))


def test_everything_arrives_in_order() -> None:
    pipe = _Pipe()
    pipe.open.set()
    publisher = Publisher(pipe.send)
    publisher.publish([ev.State("idle", 1), ev.make_steps(1, 0, [1, 2, 3])])
    publisher.publish([ev.Note(1, "x")])
    publisher.close()
    assert [type(event).__name__ for event in pipe.got] == ["State", "Steps", "Note"]


def test_a_lagging_subscriber_is_dropped_keeps_the_vital_and_is_told() -> None:
    pipe = _Pipe()
    publisher = Publisher(pipe.send, limit_bytes=1000)
    publisher.publish([ev.Note(1, "first")])
    pipe.entered.wait()  # the pipe is full from here on
    publisher.publish([ev.make_steps(1, 0, list(range(1000)))])  # over the limit
    assert publisher.drops == 1
    publisher.publish([ev.Note(1, "lost to the stream"), ev.State("ready", 5)])
    assert not publisher.wants_resync()
    pipe.open.set()
    while not publisher.wants_resync():
        pass
    publisher.resume(ev.Resync("file.dscope", 1))
    publisher.publish([ev.Note(1, "after")])
    publisher.close()
    kinds = [event.text if isinstance(event, ev.Note) else event.type for event in pipe.got]
    assert kinds == ["first", "state", "resync", "after"]


def test_a_gone_subscriber_costs_nothing() -> None:
    def send(_: bytes) -> None:
        raise BrokenPipeError

    publisher = Publisher(send)
    publisher.publish([ev.State("idle", 1)])
    publisher.close()
    assert publisher.gone
    publisher.publish([ev.State("idle", 2)])
