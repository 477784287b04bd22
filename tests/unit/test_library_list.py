"""The list of a folder: figures, words, what is odd, and the cache behind it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest
from library_files import leave_open, write

from profiler import events as ev
from profiler.session import cache, entry, library
from profiler.session.entry import read_entry
from profiler.session.labels import acknowledge, set_labels
from profiler.session.library import list_sessions, unexpected
from profiler.session.store import SessionWriter

FULL = {
    "ttft_ms_p50": 120.5,
    "itl_ms_p50": 41.25,
    "itl_ms_p99": 60.0,
    "jitter_ms": 2.5,
    "mbu_run": 0.625,
    "joules_per_token": 1.75,
    "itl_trace_ms": [41.0, 99.0, 42.0],
}
CPU = {"hardware": {"cpu": {"model": "Some CPU"}}, "gpus": []}


def counted_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are opened from now on."""
    read: list[str] = []

    def read_row(path: Path) -> entry.Row:
        read.append(path.name)
        return entry.read_row(path)

    monkeypatch.setattr(library, "read_row", read_row)
    return read


# -- figures and words ------------------------------------------------------------------------


def test_the_figures_of_a_recording(tmp_path: Path) -> None:
    config = {"prompt_tokens": 128, "output_tokens": 256, "repeats": 3}
    write(tmp_path / "a.dscope", "mine", "preset:nano", FULL, config, CPU, {"device": "cpu"})
    (found,) = list_sessions(tmp_path)
    assert (found.ttft_p50_ms, found.itl_p50_ms, found.itl_p99_ms) == (120.5, 41.25, 60.0)
    assert (found.jitter_ms, found.mbu_pct, found.joules_per_token) == (2.5, 62.5, 1.75)
    assert found.itl_trace == (41.0, 99.0, 42.0)
    assert (found.device, found.workload) == ("Some CPU", "128 → 256, 3 repeats")
    assert (found.tags, found.note, found.starred, found.acknowledged) == ((), "", False, False)


def test_a_recording_without_figures(tmp_path: Path) -> None:
    write(tmp_path / "a.dscope")
    (found,) = list_sessions(tmp_path)
    assert (found.ttft_p50_ms, found.itl_p50_ms, found.itl_p99_ms) == (None, None, None)
    assert (found.jitter_ms, found.mbu_pct, found.joules_per_token) == (None, None, None)
    assert (found.itl_trace, found.device, found.workload) == ((), None, "")


def test_the_last_run_counts(tmp_path: Path) -> None:
    with SessionWriter.create(tmp_path / "a.dscope", {}) as writer:
        writer.write([ev.RunStart(1, 0, "", "first", {"output_tokens": 1, "repeats": 9}), ev.RunEnd(1, 1)])
        writer.set_summary(1, {"ttft_ms_p50": 1.0})
        writer.write([ev.RunStart(2, 2, "", "second", {"output_tokens": 2}), ev.RunEnd(2, 3)])
        writer.set_summary(2, {"ttft_ms_p50": 2.0})
    (found,) = list_sessions(tmp_path)
    assert (found.model, found.ttft_p50_ms, found.workload) == ("second", 2.0, "? → 2")
    assert len(found.runs) == 2


@pytest.mark.parametrize(
    ("environment", "fact", "device"),
    [
        ({}, {"device": "cpu"}, "CPU"),
        (CPU, {"device": "cpu"}, "Some CPU"),
        ({"gpus": [{"name": "GPU A"}]}, {"device": "cuda:0"}, "GPU A"),
        ({"gpus": [{"name": "A"}, {"name": "B"}]}, {"device": "cuda:1"}, "cuda:1"),
        ({"gpus": []}, {"device": "cuda:1", "device_name": "GPU B"}, "GPU B"),
        ({"device": "mps"}, None, "mps"),
        ({"gpus": "odd", "hardware": 3}, {"device": 7}, None),
    ],
)
def test_the_device(
    tmp_path: Path, environment: dict[str, object], fact: dict[str, object] | None, device: str | None
) -> None:
    write(tmp_path / "a.dscope", environment=environment, model_fact=fact)
    assert list_sessions(tmp_path)[0].device == device


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"prompt_tokens": 8, "output_tokens": 16, "repeats": 1}, "8 → 16, 1 repeat"),
        ({"prompt": "Tell me", "output_tokens": 16, "repeats": 2}, "prompt text → 16, 2 repeats"),
        ({"prompts_file": "p.jsonl", "output_tokens": 16}, "prompts file → 16"),
        ({"output_tokens": "16"}, ""),
        ({"output_tokens": True}, ""),
    ],
)
def test_the_workload(tmp_path: Path, config: dict[str, object], words: str) -> None:
    write(tmp_path / "a.dscope", config=config)
    assert list_sessions(tmp_path)[0].workload == words


