"""What a person adds to a session: a name, tags, a note, a star. Kept inside the session's file.

They are rows of the table `meta`, so they go where the file goes, and `repair` saves them.
Every change returns the labels from before, for undo: `put_labels(path, before)`.
"""

from __future__ import annotations

import os
import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from profiler.errors import SessionError, UsageError
from profiler.events import JSON
from profiler.session import schema
from profiler.session.codec import load_strict_json, to_json
from profiler.session.files import SUFFIX
from profiler.session.lock import LockTakenError, SessionLock, is_locked
from profiler.session.move import save_as
from profiler.session.opening import open_database, read_header
from profiler.session.store import connect_rw

MAX_NAME = 200
MAX_TAG = 40
MAX_TAGS = 20
MAX_NOTE = 10_000
"""Longest texts, in characters."""
_MAX_FILE_BYTES = 150
"""Of a file's name; what is put around it (log, lock, temporary names) fits in 255, too."""

_AUTOMATIC = re.compile(r"\d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d(?: |$)")
"""How a recording is called that nobody named: local date and time, then the model."""
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


@dataclass(frozen=True)
class Labels:
    """The labels of a session. `named`: a person gave this name (in `set_labels`)."""

    name: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    starred: bool = False
    named: bool = False


def labels_of(meta: Mapping[str, JSON]) -> Labels:
    """The labels among the rows of `meta`. Values of a wrong kind count as missing."""
    name, tags, note = meta.get("name"), meta.get("tags"), meta.get("note")
    return Labels(
        name if isinstance(name, str) else "",
        tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        note if isinstance(note, str) else "",
        meta.get("starred") is True,
        meta.get("named") is True,
    )


def is_named(labels: Labels, path: Path) -> bool:
    """Has a person named this session, or its file; or is it an automatic recording?"""
    if labels.named or not _AUTOMATIC.match(path.stem):
        return True
    return bool(labels.name) and not _AUTOMATIC.match(labels.name)


# -- changing ---------------------------------------------------------------------------------


def set_labels(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    tags: Iterable[str] | None = None,
    note: str | None = None,
    starred: bool | None = None,
) -> Labels:
    """Change some labels (None: leave it); returns those from before, for `put_labels`.

    Spaces around are cut, control characters and text-direction overrides left out, tags
    that differ in case only are one. Raises UsageError for what is too long, SessionError
    (one sentence) when the file is being recorded, locked, read-only, damaged or newer.
    """
    path = Path(path)
    wanted: dict[str, JSON] = {}
    if name is not None:
        wanted |= {"name": _checked_name(name), "named": True}
    if tags is not None:
        wanted["tags"] = list(clean_tags(tags))
    if note is not None:
        wanted["note"] = _checked_note(note)
    if starred is not None:
        wanted["starred"] = bool(starred)
    return _change(path, wanted)


def put_labels(path: str | os.PathLike[str], labels: Labels) -> Labels:
    """Set all labels at once (undo and redo); returns those from before. SessionError as above."""
    return _change(
        Path(path),
        {
            "name": labels.name,
            "tags": list(labels.tags),
            "note": labels.note,
            "starred": labels.starred,
            "named": labels.named,
        },
    )


def read_labels(path: str | os.PathLike[str]) -> Labels:
    """The labels of one session. SessionError with one sentence."""
    database = open_database(Path(path), thorough=False)
    try:
        return labels_of(_meta(database.con))
    except (sqlite3.Error, ValueError) as error:
        raise _damaged(Path(path), error) from error
    finally:
        database.close()


