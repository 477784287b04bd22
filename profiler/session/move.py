"""Moving or copying a finished session to another name, folder or disk.

An open session must not be renamed (its log stays behind under the old name) or copied (the
copy lacks the log), so both are refused until it is closed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from profiler.errors import SessionError
from profiler.session.files import (
    check_target,
    copy_synced,
    has_log,
    os_error,
    publish,
    remove_session,
    temporary_beside,
)
from profiler.session.lock import is_locked
from profiler.session.opening import read_header


def save_as(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    overwrite: bool = False,
    *,
    keep_source: bool = False,
) -> Path:
    """Move a closed session to `target` (or copy it, with `keep_source`); returns the target.

    The target appears complete or not at all, also across disks; on an error the source is
    where it was. Raises SessionExists when the target exists and `overwrite` is False, and
    SessionError (one sentence) when the source is still open, or the folder is missing,
    read-only or full.
    """
    source, target = Path(source), Path(target)
    read_header(source)
    if is_locked(source):
        raise SessionError(f"{source} is being recorded right now; save it when the recording has ended.")
    if has_log(source):
        raise SessionError(f"{source} was not closed properly; open or repair it first.")
    if target.exists() and target.samefile(source):
        return target
    check_target(target, overwrite)
    if overwrite and is_locked(target):
        raise SessionError(f"{target} is being recorded right now; choose another name.")
    part = temporary_beside(target)
    try:
        part.unlink(missing_ok=True)
        if keep_source or not _linked(source, part):
            copy_synced(source, part)
            shutil.copystat(source, part)
        publish(part, target, overwrite)
    except OSError as error:
        raise os_error(error, target) from error
    finally:
        remove_session(part)
    if not keep_source:
        # With its side files: empty ones, where a reader was open at the close.
        remove_session(source)
        if source.exists():
            raise SessionError(f"{target} was saved, but {source} cannot be removed; remove it yourself.")
    return target


def _linked(source: Path, part: Path) -> bool:
    """Give the file a second name in the target's folder; False across disks."""
    try:
        os.link(source, part)
    except OSError:
        return False
    return True
