"""The progress line of `dscope record`: drawn at a slow pace, and told to the engine, since
what we draw runs on the machine that is measured."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.text import Text

from profiler import events as ev
from profiler.config import RunConfig
from profiler.units import NS_PER_S, format_duration_s

TTY_INTERVAL_NS = NS_PER_S // 2
STAGES = {
    "resolve": "Looking at the model",
    "import": "Importing torch",
    "reference": "Measuring memory bandwidth",
    "load": "Loading the model",
    "build": "Building the model",
    "download": "Downloading",
}


class RunProgress:
    """Give it the events with `take`, call `draw` often; it draws at most twice a second.

    On something that is no terminal it prints one line a stage and a request.
    """

    def __init__(self, console: Console, config: RunConfig) -> None:
        self._console = console
        self._config = config
        self._live = (
            Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        )
        self._gone = False
        if self._live is not None:
            self._live.start()
        self._stage = "Starting"
        self._label = ""
        self._done_tokens = 0
        self._request_tokens = 0
        self._last_gap_ms: float | None = None
        self._last_t_ns: int | None = None
        self._first_token_ns: int | None = None
        self._last_draw_ns = 0
        self._dirty = True

    def take(self, event: ev.Event) -> None:
        """One event of the run."""
        self._dirty = True
        if isinstance(event, ev.Progress):
            name = STAGES.get(event.stage, event.stage.capitalize())
            share = f" {100 * event.done / event.total:.0f} %" if event.total else ""
            if name != self._stage.split("  ")[0]:
                self._line(name)
            self._stage = f"{name}  {share}"
        elif isinstance(event, ev.RequestStart):
            self._label = event.label or event.id
            self._request_tokens = 0
            self._last_t_ns = None
            self._line(self._label)
        elif isinstance(event, ev.Steps) and len(event):
            n = int(event.k[event.k > 0].sum())
            self._request_tokens += n
            self._done_tokens += n
            last = int(event.t_ns[-1])
            if self._first_token_ns is None:
                self._first_token_ns = int(event.t_ns[0])
            if self._last_t_ns is not None and n:
                self._last_gap_ms = (last - self._last_t_ns) / n / 1e6
            self._last_t_ns = last

    def say(self, text: str) -> None:
        """A line that stays."""
        self._guard(lambda: self._console.print(text))

    def _line(self, text: str) -> None:
        if self._live is None:
            self.say(text)

    def _guard(self, action: Callable[[], object]) -> None:
        """Whoever reads our progress may go away (`| head`); the measurement goes on."""
        if self._gone:
            return
        try:
            action()
        except (OSError, SystemExit):  # rich turns a broken pipe into SystemExit
            self._gone = True
            # Nothing may be left to be flushed into the broken pipe at the end.
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

    def draw(self, clock: Callable[[], int]) -> tuple[int, int] | None:
        """Draws when it is time; returns the interval that it took, ns."""
        if self._live is None or not self._dirty:
            return None
        start_ns = clock()
        if start_ns - self._last_draw_ns < TTY_INTERVAL_NS:
            return None
        self._last_draw_ns = start_ns
        self._dirty = False
        live = self._live
        self._guard(lambda: live.update(self._text(start_ns), refresh=True))
        return start_ns, clock()

    def _text(self, now_ns: int) -> Text:
        if not self._label:
            return Text(self._stage)
        parts = [f"{self._label}  {self._request_tokens}/{self._config.output_tokens} tokens"]
        if self._last_gap_ms is not None:
            parts.append(f"{self._last_gap_ms:.1f} ms a token")
        total = self._config.total_requests * self._config.output_tokens
        if self._first_token_ns is not None and self._done_tokens > 1:
            per_token = (now_ns - self._first_token_ns) / self._done_tokens
            parts.append(
                f"{format_duration_s(per_token * max(total - self._done_tokens, 0) / NS_PER_S)} left"
            )
        return Text("  ".join(parts))

    def close(self) -> None:
        """Takes the line away."""
        if self._live is not None:
            self._guard(self._live.stop)
            self._live = None
