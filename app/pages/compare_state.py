"""Which sessions are compared, and what is known of them so far. No widgets.

All work is done beside the window, one job at a time: files first, then the pair that is
looked at, then the others. What a job brings for a session that was taken out meanwhile is
dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.background import Background
from app.charts.compare_style import LETTERS
from app.pages.compare_data import Compare, LoadedSession, Pair, RunCurves, run_curves
from profiler.errors import DecodescopeError
from profiler.reporting.comparison_sides import Recording
from profiler.timeline import Run

Load = Callable[[Path], LoadedSession]
Key = tuple[int, int]
"""A session that was added (its number) and the run of it that is looked at."""
PairKey = tuple[Key, Key, tuple[Key, Key] | None]


@dataclass(eq=False)
class Member:
    """One session of the comparison. `problem`: a sentence; it then has no curves."""

    letter: str
    uid: int
    path: Path
    loaded: LoadedSession | None = None
    run_no: int = 0
    curves: RunCurves | None = None
    problem: str = ""

    @property
    def key(self) -> Key:
        """Tells this session with its chosen run from all others."""
        return self.uid, self.run_no

    @property
    def run(self) -> Run | None:
        """The run that is looked at."""
        return None if self.loaded is None else self.loaded.timeline.runs.get(self.run_no)

    @property
    def recording(self) -> Recording | None:
        """The run that is looked at, with the session around it."""
        run = self.run
        return None if run is None or self.loaded is None else self.loaded.recording(run)

    @property
    def ready(self) -> bool:
        """It can be drawn."""
        return self.curves is not None and not self.problem


class CompareState(QObject):
    """The sessions, the baseline, the pair that is looked at, the noise floor."""

    changed = Signal()
    """Anything at all is another one; the page draws what is new."""

    def __init__(self, background: Background, load: Load, compare: Compare, parent: QObject) -> None:
        super().__init__(parent)
        self._background = background
        self._load, self._compare = load, compare
        self.members: list[Member] = []
        self.baseline = ""
        self.chosen = ""
        self.floor: tuple[str, str] | None = None
        self._added = 0
        self._pairs: dict[PairKey, Pair | str] = {}
        self._working: PairKey | None = None
        # What still comes for a page that is gone finds nobody.
        members = self.members
        parent.destroyed.connect(lambda: members.clear())

    # -- who takes part ---------------------------------------------------------------------

    def member(self, letter: str) -> Member | None:
        """The session of a letter."""
        return next((member for member in self.members if member.letter == letter), None)

    def add(self, path: Path) -> bool:
        """Take in a file; False where there is no place or all its runs take part already."""
        free = [letter for letter in LETTERS if self.member(letter) is None]
        same = [member for member in self.members if member.path == path and not member.problem]
        known = next((member.loaded for member in same if member.loaded is not None), None)
        if not free or (same and (known is None or len(same) >= len(known.runs))):
            return False
        self._added += 1
        member = Member(free[0], self._added, path)
        self.members.append(member)
        self.members.sort(key=lambda entry: entry.letter)
        self._choose_letters()
        if known is not None:
            self._loaded(member, known)
            return True
        self._background.submit(
            lambda: self._load(path),
            lambda loaded: self._loaded(member, loaded),
            lambda error: self._failed(member, error),
        )
        self.changed.emit()
        return True

    def remove(self, letter: str) -> None:
        """Take a session out; the others keep their letters."""
        member = self.member(letter)
        if member is None:
            return
        self.members.remove(member)
        if self.floor is not None and letter in self.floor:
            self.floor = None
        self._choose_letters()
        self._next_job()
        self.changed.emit()

    def clear(self) -> None:
        """Take all out."""
        self.members.clear()
        self.floor = None
        self._pairs.clear()
        self._choose_letters()
        self.changed.emit()

    def set_baseline(self, letter: str) -> None:
        """Compare with another session; one with a problem cannot be it."""
        member = self.member(letter)
        if member is None or member.problem or letter == self.baseline:
            return
        if self.chosen == letter:
            self.chosen = self.baseline
        self.baseline = letter
        self._choose_letters()
        self._next_job()
        self.changed.emit()

    def choose(self, letter: str) -> None:
        """Look at another session's differences."""
        if letter in self.others:
            self.chosen = letter
            self._next_job()
            self.changed.emit()

    def choose_run(self, letter: str, run_no: int) -> None:
        """Look at another run of a session's file."""
        member = self.member(letter)
        if member is not None and member.loaded is not None and member.run_no != run_no:
            self._take_run(member, run_no)

    def set_floor(self, first: str, second: str) -> None:
        """Two sessions of the same conditions give the noise floor; an empty letter takes it back."""
        self.floor = (first, second) if first and second and first != second else None
        self._next_job()
        self.changed.emit()

    def _choose_letters(self) -> None:
        usable = [member.letter for member in self.members if not member.problem]
        if self.baseline not in usable:
            self.baseline = usable[0] if usable else ""
        if self.chosen not in self.others:
            self.chosen = self.others[0] if self.others else ""

    @property
    def others(self) -> list[str]:
        """Letters that are compared with the baseline."""
        return [m.letter for m in self.members if not m.problem and m.letter != self.baseline]

    @property
    def ready(self) -> list[Member]:
        """The sessions that can be drawn, in order of their letters."""
        return [member for member in self.members if member.ready]

    # -- jobs -------------------------------------------------------------------------------

    def _loaded(self, member: Member, loaded: LoadedSession) -> None:
        if member not in self.members:
            return
        member.loaded = loaded
        taken = {m.run_no for m in self.members if m.loaded is loaded and m is not member}
        taken |= {m.run_no for m in self.members if m.path == member.path and m is not member}
        free = [run for run in loaded.runs if run.no not in taken] or loaded.runs
        finished = [run for run in free if run.status == "finished"]
        self._take_run(member, (finished or free)[-1].no)

    def _take_run(self, member: Member, run_no: int) -> None:
        member.run_no, member.curves = run_no, None
        run, key = member.run, member.key
        assert run is not None

        def done(curves: RunCurves) -> None:
            if member in self.members and member.key == key:
                member.curves = curves
                member.problem = ""
                if not curves.tokens:
                    member.problem = self.tr("No answered request has two tokens: nothing to compare.")
                self._choose_letters()
                self._next_job()
                self.changed.emit()

        self._background.submit(lambda: run_curves(run), done, lambda error: self._failed(member, error))
        self.changed.emit()

    def _failed(self, member: Member, error: Exception) -> None:
        if member not in self.members:
            return
        if isinstance(error, DecodescopeError):
            # The card has the name already, and no room for a path.
            member.problem = error.message.replace(str(member.path), self.tr("The file"))
        else:
            member.problem = self.tr("{0} cannot be used ({1}).").format(
                member.path.name, type(error).__name__
            )
        self._choose_letters()
        self.changed.emit()

    # -- pairs ------------------------------------------------------------------------------

    def pair(self, letter: str) -> Pair | None:
        """The judgement on a session against the baseline; None while it is worked out."""
        key = self._key(letter)
        found = None if key is None else self._pairs.get(key)
        return found if isinstance(found, Pair) else None

    def pair_problem(self, letter: str) -> str:
        """Why there is no judgement; "" while it is worked out, or there."""
        key = self._key(letter)
        found = None if key is None else self._pairs.get(key)
        return found if isinstance(found, str) else ""

    @property
    def computing(self) -> bool:
        """Is anything still to come?"""
        return self._working is not None or any(not m.problem and m.curves is None for m in self.members)

    def noise_floor(self) -> dict[str, float] | None:
        """By metric |ratio - 1| of the A/A pair; None without one, or while it is worked out."""
        key = self._floor_key()
        found = None if key is None else self._pairs.get((*key, None))
        if not isinstance(found, Pair):
            return None
        from profiler.analysis.comparison import noise_floor

        return noise_floor(found.rows)

    def _floor_key(self) -> tuple[Key, Key] | None:
        if self.floor is None:
            return None
        first, second = (self.member(letter) for letter in self.floor)
        if first is None or second is None or not first.ready or not second.ready:
            return None
        return first.key, second.key

    def _key(self, letter: str) -> PairKey | None:
        base, other = self.member(self.baseline), self.member(letter)
        if base is None or other is None or not base.ready or not other.ready or base is other:
            return None
        return base.key, other.key, self._floor_key()

    def _next_job(self) -> None:
        """Start the next judgement that is wanted, if none is at work."""
        if self._working is not None:
            return
        floor_key = self._floor_key()
        if floor_key is not None and (*floor_key, None) not in self._pairs:
            self._judge((*floor_key, None), None)
            return
        wanted = [self.chosen, *(letter for letter in self.others if letter != self.chosen)]
        for key in (self._key(letter) for letter in wanted if letter):
            if key is not None and key not in self._pairs:
                self._judge(key, self.noise_floor())
                return

    def _judge(self, key: PairKey, floor: dict[str, float] | None) -> None:
        runs = {member.key: member.recording for member in self.members}
        a, b = runs.get(key[0]), runs.get(key[1])
        if a is None or b is None:
            return
        self._working = key

        def done(pair: Pair) -> None:
            self._finish(key, pair)

        def failed(error: Exception) -> None:
            told = error.message if isinstance(error, DecodescopeError) else ""
            self._finish(key, told or self.tr("The comparison failed ({0}).").format(type(error).__name__))

        self._background.submit(lambda: self._compare(a, b, floor), done, failed)

    def _finish(self, key: PairKey, result: Pair | str) -> None:
        self._working = None
        if not self.members:
            return
        self._pairs[key] = result
        self._next_job()
        self.changed.emit()
