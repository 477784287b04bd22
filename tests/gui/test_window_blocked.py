"""A window that is stuck for 5 s, asleep or holding the interpreter, costs the recording nothing."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.background import Background
from app.engine_link import EngineLink
from app.run_controller import RunController, RunState
from profiler import events as ev
from profiler.config import make_config
from profiler.engine.client import EngineClient
from profiler.session.reader import SessionReader

BLOCK_S = 5
ITL_NS = 500_000
TOKENS = 26_000  # 13 s


def hold_interpreter() -> None:
    """Sleep without releasing the interpreter: no thread of this process runs."""
    ctypes.PyDLL(None).sleep(BLOCK_S)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a C library with sleep()")
def test_a_blocked_window_changes_no_stamp_and_loses_no_event(qtbot: QtBot, tmp_path: Path) -> None:
    background = Background()
    controller = RunController(EngineLink(lambda: EngineClient(library=tmp_path)), background)
    controller.start_engine()
    config = make_config(
        {
            "model": "synthetic:ttft_ms=20,rate=2000,stamps=exact",
            "output_tokens": TOKENS,
            "warmup": 0,
            "repeats": 1,
        }
    )

    def seen() -> int:
        return sum(len(request) for request in controller.timeline.requests.values())

    try:
        controller.start_run(config)
        qtbot.waitUntil(lambda: controller.state is RunState.RUNNING, timeout=20_000)
        blocked: list[tuple[int, int]] = []
        blocks: list[Callable[[], None]] = [lambda: time.sleep(BLOCK_S), hold_interpreter]
        for block in blocks:
            before = seen()
            begin_ns = time.perf_counter_ns()
            block()
            blocked.append((begin_ns, time.perf_counter_ns()))
            qtbot.waitUntil(lambda n=before: seen() > n + 5000, timeout=30_000)
        qtbot.waitUntil(lambda: controller.state is RunState.FINISHED, timeout=30_000)
        live = controller.timeline.requests[1]
        path = controller.document.path
        assert path is not None
        with SessionReader.open(path) as reader:
            saved = reader.timeline()
            (request,) = saved.iter_requests()
            schedule = [request.t0_ns + 20_000_000 + i * ITL_NS for i in range(TOKENS)]
            assert request.t_ns.tolist() == schedule
            assert live.t_ns.tolist() == schedule
            assert live.ids.tolist() == request.ids.tolist()
            assert live.pieces == request.pieces
            samples = saved.samples["host"].t_ns.tolist()
            assert controller.timeline.samples["host"].t_ns.tolist() == samples
            for begin_ns, end_ns in blocked:  # the sampler went on all the while
                assert len([t_ns for t_ns in samples if begin_ns < t_ns < end_ns]) > 2
        assert not [event for event in controller.timeline.failures if isinstance(event, ev.Failure)]
    finally:
        controller.close()
