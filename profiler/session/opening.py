"""Opening a session file of unknown origin, without harm and without changing it.

Nothing in a session is executed: the file is opened read-only, with `trusted_schema` off and
limits on sizes, and refused unless its tables are exactly ours, word for word. Whatever is
wrong becomes one sentence (SessionError).

A file whose log lies beside it is opened where it lies. Where that cannot be done (a read-only
place, an old version that has to be migrated) the file *and* its log are copied first.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

from profiler.errors import SessionError
from profiler.session import schema
from profiler.session.codec import from_text
from profiler.session.files import has_log, side_files
from profiler.session.lock import is_locked

MAX_FILE_BYTES = 64 << 30
MAX_VALUE_BYTES = 64 << 20
"""No text or blob of ours is longer."""
BUSY_S = 1.0
_MAGIC = b"SQLite format 3\0"
_REPAIR = "`dscope repair` saves what can be read into a new file."


@dataclass(frozen=True)
class Header:
    """What the first 100 bytes say: version of the tables, and whether the file is in WAL mode."""

    version: int
    wal_mode: bool


@dataclass(frozen=True)
class Database:
    """An open, checked database. `folder` is a temporary copy's, to be removed after closing."""

    con: sqlite3.Connection
    folder: Path | None

    def close(self) -> None:
        """Close and remove the copy, if it is one. Calling it again does nothing."""
        self.con.close()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def read_header(path: Path) -> Header:
    """Look at the file without SQLite. SessionError with one sentence if it is none of ours."""
    try:
        if path.is_dir():
            raise SessionError(f"{path} is a folder; choose a .dscope file in it.")
        with path.open("rb") as file:
            head = file.read(100)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise SessionError(f"{path} is not there; check the path.") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SessionError(f"{path} cannot be read ({reason}); check its permissions.") from error
    except ValueError:
        raise SessionError(f"{str(path)!r} cannot be the name of a file; check the path.") from None
    if size == 0:
        if is_locked(path):
            raise SessionError(f"{path} is being started right now; try again in a moment.")
        raise SessionError(f"{path} is empty: nothing was recorded in it.")
    if not _MAGIC.startswith(head[:16]):
        raise SessionError(f"{path} is not a Decodescope session; choose a file that was recorded.")
    if size < 512 or len(head) < 100:
        raise SessionError(f"{path} is cut off after {size} bytes: nothing in it can be read.")
    if size > MAX_FILE_BYTES:
        raise SessionError(f"{path} is larger than any session can be; it is not opened.")
    page_size, write_version = struct.unpack_from(">HB", head, 16)
    change, pages = struct.unpack_from(">II", head, 24)
    version, app_id, valid_for = (struct.unpack_from(">I", head, at)[0] for at in (60, 68, 92))
    if app_id != schema.APPLICATION_ID:
        if app_id == 0 and is_locked(path):
            raise SessionError(f"{path} is being started right now; try again in a moment.")
        raise SessionError(f"{path} is a database of another program, not a Decodescope session.")
    if version > schema.VERSION:
        raise SessionError(
            f"{path} was written by a newer Decodescope (format {version}, this one reads up to "
            f"{schema.VERSION}); update Decodescope to open it."
        )
    if version < 1:
        raise SessionError(f"{path} is damaged (it has no format version). {_REPAIR}")
    expected = pages * (65536 if page_size == 1 else page_size)
    if change == valid_for and size < expected and not has_log(path):
        raise SessionError(f"{path} is cut off: {size:,} of {expected:,} bytes are there. {_REPAIR}")
    return Header(version, write_version == 2)


