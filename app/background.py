"""Work that must not hold up the window: one thread beside it, results fetched at a tick.

Opening a file, the full metrics of a finished run and the first import of scipy take longer
than a frame. They run here; their results are handed over on the GUI thread when it calls
`poll`, so that nothing else needs to know of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """A queue of jobs, done one at a time in order."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="background")
        self._waiting: list[tuple[Future[Any], Callable[[Any], None], Callable[[Exception], None]]] = []

    def submit(
        self,
        job: Callable[[], T],
        done: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Run `job` in the thread; `done(result)` or `failed(error)` is called by a later `poll`."""
        self._waiting.append((self._pool.submit(job), done, failed))

    @property
    def busy(self) -> bool:
        """Is there anything that `poll` has not handed over?"""
        return bool(self._waiting)

    def poll(self) -> None:
        """Hand over what is ready, in order. Call on the GUI thread."""
        while self._waiting and self._waiting[0][0].done():
            future, done, failed = self._waiting.pop(0)
            error = future.exception()
            if error is None:
                done(future.result())
            elif isinstance(error, Exception):
                failed(error)
            else:
                raise error

    def close(self) -> None:
        """Forget what is queued; a job at work ends by itself."""
        self._waiting.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)
