"""To the trash and back. Nothing here deletes a session.

A system's trash gives no way back that works everywhere, so undo would be a promise: a session
goes into a folder `.trash` beside it first (on the same disk, at once), from where `restore`
always brings it back. `hand_over` passes what lies there to the system's trash later, when
undo is no longer offered: at the window's end, or its next start (`in_trash`). What the system
does not take (no trash there, another volume) stays in `.trash`, and the reason is said.

One folder `.trash/KEY` for each: the session, its side files, and `origin.json` (its
name, and which side files it had), which is written first, so that an interrupted move can be undone, too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from profiler.errors import SessionError
from profiler.session.files import SUFFIX, exists_error, os_error, side_files
from profiler.session.lock import LockTakenError, SessionLock, is_locked

FOLDER = ".trash"
_ORIGIN = "origin.json"
_MAX_ORIGIN_BYTES = 1 << 16

Send = Callable[[str], object]
"""Puts one file into the system's trash; raises OSError where that cannot be done."""


@dataclass(frozen=True)
class Trashed:
    """One session that was put into `.trash`, or could not be.

    `original`: where it was. `place`: where it is now, None when it was not moved. `error`: why it
    was not, in one sentence; from `hand_over`, why the system's trash did not take it.
    """

    original: Path
    place: Path | None
    error: str | None = None


@dataclass(frozen=True)
class HandedOver:
    """What became of `.trash`: how many sessions the system's trash took, what stayed, and why."""

    sent: int
    kept: tuple[Trashed, ...] = ()
    reason: str | None = None


def to_trash(paths: Iterable[str | os.PathLike[str]]) -> list[Trashed]:
    """Move sessions, with their side files, into `.trash` beside each; one result a path, in order.

    Does not raise: a session that is being recorded, missing or in a read-only folder stays,
    and its result says so. Damaged files go, too. `restore` is the undo.
    """
    return [_trash_one(Path(path)) for path in paths]


def _trash_one(path: Path) -> Trashed:
    try:
        return Trashed(path, _move_in(path))
    except SessionError as error:
        return Trashed(path, None, error.message)


def _move_in(path: Path) -> Path:
    if path.suffix != SUFFIX or path.is_dir() or not os.path.lexists(path):
        raise SessionError(f"{path} is no session that could be moved to the trash; refresh the list.")
    with _held(path):
        home = _new_home(path)
        place = home / path.name
        # The session before its log: a file without its log can be opened and misread, a log
        # without its file cannot.
        try:
            path.rename(place)
        except OSError as error:
            _drop_home(home)
            raise _cannot_move(path, error) from error
        for source, target in _with_sides(path, place):
            try:
                source.rename(target)
            except OSError as error:
                _move_back(path, place, home)
                raise _cannot_move(path, error) from error
    return place


def restore(trashed: Trashed) -> Path:
    """Bring a session back to where it was; returns that path.

    Raises SessionExists when another file has its name now, SessionError (one sentence) when it
    is not in `.trash` any more or its folder is gone. Nothing is lost then.
    """
    original, place = trashed.original, trashed.place
    if place is None:
        raise SessionError(f"{original} was not moved to the trash; there is nothing to bring back.")
    home = place.parent
    if not os.path.lexists(place):
        raise SessionError(
            f"{original.name} is not in {home.parent} any more; look for it in the system's trash."
        )
    left_behind = _left_behind(original, place)
    _check_free(original, left_behind)
    try:
        # Held, so that nobody begins to record under this name in between.
        with _held(original):
            _check_free(original, left_behind)
            for target, source in _with_sides(original, place, back=True):
                source.rename(target)
            place.rename(original)
            _drop_home(home)
    except OSError as error:
        raise os_error(error, original) from error
    return original


def in_trash(folder: str | os.PathLike[str]) -> list[Trashed]:
    """What lies in the `.trash` of a folder: left by an earlier start, or kept by `hand_over`.

    Never raises; what cannot be read is left out. What a file in there claims about where it
    was counts only within `folder`.
    """
    folder = Path(folder)
    found = []
    try:
        homes = sorted(home for home in (folder / FOLDER).iterdir() if home.is_dir())
    except OSError:
        return []
    for home in homes:
        name = _read_origin(home).get("name")
        if not isinstance(name, str) or not name or Path(name).name != name or Path(name).suffix != SUFFIX:
            continue
        if os.path.lexists(home / name):
            found.append(Trashed(folder / name, home / name))
    return found


def hand_over(trashed: Iterable[Trashed], *, send: Send | None = None) -> HandedOver:
    """Pass sessions of `.trash` to the system's trash; what it does not take stays there.

    Each is put back to where it was for a moment, so that the system's own "restore" knows its
    real place; where the name is taken by now, another free name is used. Does not raise.
    `send`: instead of send2trash (tests).
    """
    send = send or _system_trash
    sent = 0
    kept: list[Trashed] = []
    reason: str | None = None
    for item in trashed:
        if item.place is None or not os.path.lexists(item.place):
            continue  # was brought back, or another program has handed it over
        left = _hand_over_one(item, send)
        if left is None:
            sent += 1
        else:
            kept.append(left)
            where = left.original if left.place is None else left.place.parent.parent
            name = item.original.name
            reason = reason or (
                f"The system's trash did not take {name} ({left.error}); it is kept in {where}."
            )
    return HandedOver(sent, tuple(kept), reason)


