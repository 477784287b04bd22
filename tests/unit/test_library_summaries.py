"""What a library shows of a run is worked out from its steps once."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiler import events as ev
from profiler.engine.inspection import summary_of
from profiler.engine.summaries import add_summaries
from profiler.errors import SessionError
from profiler.session.library import list_sessions
from profiler.session.store import SessionWriter

MS = 1_000_000


def write(path: Path) -> Path:
    """A warm-up with a long gap, then a request with the gaps 10, 30, 20 ms after 100 ms."""
    with SessionWriter.create(path, {}, name="imported") as writer:
        writer.write([ev.RunStart(1, 0, "", "m")])
        for no, gaps_ms, warmup in ((1, (900,), True), (2, (10, 30, 20), False)):
            t0_ns = no * 10_000 * MS
            stamps = [t0_ns + 100 * MS]
            for gap_ms in gaps_ms:
                stamps.append(stamps[-1] + gap_ms * MS)
            writer.write([ev.RequestStart(no, 1, f"r{no}", t0_ns, 8, warmup=warmup)])
            writer.write([ev.make_steps(no, 0, stamps), ev.RequestEnd(no, stamps[-1], "ok")])
        writer.write([ev.RunEnd(1, 30_000 * MS)])
    return path


def test_the_summary_of_a_run(tmp_path: Path) -> None:
    summary = summary_of(write(tmp_path / "a.dscope"), 1)
    assert (summary["ttft_ms_p50"], summary["itl_ms_p50"]) == (100.0, 20.0)
    assert summary["itl_trace_ms"] == [10.0, 30.0, 20.0]
    assert (summary["joules_per_token"], summary["mbu_run"], summary["output_tokens"]) == (None, None, 4)


def test_missing_summaries_are_added_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope")
    assert list_sessions(tmp_path)[0].ttft_p50_ms is None
    assert add_summaries(path) == 1
    (entry,) = list_sessions(tmp_path)
    assert (entry.ttft_p50_ms, entry.itl_p50_ms, entry.itl_trace) == (100.0, 20.0, (10.0, 30.0, 20.0))
    content = path.read_bytes()
    assert add_summaries(path) == 0
    assert path.read_bytes() == content


def test_none_for_a_session_that_is_being_recorded(tmp_path: Path) -> None:
    with SessionWriter.create(tmp_path / "a.dscope", {}) as writer:
        writer.write([ev.RunStart(1, 0)])
        writer.commit()
        with pytest.raises(SessionError, match="is being recorded right now"):
            add_summaries(tmp_path / "a.dscope")
