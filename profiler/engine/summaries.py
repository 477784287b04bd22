"""Figures for the library of sessions that were not recorded here: a trace that was imported."""

from __future__ import annotations

import os
from pathlib import Path

from profiler.engine.inspection import summary_of
from profiler.session.codec import to_json
from profiler.session.labels import open_for_change
from profiler.session.reader import SessionReader


def add_summaries(path: str | os.PathLike[str]) -> int:
    """Store the figures of each run that has none, in a closed session; returns of how many.

    Reads all steps (about 1 us each): on a background thread. SessionError with one sentence
    when the file cannot be read or changed.
    """
    path = Path(path)
    with SessionReader.open(path, thorough=False) as reader:
        runs = reader.summary()["runs"]
    missing = {run["no"]: summary_of(path, run["no"]) for run in runs if run["summary"] is None}
    if missing:
        with open_for_change(path) as con:
            con.execute("BEGIN IMMEDIATE")
            con.executemany(
                "UPDATE run SET summary=CAST(? AS TEXT) WHERE no=? AND summary IS NULL",
                [(to_json(summary), no) for no, summary in missing.items()],
            )
            con.execute("COMMIT")
    return len(missing)
