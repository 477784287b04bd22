"""The share dialog alone, and the writing behind it: formats, privacy, questions, failures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from odd_session import SECRET_PROMPT, odd_events
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.background import Background
from app.panels.share_dialog import ShareDialog, ShareRequest
from app.sharing import as_markdown, share
from profiler.reporting.exports import FORMATS
from profiler.session.store import SessionWriter


class Bench:
    """A dialog over a plain window, and what was asked of whom."""

    def __init__(self, qtbot: QtBot, folder: Path, chosen: str = "html") -> None:
        self.qtbot, self.folder = qtbot, folder
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.window.show()
        self.yes = False
        self.asked: list[Path] = []
        self.suggested: list[Path] = []
        self.place: Path | None = None
        self.requests: list[ShareRequest] = []
        self.copies: list[bool] = []
        self.dialog = ShareDialog(
            "My session", folder, "mine", self._ask_path, self._confirm, chosen, self.window
        )
        self.dialog.export_asked.connect(self.requests.append)
        self.dialog.copy_asked.connect(self.copies.append)
        self.gone: list[bool] = []
        self.dialog.destroyed.connect(lambda: self.gone.append(True))
        self.dialog.open()

    def _ask_path(self, _parent: QWidget, suggested: Path) -> Path | None:
        self.suggested.append(suggested)
        return self.place

    def _confirm(self, _parent: QWidget, path: Path) -> bool:
        self.asked.append(path)
        return self.yes

    def save(self) -> None:
        QTest.mouseClick(self.dialog.save, Qt.MouseButton.LeftButton)

    def close(self) -> None:
        if not self.gone:
            self.dialog.finished_with("", True)
            self.dialog.close()
            self.qtbot.waitUntil(lambda: bool(self.gone))


@pytest.fixture
def bench(qtbot: QtBot, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(qtbot, tmp_path)
    yield made
    made.close()


# -- formats -----------------------------------------------------------------------------------


def test_every_format_is_offered_with_what_it_is_good_for(bench: Bench) -> None:
    assert list(bench.dialog.choices) == list(FORMATS)
    words = [label.text() for label in bench.dialog.findChildren(QLabel)]
    for name, choice in bench.dialog.choices.items():
        assert choice.text() == FORMATS[name].title
        assert choice.isEnabled()
        assert choice.accessibleDescription() == FORMATS[name].about
        assert FORMATS[name].about in words
    assert bench.dialog.format == "html"


@pytest.mark.parametrize("name", list(FORMATS))
def test_each_format_is_asked_for_under_its_suffix(bench: Bench, name: str) -> None:
    bench.dialog.choices[name].setChecked(True)
    bench.save()
    stem = "mine copy" if name == "dscope" else "mine"
    target = bench.folder / f"{stem}{FORMATS[name].suffix}"
    assert bench.requests == [ShareRequest(target, name, False, False)]


@pytest.mark.parametrize(("package", "name"), [("pyarrow", "parquet"), ("plotly", "html")])
def test_a_format_without_its_library_cannot_be_chosen_and_says_why(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, name: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    bench = Bench(qtbot, tmp_path, chosen=name)
    choice = bench.dialog.choices[name]
    assert not choice.isEnabled()
    assert f"needs {package}; install it with: python -m pip install" in choice.accessibleDescription()
    assert choice.accessibleDescription() in [label.text() for label in bench.dialog.findChildren(QLabel)]
    assert bench.dialog.format == ("markdown" if name == "html" else "html")
    assert all(other.isEnabled() for key, other in bench.dialog.choices.items() if key != name)
    bench.close()


def test_the_format_of_last_time_is_chosen(qtbot: QtBot, tmp_path: Path) -> None:
    for chosen, expected in (("csv", "csv"), ("of a later version", "html")):
        bench = Bench(qtbot, tmp_path, chosen)
        assert bench.dialog.format == expected
        bench.close()


def test_a_name_that_was_written_survives_another_format(bench: Bench) -> None:
    dialog = bench.dialog
    dialog.choices["csv"].setChecked(True)
    assert dialog.path.text() == str(bench.folder / "mine.csv")
    dialog.path.setText("elsewhere/run 7.csv")
    dialog.choices["chrome-trace"].setChecked(True)
    assert dialog.path.text() == "elsewhere/run 7.trace.json"
    dialog.choices["json"].setChecked(True)
    assert dialog.path.text() == "elsewhere/run 7.json"
    dialog.path.setText("no suffix")
    dialog.choices["markdown"].setChecked(True)
    assert dialog.path.text() == "no suffix"


# -- privacy -----------------------------------------------------------------------------------


def test_the_private_box_goes_with_both_requests(bench: Bench) -> None:
    dialog = bench.dialog
    assert not dialog.private.isChecked()
    QTest.mouseClick(dialog.copy, Qt.MouseButton.LeftButton)
    dialog.finished_with("Copied.", True)
    QTest.keyClick(dialog.private, Qt.Key.Key_Space)
    QTest.mouseClick(dialog.copy, Qt.MouseButton.LeftButton)
    dialog.finished_with("Copied.", True)
    bench.save()
    assert bench.copies == [False, True]
    assert [request.private for request in bench.requests] == [True]


# -- where to ----------------------------------------------------------------------------------


def test_nothing_is_replaced_without_a_yes(bench: Bench) -> None:
    target = bench.folder / "mine.html"
    target.write_text("mine")
    bench.save()
    assert (bench.asked, bench.requests) == ([target], [])
    assert bench.dialog.save.isEnabled() and bench.dialog.status.text() == ""
    bench.yes = True
    bench.save()
    assert bench.requests == [ShareRequest(target, "html", False, True)]
    assert not bench.dialog.save.isEnabled() and not bench.dialog.copy.isEnabled()
    assert bench.dialog.status.text() == "Writing mine.html …"


def test_places_that_cannot_be(bench: Bench) -> None:
    dialog = bench.dialog
    dialog.path.setText("   ")
    bench.save()
    assert dialog.status.text() == "Give the file a name."
    dialog.path.setText(str(bench.folder))
    bench.save()
    assert dialog.status.text() == f"{bench.folder} is a folder; give the name of a file in it."
    assert (bench.asked, bench.requests) == ([], [])
    dialog.path.setText("bare name.html")
    bench.save()
    dialog.finished_with("", True)
    dialog.path.setText("~nobody-of-this-name/x.html")
    bench.save()
    dialog.finished_with("", True)
    long = "x" * 400
    dialog.path.setText(long)
    bench.save()
    assert [request.path for request in bench.requests] == [
        bench.folder / "bare name.html",
        bench.folder / "~nobody-of-this-name" / "x.html",
        bench.folder / long,
    ]


def test_the_file_dialog_starts_at_what_is_written(bench: Bench) -> None:
    QTest.mouseClick(bench.dialog.browse, Qt.MouseButton.LeftButton)
    assert bench.dialog.path.text() == str(bench.folder / "mine.html")
    bench.place = bench.folder / "there.html"
    QTest.mouseClick(bench.dialog.browse, Qt.MouseButton.LeftButton)
    assert bench.dialog.path.text() == str(bench.place)
    assert bench.suggested == [bench.folder / "mine.html"] * 2


# -- how it went -------------------------------------------------------------------------------


def test_a_failure_is_said_as_text_and_can_be_tried_again(bench: Bench) -> None:
    bench.save()
    bench.dialog.finished_with("The disk of <b>x</b> is full; free some space.", False)
    assert bench.dialog.status.text() == "The disk of <b>x</b> is full; free some space."
    assert bench.dialog.status.textFormat() is Qt.TextFormat.PlainText
    assert bench.dialog.save.isEnabled() and bench.dialog.copy.isEnabled()
    bench.save()
    assert len(bench.requests) == 2


def test_closed_while_writing_it_goes_when_that_went_well(bench: Bench) -> None:
    bench.save()
    QTest.keyClick(bench.dialog, Qt.Key.Key_Escape)
    assert not bench.dialog.isVisible() and not bench.gone
    bench.dialog.finished_with("Written.", True)
    bench.qtbot.waitUntil(lambda: bool(bench.gone))


def test_closed_while_writing_it_comes_back_with_the_failure(bench: Bench) -> None:
    bench.save()
    bench.dialog.close()
    bench.dialog.finished_with("The disk is full; free some space.", False)
    assert bench.dialog.isVisible()
    assert bench.dialog.status.text() == "The disk is full; free some space."


def test_everything_has_a_name_and_can_be_reached(bench: Bench) -> None:
    dialog = bench.dialog
    assert dialog.path.accessibleName() == "File"
    assert all(choice.text() for choice in dialog.choices.values())
    # Of a group of choices Tab reaches the one that is made, the arrows reach the others.
    dialog.choices["html"].setFocus()
    QTest.keyClick(dialog.choices["html"], Qt.Key.Key_Down)
    assert dialog.format == "markdown"
    chosen = dialog.choices[dialog.format]
    for control in (chosen, dialog.private, dialog.path, dialog.browse, dialog.copy, dialog.save):
        assert control.accessibleName() or control.text()
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus


# -- the writing behind it ---------------------------------------------------------------------


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "jane's run.dscope"
    with SessionWriter.create(path, {"os": "Linux"}, name="jane's run") as writer:
        writer.write(odd_events())
    return path


def told(qtbot: QtBot, session: Path, request: ShareRequest) -> tuple[list[Path], list[str]]:
    """Carries a request out; what came of it."""
    background = Background()
    written: list[Path] = []
    failed: list[str] = []
    share(background, session, request, written.append, failed.append)
    qtbot.waitUntil(lambda: background.poll() or bool(written or failed), timeout=30_000)
    background.close()
    return written, failed


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_is_written_without_what_is_private(
    qtbot: QtBot, tmp_path: Path, session: Path, name: str
) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    target = tmp_path / f"out{FORMATS[name].suffix}"
    assert told(qtbot, session, ShareRequest(target, name, True)) == ([target], [])
    data = target.read_bytes()
    assert len(data) > 100
    assert SECRET_PROMPT.encode() not in data and b"jane" not in data


def test_the_session_is_never_written_over_itself(qtbot: QtBot, session: Path) -> None:
    before = session.read_bytes()
    for name in ("dscope", "csv"):
        written, failed = told(qtbot, session, ShareRequest(session, name, True, overwrite=True))
        assert (written, failed) == ([], [f"{session} is the file that is read; choose another name."])
    assert session.read_bytes() == before


def test_what_cannot_be_written_is_one_sentence(qtbot: QtBot, tmp_path: Path, session: Path) -> None:
    absent = tmp_path / "no" / "x.csv"
    assert told(qtbot, session, ShareRequest(absent, "csv", False))[1] == [
        f"The folder {absent.parent} does not exist; create it first."
    ]
    there = tmp_path / "there.csv"
    there.write_text("mine")
    (sentence,) = told(qtbot, session, ShareRequest(there, "csv", False))[1]
    assert "exists already" in sentence
    (sentence,) = told(qtbot, session, ShareRequest(tmp_path / ("x" * 300), "csv", False))[1]
    assert "cannot be written" in sentence
    (sentence,) = told(qtbot, tmp_path / "gone.dscope", ShareRequest(tmp_path / "y.csv", "csv", False))[1]
    assert "gone.dscope" in sentence
    assert there.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([there.name, session.name])


def test_the_clipboards_markdown_leaves_out_what_is_private(qtbot: QtBot, session: Path) -> None:
    background = Background()
    for private in (False, True):
        texts: list[str] = []
        as_markdown(background, session, private, texts.append, texts.append)
        qtbot.waitUntil(lambda texts=texts: background.poll() or bool(texts), timeout=30_000)
        assert ("jane" in texts[0]) is not private
    background.close()
