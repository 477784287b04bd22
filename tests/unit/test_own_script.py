"""The interface for own scripts, without its process: the public names, requests, frames."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import Any, cast

import numpy as np
import pytest
from cli import environment

import profiler
from profiler import events as ev
from profiler.engine.frames import read_frame, write_frame
from profiler.engine.own_request import Request
from profiler.engine.own_script import Recorder
from profiler.errors import SessionError, SessionExists, UsageError
from profiler.worker.outbox import Outbox


class Tensor:
    """What `generate` hands over, as far as a streamer looks at it."""

    def __init__(self, *rows: list[int]) -> None:
        self.data = np.array(rows if len(rows) > 1 else rows[0])
        self.shape = self.data.shape

    def dim(self) -> int:
        return self.data.ndim

    def reshape(self, size: int) -> np.ndarray:
        return self.data.reshape(size)


class Road:
    """Requests on an outbox that nobody listens to but the test."""

    def __init__(self) -> None:
        self.got: list[ev.Event] = []
        self.closed = False
        self._outbox = Outbox(lambda message: self.got.extend(ev.decode(message)))
        self._no = 0

    def check(self) -> None:
        if self.closed:
            raise UsageError("closed")

    def request(self, prompt_tokens: int | None = 10, **values: Any) -> Request:
        self._no += 1
        tokenizer, t0_ns = values.pop("tokenizer", None), values.pop("t0_ns", 1000)
        start = ev.RequestStart(self._no, 1, f"r{self._no}", 0, prompt_tokens, label="L", **values)
        return Request(self._outbox, start, self.check, tokenizer=tokenizer, t0_ns=t0_ns)

    def events(self, kind: type) -> list[Any]:
        assert self._outbox.flush()
        return [event for event in self.got if isinstance(event, kind)]

    def columns(self, no: int) -> tuple[list[int], list[int], list[int], list[int]]:
        """t_ns, k, kv_len and ids of a request; checks that its steps are numbered without a hole."""
        steps = [event for event in self.events(ev.Steps) if event.no == no]
        count = 0
        for event in steps:
            assert event.index0 == count
            count += len(event)
        names = ("t_ns", "k", "kv_len", "ids")
        t_ns, k, kv_len, ids = ([x for e in steps for x in getattr(e, name).tolist()] for name in names)
        return t_ns, k, kv_len, ids


@pytest.fixture
def road() -> Road:
    return Road()


def test_the_public_names_are_few_and_sorted() -> None:
    assert profiler.__all__ == ["Recorder", "Request"] == sorted(profiler.__all__)
    for name in profiler.__all__:
        assert getattr(profiler, name).__doc__
    assert set(profiler.__all__) <= set(dir(profiler))
    with pytest.raises(AttributeError, match="Nonsense"):
        profiler.Nonsense  # noqa: B018


def test_import_profiler_is_light_and_recorder_needs_no_torch() -> None:
    heavy = "('torch', 'transformers', 'scipy', 'pynvml', 'PySide6')"
    script = (
        "import sys, profiler; assert 'numpy' not in sys.modules, 'import profiler';"
        f"from profiler import Recorder; import profiler.engine.script; print([m for m in {heavy} if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), check=True
    )
    assert result.stdout.strip() == "[]"


def test_a_step_is_ids_or_a_number(road: Road) -> None:
    request = road.request()
    request.step(7, t_ns=1100)
    request.step([8, 9], t_ns=1200)
    request.step(np.array([[3]]), t_ns=1300)
    request.step(np.int64(4), t_ns=1350)  # a number of one's own is an id, whatever its type
    request.step(k=0, t_ns=1400)
    request.end("ok", "stop", t_ns=1500)
    assert road.columns(1) == (
        [1100, 1200, 1300, 1350, 1400],
        [1, 2, 1, 1, 0],
        [11, 13, 14, 15, 15],
        [7, 8, 9, 3, 4],
    )
    counted = road.request()
    counted.step(t_ns=2000)
    counted.step(k=3, t_ns=2100)
    assert road.columns(2) == ([2000, 2100], [1, 3], [11, 14], [])
    (start, _), (end,) = road.events(ev.RequestStart), road.events(ev.RequestEnd)
    assert (start.t_ns, start.prompt_tokens) == (1000, 10)
    assert (end.t_ns, end.status, end.stop_reason) == (1500, "ok", "stop")


def test_requests_under_way_at_the_same_time_keep_their_own_steps(road: Road) -> None:
    a, b = road.request(10, batch_id="b1"), road.request(20, batch_id="b1")
    for i in range(3):
        a.step([i], t_ns=2000 + i)
        b.step([50 + i, 60 + i], t_ns=2000 + i)
    a.end()
    b.step([9], t_ns=2009)
    assert road.columns(1) == ([2000, 2001, 2002], [1, 1, 1], [11, 12, 13], [0, 1, 2])
    assert road.columns(2) == (
        [2000, 2001, 2002, 2009],
        [2, 2, 2, 1],
        [22, 24, 26, 27],
        [50, 60, 51, 61, 52, 62, 9],
    )


@pytest.mark.parametrize(
    "values",
    [
        {"token_ids": [1.5]},
        {"token_ids": "abc"},
        {"token_ids": -1},
        {"token_ids": [1, 2**31]},
        {"token_ids": np.array([0.5])},
        {"k": -1},
        {"k": 1.0},
        {"k": True},
        {"t_ns": 1.0},
        {"t_ns": -5},
        {"t_ns": 2**63},
    ],
)
def test_a_step_that_cannot_be_is_refused(road: Road, values: dict[str, Any]) -> None:
    request = road.request()
    with pytest.raises(UsageError):
        request.step(**values)
    request.step([1], t_ns=5)  # the request goes on
    assert road.columns(1) == ([5], [1], [11], [1])


def test_ids_at_every_step_or_at_none(road: Road) -> None:
    request = road.request()
    request.step(k=2)
    with pytest.raises(UsageError, match="every step"):
        request.step([1])


def test_the_streamer_skips_the_prompt_and_learns_its_length(road: Road) -> None:
    request = road.request(None, max_new_tokens=3)
    request.span_at("tokenize", 1000, 1010)
    assert road.events(ev.RequestStart) == []
    streamer = request.streamer()
    streamer.put(Tensor([[5, 6, 7, 8]]))
    (start,) = road.events(ev.RequestStart)
    assert (start.t_ns, start.prompt_tokens) == (1000, 4)
    assert [span.name for span in road.events(ev.Span)] == ["tokenize"]
    streamer.put(Tensor([1]))
    streamer.put(Tensor([2, 3]))
    streamer.end()
    with request:
        pass
    _, k, kv_len, ids = road.columns(1)
    assert (k, kv_len, ids) == ([1, 2], [5, 7], [1, 2, 3])
    (end,) = road.events(ev.RequestEnd)
    assert end.stop_reason == "length"
    with pytest.raises(UsageError, match="has ended"):
        streamer.put(Tensor([4]))


def test_a_batch_in_one_streamer_is_refused(road: Road) -> None:
    with pytest.raises(UsageError, match="2 prompts at once"):
        road.request().streamer().put(Tensor([1, 2], [3, 4]))


def test_embeddings_as_prompt_have_no_length(road: Road) -> None:
    request = road.request(None)
    streamer = request.streamer()
    streamer.put(Tensor([[]]))
    streamer.put(Tensor([1]))
    assert road.columns(1)[1:] == ([1], [ev.UNKNOWN], [1])


def test_with_ends_the_request_as_it_was_left(road: Road) -> None:
    with road.request(max_new_tokens=2) as request:
        request.step()
    with pytest.raises(ZeroDivisionError), road.request() as request:
        request.step()
        _ = 1 / 0
    with pytest.raises(KeyboardInterrupt), road.request():
        raise KeyboardInterrupt
    with road.request() as request:
        request.end("cancelled", "enough")
    ends = [(e.status, e.stop_reason, e.error) for e in road.events(ev.RequestEnd)]
    assert ends == [
        ("ok", "stop", None),
        ("error", "error", "ZeroDivisionError: division by zero"),
        ("cancelled", "stopped", None),
        ("cancelled", "enough", None),
    ]
    (failure,) = road.events(ev.Failure)
    assert failure.message == "L: ZeroDivisionError: division by zero"
    assert "1 / 0" in failure.detail


def test_nothing_comes_after_the_end(road: Road) -> None:
    request = road.request()
    request.end()
    for call in (request.step, request.end, lambda: request.text("x"), lambda: request.span_at("a", 1, 2)):
        with pytest.raises(UsageError, match=r"^The request r1 has ended; .*\.$"):
            call()
    other = road.request()
    road.closed = True
    with pytest.raises(UsageError, match="closed"):
        other.step()


def test_other_mistakes_are_told(road: Road) -> None:
    request = road.request()
    with pytest.raises(UsageError, match="ends before it starts"):
        request.span_at("a", 10, 9)
    with pytest.raises(UsageError, match="strict JSON"):
        request.span_at("a", 10, 11, {"x": float("nan")})
    with pytest.raises(UsageError, match="ok, error, cancelled"):
        request.end("fine")
    with pytest.raises(UsageError, match="before the first step"):
        request.prompt(5)


def test_a_tokenizer_that_fails_loses_no_step(road: Road) -> None:
    class Broken:
        def __len__(self) -> int:
            return 100

        def decode(self, ids: list[int]) -> str:
            if len(ids) and ids[-1] == 2:
                raise RuntimeError("no such token")
            return f"<{ids[-1]}>"

    request = road.request(tokenizer=Broken())
    for i in (1, 2, 3):
        request.step(i, t_ns=i)
    request.end()
    assert road.columns(1)[0] == [1, 2, 3]
    pieces = [piece for event in road.events(ev.Text) for piece in event.pieces]
    assert pieces == ["<1>", "‹2›", "<3>"]


def test_settings_are_checked_before_a_process_is_started(tmp_path: Any) -> None:
    there = tmp_path / "there.dscope"
    there.write_bytes(b"mine")
    with pytest.raises(SessionExists, match="exists already"):
        Recorder(there)
    with pytest.raises(SessionError, match="does not exist"):
        Recorder(tmp_path / "no" / "a.dscope")
    with pytest.raises(UsageError, match="sample_hz"):
        Recorder(tmp_path / "a.dscope", sample_hz=11)
    with pytest.raises(UsageError, match="strict JSON"):
        Recorder(tmp_path / "a.dscope", config={"x": float("inf")})
    assert there.read_bytes() == b"mine" and [p.name for p in tmp_path.iterdir()] == ["there.dscope"]


def test_frames_come_out_as_they_went_in_and_a_torn_one_is_the_end() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", 0) as source, os.fdopen(writing, "wb", 0) as sink:
        out, into = cast(io.RawIOBase, source), cast(io.RawIOBase, sink)
        for message in (b"one", b"", b"\x00\xff" * 500):
            write_frame(into, message)
        assert [read_frame(out), read_frame(out), read_frame(out)] == [b"one", b"", b"\x00\xff" * 500]
        sink.write(b"\x05\x00\x00\x00ab")
        sink.close()
        assert read_frame(out) is None
        assert read_frame(out) is None