def _hand_over_one(item: Trashed, send: Send) -> Trashed | None:
    """None when the system has it; else where it is now, and the reason in `error`."""
    assert item.place is not None
    try:
        ours = _left_behind(item.original, item.place)
        back = restore(replace(item, original=_free(item.original, ours)))
    except SessionError as error:
        return replace(item, error=error.message.rstrip("."))
    try:
        for file in (back, *side_files(back)):
            if os.path.lexists(file):
                send(str(file))
    except Exception as error:  # noqa: BLE001 - send2trash raises what its platform raises
        again = _trash_one(back) if os.path.lexists(back) else _put_away_sides(back)
        return replace(again, error=getattr(error, "strerror", None) or str(error) or type(error).__name__)
    return None


def _put_away_sides(path: Path) -> Trashed:
    """The system took the session but not its log, which must not lie beside a later file of its name."""
    try:
        home = _new_home(path)
        for source, target in _with_sides(path, home / path.name):
            source.rename(target)
    except (OSError, SessionError):
        pass  # then it lies where it was
    return Trashed(path, None)


def _system_trash(path: str) -> object:
    from send2trash import send2trash

    return send2trash(path)


def _taken(path: Path, ours: Collection[Path] = ()) -> Path | None:
    """What is at `path`, or a log that would be taken for its own; None where the name is free."""
    files = (path, *side_files(path))
    return next((file for file in files if file not in ours and os.path.lexists(file)), None)


def _check_free(path: Path, ours: set[Path]) -> None:
    taken = _taken(path, ours)
    if taken is not None:
        raise exists_error(taken)


def _left_behind(path: Path, place: Path) -> set[Path]:
    """Side files that a move which was interrupted has not moved: they are this session's."""
    told = _read_origin(place.parent).get("sides")
    names = told if isinstance(told, list) else []
    return {
        here
        for here, there in zip(side_files(path), side_files(place), strict=True)
        if here.name in names and not os.path.lexists(there)
    }


def _read_origin(home: Path) -> dict[str, object]:
    try:
        if (home / _ORIGIN).stat().st_size > _MAX_ORIGIN_BYTES:
            return {}
        value = json.loads((home / _ORIGIN).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _free(path: Path, ours: Collection[Path]) -> Path:
    """`path`, or the next name that is free beside it."""
    target, number = path, 2
    while _taken(target, ours) is not None:
        target = path.with_name(f"{path.stem} ({number}){path.suffix}")
        number += 1
    return target


def _new_home(path: Path) -> Path:
    """A new folder in `.trash` that says where its session was. SessionError."""
    root = path.parent / FOLDER
    try:
        root.mkdir(exist_ok=True)
        number = 1
        while True:
            home = root / str(number)
            try:
                home.mkdir()
                break
            except FileExistsError:
                number += 1
        # ASCII: an odd file name (half a surrogate pair) has no other form.
        sides = [file.name for file in side_files(path) if os.path.lexists(file)]
        origin = json.dumps({"name": path.name, "sides": sides})
        (home / _ORIGIN).write_text(origin + "\n", encoding="ascii")
    except OSError as error:
        raise _cannot_move(path, error) from error
    return home


def _move_back(path: Path, place: Path, home: Path) -> None:
    for target, source in _with_sides(path, place, back=True):
        try:
            source.rename(target)
        except OSError:
            return  # origin.json tells where it belongs
    try:
        place.rename(path)
    except OSError:
        return
    _drop_home(home)


def _drop_home(home: Path) -> None:
    """Remove an emptied folder of `.trash`, and `.trash` itself when nothing else is in it.

    Folder by folder: whatever else lies there keeps it.
    """
    try:
        (home / _ORIGIN).unlink(missing_ok=True)
        home.rmdir()
        home.parent.rmdir()
    except OSError:
        pass


def _with_sides(path: Path, place: Path, *, back: bool = False) -> Iterator[tuple[Path, Path]]:
    """(side file here, side file there) of those that exist (`back`: over there)."""
    for here, there in zip(side_files(path), side_files(place), strict=True):
        if os.path.lexists(there if back else here):
            yield here, there


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """The session's lock for the time of a move; its file, a stale one too, is removed after it."""
    if is_locked(path):
        raise _live(path)
    try:
        lock = SessionLock.acquire(path)
    except LockTakenError:
        raise _live(path) from None
    except OSError as error:
        raise _cannot_move(path, error) from error
    try:
        yield
    finally:
        lock.release()


def _live(path: Path) -> SessionError:
    return SessionError(f"{path} is being recorded right now; stop the recording first.")


def _cannot_move(path: Path, error: OSError) -> SessionError:
    reason = (error.strerror or str(error)).lower()
    return SessionError(
        f"{path} cannot be moved to the trash ({reason}); close what uses it, or make its folder writable.",
        repr(error),
    )
