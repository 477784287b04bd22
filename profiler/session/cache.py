"""What was read of a folder's sessions, kept for the next listing: opening 500 files takes 0.5 s.

One JSON file a folder, beside the library of this user (never in the folder listed). A row counts
while its file is the same one: size, time of change, inode, and SQLite's own count of changes,
since two changes can fall into one tick of a file system's clock. A cache that is
damaged, or of another version, is empty; one that cannot be written is done without. Two
programs at once: each writes a whole file, the last one stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from profiler.paths import library_dir
from profiler.session.entry import Row, SessionEntry

FORMAT = 1
MAX_FOLDERS = 20
"""Folders whose rows are kept: those listed last."""
_MAX_BYTES = 256 << 20

Known = dict[str, tuple[str, Row]]
"""By file name: signature and row."""


def cache_file(folder: Path) -> Path | None:
    """Where the rows of a folder are kept; None where this user has no place for them."""
    try:
        root = library_dir().parent / "library-cache"
        key = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:24]
    except (OSError, ValueError):
        return None
    return root / f"{key}.json"


def signature(path: Path) -> str:
    """Changes whenever the file does. OSError where it cannot be read. Cost: some 20 us."""
    with path.open("rb", buffering=0) as file:
        stat = os.fstat(file.fileno())
        head = file.read(28)
    return f"{stat.st_size}:{stat.st_mtime_ns}:{stat.st_ino}:{head[24:28].hex()}"


def load(folder: Path) -> Known:
    """The rows known of a folder; empty when there are none that can be used. Never raises."""
    path = cache_file(folder)
    try:
        if path is None or path.stat().st_size > _MAX_BYTES:
            return {}
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(value, dict) or value.get("version") != _version():
        return {}
    files = value.get("files")
    return {name: known for name, known in files.items() if _usable(known)} if isinstance(files, dict) else {}


def save(folder: Path, known: Mapping[str, tuple[str, Row]]) -> None:
    """Keep these rows, all at once or not at all. Never raises: a cache is a convenience."""
    path = cache_file(folder)
    if path is None:
        return
    part: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(prefix=path.stem, suffix=".part", dir=path.parent)
        part = Path(name)
        with os.fdopen(fd, "w", encoding="ascii") as file:
            json.dump({"version": _version(), "folder": str(folder), "files": known}, file)
        part.replace(path)
        _forget_old(path.parent)
    except (OSError, ValueError, TypeError):
        if part is not None:
            with contextlib.suppress(OSError):
                part.unlink()


def _forget_old(root: Path) -> None:
    """Folders that were listed once are not kept for ever."""
    files = sorted(root.glob("*.json"), key=lambda file: file.stat().st_mtime_ns, reverse=True)
    for file in files[MAX_FOLDERS:]:
        file.unlink(missing_ok=True)


def _version() -> str:
    # A field that is added makes older rows unusable by itself; a changed meaning needs FORMAT.
    return f"{FORMAT} " + " ".join(field.name for field in fields(SessionEntry))


def _usable(known: Any) -> bool:
    return (
        isinstance(known, list)
        and len(known) == 2
        and isinstance(known[0], str)
        and isinstance(known[1], dict)
    )
