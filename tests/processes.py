"""Help for tests that start and kill real processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from profiler import events as ev
from profiler.config import make_config
from profiler.engine.client import EngineClient, EngineGone


def wait_until(condition: Callable[[], Any], timeout_s: float = 20.0, what: str = "it") -> Any:
    """The first true value of `condition()`; AssertionError after `timeout_s`."""
    end = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come within {timeout_s:g} s")
        time.sleep(0.01)


def descendants(pid: int) -> list[psutil.Process]:
    """All processes below `pid`."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def alive(process: psutil.Process) -> bool:
    """Still there and no zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def all_gone(processes: list[psutil.Process], timeout_s: float = 5.0) -> bool:
    """Waits until none of them is left."""
    wait_until(lambda: not any(alive(p) for p in processes), timeout_s, f"the end of {processes}")
    return True


def settings(model: str, **values: Any) -> dict[str, Any]:
    """A configuration as the engine takes it."""
    defaults: dict[str, Any] = {
        "model": model,
        "prompt_tokens": 16,
        "output_tokens": 32,
        "measure_reference": False,
    }
    if "prompt" in values or "prompts_file" in values:
        del defaults["prompt_tokens"]
    return make_config({**defaults, **values}).to_dict()


class Session:
    """An engine process and what it has told."""

    def __init__(self, library: Path) -> None:
        self.library = library
        self.client = EngineClient(library=library)
        self.client.start()
        self.events: list[ev.Event] = []

    def drain(self, timeout_s: float = 0.0) -> None:
        """Takes in what has arrived."""
        batch = self.client.receive(timeout_s)
        while batch:
            self.events.extend(batch)
            batch = self.client.receive(0)

    def wait_for(
        self, kind: type, test: Callable[[Any], bool] = lambda _: True, timeout_s: float = 30.0
    ) -> Any:
        """The first event of a kind, past or to come, that passes `test`."""

        def look() -> Any:
            found = [event for event in self.events if isinstance(event, kind) and test(event)]
            if found:
                return found
            self.drain(0.05)
            return None

        return wait_until(look, timeout_s, f"{kind.__name__} (got {self.events[-5:]})")[0]

    def run(self, model: str, **values: Any) -> int:
        """Starts a run; returns the id of its reply."""
        self.events = []
        return self.client.send("run", config=settings(model, **values))

    def reply(self, number: int, timeout_s: float = 30.0) -> ev.Reply:
        """The reply to a verb."""
        return self.wait_for(ev.Reply, lambda reply: reply.id == number, timeout_s)

    @property
    def worker(self) -> psutil.Process:
        """The worker's process."""
        assert self.client.pid is not None
        children = [p for p in psutil.Process(self.client.pid).children() if is_worker(p)]
        assert len(children) == 1, children
        return children[0]

    def close(self) -> None:
        """Ends the engine; asserts that nothing is left of it."""
        assert self.client.pid is not None
        left = descendants(self.client.pid)
        self.client.close()
        all_gone(left)


def is_worker(process: psutil.Process) -> bool:
    """A spawned child, not multiprocessing's own resource tracker."""
    try:
        return "resource_tracker" not in " ".join(process.cmdline())
    except psutil.Error:
        return False


def kill(pid: int) -> None:
    """kill -9."""
    os.kill(pid, signal.SIGKILL)


__all__ = [
    "EngineGone",
    "Session",
    "alive",
    "all_gone",
    "descendants",
    "is_worker",
    "kill",
    "settings",
    "wait_until",
]
