"""The terminal's interrupt goes to every process of the group; only the one in front may act on it.

A child that is still importing has no handler yet: it is born with the interrupt blocked.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from multiprocessing import resource_tracker


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Around the start of a child, which inherits the block. No effect on Windows."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Its first start would take the block away again (it blocks and unblocks for itself).
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_interrupt() -> None:
    """In the child, first of all: ignore the interrupt, then take the inherited block away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
