"""A file that appears complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from profiler.session.files import check_target, os_error, publish, remove_session, temporary_beside


@contextmanager
def written(path: Path, overwrite: bool) -> Iterator[Path]:
    """Gives a temporary path beside `path`, which takes its place when the block ends well.

    Raises SessionExists and SessionError about `path`.
    """
    check_target(path, overwrite)
    part = temporary_beside(path)
    try:
        yield part
        publish(part, path, overwrite)
    except OSError as error:
        raise os_error(error, path) from error
    finally:
        remove_session(part)


def write_text(path: Path, overwrite: bool, pieces: Iterable[str]) -> None:
    """Write pieces of text as UTF-8; half a surrogate pair becomes a question mark."""
    with written(path, overwrite) as part, part.open("wb") as file:
        for piece in pieces:
            file.write(piece.encode("utf-8", "replace"))
        file.flush()
        os.fsync(file.fileno())
