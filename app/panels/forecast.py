"""One sentence above the run box: what this run will do, and about how long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.panels.estimate import run_sentence, short_time
from app.panels.parts import column, set_text
from app.widgets import Divider, make_label
from profiler.analysis.run_time import KnownRun, ModelFacts, estimate_time, known_run, with_run
from profiler.config import RunConfig
from profiler.timeline import Run


class Forecast(QWidget):
    """Keeps what is known of the chosen model and of earlier runs, and says what follows from it."""

    learned = Signal(object)
    """Strict JSON for `set_known_runs`: what runs have taught about time."""

    def __init__(self) -> None:
        super().__init__()
        self.time_words = ""
        """About how long the run would take, in words; "" while that is not known."""
        self._facts = ModelFacts()
        self._facts_of = ""
        self._known: list[KnownRun] = []
        self.sentence = make_label("", "field", wrap=True)
        self.sentence.setContentsMargins(12, 7, 12, 0)
        stack = column(self)
        stack.addWidget(Divider())
        stack.addWidget(self.sentence)

    def set_facts(self, model: str, value: Mapping[str, Any]) -> None:
        """What an `inspect` reply said of `model`."""
        self._facts, self._facts_of = ModelFacts.from_reply(value), model

    def set_known_runs(self, value: Any) -> None:
        """What `learned` gave, in an earlier window; anything else is left out."""
        runs = [KnownRun.from_json(entry) for entry in value] if isinstance(value, list) else []
        self._known = [run for run in runs if run is not None]

    def learn(self, config: RunConfig, run: Run, values: Mapping[str, Any]) -> None:
        """Learn from a run that has finished here; `values`: its final metrics. Sends `learned`."""
        known = known_run(config, run, values)
        if known is not None:
            self._known = with_run(self._known, known)
            self.learned.emit([run.to_json() for run in self._known])

    def refresh(self, config: RunConfig | None, locked: bool) -> None:
        """Say what `config` will do; nothing where it cannot work (None) or while a run is on."""
        sentence, self.time_words = "", ""
        if config is not None:
            facts = self._facts if self._facts_of == config.model else ModelFacts()
            estimate = estimate_time(config, facts, self._known)
            sentence, self.time_words = run_sentence(config, facts, estimate), short_time(estimate)
        set_text(self.sentence, sentence)
        self.setVisible(bool(sentence) and not locked)
