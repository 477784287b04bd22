"""What goes into a session file comes out of it: every kind of event, also the odd ones."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from profiler import events as ev
from profiler.errors import SessionError, SessionExists
from profiler.session import schema
from profiler.session.codec import pack_pieces, step_rows, unpack_pieces
from profiler.session.reader import SessionReader
from profiler.session.store import SessionWriter
from profiler.timeline import Timeline

EVERYTHING: list[ev.Event] = [
    ev.RunStart(1, 1000, "first", "preset:nano", {"repeats": 3, "seed": 2**63}, {"cpu": "Ünïcode"}),
    ev.Fact("hardware", {"cores": 2, "nested": [1, None, True]}),
    ev.Fact("footprint", {"weights_bytes": 60_000_000}, run=1),
    ev.Note(1, "random weights: the speed is real, the text is noise"),
    ev.Span(1, "load", 1000, 5000, detail={"cold": True}),
    ev.RequestStart(1, 1, "w0", 6000, 16, 4, warmup=True),
    ev.RequestEnd(1, 7000, "ok", "length"),
    ev.RequestStart(2, 1, "r0", 10_000, 16, 4, batch_id="b1", label="short"),
    ev.Span(1, "tokenize", 10_000, 10_100, 2),
    ev.Span(1, "prefill", 10_100, 20_000, 2),
    ev.make_steps(2, 0, [20_000, 21_000], [1, 1], [17, 18], [5, 6], [0, 1]),
    ev.Text(2, ["a", ""]),
    ev.make_steps(2, 2, [22_000], [3], [21], [7, 8, 9]),
    ev.Text(2, ["é世"]),
    ev.Busy(2, 0, [1500, 4_000_000_000]),
    ev.RequestEnd(2, 23_000, "ok", "length"),
    ev.RequestStart(3, 1, "r1", 30_000, None, None, streamed=False),
    ev.make_steps(3, 0, [31_000, 32_000], [0, ev.UNKNOWN]),
    ev.RequestEnd(3, 33_000, "error", "error", "ValueError: no"),
    ev.Sample(11_000, "gpu0", {"power_w": 250.5, "memory_used_bytes": None}, 400),
    ev.Sample(12_000, "gpu0", {"power_w": None, "memory_used_bytes": 7, "temperature_c": 40}),
    ev.Sample(13_000, "gpu0", {"power_w": 251.5, "memory_used_bytes": 8}, 300),
    ev.Sample(11_000, "host", {"cpu_pct": 12.5}),
    ev.Interval("redraw", 15_000, 16_000),
    ev.Interval("gc", 17_000, 17_500, {"generation": 2}),
    ev.Interval("redraw", 14_000, 14_500),
    ev.Log("warning", 18_000, "worker", "careful", "Traceback ..."),
    ev.Failure("run", 33_000, "It failed; try again.", "Traceback ...", "dtype", 4),
    ev.Progress("load", 1.0),
    ev.State("running", 1),
    ev.Reply(1, True),
    ev.Recording("x", "recording"),
    ev.Resync("x"),
    ev.RunEnd(1, 40_000, "stopped", "by the user"),
    ev.RunStart(2, 50_000, "second"),
]


def write(path: Path, events: list[ev.Event]) -> None:
    with SessionWriter.create(path, {"os": "Linux"}, name="my session") as writer:
        writer.write(events)


def read(path: Path) -> tuple[SessionReader, Timeline]:
    reader = SessionReader.open(path)
    return reader, reader.timeline()


def test_every_kind_of_event_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    write(path, EVERYTHING)
    reader, timeline = read(path)

    assert reader.name == "my session"
    assert reader.facts == {"os": "Linux", "hardware": {"cores": 2, "nested": [1, None, True]}}
    assert timeline.facts == reader.facts
    assert not reader.live
    assert not reader.ended_unexpectedly

    run = timeline.runs[1]
    assert (run.name, run.model, run.t_ns) == ("first", "preset:nano", 1000)
    assert run.config == {"repeats": 3, "seed": 2**63}
    assert run.environment == {"cpu": "Ünïcode"}
    assert (run.status, run.reason, run.end_ns) == ("stopped", "by the user", 40_000)
    assert run.facts == {"footprint": {"weights_bytes": 60_000_000}}
    assert run.notes == ["random weights: the speed is real, the text is noise"]
    assert run.spans == [ev.Span(1, "load", 1000, 5000, None, {"cold": True})]
    assert [request.id for request in run.requests] == ["w0", "r0", "r1"]
    assert [request.id for request in run.measured] == ["r0", "r1"]

    request = timeline.requests[2]
    assert (request.t0_ns, request.prompt_tokens, request.max_new_tokens) == (10_000, 16, 4)
    assert (request.streamed, request.batch_id, request.label) == (True, "b1", "short")
    assert (request.end_ns, request.end_status, request.stop_reason) == (23_000, "ok", "length")
    assert request.t_ns.tolist() == [20_000, 21_000, 22_000]
    assert request.k.tolist() == [1, 1, 3]
    assert request.kv_len.tolist() == [17, 18, 21]
    assert request.flags.tolist() == [0, 1, 0]
    assert request.ids.tolist() == [5, 6, 7, 8, 9]
    assert request.busy_us.tolist() == [1500, 4_000_000_000]
    assert request.pieces == ["a", "", "é世"]
    assert request.spans == [
        ev.Span(1, "tokenize", 10_000, 10_100, 2),
        ev.Span(1, "prefill", 10_100, 20_000, 2),
    ]

    failed = timeline.requests[3]
    assert (failed.prompt_tokens, failed.max_new_tokens, failed.streamed) == (None, None, False)
    assert failed.k.tolist() == [0, ev.UNKNOWN]
    assert failed.kv_len.tolist() == [ev.UNKNOWN, ev.UNKNOWN]
    assert failed.ids.tolist() == []
    assert (failed.end_status, failed.error) == ("error", "ValueError: no")

    gpu = timeline.samples["gpu0"]
    assert gpu.t_ns.tolist() == [11_000, 12_000, 13_000]
    assert gpu.read_ns.tolist() == [400, -1, 300]
    np.testing.assert_equal(gpu.values("power_w"), [250.5, np.nan, 251.5])
    np.testing.assert_equal(gpu.values("memory_used_bytes"), [np.nan, 7.0, 8.0])
    np.testing.assert_equal(gpu.values("temperature_c"), [np.nan, 40.0, np.nan])
    assert timeline.samples["host"].values("cpu_pct").tolist() == [12.5]

    assert timeline.intervals["redraw"].t_ns.tolist() == [14_000, 15_000]
    assert timeline.intervals["redraw"].end_ns.tolist() == [14_500, 16_000]
    assert timeline.intervals["gc"].details == [{"generation": 2}]
    assert list(timeline.logs) == [ev.Log("warning", 18_000, "worker", "careful", "Traceback ...")]
    assert timeline.failures == [
        ev.Failure("run", 33_000, "It failed; try again.", "Traceback ...", "dtype", 4)
    ]
    reader.close()


def test_a_run_without_an_end_is_interrupted_when_the_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    write(path, EVERYTHING)
    _, timeline = read(path)
    assert timeline.runs[2].status == "interrupted"
    assert timeline.runs[2].reason == "The recording was closed before the run ended."
    assert timeline.runs[2].end_ns is None


def test_the_file_equals_the_live_view_when_events_are_seen_twice(tmp_path: Path) -> None:
    events: list[ev.Event] = [
        ev.RunStart(1, 0),
        ev.RequestStart(1, 1, "r", 0),
        ev.make_steps(1, 0, [10, 20, 30]),
        ev.make_steps(1, 1, [21, 31, 40]),
        ev.RequestStart(1, 1, "other", 5),
        ev.Sample(7, "host", {"x": 1.0}),
        ev.Sample(7, "host", {"x": 2.0}),
        ev.Interval("gc", 3, 4),
        ev.Interval("gc", 3, 9),
    ]
    live = Timeline()
    live.apply_all(events)
    path = tmp_path / "a.dscope"
    write(path, events)
    _, saved = read(path)
    assert live.requests[1].t_ns.tolist() == [10, 20, 30, 40]
    assert saved.requests[1].t_ns.tolist() == [10, 20, 30, 40]
    assert saved.requests[1].id == live.requests[1].id == "r"
    assert saved.samples["host"].values("x").tolist() == live.samples["host"].values("x").tolist() == [1.0]
    assert saved.intervals["gc"].end_ns.tolist() == live.intervals["gc"].end_ns.tolist() == [4]


def test_steps_are_read_on_first_use_and_not_after_close(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    write(path, EVERYTHING)
    reader, timeline = read(path)
    assert len(timeline.requests[2]) == 3
    reader.close()
    assert timeline.requests[2].k.tolist() == [1, 1, 3]
    with pytest.raises(SessionError, match="was closed; open it again"):
        len(timeline.requests[3])


def test_a_request_longer_than_one_read(tmp_path: Path) -> None:
    n = 120_001
    path = tmp_path / "a.dscope"
    stamps = np.arange(n, dtype=np.int64) * 1000 + 5
    k = np.ones(n, np.int32)
    k[60_000] = 2
    ids = np.arange(n + 1, dtype=np.int32)
    write(
        path,
        [
            ev.RunStart(1, 0),
            ev.RequestStart(1, 1, "r", 5),
            ev.make_steps(1, 0, stamps, k, ids=ids),
        ],
    )
    _, timeline = read(path)
    request = timeline.requests[1]
    np.testing.assert_array_equal(request.t_ns, stamps)
    np.testing.assert_array_equal(request.k, k)
    np.testing.assert_array_equal(request.ids, ids)


def test_a_step_takes_at_most_forty_bytes(tmp_path: Path) -> None:
    n = 100_000
    path = tmp_path / "a.dscope"
    with SessionWriter.create(path, {}) as writer:
        writer.write([ev.RunStart(1, 0), ev.RequestStart(1, 1, "r", 0)])
        for start in range(0, n, 1000):
            i = np.arange(start, start + 1000)
            # Ten hours in, ids of a large vocabulary, a long context: the widest integers.
            stamps = 36_000_000_000_000 + i * 13_000_000
            writer.write([ev.make_steps(1, start, stamps, kv_len=100_000 + i, ids=120_000 + i)])
            writer.commit()
        estimate = writer.bytes_written
    assert path.stat().st_size / n <= 40
    assert writer.bytes_written == path.stat().st_size
    assert estimate == path.stat().st_size


def test_odd_values_lose_no_recording(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    low, high = -(2**63), 2**63 - 1
    write(
        path,
        [
            ev.RunStart(1, low, "half a pair \ud83d", "m\0n", {"nan": float("nan"), "path": Path("x")}),
            ev.RequestStart(1, 1, "r", high),
            ev.make_steps(1, 0, [low, high, 0], [2, 1, 0], ids=[1, 2, 3, 4, 5]),
            ev.Text(1, ["\ud83d", "\ude00", "x" * 300, "😀"]),
            ev.Sample(1, "host", {"x": float("inf"), "y": 1}),
        ],
    )
    _, timeline = read(path)
    assert timeline.runs[1].name == "half a pair \ud83d"
    assert timeline.runs[1].model == "m\0n"
    assert timeline.runs[1].config == {"nan": None, "path": "x"}
    assert timeline.requests[1].t_ns.tolist() == [low, high, 0]
    assert timeline.requests[1].ids.tolist() == [1, 2, 3, 4, 5]
    assert timeline.requests[1].pieces == ["\ud83d", "\ude00", "x" * 300, "😀"]
    np.testing.assert_equal(timeline.samples["host"].values("x"), [np.nan])


def test_steps_of_an_unknown_request_are_told_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    write(path, [ev.RunStart(1, 0), ev.make_steps(9, 0, [5, 6])])
    _, timeline = read(path)
    assert [(log.level, log.message) for log in timeline.logs] == [
        ("error", "2 steps of request 9, which never started, were not stored")
    ]


def test_rows_of_a_batch() -> None:
    steps = ev.make_steps(4, 2, [105, 110, 120], [1, 2, 0], [ev.UNKNOWN, 9, 9], [7, 8, 9], [0, 1, 0])
    assert list(step_rows(steps, 100)) == [
        (4, 2, 5, 1, None, 0, 7),
        (4, 3, 10, 2, 9, 1, b"\x08\0\0\0\x09\0\0\0"),
        (4, 4, 20, 0, 9, 0, None),
    ]


@pytest.mark.parametrize(
    ("pieces", "packed"),
    [
        ([], ("", b"\x01")),
        (["", "ab"], ("ab", b"\x01\x00\x02")),
        (["x" * 256], ("x" * 256, b"\x02\x00\x01")),
    ],
)
def test_pieces_are_packed_by_length(pieces: list[str], packed: tuple[str, bytes]) -> None:
    assert pack_pieces(pieces) == packed
    assert unpack_pieces(*packed) == pieces


@pytest.mark.parametrize("lengths", [b"", b"\x03\0", b"\x01\x01", b"\x02\x01"])
def test_lengths_that_do_not_fit_are_damage(lengths: bytes) -> None:
    with pytest.raises(ValueError):
        unpack_pieces("ab", lengths)


def test_summaries_and_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    with SessionWriter.create(path, {}, name="old") as writer:
        writer.write([ev.RunStart(1, 0, "a", "m1"), ev.RunEnd(1, 9), ev.RunStart(2, 10, "b", "m2")])
        writer.set_summary(1, {"ttft_ms": 12.5})
        writer.set_cell(2, '{"batch":4}', 1)
        writer.set_name("new")
    with SessionReader.open(path) as reader:
        summary = reader.summary()
    assert summary["name"] == "new"
    assert summary["model"] == "m2"
    assert summary["status"] == "interrupted"
    assert summary["requests"] == 0
    assert summary["runs"][0]["summary"] == {"ttft_ms": 12.5}
    assert (summary["runs"][1]["cell"], summary["runs"][1]["attempt"]) == ('{"batch":4}', 1)


def test_no_side_files_are_left_and_the_mode_is_plain(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    writer = SessionWriter.create(path, {})
    assert {file.name for file in tmp_path.iterdir()} >= {"a.dscope", "a.dscope-wal", "a.dscope.lock"}
    writer.close()
    writer.close()
    assert [file.name for file in tmp_path.iterdir()] == ["a.dscope"]
    con = sqlite3.connect(path)
    assert con.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert con.execute("PRAGMA application_id").fetchone() == (0x44534350,)
    assert con.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
    con.close()


def test_without_shared_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    writer = SessionWriter.create(path, {}, shared_memory=False)
    assert not (tmp_path / "a.dscope-shm").exists()
    writer.write([ev.RunStart(1, 0)])
    writer.checkpoint()
    with pytest.raises(SessionError, match="does not share it; open it when the recording has ended"):
        SessionReader.open(path)
    writer.close()
    assert 1 in read(path)[1].runs


def test_create_refuses_what_exists(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    path.write_text("mine")
    with pytest.raises(SessionExists, match="exists already"):
        SessionWriter.create(path, {})
    assert path.read_text() == "mine"
    with pytest.raises(SessionError, match="is a folder"):
        SessionWriter.create(tmp_path, {})
    with pytest.raises(SessionError, match="does not exist; create it first"):
        SessionWriter.create(tmp_path / "missing" / "a.dscope", {})
    assert [file.name for file in tmp_path.iterdir()] == ["a.dscope"]


def test_a_full_disk_keeps_what_was_committed_and_the_rest_can_be_written_again(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    writer = SessionWriter.create(path, {})
    writer.write([ev.RunStart(1, 0), ev.RequestStart(1, 1, "r", 0), ev.make_steps(1, 0, [1, 2])])
    writer.commit()
    # What SQLite says of a full disk, without filling one.
    writer._con.execute(f"PRAGMA max_page_count={writer.bytes_written // 4096}")
    unsaved: list[ev.Event] = [
        ev.RequestStart(2, 1, "r2", 0),
        ev.Sample(1, "host", {"x": 1.0}),
        ev.Text(2, ["a"]),
        ev.make_steps(2, 0, range(100_000)),
    ]
    for _ in range(2):
        with pytest.raises(SessionError, match=r"disk of .* is full.*What was recorded until now is kept"):
            writer.write(unsaved)
        _, timeline = read(path)
        assert timeline.requests[1].t_ns.tolist() == [1, 2]
        assert 2 not in timeline.requests
    writer._con.execute("PRAGMA max_page_count=1000000")
    writer.write(unsaved)
    writer.close()
    _, timeline = read(path)
    assert timeline.requests[1].t_ns.tolist() == [1, 2]
    assert len(timeline.requests[2]) == 100_000
    assert timeline.requests[2].pieces == ["a"]
    assert timeline.samples["host"].values("x").tolist() == [1.0]


def test_writing_after_close_is_refused(tmp_path: Path) -> None:
    writer = SessionWriter.create(tmp_path / "a.dscope", {})
    writer.close()
    with pytest.raises(SessionError, match="is closed"):
        writer.write([ev.RunStart(1, 0)])


def test_a_reader_on_a_live_session_sees_what_was_committed(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    writer = SessionWriter.create(path, {}, name="live")
    writer.write([ev.RunStart(1, 0), ev.RequestStart(1, 1, "r", 0), ev.make_steps(1, 0, [1, 2])])
    writer.commit()
    writer.write([ev.make_steps(1, 2, [3])])
    reader, timeline = read(path)
    assert reader.live
    assert not reader.ended_unexpectedly
    assert timeline.runs[1].status == "running"
    assert timeline.requests[1].end_status is None
    writer.commit()
    # A live stream that goes on where the file ends: no step twice, none lost.
    timeline.apply(ev.make_steps(1, 2, [3, 4]))
    assert timeline.requests[1].t_ns.tolist() == [1, 2, 3, 4]
    writer.close("finished", None)
    assert [file.name for file in tmp_path.iterdir()] == ["a.dscope"]
    assert read(path)[1].runs[1].status == "finished"


def test_closing_while_another_connection_reads_leaves_a_complete_file(tmp_path: Path) -> None:
    path = tmp_path / "a.dscope"
    writer = SessionWriter.create(path, {})
    writer.write([ev.RunStart(1, 0)])
    writer.commit()
    con = sqlite3.connect(path)
    con.execute("BEGIN")
    assert con.execute("SELECT no FROM run").fetchall() == [(1,)]
    con.execute("ROLLBACK")  # idle, but still attached: the mode cannot change
    writer.close("finished", None)
    reader, timeline = read(path)
    assert timeline.runs[1].status == "finished"
    assert not reader.ended_unexpectedly
    reader.close()
    con.close()