def acknowledge(path: str | os.PathLike[str]) -> None:
    """Remember that a person has seen that this recording ended unexpectedly. SessionError."""
    _change(Path(path), {"acknowledged": True})


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags as they are stored: in order, none empty, none twice. UsageError for too many or long."""
    kept: dict[str, str] = {}
    for tag in tags:
        text = " ".join(_clean(tag.replace(",", " ")).split())
        if len(text) > MAX_TAG:
            raise UsageError(
                f"The tag {text[:MAX_TAG]!r}... is too long; use at most {MAX_TAG} characters.", None, "tags"
            )
        if text:
            kept.setdefault(text.casefold(), text)
    if len(kept) > MAX_TAGS:
        raise UsageError(f"These are {len(kept)} tags; a session takes at most {MAX_TAGS}.", None, "tags")
    return tuple(kept.values())


def _checked_name(name: str) -> str:
    text = " ".join(_clean(name).split())
    if not text:
        raise UsageError("The name is empty; type at least one character.", None, "name")
    if len(text) > MAX_NAME:
        raise UsageError(f"The name is too long; use at most {MAX_NAME} characters.", None, "name")
    return text


def _checked_note(note: str) -> str:
    text = _clean(note.replace("\r\n", "\n")).strip()
    if len(text) > MAX_NOTE:
        raise UsageError(f"The note is too long; use at most {MAX_NOTE:,} characters.", None, "note")
    return text


def _clean(text: str) -> str:
    """Without what cannot be seen but changes what is seen; tabs and line breaks stay."""
    return "".join(
        char
        for char in text
        if char in "\n\t" or (char not in _BIDI and unicodedata.category(char) not in ("Cc", "Cs"))
    )


def _change(path: Path, wanted: Mapping[str, JSON]) -> Labels:
    with open_for_change(path) as con:
        con.execute("BEGIN IMMEDIATE")
        try:
            meta = _meta(con)
            changed = {key: value for key, value in wanted.items() if key not in meta or meta[key] != value}
            for key, value in changed.items():
                con.execute("INSERT OR REPLACE INTO meta VALUES (?, CAST(? AS TEXT))", (key, to_json(value)))
        except BaseException:
            con.execute("ROLLBACK")
            raise
        con.execute("COMMIT" if changed else "ROLLBACK")
    return labels_of(meta)


def _meta(con: sqlite3.Connection) -> dict[str, JSON]:
    return {key: load_strict_json(value) for key, value in con.execute("SELECT key, value FROM meta")}


@contextmanager
def open_for_change(path: Path) -> Iterator[sqlite3.Connection]:
    """A writing connection to a session that nobody records, after all checks. SessionError."""
    read_header(path)
    if is_locked(path):
        raise _taken(path)
    # What a stranger may have made is looked at before it is opened for writing.
    open_database(path, thorough=False).close()
    try:
        lock = SessionLock.acquire(path)
    except LockTakenError:
        raise _taken(path) from None
    except OSError as error:
        raise _read_only(path, error) from error
    try:
        con = connect_rw(path)
        try:
            version = con.execute("PRAGMA user_version").fetchone()[0]
            if version < schema.VERSION:
                schema.migrate(con, version)
            yield con
        finally:
            con.close()
    except sqlite3.OperationalError as error:
        code = error.sqlite_errorcode & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            text = f"{path} is in use by another program; try again in a moment."
            raise SessionError(text, repr(error)) from error
        if code == sqlite3.SQLITE_FULL:
            text = f"The disk of {path.parent} is full; free some space, then try again."
            raise SessionError(text, repr(error)) from error
        raise _read_only(path, error) from error
    except (sqlite3.Error, ValueError) as error:
        raise _damaged(path, error) from error
    finally:
        lock.release()


def _taken(path: Path) -> SessionError:
    return SessionError(f"{path} is being recorded right now; change it when the recording has ended.")


def _read_only(path: Path, error: Exception) -> SessionError:
    return SessionError(
        f"{path} cannot be changed (it or its folder is read-only); copy it to another folder first.",
        repr(error),
    )


def _damaged(path: Path, error: Exception) -> SessionError:
    return SessionError(
        f"{path} is damaged. `dscope repair` saves what can be read into a new file.", repr(error)
    )


# -- the file's own name ----------------------------------------------------------------------


def safe_file_name(name: str) -> str:
    """A name that every file system takes, with the suffix. UsageError when nothing is left of it."""
    text = name.removesuffix(SUFFIX) if name != SUFFIX else ""
    text = re.sub(r'[<>:"/\\|?*\n\t]+', "-", _clean(text))
    text = " ".join(text.split()).lstrip(". ")
    text = text.encode()[:_MAX_FILE_BYTES].decode(errors="ignore").rstrip(". ")
    if not text.strip("-"):
        raise UsageError("That is no name for a file; use some letters or digits.", None, "name")
    if _RESERVED.fullmatch(text):
        text = f"_{text}"
    return text + SUFFIX


def rename_file(path: str | os.PathLike[str], new_name: str) -> Path:
    """Give a session's file another name in its folder; returns the new path.

    Odd characters are made safe (`safe_file_name`); the name shown in lists does not change
    (`set_labels`). Undo: `rename_file(new, old.stem)`. Raises SessionExists rather than replace
    another file, UsageError for an empty name, SessionError when it is being recorded, was
    not closed properly or is in a read-only folder.
    """
    path = Path(path)
    target = path.with_name(safe_file_name(new_name))
    if target == path:
        return path
    return save_as(path, target)