def test_odd_figures_count_as_missing(tmp_path: Path) -> None:
    odd = {"ttft_ms_p50": "12", "itl_ms_p50": True, "mbu_run": 10**400, "itl_trace_ms": [1, "x", None, 2.5]}
    write(tmp_path / "a.dscope", summary=odd)
    write(tmp_path / "b.dscope", summary={"itl_trace_ms": {"a": 1}})
    write(tmp_path / "c.dscope", summary={"itl_trace_ms": list(range(1000))})
    a, b, c = sorted(list_sessions(tmp_path), key=lambda found: found.path)
    assert (a.ttft_p50_ms, a.itl_p50_ms, a.mbu_pct, a.itl_trace) == (None, None, None, (1.0, 2.5))
    assert b.itl_trace == ()
    assert c.itl_trace == tuple(float(i) for i in range(64))


@pytest.mark.parametrize(
    ("file", "name", "named"),
    [
        ("2026-11-30 21.05.00 small.dscope", "2026-11-30 21.05.00 small", False),
        ("2026-11-30 21.05.00 small.dscope", "", False),
        ("2026-11-30 21.05.00 small 2.dscope", "2026-11-30 21.05.00 small 2", False),
        ("2026-11-30 21.05.00 small.dscope", "before the update", True),
        ("first.dscope", "first", True),
        ("first.dscope", "2026-11-30 21.05.00 small", True),
        ("first.dscope", "", True),
        ("2026-11-30 21.05 small.dscope", "", True),
    ],
)
def test_named_or_automatic(tmp_path: Path, file: str, name: str, named: bool) -> None:
    write(tmp_path / file, name)
    assert list_sessions(tmp_path)[0].named is named


# -- what is odd in a folder ------------------------------------------------------------------


