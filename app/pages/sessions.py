"""The Sessions page: the recordings of a folder, to find, label, compare, and let go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QPoint, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QHideEvent, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QMenu, QStackedWidget, QWidget

from app.background import Background
from app.pages.sessions_folder import FolderWatch, State, folder_state
from app.pages.sessions_import import Imported, ImportTrace, trace_importer
from app.panels import sessions_words as words
from app.panels.page_bar import PageBar
from app.panels.parts import column, row
from app.panels.sessions_actions import LabelChange, TrashMove
from app.panels.sessions_cards import RetentionCard, SessionsEmpty
from app.panels.sessions_details import Details, read_details
from app.panels.sessions_filters import FilterBar
from app.panels.sessions_foot import MAX_COMPARED, FootBar
from app.panels.sessions_model import Column, SessionModel
from app.panels.sessions_preview import SessionPreview
from app.panels.sessions_table import SessionTable
from app.undo import Action, Outcome, UndoStack
from app.widgets import Button, Card, Divider
from profiler.errors import DecodescopeError
from profiler.session import library, retention, trash
from profiler.session.library import SessionEntry
from profiler.units import format_bytes

LAYOUT_KEY = "sessions/columns"
KEPT_KEY = "sessions/kept"
ASK_AFTER_KEY = "sessions/ask_after"
ASK_AGAIN_DAYS = 7
NARROWEST_PX = 750
"""A window of 1280 px at a text size of 150 % leaves the page a little more."""
PREVIEW_FROM_PX = 1031
"""List and details side by side, without cutting words in either."""


class SessionsDialogs(Protocol):
    """What the page asks. None: the user thought better of it."""

    def trace_path(self, parent: QWidget, folder: str) -> Path | None: ...

    def library_folder(self, parent: QWidget, folder: str) -> Path | None: ...


def _now() -> datetime:
    return datetime.now().astimezone()


def _reveal(path: Path) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.parent)))


class SessionsPage(QWidget):
    """Lists `folder`; all reading and writing goes through `background`.

    `choice(key)` and `remember(key, value)` keep small choices (plain JSON) between starts. `now`
    gives local time with its zone. Signals carry paths; nothing is opened here.
    """

    open_asked = Signal(object)
    open_new_window_asked = Signal(object)
    compare_asked = Signal(object)
    export_asked = Signal(object)
    """Paths (list), also of `compare_asked`: the first is the baseline."""
    repeat_asked = Signal(object)
    new_profile_asked = Signal()
    folder_changed = Signal(object)
    """Another folder was chosen here."""
    reported = Signal(str)
    """One sentence for the status bar."""

    def __init__(
        self,
        background: Background,
        dialogs: SessionsDialogs,
        folder: Path,
        *,
        choice: Callable[[str], Any],
        remember: Callable[[str, Any], None],
        library_folder: Path | None = None,
        list_sessions: Callable[[Path], list[SessionEntry]] = library.list_sessions,
        import_trace: ImportTrace | None = None,
        reveal: Callable[[Path], None] = _reveal,
        now: Callable[[], datetime] = _now,
    ) -> None:
        super().__init__()
        self.setProperty("surface", "window")
        self._background, self._dialogs = background, dialogs
        self._choice, self._remember = choice, remember
        self._list_sessions, self._reveal, self._now = list_sessions, reveal, now
        self._library_folder = library_folder or folder
        self._folder = folder
        self._import = import_trace or trace_importer(background, lambda: self._folder)
        self._listing = False
        self._again = False
        self._listed = False
        self._problem = ""
        self._wanted: Path | None = None
        self.undo_stack = UndoStack()
        self.watch = FolderWatch(background, self)
        self.model = SessionModel(now, self)
        self.bar = PageBar(self.tr("Sessions"))
        self.import_button = Button(self.tr("Import trace…"), icon_name="import")
        self.new_button = Button(self.tr("New profile"), icon_name="plus")
        self.retention = RetentionCard()
        self.filters = FilterBar()
        self.table = SessionTable(self.model, now)
        self.empty = SessionsEmpty()
        self.foot = FootBar()
        self.preview = SessionPreview(now)
        self._columns_menu = QMenu(self)
        self._stack = QStackedWidget()
        self.setFocusProxy(self.table)
        self._lay_out()
        self._connect()
        self.table.restore_layout(choice(LAYOUT_KEY))
        self.watch.set_folder(folder)
        self._draw()

    def _lay_out(self) -> None:
        self.bar.add(self.import_button)
        self.bar.add(self.new_button)
        self.filters.columns.setMenu(self._columns_menu)
        self.filters.columns.setPopupMode(self.filters.columns.ToolButtonPopupMode.InstantPopup)
        list_card = Card((12, 10, 12, 10))
        list_card.body.setSpacing(8)
        list_card.body.addWidget(self.filters)
        self._stack.addWidget(self.table)
        self._stack.addWidget(self.empty)
        list_card.body.addWidget(self._stack, 1)
        list_card.body.addWidget(self.foot)
        inner = column(None, 10, 8)
        inner.addWidget(self.retention)
        both = row(None, 0, 8)
        both.addWidget(list_card, 1)
        both.addWidget(self.preview)
        inner.addLayout(both, 1)
        outer = column(self)
        outer.addWidget(self.bar)
        outer.addWidget(Divider())
        outer.addLayout(inner, 1)

    def _connect(self) -> None:
        self.import_button.clicked.connect(self.ask_import)
        self.new_button.clicked.connect(self.new_profile_asked)
        self.filters.changed.connect(self._filter)
        self._columns_menu.aboutToShow.connect(self._fill_columns_menu)
        self.empty.new_profile_asked.connect(self.new_profile_asked)
        self.empty.import_asked.connect(self.ask_import)
        self.empty.clear_asked.connect(self.filters.clear)
        table, preview, foot = self.table, self.preview, self.foot
        table.open_asked.connect(self._open)
        table.star_asked.connect(self.toggle_star)
        table.trash_asked.connect(self.trash_chosen)
        table.menu_asked.connect(self._show_menu)
        table.current_changed.connect(self._show_entry)
        table.chosen_changed.connect(self._draw_foot)
        table.layout_changed.connect(lambda: self._remember(LAYOUT_KEY, table.layout()))
        for source in (self.model, preview):
            source.rename_asked.connect(self.rename)
        self.model.tags_asked.connect(lambda path, text: self.set_tags(path, text.split(",")))
        preview.note_given.connect(self.set_note)
        preview.star_asked.connect(self.toggle_star)
        preview.open_asked.connect(self._open)
        preview.compare_asked.connect(self._compare_current)
        preview.repeat_asked.connect(self.repeat_asked)
        foot.compare_asked.connect(self.compare_chosen)
        foot.tags_given.connect(self.add_tags)
        foot.export_asked.connect(self._export)
        foot.trash_asked.connect(self.trash_chosen)
        foot.notice.undo_asked.connect(self.undo)
        self.retention.trash_asked.connect(self.trash)
        self.retention.keep_asked.connect(self._keep)
        self.retention.later_asked.connect(self._later)
        self.watch.changed.connect(self.refresh)
        for keys, act in (
            (QKeySequence(QKeySequence.StandardKey.Undo), self.undo),
            (QKeySequence(QKeySequence.StandardKey.Redo), self.redo),
            (QKeySequence(QKeySequence.StandardKey.Find), self.focus_search),
            (QKeySequence(QKeySequence.StandardKey.Refresh), self.refresh),
        ):
            if keys == QKeySequence("F5"):
                continue  # starts a run everywhere else
            shortcut = QShortcut(keys, self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(act)

    # -- what the window calls -----------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """The folder whose sessions are shown."""
        return self._folder

    def set_folder(self, path: Path) -> None:
        """Show another folder. What was done in the one before cannot be undone any more."""
        self.preview.commit_note()
        self._folder = path
        self._listed, self._problem = False, ""
        self.undo_stack.clear()
        self.foot.notice.say("")
        self.retention.ask([], self._now())
        self.model.set_entries([])
        self.watch.set_folder(path)
        self.refresh()

    def focus_search(self) -> None:
        """Put the keyboard into the search field."""
        self.filters.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filters.search.selectAll()

    def select(self, path: Path) -> None:
        """Put the cursor on a session as soon as it is listed."""
        if not self.table.select_path(path):
            self._wanted = path

    def refresh(self) -> None:
        """List the folder anew, away from the GUI thread."""
        if self._listing:
            self._again = True
            return
        self._listing = True
        folder = self._folder

        def job() -> tuple[Path, State, list[SessionEntry]]:
            state = folder_state(folder)
            # A library that nothing was recorded into does not exist yet: that is no error.
            return folder, state, self._list_sessions(folder) if folder.is_dir() else []

        self._background.submit(job, self._take_list, lambda error: self._no_list(folder, error))

    def hand_over_trash(self) -> trash.HandedOver:
        """Give what was moved to the library's trash folder to the system's trash: at the window's end.

        Blocks for a moment; undo is over then.
        """
        self.undo_stack.clear()
        return trash.hand_over(trash.in_trash(self._folder))

    # -- the list ------------------------------------------------------------------------------

    def _take_list(self, told: tuple[Path, State, list[SessionEntry]]) -> None:
        folder, state, entries = told
        self._listing = False
        if folder != self._folder or self._again:
            self._again = False
            self.refresh()
            return
        self.watch.restless = any(entry.live for entry in entries)
        if self.table.editing:
            return  # the next look finds the difference again
        self.watch.take(state)
        self._listed, self._problem = True, ""
        current, before = self.table.current, self.table.currentIndex().row()
        rows, at = self.table.selected_paths(), self.table.verticalScrollBar().value()
        if self.model.set_entries(entries):
            wanted = self._wanted or (current.path if current is not None else None)
            if self.table.select_path(wanted, () if self._wanted else rows):
                self._wanted = None
            else:
                self.table.select_row(before)
            if self._wanted is None and wanted is not None and current is not None:
                self.table.verticalScrollBar().setValue(at)
            self.filters.set_entries(entries)
            self.foot.set_known_tags(sorted({tag for entry in entries for tag in entry.tags}))
        self._show_entry(self.table.current)
        self._draw()

    def _no_list(self, folder: Path, error: Exception) -> None:
        self._listing = self._again = False
        if folder != self._folder:
            self.refresh()
            return
        self._listed = True
        self._problem = _sentence(error)
        self.model.set_entries([])
        self._draw()

    def _filter(self, filters: Any) -> None:
        current, rows = self.table.current, self.table.selected_paths()
        self.table.proxy.set_filters(filters)
        if not self.table.select_path(current.path if current is not None else None, rows):
            self.table.select_row(0)
        self._show_entry(self.table.current)
        self._draw()

    def _draw(self) -> None:
        entries, shown = self.model.entries, self.table.proxy.rowCount()
        self._stack.setCurrentIndex(0 if shown or not self._listed else 1)
        if self._problem:
            self.empty.show_problem(self._problem)
        elif not entries:
            self.empty.show_first(self._folder)
        else:
            self.empty.show_no_match()
        count = len(entries)
        self.bar.set_about(
            self.tr("1 saved")
            if count == 1
            else self.tr("{0} saved").format(count)
            if count or self._listed
            else self.tr("reading…")
        )
        self.filters.set_count(shown, count)
        self.foot.setVisible(bool(entries) or bool(self.foot.notice.text))
        self._fold_preview()
        room = format_bytes(sum(entry.size_bytes for entry in entries), binary=False)
        if self._folder == self._library_folder:
            self.foot.stored.setText(self.tr("Stored in your library folder, {0} in all").format(room))
        else:
            self.foot.stored.setText(self.tr("Stored in {0}, {1} in all").format(self._folder, room))
        self._draw_foot()

    def _draw_foot(self) -> None:
        chosen = self.table.chosen()
        self.foot.show_chosen(len(chosen), len(_usable(chosen)))

    def _show_entry(self, entry: SessionEntry | None) -> None:
        before = self.preview.entry
        self.preview.show_entry(entry)
        if entry is None or entry.error is not None or entry == before:
            return
        path, want_trace = entry.path, not entry.itl_trace and not entry.live

        def done(details: Details | None) -> None:
            self.preview.show_details(path, details)

        def job() -> Details | None:
            # While keys run down the list, only the session they stop at is read.
            return read_details(path, want_trace) if self.preview.path == path else None

        self._background.submit(job, done, lambda _error: done(None))

    def _fill_columns_menu(self) -> None:
        menu = self._columns_menu
        menu.clear()
        self.table.columns_menu(menu)
        menu.addSeparator()
        own = menu.addAction(self.tr("Library folder"))
        own.setCheckable(True)
        own.setChecked(self._folder == self._library_folder)
        own.triggered.connect(lambda: self._choose_folder(self._library_folder))
        menu.addAction(self.tr("Other folder…")).triggered.connect(self.ask_folder)
        menu.addAction(self.tr("Show the folder")).triggered.connect(
            lambda: self._reveal(self._folder / "library")
        )
        menu.addAction(self.tr("Refresh")).triggered.connect(self.refresh)

    def ask_folder(self) -> None:
        """Ask for another folder to show."""
        path = self._dialogs.library_folder(self, str(self._folder))
        if path is not None:
            self._choose_folder(path)

    def _choose_folder(self, path: Path) -> None:
        if path != self._folder:
            self.set_folder(path)
            self.folder_changed.emit(path)

    def ask_import(self) -> None:
        """Ask for a trace and import it into the folder shown."""
        path = self._dialogs.trace_path(self, str(self._folder))
        if path is None:
            return
        self.foot.show()
        self.foot.notice.say(self.tr("Importing {0}…").format(path.name))

        def done(imported: Imported) -> None:
            target, warnings = imported
            text = self.tr("Imported {0}").format(path.name)
            if warnings:
                text = self.tr("{0}; {1} things in it were odd (see its notes)").format(text, warnings)
            self._say(text)
            self.select(target)
            self.refresh()

        self._import(path, done, lambda error: self._say(_sentence(error), bad=True))

    # -- changes -------------------------------------------------------------------------------

    def rename(self, path: Path, name: str) -> None:
        """Give a session another name."""
        self._do(LabelChange({path: {"name": name}}, self.tr("Renamed to {0}").format(name)))

    def set_tags(self, path: Path, tags: Sequence[str]) -> None:
        """Give a session these tags and no others."""
        self._do(LabelChange({path: {"tags": list(tags)}}, self.tr("Changed the tags")))

    def add_tags(self, text: str) -> None:
        """Add tags (parted by commas) to the chosen sessions."""
        chosen = _usable(self.table.chosen())
        tags = [tag.strip() for tag in text.split(",") if tag.strip()]
        if chosen and tags:
            wanted = {entry.path: {"tags": [*entry.tags, *tags]} for entry in chosen}
            count = len(chosen)
            told = self.tr("Tagged 1 session") if count == 1 else self.tr("Tagged {0} sessions").format(count)
            self._do(LabelChange(wanted, told))

    def set_note(self, path: Path, note: str) -> None:
        """Keep a note."""
        self._do(LabelChange({path: {"note": note}}, self.tr("Changed the note")))

    def toggle_star(self, path: Path) -> None:
        """Star a session, or take the star away."""
        entry = self.model.entry(path)
        if entry is None or not _usable([entry]):
            return
        starred = not entry.starred
        told = self.tr("Starred {0}") if starred else self.tr("Took the star from {0}")
        self._do(LabelChange({path: {"starred": starred}}, told.format(words.title(entry))))

    def trash_chosen(self) -> None:
        """Move the chosen sessions to the trash."""
        chosen = self.table.chosen()
        live = [entry for entry in chosen if entry.live]
        if live and len(live) == len(chosen):
            self._say(self.tr("This session is being recorded; stop the recording first."), bad=True)
            return
        self.trash([entry.path for entry in chosen])

    def trash(self, paths: Sequence[Path]) -> None:
        """Move sessions to the trash; can be undone."""
        if paths:
            self._do(TrashMove(paths))

    def undo(self) -> None:
        """Take the last change back."""
        action = self.undo_stack.take_undo()
        if action is None:
            return

        def done(outcome: Outcome) -> None:
            went = bool(outcome.changed) or not outcome.problems
            (self.undo_stack.put_undone if went else self.undo_stack.put_done)(action)
            self._after(outcome, self.tr("Undone: {0}").format(action.words()))

        self._background.submit(action.undo, done, self._broken)

    def redo(self) -> None:
        """Do again what was taken back."""
        action = self.undo_stack.take_redo()
        if action is not None:
            self._do(action, again=True)

    def _do(self, action: Action, *, again: bool = False) -> None:
        def done(outcome: Outcome) -> None:
            if outcome.changed:
                (self.undo_stack.put_done if again else self.undo_stack.push)(action)
            self._after(outcome, action.words(), undo=True)

        self._background.submit(action.do, done, self._broken)

    def _after(self, outcome: Outcome, told: str, *, undo: bool = False) -> None:
        if outcome.problems:
            self._say(outcome.problems[0], bad=True, undo=undo and bool(outcome.changed))
        elif outcome.changed:
            self._say(told, undo=undo)
        if outcome.changed:
            if not any(self.model.entry(path) is None for path in outcome.changed):
                paths = [path for path in outcome.changed if path.exists()]
                self._background.submit(
                    lambda: [library.read_entry(path) for path in paths], self._replace, self._broken
                )
        self.refresh()

    def _replace(self, entries: list[SessionEntry]) -> None:
        self.model.replace(entries)
        self._show_entry(self.table.current)

    def _broken(self, error: Exception) -> None:
        self._say(_sentence(error), bad=True)
        self.refresh()

    def _say(self, text: str, *, bad: bool = False, undo: bool = False) -> None:
        self.foot.notice.say(text, bad=bad, undo=undo)
        self.foot.show()
        self.reported.emit(text)

    # -- old recordings --------------------------------------------------------------------------

    def check_retention(
        self,
        quota_bytes: int | None = retention.QUOTA_BYTES,
        max_age_days: float | None = retention.MAX_AGE_DAYS,
    ) -> None:
        """Ask about recordings that nobody touched, when there are old or too many. Moves nothing."""
        now = self._now()
        try:
            after = datetime.fromisoformat(str(self._choice(ASK_AFTER_KEY)))
        except ValueError:
            after = None
        if after is not None and after.tzinfo is not None and now < after:
            return
        found = retention.retention_candidates(self.model.entries, quota_bytes, max_age_days, now=now)
        kept = self._kept()
        self.retention.ask([entry for entry in found if str(entry.path) not in kept], now)

    def _kept(self) -> list[str]:
        told = self._choice(KEPT_KEY)
        return [path for path in told if isinstance(path, str)] if isinstance(told, list) else []

    def _keep(self, paths: Sequence[Path]) -> None:
        there = {str(entry.path) for entry in self.model.entries}
        kept = [path for path in self._kept() if path in there or Path(path).parent != self._folder]
        self._remember(KEPT_KEY, [*kept, *(str(path) for path in paths)])

    def _later(self) -> None:
        after = self._now().astimezone(UTC) + timedelta(days=ASK_AGAIN_DAYS)
        self._remember(ASK_AFTER_KEY, after.isoformat())

    # -- asked of the window -----------------------------------------------------------------------

    def compare_chosen(self) -> None:
        """Ask for a comparison of the chosen sessions."""
        paths = [entry.path for entry in _usable(self.table.chosen())]
        if 1 <= len(paths) <= MAX_COMPARED:
            self.compare_asked.emit(paths)

    def _compare_current(self, path: Path) -> None:
        others = [entry.path for entry in _usable(self.table.chosen()) if entry.path != path]
        self.compare_asked.emit([path, *others][:MAX_COMPARED])

    def _open(self, path: Path) -> None:
        entry = self.model.entry(path)
        if entry is not None and entry.error is not None:
            self._say(entry.error, bad=True)
        else:
            self.open_asked.emit(path)

    def _export(self) -> None:
        paths = [entry.path for entry in _usable(self.table.chosen())]
        if paths:
            self.export_asked.emit(paths)

    def _show_menu(self, at: QPoint) -> None:
        menu = self.row_menu()
        if menu is not None:
            menu.popup(at)

    def row_menu(self) -> QMenu | None:
        """The menu of the row under the cursor; None without one. Deletes itself when closed."""
        entry = self.table.current
        if entry is None:
            return None
        path, usable = entry.path, bool(_usable([entry]))
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        count = len(self.table.chosen())
        for text, act, on in (
            (self.tr("Open\tEnter"), lambda: self._open(path), entry.error is None),
            (
                self.tr("Open in a new window"),
                lambda: self.open_new_window_asked.emit(path),
                entry.error is None,
            ),
            (self.tr("Compare"), self.compare_chosen, usable and count <= MAX_COMPARED),
            ("", None, True),
            (self.tr("Rename\tF2"), lambda: self.table.edit_cell(Column.NAME), usable),
            (self.tr("Tag…"), self.foot.ask_tags, usable),
            (self.tr("Note…"), self.preview.ask_note, usable),
            (self.tr("Star"), lambda: self.toggle_star(path), usable),
            ("", None, True),
            (self.tr("Export…"), self._export, usable),
            (self.tr("Show in the file manager"), lambda: self._reveal(path), True),
            ("", None, True),
            (
                self.tr("Move {0} sessions to trash\tDel").format(count)
                if count > 1
                else self.tr("Move to trash\tDel"),
                self.trash_chosen,
                not entry.live,
            ),
        ):
            if act is None:
                menu.addSeparator()
                continue
            action = menu.addAction(text)
            action.setEnabled(on)
            action.triggered.connect(lambda _=False, act=act: act())
        return menu

    # -- room ------------------------------------------------------------------------------------

    def _fold_preview(self) -> None:
        """The details stand beside the list where there is room for both; the menu of a row has
        what they offer."""
        self.preview.setVisible(bool(self.model.entries) and self.width() >= PREVIEW_FROM_PX)

    def minimumSizeHint(self) -> QSize:
        """As without the details, which give way."""
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), NARROWEST_PX), hint.height())

    # -- events ----------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fold_preview()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.watch.set_polling(True)
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        self.preview.commit_note()
        self.watch.set_polling(False)
        super().hideEvent(event)


def _usable(entries: Sequence[SessionEntry]) -> list[SessionEntry]:
    """Those that can be opened and changed."""
    return [entry for entry in entries if entry.error is None and not entry.live]


def _sentence(error: Exception) -> str:
    if isinstance(error, DecodescopeError):
        return error.message
    return f"{type(error).__name__}: {error}"
