"""Changes of saved sessions that can be undone: labels, and the way to the trash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication

from app.undo import Outcome
from profiler.errors import DecodescopeError
from profiler.session import labels as label_store
from profiler.session import trash

translate = QCoreApplication.translate


class LabelChange:
    """Sets name, tags, note or star. `wanted`: for each file the arguments of `set_labels`."""

    def __init__(self, wanted: Mapping[Path, Mapping[str, Any]], words: str) -> None:
        self._wanted = dict(wanted)
        self._words = words
        self._before: dict[Path, label_store.Labels] = {}

    def words(self) -> str:
        return self._words

    def do(self) -> Outcome:
        self._before = {}
        problems = []
        for path, wanted in self._wanted.items():
            try:
                self._before[path] = label_store.set_labels(path, **wanted)
            except DecodescopeError as error:
                problems.append(error.message)
        return Outcome(tuple(self._before), tuple(problems))

    def undo(self) -> Outcome:
        return _each(self._before, lambda path: label_store.put_labels(path, self._before[path]))


class TrashMove:
    """Moves sessions to the trash; nothing is deleted."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = list(paths)
        self.trashed: list[trash.Trashed] = []

    def words(self) -> str:
        count = len(self.trashed)
        if count == 1:
            return translate("TrashMove", "Moved 1 session to trash")
        return translate("TrashMove", "Moved {0} sessions to trash").format(count)

    def do(self) -> Outcome:
        results = trash.to_trash(self._paths)
        self.trashed = [item for item in results if item.place is not None]
        problems = tuple(item.error for item in results if item.error)
        return Outcome(tuple(item.original for item in self.trashed), problems)

    def undo(self) -> Outcome:
        by_path = {item.original: item for item in self.trashed}
        return _each(by_path, lambda path: trash.restore(by_path[path]))


def _each(paths: Mapping[Path, Any], act: Callable[[Path], object]) -> Outcome:
    changed, problems = [], []
    for path in paths:
        try:
            act(path)
        except DecodescopeError as error:
            problems.append(error.message)
        else:
            changed.append(path)
    return Outcome(tuple(changed), tuple(problems))
