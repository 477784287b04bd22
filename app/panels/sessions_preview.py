"""The session under the cursor at a glance: name, figures, a small chart, setup, notes, actions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QGridLayout, QLineEdit, QPlainTextEdit, QScrollArea, QStackedWidget, QWidget

from app.panels import sessions_words as words
from app.panels.parts import column, row, set_text, tip
from app.panels.sessions_chart import TraceChart
from app.panels.sessions_details import Details
from app.widgets import Button, Card, Divider, ElidedLabel, IconButton, StatusMark, make_label
from profiler.session.labels import MAX_NAME
from profiler.session.library import SessionEntry
from profiler.units import format_bytes

WIDTH = 308
SETUP_ROWS = 8


class NoteEdit(QPlainTextEdit):
    """A note; `finished` when the keyboard leaves it, or at Ctrl+Enter."""

    finished = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setTabChangesFocus(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.finished.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.finished.emit()
        else:
            super().keyPressEvent(event)


class _NameEdit(QLineEdit):
    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


class _Figure(QWidget):
    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.value = make_label("", "title")
        self.unit = make_label("", "muted")
        outer = column(self, 0, 1)
        outer.addWidget(make_label(name, "field"))
        line = row(None, 0, 4)
        line.addWidget(self.value, 0, Qt.AlignmentFlag.AlignBaseline)
        line.addWidget(self.unit, 0, Qt.AlignmentFlag.AlignBaseline)
        line.addStretch(1)
        outer.addLayout(line)

    def show_value(self, text: str, unit: str) -> None:
        missing = text == "—"
        set_text(self.value, text)
        set_text(self.unit, "" if missing else unit)
        self.setAccessibleName(f"{self._name} {text} {unit}")
        tip(self, self.tr("The program that recorded this session stored no such figure.") if missing else "")


class SessionPreview(Card):
    """Shows one session. Signals carry its path."""

    rename_asked = Signal(object, str)
    note_given = Signal(object, str)
    star_asked = Signal(object)
    open_asked = Signal(object)
    compare_asked = Signal(object)
    repeat_asked = Signal(object)

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__((14, 10, 14, 12))
        self._now = now
        self._entry: SessionEntry | None = None
        self._more: tuple[tuple[str, str], ...] = ()
        self.setFixedWidth(WIDTH)
        self.name = ElidedLabel("", "page")
        self.name_edit = _NameEdit()
        self.name_edit.setMaxLength(MAX_NAME)
        self.name_edit.setAccessibleName(self.tr("Name of the session"))
        self.pencil = IconButton("pencil", self.tr("Rename (F2)"))
        self.star = IconButton("star", self.tr("Star"))
        self._mark = StatusMark()
        self._state = make_label("", "secondary", wrap=True)
        self._about = ElidedLabel("", "secondary")
        self._when = ElidedLabel("", "secondary")
        self._figures = [
            _Figure(name)
            for name in (
                self.tr("TTFT p50"),
                self.tr("ITL p50"),
                self.tr("ITL p99"),
                self.tr("Jitter (MAD)"),
                self.tr("MBU"),
                self.tr("Energy/token"),
            )
        ]
        self.chart = TraceChart()
        self._setup = [(make_label("", "secondary"), ElidedLabel("")) for _ in range(SETUP_ROWS)]
        self.note = NoteEdit()
        self.note.setAccessibleName(self.tr("Note of the session"))
        self.note.setPlaceholderText(self.tr("What should be remembered about this run?"))
        self.note.setFixedHeight(76)
        self.open = Button(self.tr("Open"), "", "folder")
        self.compare = Button(self.tr("Compare"))
        self.repeat = Button(self.tr("Repeat run"))
        self._stack = QStackedWidget()
        self._lay_out()
        self._connect()
        self.show_entry(None)

    def _lay_out(self) -> None:
        head = row(None, 0, 2)
        head.addWidget(self.name)
        head.addWidget(self.name_edit, 1)
        head.addWidget(self.pencil)
        head.addStretch(1)
        head.addWidget(self.star)
        self.name_edit.hide()
        figures = QGridLayout()
        figures.setHorizontalSpacing(10)
        figures.setVerticalSpacing(8)
        for number, figure in enumerate(self._figures):
            figures.addWidget(figure, number // 3, number % 3)
        for number in range(3):
            figures.setColumnStretch(number, 1)
        setup = QGridLayout()
        setup.setHorizontalSpacing(12)
        setup.setVerticalSpacing(4)
        setup.setColumnStretch(1, 1)
        for number, (name, value) in enumerate(self._setup):
            name.setMinimumWidth(66)
            setup.addWidget(name, number, 0)
            setup.addWidget(value, number, 1)
        self._state_box = QWidget()
        state = row(self._state_box, 0, 6)
        state.addWidget(self._mark, 0, Qt.AlignmentFlag.AlignTop)
        state.addWidget(self._state, 1)
        inside = QWidget()
        body = column(inside, (0, 0, 4, 0), 6)
        body.addWidget(self._state_box)
        body.addWidget(self._about)
        body.addWidget(self._when)
        self._facts = QWidget()
        facts = column(self._facts, 0, 8)
        facts.addLayout(figures)
        facts.addWidget(Divider())
        facts.addWidget(make_label(self.tr("Inter-token latency"), "strong"))
        facts.addWidget(self.chart)
        facts.addWidget(Divider())
        facts.addWidget(make_label(self.tr("Setup"), "strong"))
        facts.addLayout(setup)
        facts.addWidget(Divider())
        facts.addWidget(make_label(self.tr("Notes"), "strong"))
        facts.addWidget(self.note)
        body.addWidget(self._facts)
        body.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(inside)
        buttons = row(None, 0, 8)
        for button in (self.open, self.compare, self.repeat):
            buttons.addWidget(button, 1)
        whole = QWidget()
        shown = column(whole, 0, 8)
        shown.addLayout(head)
        shown.addWidget(scroll, 1)
        shown.addLayout(buttons)
        self._empty = make_label(self.tr("Choose a session to see its figures here."), "muted", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(whole)
        self.body.addWidget(self._stack)

    def _connect(self) -> None:
        self.pencil.clicked.connect(self.ask_name)
        self.name_edit.returnPressed.connect(self._give_name)
        self.name_edit.left.connect(self._leave_name)
        self.name_edit.editingFinished.connect(self._leave_name)
        self.note.finished.connect(self.commit_note)
        for button, signal in (
            (self.star, self.star_asked),
            (self.open, self.open_asked),
            (self.compare, self.compare_asked),
            (self.repeat, self.repeat_asked),
        ):
            button.clicked.connect(lambda _=False, signal=signal: self._emit(signal))

    def _emit(self, signal: Signal) -> None:
        if self._entry is not None:
            signal.emit(self._entry.path)  # type: ignore[attr-defined]

    # -- what the page calls -----------------------------------------------------------------

    @property
    def entry(self) -> SessionEntry | None:
        """The session shown."""
        return self._entry

    @property
    def path(self) -> Path | None:
        """Its file."""
        return self._entry.path if self._entry is not None else None

    def show_entry(self, entry: SessionEntry | None) -> None:
        """Show a session, or none. What is being typed about another one is taken first."""
        same = entry is not None and entry.path == self.path
        if not same:
            self.commit_note()
            self._leave_name()
        before, self._entry = self._entry, entry
        self._stack.setCurrentIndex(0 if entry is None else 1)
        if entry is None:
            return
        usable = entry.error is None and not entry.live
        set_text(self.name, words.title(entry))
        self.star.set_icon_name("star-filled" if entry.starred else "star")
        self.star.set_name(self.tr("Take the star away") if entry.starred else self.tr("Star"))
        mark, state = words.state(entry)
        self._mark.set_kind(mark, state)
        self._mark.setVisible(mark != "none")
        set_text(self._state, state)
        self._state_box.setVisible(bool(state))
        set_text(self._about, " · ".join(part for part in (words.model(entry), entry.device or "") if part))
        self._about.setVisible(bool(self._about.text()))
        size = format_bytes(entry.size_bytes, binary=False)
        when = words.date(entry, self._now(), long=True)
        set_text(self._when, f"{when}, {size}" if entry.error is None else size)
        self._facts.setVisible(entry.error is None)
        energy, energy_unit = words.energy(entry)
        texts = [
            *((words.figure(entry, field), "%" if field == "mbu_pct" else "ms") for field in words.FIGURES),
            (energy, energy_unit),
        ]
        for figure, (text, unit) in zip(self._figures, texts, strict=True):
            figure.show_value(text, unit)
        if not same or before is None or before.note == self.note.toPlainText():
            self.note.setPlainText(entry.note)
            self.note.document().setModified(False)
        self.note.setReadOnly(not usable)
        for widget in (self.pencil, self.star):
            widget.setEnabled(usable)
        self.open.setEnabled(entry.error is None)
        self.compare.setEnabled(usable)
        if not same:
            self.repeat.setEnabled(False)
            self._more = ()
            waiting = "" if entry.itl_trace else self.tr("reading…")
            self.chart.show_trace(entry.itl_trace, entry.itl_p50_ms, waiting)
        elif entry.itl_trace:
            self.chart.show_trace(entry.itl_trace, entry.itl_p50_ms)
        self._show_rows()

    def show_details(self, path: Path, details: Details | None) -> None:
        """What was read from the file; None when it could not be. Late answers are let go."""
        entry = self._entry
        if entry is None or entry.path != path:
            return
        trace = entry.itl_trace or (details.trace if details is not None else ())
        self.chart.show_trace(trace, entry.itl_p50_ms, self.tr("no gaps were recorded"))
        self._more = details.rows if details is not None else ()
        self._show_rows()
        self.repeat.setEnabled(details is not None and details.repeatable)

    def _show_rows(self) -> None:
        entry = self._entry
        rows = []
        if entry is not None:
            if entry.tags:
                rows.append((self.tr("Tags"), ", ".join(entry.tags)))
            if entry.workload:
                rows.append((self.tr("Workload"), entry.workload))
            # The line below the name says the model already.
            rows += [part for part in self._more if part[1] != words.model(entry)]
            rows.append((self.tr("Requests"), str(entry.requests)))
            rows.append((self.tr("File"), entry.path.name))
        for number, (name, value) in enumerate(self._setup):
            shown = number < len(rows)
            name.setVisible(shown)
            value.setVisible(shown)
            if shown:
                set_text(name, rows[number][0])
                value.setText(rows[number][1])

    # -- typing ------------------------------------------------------------------------------

    def ask_name(self) -> None:
        """Let the name be typed."""
        if self._entry is None or not self.pencil.isEnabled():
            return
        self.name_edit.setText(words.title(self._entry))
        self._edit_name(True)
        self.name_edit.setFocus(Qt.FocusReason.OtherFocusReason)
        self.name_edit.selectAll()

    def ask_note(self) -> None:
        """Put the keyboard into the note."""
        if self._entry is not None and not self.note.isReadOnly():
            self.note.setFocus(Qt.FocusReason.OtherFocusReason)

    def commit_note(self) -> None:
        """Hand over what was typed as note, when it is another one."""
        entry = self._entry
        if entry is None or self.note.isReadOnly() or not self.note.document().isModified():
            return
        self.note.document().setModified(False)
        text = self.note.toPlainText().strip()
        if text != entry.note:
            self.note_given.emit(entry.path, text)

    def _give_name(self) -> None:
        text = self.name_edit.text().strip()
        self._leave_name()
        if self._entry is not None and text and text != words.title(self._entry):
            self.rename_asked.emit(self._entry.path, text)

    def _leave_name(self) -> None:
        if not self.name_edit.isHidden():
            self._edit_name(False)

    def _edit_name(self, on: bool) -> None:
        self.name_edit.setVisible(on)
        self.name.setVisible(not on)
        self.pencil.setVisible(not on)