def test_damaged_files_are_listed_with_their_reason(tmp_path: Path) -> None:
    write(tmp_path / "good.dscope")
    (tmp_path / "text.dscope").write_text("hello")
    (tmp_path / "empty.dscope").touch()
    (tmp_path / "folder.dscope").mkdir()
    (tmp_path / "broken link.dscope").symlink_to(tmp_path / "nowhere")
    whole = write(tmp_path / "cut.dscope").read_bytes()
    (tmp_path / "cut.dscope").write_bytes(whole[: len(whole) // 2])
    found = list_sessions(tmp_path)
    assert [(e.path.name, e.error is None) for e in found] == [
        ("good.dscope", True),
        ("broken link.dscope", False),
        ("cut.dscope", False),
        ("empty.dscope", False),
        ("folder.dscope", False),
        ("text.dscope", False),
    ]
    reasons = [e.error or "" for e in found[1:]]
    assert "is not there" in reasons[0]
    assert "is cut off" in reasons[1]
    assert "is empty" in reasons[2]
    assert "is a folder" in reasons[3]
    assert "is not a Decodescope session" in reasons[4]


HOSTILE = ("a\nb.dscope", "-rf.dscope", "=1+1.dscope", "<img src=x>.dscope", "'; DROP TABLE run;--.dscope")


def test_hostile_names(tmp_path: Path) -> None:
    for file in HOSTILE:
        write(tmp_path / file, f"name of {file}")
    found = list_sessions(tmp_path)
    assert {e.path.name: (e.name, e.error) for e in found} == {
        file: (f"name of {file}", None) for file in HOSTILE
    }
    assert list_sessions(tmp_path) == found


def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    odd = write(tmp_path / "a.dscope").rename(tmp_path / "half \udc80.dscope")
    assert [e.path for e in list_sessions(tmp_path)] == [odd]
    assert [e.path for e in list_sessions(tmp_path)] == [odd]


def test_only_sessions_of_the_folder_itself(tmp_path: Path) -> None:
    (tmp_path / ".trash").mkdir()
    write(tmp_path / ".trash" / "a.dscope")
    write(tmp_path / "b.dscope")
    (tmp_path / "c.txt").touch()
    assert [e.path.name for e in list_sessions(tmp_path)] == ["b.dscope"]


def test_a_file_that_goes_away_while_listing_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.dscope", "b.dscope"):
        write(tmp_path / name)

    def read_row(path: Path) -> entry.Row:
        (tmp_path / "b.dscope").unlink(missing_ok=True)
        return entry.read_row(path)

    monkeypatch.setattr(library, "read_row", read_row)
    assert [e.path.name for e in list_sessions(tmp_path)] == ["a.dscope"]


def test_a_file_that_appears_while_listing_is_there_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.dscope")

    def read_row(path: Path) -> entry.Row:
        if not (tmp_path / "b.dscope").exists():
            write(tmp_path / "b.dscope")
        return entry.read_row(path)

    monkeypatch.setattr(library, "read_row", read_row)
    assert [e.path.name for e in list_sessions(tmp_path)] == ["a.dscope"]
    assert {e.path.name for e in list_sessions(tmp_path)} == {"a.dscope", "b.dscope"}


# -- recordings that go on or were cut off ----------------------------------------------------


def test_a_live_session_is_listed_as_it_grows(tmp_path: Path) -> None:
    with SessionWriter.create(tmp_path / "a.dscope", {}, name="now") as writer:
        writer.write([ev.RunStart(1, 0, "", "m"), ev.RequestStart(1, 1, "r", 0)])
        writer.commit()
        (first,) = list_sessions(tmp_path)
        writer.write([ev.RequestStart(2, 1, "s", 1)])
        writer.commit()
        (second,) = list_sessions(tmp_path)
        writer.write([ev.RunEnd(1, 9)])
    (third,) = list_sessions(tmp_path)
    assert [(e.live, e.status, e.requests) for e in (first, second, third)] == [
        (True, "running", 1),
        (True, "running", 2),
        (False, "finished", 2),
    ]
    assert not any(e.ended_unexpectedly for e in (first, second, third))


def test_a_cut_off_recording_is_offered_until_it_is_acknowledged(tmp_path: Path) -> None:
    write(tmp_path / "whole.dscope")
    cut = leave_open(tmp_path / "cut.dscope")
    (tmp_path / "text.dscope").write_text("hello")
    with SessionWriter.create(tmp_path / "live.dscope", {}) as writer:
        writer.write([ev.RunStart(1, 0, "", "m")])
        writer.commit()
        (offered,) = unexpected(list_sessions(tmp_path))
    assert (offered.path, offered.name, offered.status, offered.requests) == (cut, "cut", "interrupted", 1)
    acknowledge(cut)
    assert unexpected(list_sessions(tmp_path)) == []
    (still,) = [e for e in list_sessions(tmp_path) if e.path == cut]
    assert (still.ended_unexpectedly, still.acknowledged, still.requests) == (True, True, 1)


# -- the cache --------------------------------------------------------------------------------


def test_the_second_listing_opens_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(3):
        write(tmp_path / f"{i}.dscope", f"n{i}", summary=FULL)
    first = list_sessions(tmp_path)
    read = counted_reads(monkeypatch)
    assert list_sessions(tmp_path) == first
    assert read == []
    write(tmp_path / "3.dscope", "n3")
    assert {e.name for e in list_sessions(tmp_path)} == {"n0", "n1", "n2", "n3"}
    assert read == ["3.dscope"]


def test_a_change_of_the_same_size_in_the_same_tick_is_seen(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope", "aaa")
    before = path.stat()
    assert list_sessions(tmp_path)[0].name == "aaa"
    set_labels(path, name="bbb")
    # As if the file system's clock had not moved on.
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert list_sessions(tmp_path)[0].name == "bbb"


def test_another_file_under_the_same_name_is_seen(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dscope", "aaa")
    before = path.stat()
    assert list_sessions(tmp_path)[0].name == "aaa"
    other = write(tmp_path / "other", "bbb")
    other.replace(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert list_sessions(tmp_path)[0].name == "bbb"


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"version": 99, "files": {}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_cache_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    write(tmp_path / "a.dscope", "mine", summary=FULL)
    first = list_sessions(tmp_path)
    file = cache.cache_file(tmp_path)
    assert file is not None
    assert file.is_file()
    file.write_bytes(damage)
    assert list_sessions(tmp_path) == first
    assert list(json.loads(file.read_bytes())["files"]) == ["a.dscope"]


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"runs": 3, "tags": []},
        {"runs": [1], "tags": []},
        {"runs": [], "tags": [], "unknown": 1},
        {"runs": [{}], "tags": []},
    ],
)
def test_a_damaged_row_of_the_cache_is_read_again(tmp_path: Path, row: dict[str, object]) -> None:
    path = write(tmp_path / "a.dscope", "mine")
    first = list_sessions(tmp_path)
    file = cache.cache_file(tmp_path)
    assert file is not None
    value = json.loads(file.read_bytes())
    value["files"]["a.dscope"] = [cache.signature(path), row]
    value["files"]["b.dscope"] = "odd"
    file.write_text(json.dumps(value))
    assert list_sessions(tmp_path) == first


def test_the_cache_is_nowhere_in_the_folder_and_forgets_what_is_gone(tmp_path: Path, home: Path) -> None:
    for name in ("a.dscope", "b.dscope"):
        write(tmp_path / name)
    list_sessions(tmp_path)
    (tmp_path / "b.dscope").unlink()
    list_sessions(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["a.dscope"]
    file = cache.cache_file(tmp_path)
    assert file is not None
    assert file.parent == home / "library-cache"
    assert list(json.loads(file.read_bytes())["files"]) == ["a.dscope"]
    assert [child.suffix for child in file.parent.iterdir()] == [".json"]


def test_the_cache_of_old_folders_goes(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_FOLDERS", 2)
    for i in range(4):
        folder = tmp_path / str(i)
        folder.mkdir()
        write(folder / "a.dscope")
        list_sessions(folder)
        file = cache.cache_file(folder)
        assert file is not None
        os.utime(file, ns=(i, i))
    assert {file.stat().st_mtime_ns for file in (home / "library-cache").iterdir()} == {2, 3}


def test_without_a_place_for_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DECODESCOPE_HOME", str(tmp_path / "file"))
    write(tmp_path / "a.dscope", "mine")
    assert [e.name for e in list_sessions(tmp_path)] == ["mine"]


def test_two_programs_list_and_change_one_folder(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{i}.dscope", f"n{i}") for i in range(8)]
    failures: list[BaseException] = []

    def list_often() -> None:
        try:
            for _ in range(15):
                found = list_sessions(tmp_path)
                assert [e.error for e in found] == [None] * 8
        except BaseException as error:  # noqa: BLE001 - told by the main thread
            failures.append(error)

    threads = [threading.Thread(target=list_often) for _ in range(2)]
    for thread in threads:
        thread.start()
    for path in paths:
        set_labels(path, tags=["seen"])
    for thread in threads:
        thread.join()
    assert failures == []
    assert [e.tags for e in list_sessions(tmp_path)] == [("seen",)] * 8


def test_500_sessions(tmp_path: Path) -> None:
    first = write(tmp_path / "000.dscope", "mine", summary=FULL)
    for i in range(1, 500):
        shutil.copyfile(first, tmp_path / f"{i:03}.dscope")
    set_labels(tmp_path / "123.dscope", starred=True)
    for _ in range(2):
        found = list_sessions(tmp_path)
        assert sorted(e.path.name for e in found) == [f"{i:03}.dscope" for i in range(500)]
        assert {e.itl_p99_ms for e in found} == {60.0}
        assert [e.path.name for e in found if e.starred] == ["123.dscope"]


def test_newest_first(tmp_path: Path) -> None:
    for name, date in (("a", "2026-01-02"), ("b", "2026-03-04"), ("c", "2025-12-31")):
        path = write(tmp_path / f"{name}.dscope")
        con = sqlite3.connect(path)
        con.execute("UPDATE meta SET value=? WHERE key='created'", (f'"{date}T10:00:00+00:00"',))
        con.commit()
        con.close()
    assert [e.path.stem for e in list_sessions(tmp_path)] == ["b", "a", "c"]


def test_one_entry_never_raises(tmp_path: Path) -> None:
    missing = read_entry(tmp_path / "a.dscope")
    assert (missing.size_bytes, missing.name) == (0, "")
    assert missing.error is not None
    assert "is not there" in missing.error
