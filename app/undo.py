"""What can be taken back: a stack of actions, done ones below, undone ones above.

The stack runs nothing: its owner takes an action, runs `do` or `undo` away from the GUI thread,
and puts it back when that went well. So a slow disk never holds the window, and what failed is
never offered.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

LIMIT = 50


@dataclass(frozen=True)
class Outcome:
    """What an action did: the files it changed, and one sentence for each that it could not."""

    changed: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()


class Action(Protocol):
    """Something that can be done, undone and done again. `do` and `undo` run in a worker thread."""

    def words(self) -> str:
        """What was done, in past tense, for the line with "Undo" beside it."""
        ...

    def do(self) -> Outcome: ...

    def undo(self) -> Outcome: ...


class UndoStack:
    """Actions in the order they were done. GUI thread."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._done: list[Action] = []
        self._undone: list[Action] = []

    @property
    def can_undo(self) -> bool:
        """Is there anything to take back?"""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Is there anything to do again?"""
        return bool(self._undone)

    def push(self, action: Action) -> None:
        """A new action was done: what had been undone cannot be done again any more."""
        self._undone.clear()
        self.put_done(action)

    def put_done(self, action: Action) -> None:
        """An action was done again."""
        self._done.append(action)
        del self._done[: -self._limit]

    def put_undone(self, action: Action) -> None:
        """An action was taken back."""
        self._undone.append(action)

    def take_undo(self) -> Action | None:
        """The action to take back next; it leaves the stack until it is put back."""
        return self._done.pop() if self._done else None

    def take_redo(self) -> Action | None:
        """The action to do again next; it leaves the stack until it is put back."""
        return self._undone.pop() if self._undone else None

    def clear(self) -> None:
        """Forget everything (another folder)."""
        self._done.clear()
        self._undone.clear()
