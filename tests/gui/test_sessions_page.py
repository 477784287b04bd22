"""The Sessions page on recorded session files: finding, labelling, the trash and back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from clipping import cut_texts, overlapping_texts
from compare_sessions import gaps, run_events, write_session
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QWidget

from app.background import Background
from app.pages.sessions import ASK_AFTER_KEY, KEPT_KEY, LAYOUT_KEY, SessionsPage
from app.panels.sessions_model import Column
from app.theme import DARK, apply_theme
from profiler.session.labels import read_labels
from profiler.session.library import SessionEntry, list_sessions
from profiler.session.store import SessionWriter

NOW = datetime(2026, 3, 20, 12, 0, tzinfo=UTC)


class FakeDialogs:
    """Answers what the test put in."""

    def __init__(self) -> None:
        self.trace: Path | None = None
        self.folder: Path | None = None

    def trace_path(self, parent: QWidget, folder: str) -> Path | None:
        return self.trace

    def library_folder(self, parent: QWidget, folder: str) -> Path | None:
        return self.folder


class Bench:
    """A page over a folder, and the means to move it on."""

    def __init__(self, qtbot, folder: Path, entries: list[SessionEntry] | None = None) -> None:
        self.qtbot, self.folder = qtbot, folder
        self.background, self.dialogs = Background(), FakeDialogs()
        self.choices: dict[str, Any] = {}
        self.revealed: list[Path] = []
        more = {} if entries is None else {"list_sessions": lambda _folder: list(entries)}
        self.page = SessionsPage(
            self.background,
            self.dialogs,
            folder,
            choice=self.choices.get,
            remember=self.choices.__setitem__,
            reveal=self.revealed.append,
            now=lambda: NOW,
            **more,
        )
        qtbot.addWidget(self.page)
        self.page.resize(1194, 774)
        apply_theme(self.page, DARK)

    def show(self) -> SessionsPage:
        self.page.show()
        self.settle()
        return self.page

    def settle(self) -> None:
        def done() -> bool:
            self.background.poll()
            return not self.background.busy

        self.qtbot.waitUntil(done, timeout=30_000)
        QApplication.processEvents()  # layouts

    def names(self) -> list[str]:
        proxy = self.page.table.proxy
        return [proxy.index(row, Column.NAME).data() for row in range(proxy.rowCount())]

    def entry(self, name: str) -> SessionEntry:
        return next(entry for entry in self.page.model.entries if entry.name == name)

    def choose(self, name: str) -> SessionEntry:
        entry = self.entry(name)
        assert self.page.table.select_path(entry.path)
        self.settle()
        return entry

    def check(self, *names: str) -> None:
        self.page.model.set_checked([self.entry(name).path for name in names], True)

    def key(self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(self.page.table, key, modifier)
        self.settle()


def record(folder: Path, name: str, centre_ms: float = 13.0, **more: Any) -> Path:
    from profiler.engine.summaries import add_summaries

    path = folder / f"{name}.dscope"
    write_session(path, run_events(1, gaps(2, 12, centre_ms, 1), **more), name=name)
    add_summaries(path)
    return path


def made_up(number: int, **more: Any) -> SessionEntry:
    values: dict[str, Any] = {
        "name": f"session {number}",
        "model": "demo",
        "date": (NOW - timedelta(days=number)).isoformat(),
        "named": True,
    } | more
    return SessionEntry(Path(f"/nowhere/{number}.dscope"), 1000, **values)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    return folder


@pytest.fixture
def made(qtbot) -> Iterator[list[Bench]]:
    benches: list[Bench] = []
    yield benches
    for bench in benches:
        bench.page.hide()
        bench.background.close()


@pytest.fixture
def bench(qtbot, library: Path, made: list[Bench]) -> Bench:
    """Three recorded sessions: fast, middle, slow."""
    for name, centre in (("slow", 30.0), ("fast", 5.0), ("middle", 13.0)):
        record(library, name, centre, model="Qwen2.5 7B" if name == "slow" else "SmolLM2 135M")
    made.append(Bench(qtbot, library))
    made[-1].show()
    return made[-1]


def listed(qtbot, made: list[Bench], folder: Path, *entries: SessionEntry) -> Bench:
    made.append(Bench(qtbot, folder, list(entries)))
    made[-1].show()
    return made[-1]


# -- the list --------------------------------------------------------------------------------


def test_figures_of_recorded_files_are_shown_and_summed_up(bench: Bench) -> None:
    page = bench.page
    assert page.bar.about.text() == "3 saved"
    assert sorted(bench.names()) == ["fast", "middle", "slow"]
    assert page.filters.count.text() == "3 of 3 sessions"
    assert page.foot.stored.text().startswith("Stored in your library folder, ")
    fast = bench.choose("fast")
    assert fast.itl_p50_ms == pytest.approx(5.0, rel=0.03)
    assert page.preview.name.text() == "fast"
    assert len(page.preview.chart.trace) == 22  # two requests of 11 gaps each
    assert page.preview.repeat.isEnabled()


def test_every_column_sorts_and_missing_values_come_last_both_ways(
    qtbot, made: list[Bench], library: Path
) -> None:
    bench = listed(
        qtbot,
        made,
        library,
        made_up(1, itl_p50_ms=20.0, tags=("b",), starred=True, itl_trace=(1.0, 1.0, 3.0)),
        made_up(2, itl_p50_ms=None, model="", date=None),
        made_up(3, itl_p50_ms=3.0, tags=("a",), itl_trace=(1.0, 1.0, 2.0)),
    )
    table = bench.page.table
    up, down = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder
    for column, rising in (
        (Column.ITL, ["session 3", "session 1", "session 2"]),
        (Column.TAGS, ["session 3", "session 1", "session 2"]),
        (Column.TRACE, ["session 3", "session 1", "session 2"]),
        (Column.DATE, ["session 3", "session 1", "session 2"]),
    ):
        table.sortByColumn(column, up)
        assert bench.names() == rising, column
        table.sortByColumn(column, down)
        assert bench.names() == [rising[1], rising[0], rising[2]], column
    table.sortByColumn(Column.STAR, up)
    assert bench.names()[0] == "session 1"
    table.sortByColumn(Column.NAME, down)
    assert bench.names() == ["session 3", "session 2", "session 1"]
    for column in Column:
        table.sortByColumn(column, up)
        assert len(bench.names()) == 3


def test_search_looks_at_name_model_tag_note_and_setting(qtbot, made: list[Bench], library: Path) -> None:
    bench = listed(
        qtbot,
        made,
        library,
        made_up(1, name="Power cap"),
        made_up(2, model="Qwen2.5 7B"),
        made_up(3, tags=("baseline",)),
        made_up(4, note="Room 22 degrees"),
        made_up(5, workload="1024 → 512, 5 repeats"),
    )
    search = bench.page.filters.search
    for text, names in (
        ("power CAP", ["Power cap"]),
        ("qwen", ["session 2"]),
        ("baseline", ["session 3"]),
        ("degrees room", ["session 4"]),
        ("1024", ["session 5"]),
    ):
        search.setText(text)
        assert bench.names() == names
    search.setText("no such thing")
    assert bench.page.empty.isVisible()
    assert bench.page.empty.headline.text() == "Nothing found"
    QTest.mouseClick(bench.page.empty.clear, Qt.MouseButton.LeftButton)
    assert len(bench.names()) == 5


def test_filters_by_model_device_date_and_tag(qtbot, made: list[Bench], library: Path) -> None:
    bench = listed(
        qtbot,
        made,
        library,
        made_up(1, model="org/demo", device="L4", tags=("a",)),
        made_up(10, model="other", device="CPU", tags=("a", "b")),
    )
    filters = bench.page.filters

    def pick(button: Any, text: str) -> None:
        menu: QMenu = button.menu()
        menu.aboutToShow.emit()
        next(action for action in menu.actions() if action.text() == text).trigger()

    pick(filters.model, "demo")
    assert bench.names() == ["session 1"]
    assert filters.model.text() == "Model: demo"
    pick(filters.model, "all")
    pick(filters.device, "CPU")
    assert bench.names() == ["session 10"]
    filters.clear()
    pick(filters.date, "last 7 days")
    assert bench.names() == ["session 1"]
    filters.clear()
    pick(filters.tag, "b")
    assert bench.names() == ["session 10"]
    assert filters.count.text() == "1 of 2 sessions"


def test_columns_and_sorting_are_remembered(qtbot, made: list[Bench], library: Path) -> None:
    bench = listed(qtbot, made, library, made_up(1))
    table = bench.page.table
    table.show_column(Column.TRACE, False)
    table.show_column(Column.NAME, False)
    table.sortByColumn(Column.ITL, Qt.SortOrder.AscendingOrder)
    told = json.loads(json.dumps(bench.choices[LAYOUT_KEY]))
    assert told == {"hidden": ["JITTER", "TRACE"], "sort": "ITL", "descending": False}
    other = listed(qtbot, made, library, made_up(1)).page.table
    other.restore_layout(told)
    assert other.isColumnHidden(Column.TRACE)
    assert not other.isColumnHidden(Column.NAME)
    assert other.layout() == told
    for odd in (None, 3, {"hidden": [1, "NAME", "nothing"], "sort": "x"}):
        other.restore_layout(odd)
    assert not other.isColumnHidden(Column.NAME)


def test_five_hundred_sessions_filter_and_sort(qtbot, made: list[Bench], library: Path) -> None:
    entries = [made_up(number, itl_p50_ms=float(number % 97)) for number in range(500)]
    bench = listed(qtbot, made, library, *entries)
    assert bench.page.bar.about.text() == "500 saved"
    bench.page.filters.search.setText("session 49")
    assert len(bench.names()) == 15  # 49, 149, 249, 349, 449, and 490 to 499
    bench.page.filters.search.clear()
    bench.page.table.sortByColumn(Column.ITL, Qt.SortOrder.DescendingOrder)
    first = bench.page.table.proxy.index(0, Column.ITL).data()
    assert first == "96.00"
    assert bench.page.grab().width() == 1194


# -- states ----------------------------------------------------------------------------------


def test_an_empty_library_says_what_will_appear(qtbot, made: list[Bench], tmp_path: Path) -> None:
    made.append(Bench(qtbot, tmp_path / "not there yet"))
    page = made[-1].show()
    assert page.empty.isVisible()
    assert page.empty.headline.text() == "Your sessions will appear here"
    assert page.bar.about.text() == "0 saved"
    with qtbot.waitSignal(page.new_profile_asked):
        QTest.mouseClick(page.empty.new_profile, Qt.MouseButton.LeftButton)


def test_a_damaged_file_has_its_reason_and_cannot_be_opened(bench: Bench) -> None:
    (bench.folder / "broken.dscope").write_bytes(b"SQLite format 3\0" + b"x" * 200)
    bench.page.refresh()
    bench.settle()
    entry = next(entry for entry in bench.page.model.entries if entry.error)
    assert bench.names()[-1] == "broken"
    bench.page.table.select_path(entry.path)
    index = bench.page.table.proxy.index(3, Column.NAME)
    assert "cannot be opened: " in index.data(Qt.ItemDataRole.AccessibleTextRole)
    opened: list[Path] = []
    bench.page.open_asked.connect(opened.append)
    bench.key(Qt.Key.Key_Return)
    assert opened == []
    assert bench.page.foot.notice.text == entry.error
    assert not bench.page.preview.open.isEnabled()
    bench.key(Qt.Key.Key_Delete)
    assert not entry.path.exists()


def test_a_live_recording_says_so_and_stays(bench: Bench) -> None:
    path = bench.folder / "2026-03-20 11.00.00 demo.dscope"
    writer = SessionWriter.create(path, {}, name="2026-03-20 11.00.00 demo")
    writer.commit()
    try:
        bench.page.refresh()
        bench.settle()
        entry = bench.choose("2026-03-20 11.00.00 demo")
        assert entry.live
        row = bench.page.table.currentIndex().siblingAtColumn(Column.NAME)
        assert row.data(Qt.ItemDataRole.AccessibleTextRole).endswith(", recording")
        bench.key(Qt.Key.Key_Delete)
        assert path.exists()
        assert "being recorded" in bench.page.foot.notice.text
        assert not bench.page.preview.star.isEnabled()
    finally:
        writer.close()
    bench.page.refresh()
    bench.settle()
    assert not bench.entry("2026-03-20 11.00.00 demo").live
    index = bench.page.table.currentIndex().siblingAtColumn(Column.NAME)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole).endswith(", unnamed recording")


def test_a_folder_that_cannot_be_listed_is_said(qtbot, made: list[Bench], library: Path) -> None:
    from profiler.errors import SessionError

    def refuse(_folder: Path) -> list[SessionEntry]:
        raise SessionError("The folder cannot be read; choose another one.")

    made.append(Bench(qtbot, library))
    made[-1].page._list_sessions = refuse
    page = made[-1].show()
    assert page.empty.text.text() == "The folder cannot be read; choose another one."


def test_files_of_another_program_appear_and_go(bench: Bench, qtbot) -> None:
    def seen(name: str, there: bool) -> bool:
        bench.background.poll()
        return (name in bench.names()) == there

    path = record(bench.folder, "appeared")
    qtbot.waitUntil(lambda: seen("appeared", True), timeout=20_000)
    path.unlink()
    qtbot.waitUntil(lambda: seen("appeared", False), timeout=20_000)


def test_looking_at_an_unchanged_folder_lists_nothing_anew(bench: Bench) -> None:
    told: list[int] = []
    bench.page.watch.changed.connect(lambda: told.append(1))
    bench.page.watch.look()
    bench.settle()
    assert told == []


def test_another_folder(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    record(other, "elsewhere")
    bench.dialogs.folder = other
    told: list[Path] = []
    bench.page.folder_changed.connect(told.append)
    bench.page.ask_folder()
    bench.settle()
    assert told == [other]
    assert bench.names() == ["elsewhere"]
    assert str(other) in bench.page.foot.stored.text()


@pytest.mark.parametrize("size", [(1094, 694), (1194, 774), (1834, 1054)])
def test_no_text_is_cut_or_covered(qtbot, made: list[Bench], library: Path, size: tuple[int, int]) -> None:
    entries = [made_up(number, model="SmolLM2 135M", device="NVIDIA L4", note="n") for number in range(30)]
    bench = listed(qtbot, made, library, *entries)
    bench.page.resize(*size)
    bench.page.model.set_checked([entry.path for entry in entries[:2]], True)
    bench.page._say("Moved 2 sessions to trash", undo=True)
    bench.page.retention.ask(entries[:3], NOW)
    bench.settle()
    bench.page.grab()
    assert cut_texts(bench.page) == []
    assert overlapping_texts(bench.page) == []
    table = bench.page.table
    assert table.columnWidth(Column.NAME) >= 120
    assert sum(table.columnWidth(column) for column in Column) <= table.viewport().width()


# -- labels, and undo --------------------------------------------------------------------------


def test_rename_in_place_by_f2_and_undo(bench: Bench) -> None:
    path = bench.choose("fast").path
    bench.key(Qt.Key.Key_F2)
    editor = bench.page.table.viewport().findChild(QLineEdit)
    assert editor is not None
    editor.setText("quickest")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    bench.qtbot.waitUntil(lambda: not bench.page.table.editing)
    bench.settle()
    assert read_labels(path).name == "quickest"
    assert "quickest" in bench.names()
    assert bench.page.preview.name.text() == "quickest"
    assert bench.page.foot.notice.text == "Renamed to quickest"
    bench.key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert read_labels(path).name == "fast"
    assert "fast" in bench.names()
    bench.page.redo()
    bench.settle()
    assert read_labels(path).name == "quickest"


def test_rename_in_the_preview_and_escape(bench: Bench) -> None:
    path = bench.choose("fast").path
    preview = bench.page.preview
    QTest.mouseClick(preview.pencil, Qt.MouseButton.LeftButton)
    preview.name_edit.setText("thrown away")
    QTest.keyClick(preview.name_edit, Qt.Key.Key_Escape)
    bench.settle()
    assert read_labels(path).name == "fast"
    QTest.mouseClick(preview.pencil, Qt.MouseButton.LeftButton)
    preview.name_edit.setText("kept")
    QTest.keyClick(preview.name_edit, Qt.Key.Key_Return)
    bench.settle()
    assert read_labels(path).name == "kept"


def test_tags_for_several_are_added_and_taken_back_together(bench: Bench) -> None:
    page = bench.page
    page.set_tags(bench.entry("fast").path, ["old"])
    bench.settle()
    bench.check("fast", "slow")
    QTest.mouseClick(page.foot.tag, Qt.MouseButton.LeftButton)
    QTest.keyClicks(page.foot.tag_edit, "sweep, gpu")
    QTest.keyClick(page.foot.tag_edit, Qt.Key.Key_Return)
    bench.settle()
    assert bench.entry("fast").tags == ("old", "sweep", "gpu")
    assert bench.entry("slow").tags == ("sweep", "gpu")
    assert page.foot.notice.text == "Tagged 2 sessions"
    bench.choose("slow")
    labels = [label.text() for label in page.preview.findChildren(QLabel)]
    assert "sweep, gpu" in labels
    page.undo()
    bench.settle()
    assert bench.entry("fast").tags == ("old",)
    assert bench.entry("slow").tags == ()


def test_star_and_note_go_into_the_file(bench: Bench) -> None:
    path = bench.choose("middle").path
    page = bench.page
    QTest.mouseClick(page.preview.star, Qt.MouseButton.LeftButton)
    bench.settle()
    assert read_labels(path).starred
    page.preview.note.setFocus()
    page.preview.note.clear()
    QTest.keyClicks(page.preview.note, "Room 22 degrees")
    QTest.keyClick(page.preview.note, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    bench.settle()
    assert read_labels(path).note == "Room 22 degrees"
    page.undo()
    bench.settle()
    assert (read_labels(path).note, read_labels(path).starred) == ("", True)
    assert page.preview.note.toPlainText() == ""
    page.undo()
    bench.settle()
    assert not read_labels(path).starred


def test_a_note_is_kept_when_another_session_is_looked_at(bench: Bench) -> None:
    path = bench.choose("middle").path
    QTest.keyClicks(bench.page.preview.note, "do not lose me")
    bench.choose("fast")
    assert read_labels(path).note == "do not lose me"
    assert bench.page.preview.note.toPlainText() == ""


def test_what_cannot_be_changed_is_said_and_is_not_to_be_undone(bench: Bench) -> None:
    path = bench.choose("fast").path
    bench.page.rename(path, "x" * 500)
    bench.settle()
    assert bench.page.foot.notice.text == "The name is too long; use at most 200 characters."
    assert not bench.page.undo_stack.can_undo


# -- the trash ---------------------------------------------------------------------------------


def test_to_the_trash_and_back(bench: Bench) -> None:
    bench.check("fast", "slow")
    paths = [bench.entry(name).path for name in ("fast", "slow")]
    before = [path.read_bytes() for path in paths]
    QTest.mouseClick(bench.page.foot.trash, Qt.MouseButton.LeftButton)
    bench.settle()
    assert bench.names() == ["middle"]
    assert not any(path.exists() for path in paths)
    notice = bench.page.foot.notice
    assert notice.text == "Moved 2 sessions to trash"
    QTest.mouseClick(notice.undo, Qt.MouseButton.LeftButton)
    bench.settle()
    assert [path.read_bytes() for path in paths] == before
    assert sorted(bench.names()) == ["fast", "middle", "slow"]
    bench.page.redo()
    bench.settle()
    assert bench.names() == ["middle"]


def test_the_last_session_goes_and_undo_is_still_offered(bench: Bench) -> None:
    bench.check("fast", "slow", "middle")
    bench.page.trash_chosen()
    bench.settle()
    assert bench.page.empty.isVisible()
    assert bench.page.foot.notice.isVisible()
    bench.page.undo()
    bench.settle()
    assert len(bench.names()) == 3


def test_an_undo_that_fails_says_why_and_can_be_tried_again(bench: Bench) -> None:
    path = bench.choose("fast").path
    bench.key(Qt.Key.Key_Delete)
    path.write_bytes(b"in the way")
    bench.page.undo()
    bench.settle()
    assert "exists" in bench.page.foot.notice.text
    path.unlink()
    bench.page.undo()
    bench.settle()
    assert "fast" in bench.names()


def test_at_the_end_the_system_s_trash_takes_over(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    def send(file: str) -> None:
        taken.append(Path(file).name)
        Path(file).unlink()

    monkeypatch.setattr("profiler.session.trash._system_trash", send)
    bench.choose("fast")
    bench.key(Qt.Key.Key_Delete)
    assert bench.page.hand_over_trash().sent == 1
    assert taken == ["fast.dscope"]
    assert not bench.page.undo_stack.can_undo


def test_checked_sessions_that_a_filter_hides_are_not_deleted(bench: Bench) -> None:
    bench.check("fast", "slow")
    bench.page.filters.search.setText("fast")
    assert bench.page.foot.selected.text() == "1 selected"
    bench.page.trash_chosen()
    bench.settle()
    assert {path.stem for path in bench.folder.glob("*.dscope")} == {"slow", "middle"}


# -- choosing, by keyboard ---------------------------------------------------------------------


def test_check_boxes_by_space_and_compare_in_that_order(bench: Bench) -> None:
    asked: list[list[Path]] = []
    bench.page.compare_asked.connect(asked.append)
    slow, fast = bench.choose("slow").path, bench.entry("fast").path
    bench.key(Qt.Key.Key_Space)
    bench.choose("fast")
    bench.key(Qt.Key.Key_Space)
    assert bench.page.foot.selected.text() == "2 selected"
    assert bench.page.foot.compare.text() == "Compare A and B"
    QTest.mouseClick(bench.page.foot.compare, Qt.MouseButton.LeftButton)
    assert asked == [[slow, fast]]
    bench.key(Qt.Key.Key_Escape)
    assert bench.page.model.checked == []


def test_rows_are_chosen_with_shift_and_opened_with_enter(bench: Bench) -> None:
    bench.page.table.select_row(0)
    bench.key(Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert bench.page.foot.selected.text() == "2 selected"
    opened: list[Path] = []
    bench.page.open_asked.connect(opened.append)
    bench.key(Qt.Key.Key_Return)
    assert [path.stem for path in opened] == [bench.names()[1]]


def test_ctrl_f_goes_to_the_search(bench: Bench, qtbot) -> None:
    bench.page.activateWindow()
    bench.page.table.setFocus()
    QTest.keyClick(bench.page.table, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert bench.page.filters.search.hasFocus()


def test_the_row_menu_offers_everything(bench: Bench) -> None:
    path = bench.choose("fast").path
    menu = bench.page.row_menu()
    assert menu is not None
    actions = {action.text().split("\t")[0]: action for action in menu.actions() if action.text()}
    assert list(actions) == [
        "Open",
        "Open in a new window",
        "Compare",
        "Rename",
        "Tag…",
        "Note…",
        "Star",
        "Export…",
        "Show in the file manager",
        "Move to trash",
    ]
    told: list[Any] = []
    for signal in (bench.page.open_new_window_asked, bench.page.export_asked):
        signal.connect(told.append)
    for name in ("Open in a new window", "Export…", "Show in the file manager"):
        actions[name].trigger()
    assert told == [path, [path]]
    assert bench.revealed == [path]
    menu.deleteLater()


def test_selected_rows_stay_selected_over_a_refresh(bench: Bench) -> None:
    bench.page.table.select_row(0)
    bench.key(Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    chosen = {entry.path for entry in bench.page.table.chosen()}
    record(bench.folder, "another")
    bench.page.refresh()
    bench.settle()
    assert len(bench.names()) == 4
    assert {entry.path for entry in bench.page.table.chosen()} == chosen


# -- traces, old recordings ----------------------------------------------------------------------


def test_a_trace_becomes_a_session_beside_the_others(bench: Bench, tmp_path: Path) -> None:
    from profiler.session.reader import SessionReader
    from profiler.session.trace import write_trace

    trace = tmp_path / "fast.jsonl"
    with SessionReader.open(bench.entry("fast").path) as reader:
        write_trace(reader.timeline(), trace)
    bench.dialogs.trace = trace
    bench.page.ask_import()
    bench.settle()
    assert (bench.folder / "fast (2).dscope").exists()
    assert len(bench.names()) == 4
    assert bench.page.table.current.path == bench.folder / "fast (2).dscope"
    assert bench.page.table.current.itl_p50_ms is not None
    bench.dialogs.trace = tmp_path / "nothing.jsonl"
    bench.page.ask_import()
    bench.settle()
    assert "nothing.jsonl" in bench.page.foot.notice.text


def test_old_recordings_are_asked_about_and_nothing_goes_by_itself(
    qtbot, made: list[Bench], library: Path
) -> None:
    path = record(library, "2025-11-01 10.00.00 demo")
    made.append(Bench(qtbot, library))
    bench = made[-1]
    bench.page._list_sessions = lambda folder: [
        SessionEntry(**{**vars(entry), "date": "2025-11-01T10:00:00+00:00"})
        for entry in list_sessions(folder)
    ]
    page = bench.show()
    page.check_retention()
    card = page.retention
    assert card.isVisible() and path.exists()
    assert card.trash.text() == "Move 1 recording to trash"
    assert card.names.toPlainText().startswith("2025-11-01 10.00.00 demo")
    QTest.mouseClick(card.later, Qt.MouseButton.LeftButton)
    assert bench.choices[ASK_AFTER_KEY] == "2026-03-27T12:00:00+00:00"
    page.check_retention()
    assert not card.isVisible()
    del bench.choices[ASK_AFTER_KEY]
    page.check_retention()
    QTest.mouseClick(card.keep, Qt.MouseButton.LeftButton)
    assert bench.choices[KEPT_KEY] == [str(path)]
    page.check_retention()
    assert not card.isVisible() and path.exists()
    del bench.choices[KEPT_KEY]
    page.check_retention()
    QTest.mouseClick(card.trash, Qt.MouseButton.LeftButton)
    bench.settle()
    assert not path.exists()
    page.undo()
    bench.settle()
    assert path.exists()
