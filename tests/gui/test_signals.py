"""The system's signals come through Qt's event loop, never in the middle of something."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.signals import Signals


@pytest.fixture(autouse=True)
def handlers_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.skipif(os.name == "nt", reason="Windows ends a process instead of sending it a signal")
def test_a_handler_waits_until_the_event_loop_is_free(qtbot: QtBot) -> None:
    lock, calls = threading.Lock(), []
    signals = Signals({signal.SIGTERM: lambda: calls.append(lock.acquire(timeout=0))})
    try:
        with lock:
            os.kill(os.getpid(), signal.SIGTERM)
            # Many instructions, between any two of which Python would run a handler of its own.
            assert sum(range(100_000)) > 0
            assert calls == []
        qtbot.waitUntil(lambda: bool(calls))
        assert calls == [True]
    finally:
        signals.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows ends a process instead of sending it a signal")
def test_each_signal_finds_its_own_handler(qtbot: QtBot) -> None:
    calls: list[str] = []
    signals = Signals(
        {signal.SIGTERM: lambda: calls.append("end"), signal.SIGINT: lambda: calls.append("stop")}
    )
    try:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        qtbot.waitUntil(lambda: len(calls) == 2)
        assert sorted(calls) == ["end", "stop"]
    finally:
        signals.close()


def test_after_closing_the_signals_end_the_process_and_no_file_is_left_open(qtbot: QtBot) -> None:
    wakeup = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(wakeup)
    signals = Signals({signal.SIGTERM: lambda: None})
    signals.close()
    signals.close()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.set_wakeup_fd(wakeup) == wakeup
