"""Opening, dropping and saving session files in the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_client import MS, FakeClient
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from pytestqt.qtbot import QtBot
from window_parts import Bench, bench

from app.run_state import RunState
from profiler import events as ev
from profiler.config import RunConfig
from profiler.session.store import SessionWriter


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[Bench]:
    with bench(qtbot, tmp_path) as made:
        yield made


def write_session(path: Path) -> Path:
    """A finished run of the script, as a file: three repeats of 20 tokens, 10 ms apart."""
    script = FakeClient()
    script.send("run", config=RunConfig(output_tokens=20, prompt_tokens=16).to_dict(), name="saved run")
    script.begin()
    script.request(warmup=True, noise=False, gap_ms=30.0)
    for _ in range(3):
        script.request(noise=False, gap_ms=10.0, prefill_ms=100.0)
    script.finish()
    with SessionWriter.create(path, {}) as writer:
        while events := script.receive(0):
            writer.write(
                [e for e in events if not isinstance(e, (ev.Reply, ev.State, ev.Recording, ev.Progress))]
            )
    return path


def test_open_shows_a_saved_session_through_the_same_charts(window: Bench, tmp_path: Path) -> None:
    window.dialogs.path = write_session(tmp_path / "one.dscope")
    window.window.actions_.open.trigger()
    window.settle(lambda: window.controller.values_final)
    assert window.controller.document.saved
    assert window.page.kpis.tiles["itl_p50"].value == "10.00"
    assert window.page.kpis.tiles["ttft"].value == "100"
    assert not any(chart.ghost_shown for chart in window.page.charts)
    assert not window.page.welcome.isVisible()
    assert window.window.top_bar.state.text() == "saved session"
    assert window.page.tabs.output.toPlainText() != ""


def test_drop_opens_a_session(window: Bench, tmp_path: Path) -> None:
    path = write_session(tmp_path / "dropped one.dscope")
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    event = QDropEvent(
        QPointF(50, 50),
        Qt.DropAction.CopyAction,
        mime,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.window.dropEvent(event)
    window.settle(lambda: window.controller.values_final)
    assert window.controller.document.path == path


@pytest.mark.parametrize(
    ("name", "content"),
    [("text.dscope", b"this is no session\n" * 20), ("empty.dscope", b""), ("folder.dscope", None)],
)
def test_a_file_that_is_no_session_is_one_clear_sentence(
    window: Bench, tmp_path: Path, name: str, content: bytes | None
) -> None:
    path = tmp_path / name
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    window.window.open_session(path)
    window.settle(lambda: window.page.failure.isVisible())
    assert window.page.failure.title.text() == f"{name} cannot be opened"
    assert "Traceback" not in window.page.failure.message.text()
    assert str(path) in window.page.failure.message.text()
    assert window.controller.state is RunState.IDLE
    assert window.page.welcome.isVisible()


def test_no_file_is_opened_in_mid_run(window: Bench, tmp_path: Path) -> None:
    path = write_session(tmp_path / "one.dscope")
    window.window.start()
    window.window.open_session(path)
    assert window.controller.state is RunState.LOADING
    assert window.page.failure.title.text() == "one.dscope was not opened"


def test_start_after_an_opened_session_is_a_live_run_again(window: Bench, tmp_path: Path) -> None:
    window.window.open_session(write_session(tmp_path / "one.dscope"))
    window.settle(lambda: window.controller.values_final)
    window.window.start()
    assert window.controller.state is RunState.LOADING
    assert not window.controller.document.saved
    window.client.whole_run()
    window.settle(lambda: window.controller.values_final)
    assert window.window.top_bar.state.text() == "recorded"


def test_save_as_of_a_recording_is_the_engine_s_work(window: Bench, tmp_path: Path) -> None:
    window.window.start()
    window.client.whole_run()
    window.settle(lambda: window.controller.values_final)
    window.dialogs.path = tmp_path / "named"
    window.window.actions_.save_as.trigger()
    assert window.client.sent[-1] == ("save_as", {"path": str(tmp_path / "named.dscope"), "overwrite": False})


def test_save_over_an_existing_file_asks(window: Bench, tmp_path: Path) -> None:
    window.window.start()
    window.client.whole_run()
    window.settle(lambda: window.controller.values_final)
    target = tmp_path / "there.dscope"
    target.write_bytes(b"precious")
    window.dialogs.path, window.dialogs.yes = target, False
    window.window.actions_.save_as.trigger()
    assert window.dialogs.asked == ["save", "overwrite"]
    assert "save_as" not in window.client.verbs
    window.dialogs.yes = True
    window.window.actions_.save_as.trigger()
    assert window.client.sent[-1] == ("save_as", {"path": str(target), "overwrite": True})


def test_a_refused_save_is_told_in_the_window(window: Bench, tmp_path: Path) -> None:
    window.window.start()
    window.client.whole_run()
    window.settle(lambda: window.controller.values_final)
    sentence = "The disk is full; free some space and save again."
    window.client.refuse["save_as"] = ev.Reply(0, False, None, sentence, None, None, 2)
    window.dialogs.path = tmp_path / "full.dscope"
    window.window.actions_.save_as.trigger()
    window.settle(lambda: window.page.failure.isVisible())
    assert window.page.failure.title.text() == "The session was not saved"
    assert window.page.failure.message.text() == sentence


def test_save_as_of_an_opened_session_copies_it(window: Bench, tmp_path: Path) -> None:
    source = write_session(tmp_path / "one.dscope")
    window.window.open_session(source)
    window.settle(lambda: window.controller.values_final)
    window.dialogs.path = tmp_path / "two.dscope"
    window.window.actions_.save_as.trigger()
    window.settle(lambda: window.controller.document.path == tmp_path / "two.dscope")
    assert source.exists()
    assert (tmp_path / "two.dscope").read_bytes()[:15] == b"SQLite format 3"


def test_recorded_path_is_what_the_engine_says_last(window: Bench, tmp_path: Path) -> None:
    window.window.start()
    window.client.whole_run()
    window.settle(lambda: window.controller.values_final)
    moved = str(tmp_path / "moved.dscope")
    window.client.feed([ev.Recording(moved, "recorded", "moved")])
    window.settle(lambda: str(window.controller.document.path) == moved)
    assert not window.controller.document.recording


def test_resync_reads_what_was_missed_from_the_file(window: Bench, tmp_path: Path) -> None:
    path = write_session(tmp_path / "live.dscope")
    window.window.start()
    window.client.begin()
    window.client.feed([ev.Resync(str(path))])
    window.settle(lambda: window.controller.state is RunState.FINISHED and window.controller.values_final)
    assert len(window.controller.timeline.requests) == 4
    assert window.page.kpis.tiles["itl_p50"].value == "10.00"
    assert window.clock_ns() >= 10_000 * MS