def open_database(path: Path, *, thorough: bool = True) -> Database:
    """A read-only connection to a session. `thorough`: read every page once (`quick_check`).

    Raises SessionError with one sentence.
    """
    header = read_header(path)
    if header.version < schema.VERSION:
        return _open_copy(path, header, thorough)
    log = has_log(path)
    writable = os.access(path.parent, os.W_OK)
    try:
        if not writable and log:
            return _open_copy(path, header, thorough)
        # Without a log and without the means to make one, nothing can change behind our back.
        immutable = header.wal_mode and not writable
        return Database(_checked(path, path, header.version, thorough, immutable), None)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            raise SessionError(
                f"{path} is being written by another program that does not share it; "
                "open it when the recording has ended."
            ) from error
        if not log:
            raise _damaged(path, error) from error
    except sqlite3.Error as error:
        raise _damaged(path, error) from error
    # The log could not be used where it lies.
    return _open_copy(path, header, thorough)


def _open_copy(path: Path, header: Header, thorough: bool) -> Database:
    """Open a copy of the file and its log in a temporary folder, migrated if it is old."""
    folder = Path(tempfile.mkdtemp(prefix="decodescope-"))
    try:
        copy = copy_with_log(path, folder)
        con = sqlite3.connect(copy, isolation_level=None)
        try:
            # Recovers the log (only a writer can take back a journal) and leaves one file.
            harden(con)
            con.execute("PRAGMA journal_mode=DELETE").fetchone()
            if header.version < schema.VERSION:
                _check_schema(con, path, header.version)
                schema.migrate(con, header.version)
        finally:
            con.close()
        return Database(_checked(copy, path, schema.VERSION, thorough, False), folder)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, sqlite3.Error):
            raise _damaged(path, error) from error
        if isinstance(error, OSError):
            raise SessionError(
                f"{path} cannot be copied to {folder.parent} to be opened ({error.strerror}); "
                "free some space there.",
                repr(error),
            ) from error
        raise


def copy_with_log(path: Path, folder: Path) -> Path:
    """Copy a session with its log and journal into `folder`; returns the copy's path. OSError."""
    copy = folder / "session.dscope"
    shutil.copyfile(path, copy)
    wal, _, journal = side_files(path)
    for source, end in ((wal, "-wal"), (journal, "-journal")):
        if source.exists():
            shutil.copyfile(source, copy.with_name(copy.name + end))
    return copy


def _checked(place: Path, path: Path, version: int, thorough: bool, immutable: bool) -> sqlite3.Connection:
    """A connection to `place`, after all checks; `path` is what messages name."""
    con = connect_ro(place, immutable)
    try:
        if con.execute("PRAGMA user_version").fetchone()[0] != version:
            raise SessionError(f"{path} is damaged (its log is of another file). {_REPAIR}")
        _check_schema(con, path, version)
        if thorough:
            found = con.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise SessionError(f"{path} is damaged. {_REPAIR}", str(found))
    except BaseException:
        con.close()
        raise
    return con


def connect_ro(place: Path, immutable: bool = False) -> sqlite3.Connection:
    """A read-only connection with our precautions, before any check. sqlite3.Error."""
    con = sqlite3.connect(
        f"{place.absolute().as_uri()}?mode=ro{'&immutable=1' if immutable else ''}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_S,
    )
    try:
        harden(con)
        con.execute("PRAGMA query_only=ON")
    except BaseException:
        con.close()
        raise
    return con


def harden(con: sqlite3.Connection) -> None:
    """Precautions against a file made to harm: no functions from its schema, limits, no mmap."""
    con.text_factory = from_text
    con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    con.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    con.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1)
    con.execute("PRAGMA trusted_schema=OFF")
    con.execute("PRAGMA cell_size_check=ON")
    con.execute("PRAGMA mmap_size=0")


def _check_schema(con: sqlite3.Connection, path: Path, version: int) -> None:
    found = schema.schema_rows(con)
    expected = schema.expected_schema(version)
    if found == expected:
        return
    names = {name for _, name, _ in expected}
    for kind, name, _ in sorted(found - expected, key=str):
        if name not in names:
            raise SessionError(
                f"{path} holds a {kind} ({name!r}) that no session has; it is not opened, for safety."
            )
    raise SessionError(f"{path} has tables that are not those of a session; it is not opened, for safety.")


def _damaged(path: Path, error: sqlite3.Error) -> SessionError:
    return SessionError(f"{path} is damaged. {_REPAIR}", repr(error))
