"""Asking the engine about a model while the user is still choosing: debounced, newest wins.

The engine is also told to make ready for such a run, so that it begins at once.
"""

from __future__ import annotations

from collections.abc import Callable

from app.engine_link import EngineLink
from profiler import events as ev
from profiler.config import RunConfig
from profiler.units import NS_PER_S

DELAY_S = 0.3
"""A model is inspected when nothing was changed for this long."""


class Inspector:
    """`ask` at every edit, `tick` at the window's timer; `answered` gets the newest reply only."""

    def __init__(
        self, link: EngineLink, clock_ns: Callable[[], int], answered: Callable[[ev.Reply], None]
    ) -> None:
        self._link = link
        self._clock_ns = clock_ns
        self._answered = answered
        self._config: RunConfig | None = None
        self._due_ns: int | None = None
        self._number = 0

    def ask(self, config: RunConfig) -> None:
        """Inspect the model of `config` soon."""
        self._config = config
        self._due_ns = self._clock_ns() + round(DELAY_S * NS_PER_S)

    def again(self) -> None:
        """Ask the same once more (a fresh engine knows nothing of it)."""
        if self._config is not None:
            self._due_ns = self._clock_ns()

    def tick(self) -> None:
        """Send the question when it is due and there is an engine to ask."""
        config = self._config
        if config is None or self._due_ns is None or self._clock_ns() < self._due_ns or not self._link.alive:
            return
        self._due_ns = None
        self._number += 1
        number = self._number

        def answer(reply: ev.Reply) -> None:
            if number == self._number:
                self._answered(reply)

        self._link.send(
            "inspect",
            answer,
            model=config.model,
            dtype=config.dtype,
            total_tokens=(config.prompt_tokens or 0) + config.output_tokens,
            device=config.device,
            trust_remote_code=config.trust_remote_code,
        )
        self._link.send("warm", config=config.to_dict())
