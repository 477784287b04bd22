"""The window: puts the panels together and connects them. No logic of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QSize, Qt, QUrl
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QMenu, QWidget

from app.actions import make_actions
from app.dialogs import Dialogs
from app.new_window import start_another_window
from app.offers import Offers
from app.own_cost import BUDGET_S, own_cost_config
from app.pages.profile import ProfilePage
from app.pages.stack import PageStack
from app.panels.nav_rail import NavRail
from app.panels.offer import Offer
from app.panels.parts import column, row
from app.panels.status_bar import StatusBar
from app.panels.top_bar import TopBar, session_title
from app.resources import app_icon
from app.run_controller import RunController
from app.run_state import RunState
from app.session_library import SUFFIX, SessionLibrary, with_suffix
from app.settings import Settings
from app.theme import Palette, Theme, apply_theme
from app.widgets import Divider
from profiler import events as ev
from profiler.config import RunConfig
from profiler.errors import SessionError
from profiler.paths import library_dir
from profiler.timeline import Timeline

if TYPE_CHECKING:
    # Dialogs and other pages are imported when they are asked for: the first paint comes first.
    from app.other_reports import Reports
    from app.panels.share_dialog import ShareDialog
    from profiler.session.trash import HandedOver

MIN_SIZE = (1180, 720)
DESIGN_SIZE = (1440, 900)
FOLD_BELOW = 1280


class MainWindow(QMainWindow):
    """One window, one engine, one run at a time."""

    def __init__(
        self,
        controller: RunController,
        library: SessionLibrary,
        settings: Settings,
        theme: Theme,
        dialogs: Dialogs,
    ) -> None:
        super().__init__()
        self._controller = controller
        self._library = library
        self._settings = settings
        self._theme = theme
        self._dialogs = dialogs
        self.share_dialog: ShareDialog | None = None
        """The export dialog that was opened last."""
        self.problem_message: str | None = None
        """The problem with a file that is shown, if one is."""
        self.setWindowTitle("Decodescope")
        self.setWindowIcon(app_icon())
        self.setAcceptDrops(True)
        self.setMinimumSize(QSize(*MIN_SIZE).boundedTo(self.screen().availableSize()))
        self.actions_ = make_actions(self)
        self.rail = NavRail()
        exports = (self.actions_.export, self.actions_.as_others, self.actions_.copy_figures)
        self.top_bar = TopBar(self.actions_.open, self.actions_.save_as, exports)
        self.page = ProfilePage(controller)
        self.offer = Offer()
        self.pages = PageStack()
        self.pages.add("profile", self._profile_with_bar)
        self.pages.add("compare", self._make_compare)
        self.pages.add("sessions", self._make_sessions)
        self.page.kpis.addActions(exports)
        self.status = StatusBar()
        self._folded_by_width = False
        self._ask_before_closing = True
        self.offers = Offers(self.offer, controller, settings, library.background, self.open_session)
        self._lay_out()
        self._connect()
        self.show_page("profile")
        self._restore()
        self._dress(theme.palette)
        self.page.setFocus()

    def _lay_out(self) -> None:
        upper = row()
        upper.addWidget(self.rail)
        upper.addWidget(Divider(vertical=True))
        upper.addWidget(self.pages, 1)
        whole = QWidget()
        outer = column(whole)
        outer.addLayout(upper, 1)
        outer.addWidget(Divider())
        outer.addWidget(self.status)
        self.setCentralWidget(whole)

    def _profile_with_bar(self) -> QWidget:
        whole = QWidget()
        whole.setProperty("surface", "window")
        stack = column(whole)
        stack.addWidget(self.top_bar)
        stack.addWidget(Divider())
        stack.addWidget(self.offer)
        stack.addWidget(self.page, 1)
        return whole

    def _make_compare(self) -> QWidget:
        from app.pages.compare import ComparePage

        page = ComparePage(self._library.background, self._dialogs)
        page.set_folder(self._settings.last_folder())
        page.open_asked.connect(self._open_on_profile)
        page.choose_sessions_asked.connect(lambda: self.show_page("sessions"))
        return page

    def _open_on_profile(self, path: Path) -> None:
        self.show_page("profile")
        self.open_session(path)

    def compare(self, paths: Sequence[Path]) -> None:
        """Show the Compare page with these sessions; one alone joins those that are there."""
        page = self.show_page("compare")
        if len(paths) == 1:
            page.add_session(paths[0])
        else:
            page.set_sessions(paths)

    def export(self, path: Path | None = None) -> None:
        """Ask how to export a session: that at `path`, else the one that is shown."""
        from app.sharing import open_share_dialog

        source = path or self._controller.document.path
        if source is None:
            return
        if self._controller.active and path is None:
            self._show_file_problem(
                self.tr("Nothing was exported"),
                self.tr("A run is going on; export when it has finished, or stop it first (Esc)."),
            )
            return
        self.share_dialog = open_share_dialog(
            self, source, self._library.background, self._dialogs, self._settings, self._theme.palette
        )

    def _make_sessions(self) -> QWidget:
        from app.pages.sessions import SessionsPage

        home, kept = library_dir(), self._settings.library_folder()
        folder = Path(kept) if kept and Path(kept).is_dir() else home
        page = SessionsPage(
            self._library.background,
            self._dialogs,
            folder,
            choice=self._settings.choice,
            remember=self._settings.remember_choice,
            library_folder=home,
        )
        page.open_asked.connect(self._open_on_profile)
        page.open_new_window_asked.connect(start_another_window)
        page.compare_asked.connect(self.compare)
        page.export_asked.connect(lambda paths: self.export(paths[0]))
        page.repeat_asked.connect(self.repeat)
        page.reported.connect(lambda text: self._controller.log("info", text))
        page.new_profile_asked.connect(lambda: self.show_page("profile"))
        page.folder_changed.connect(
            lambda path: self._settings.set_library_folder("" if path == home else str(path))
        )
        quota_gb, days = self._settings.quota_gb(), self._settings.max_age_days()
        page.check_retention(round(quota_gb * 1e9) or None, days or None)
        return page

    def repeat(self, path: Path) -> None:
        """Show the settings of a recorded session's last run, and start them."""
        from app.sharing import recorded_config, sentence_of

        if self._controller.active:
            return

        def read(config: RunConfig) -> None:
            self.show_page("profile")
            self.set_config(config)
            self.start()

        def failed(error: Exception) -> None:
            self.show_page("profile")
            self._show_file_problem(self.tr("The run cannot be repeated"), sentence_of(error))

        self._library.background.submit(lambda: recorded_config(path), read, failed)

    def empty_own_trash(self) -> None:
        """Hand what an earlier window threw away to the system's trash; undo there is over."""

        def done(result: HandedOver) -> None:
            if result.reason is not None:
                self._controller.log("warning", result.reason)

        self._library.hand_over_trash(library_dir(), done, lambda _error: None)

    def _undo(self) -> None:
        page = self.pages.made("sessions")
        if page is not None and self.pages.current == "sessions":
            page.undo()

    def _search(self) -> None:
        self.show_page("sessions").focus_search()

    def show_page(self, name: str) -> QWidget:
        """Show a page (`profile`, `compare`, `sessions`); it is made when it is shown first."""
        page = self.pages.show_page(name)
        page.setFocus()
        self.rail.select(name)
        self._settings.set_page(name)
        return page

    def _page_made(self, _name: str, page: QWidget) -> None:
        apply_theme(page, self._theme.palette)

    def _connect(self) -> None:
        actions, controller = self.actions_, self._controller
        actions.start.triggered.connect(self.start)
        actions.stop.triggered.connect(controller.stop)
        actions.open.triggered.connect(self.ask_open)
        actions.save_as.triggered.connect(self.ask_save)
        actions.export.triggered.connect(lambda: self.export())
        actions.as_others.triggered.connect(self.show_as_others)
        actions.copy_figures.triggered.connect(self._copy_figures)
        actions.own_cost.triggered.connect(self.measure_own_cost)
        self.status.own_cost_asked.connect(lambda at: self._popup([actions.own_cost], at, above=True))
        actions.toggle_setup.triggered.connect(self._toggle_setup)
        actions.help.triggered.connect(self._show_help)
        actions.definitions.triggered.connect(lambda: self.show_definitions())
        self.page.definitions.all_asked.connect(self.show_definitions)
        actions.quit.triggered.connect(self.close)
        self.rail.help_asked.connect(self._popup_help)
        self.rail.settings_asked.connect(self.show_settings)
        self.rail.page_chosen.connect(self.show_page)
        self.pages.page_made.connect(self._page_made)
        for number, action in enumerate(actions.pages):
            action.triggered.connect(lambda _=False, number=number: self._show_page_no(number))
        actions.undo.triggered.connect(self._undo)
        actions.search.triggered.connect(self._search)
        actions.settings.triggered.connect(self.show_settings)
        self.page.start_asked.connect(self.start)
        self.page.open_asked.connect(self.ask_open)
        setup, settings = self.page.setup, self._settings
        setup.targets_changed.connect(lambda t: settings.remember_choice("targets", t.to_json()))
        setup.learned.connect(lambda known: settings.remember_choice("known_runs", known))
        setup.repeat_asked.connect(self.start)
        setup.model.forget_asked.connect(settings.forget_model)
        self.page.ask_path = self._ask_picture_path
        self.page.restart_asked.connect(self._restart_engine)
        self._theme.changed.connect(self._dress)
        for signal in (controller.state_changed, controller.document_changed, controller.refreshed):
            signal.connect(self._refresh_bars)

    def _restore(self) -> None:
        self.resize(*DESIGN_SIZE)
        geometry = self._settings.geometry()
        if geometry is not None:
            self.restoreGeometry(geometry)
        splitter = self._settings.splitter("tabs")
        if splitter is not None:
            self.page.splitter.restoreState(splitter)
        self.page.setup.model.set_recent(self._settings.recent_models())
        self.page.setup.set_known_runs(self._settings.choice("known_runs"))
        self.page.setup.targets_group.set_json(self._settings.choice("targets"))
        self.page.setup.set_folded(self._settings.setup_hidden())
        self._refresh_bars()

    def _dress(self, palette: Palette) -> None:
        apply_theme(self, palette)

    def _refresh_bars(self) -> None:
        self.top_bar.refresh(self._controller)
        self.status.refresh(self._controller)
        self.actions_.start.setEnabled(not self._controller.active)
        self.actions_.stop.setEnabled(self._controller.active)
        self.actions_.own_cost.setEnabled(not self._controller.active)

    # -- running ------------------------------------------------------------------------------

    def set_config(self, config: RunConfig) -> None:
        """Show a configuration in the setup."""
        self.page.setup.set_config(config)

    def start(self) -> None:
        """Start what the setup shows."""
        config = self.page.start()
        if config is not None:
            self.problem_message = None
            self._settings.remember_config(config.to_dict())
            self._settings.remember_model(config.model)
            self.page.setup.model.set_recent(self._settings.recent_models())

    def _restart_engine(self) -> None:
        self.page.failure.hide()
        self._controller.restart_engine()

    def show_as_others(self) -> None:
        """Open the shown run's figures as other tools would report them (when it is over)."""
        from app.panels.other_tools_dialog import OtherToolsDialog

        title = session_title(self._controller)

        def show(reports: Reports) -> None:
            dialog = OtherToolsDialog(title, reports, self)
            apply_theme(dialog, self._theme.palette)
            dialog.show()

        self._controller.as_others(show)

    def show_definitions(self, name: str = "") -> None:
        """Open all definitions, `name` (a metric of the report) chosen."""
        from app.panels.definitions_dialog import DefinitionsDialog

        dialog = DefinitionsDialog(self, name)
        apply_theme(dialog, self._theme.palette)
        dialog.show()

    def _copy_figures(self) -> None:
        QGuiApplication.clipboard().setText(self.page.kpis.as_text())

    def measure_own_cost(self) -> None:
        """Measure what this window costs the model that the setup shows; about a minute and a half."""
        config = self.page.setup.checked_config()
        if config is None or self._controller.active:
            return
        self.page.failure.hide()

        def done(reply: ev.Reply) -> None:
            rows = reply.value.get("variants") if reply.ok and isinstance(reply.value, dict) else None
            if isinstance(rows, list):
                self._controller.keep_own_cost(config.model, rows)
            elif self._controller.state is not RunState.STOPPING:
                title = self.tr("The own cost was not measured")
                self.page.show_problem(title, reply.message or "", reply.detail)

        self._controller.measure_own_cost(own_cost_config(config), BUDGET_S, done)

    # -- files --------------------------------------------------------------------------------

    def ask_open(self) -> None:
        """Ask for a session and show it."""
        path = self._dialogs.open_path(self, self._settings.last_folder())
        if path is not None:
            self._settings.set_last_folder(str(path.parent))
            self.open_session(path)

    def open_session(self, path: Path) -> None:
        """Show a saved session through the same charts."""
        if self._controller.active:
            self._show_file_problem(
                self.tr("{0} was not opened").format(path.name),
                self.tr("A run is going on; stop it first (Esc), or wait until it has finished."),
            )
            return

        def opened(timeline: Timeline) -> None:
            if self._controller.active:
                return
            self.problem_message = None
            self.page.failure.hide()
            self._controller.show_saved(timeline, path)

        def failed(error: SessionError) -> None:
            title = self.tr("{0} cannot be opened").format(path.name)
            self._show_file_problem(title, error.message, error.detail)

        self._library.open(path, opened, failed, self.page.prepare)

    def take_second_start(self, path: Path | None) -> None:
        """Another start of the program asks this window to show itself, and a file with it."""
        if self.isMinimized():
            self.showNormal()
        self.raise_()
        self.activateWindow()
        if path is not None:
            self.show_page("profile")
            self.open_session(path)

    def ask_save(self) -> None:
        """Ask for a name and give it to the session that is shown."""
        document = self._controller.document
        if document.path is None:
            return
        folder = self._settings.last_folder()
        suggested = Path(folder) / document.path.name if folder else document.path
        path = self._dialogs.save_path(self, suggested)
        if path is None:
            return
        path = with_suffix(path)
        overwrite = path.exists()
        if overwrite and not self._dialogs.confirm_overwrite(self, path):
            return
        self._settings.set_last_folder(str(path.parent))
        self.save_session(path, overwrite)

    def save_session(self, path: Path, overwrite: bool) -> None:
        """Name the shown session's file. Problems appear in the window."""
        document = self._controller.document
        if document.path is None:
            return
        if document.saved:
            self._library.save_as(document.path, path, overwrite, self._controller.moved, self._save_failed)
        else:
            self._controller.save_as(path, overwrite, self._save_answered)

    def _save_answered(self, reply: ev.Reply) -> None:
        if not reply.ok:
            self._save_failed(
                SessionError(reply.message or self.tr("The file was not written."), reply.detail)
            )

    def _save_failed(self, error: SessionError) -> None:
        self._show_file_problem(self.tr("The session was not saved"), error.message, error.detail)

    def _show_file_problem(self, title: str, message: str, detail: str | None = None) -> None:
        self.problem_message = message
        self.page.show_problem(title, message, detail)

    def show_crash(self, sentence: str, story: str) -> None:
        """An error of the window itself that nobody caught."""
        self._controller.log("error", sentence, story)
        self.page.show_problem(
            self.tr("The window met an error"),
            self.tr("{0}. The recording goes on; the log says more.").format(sentence),
            story,
        )

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        urls = event.mimeData().urls()
        if _dropped_session(urls) is not None or self.page.setup.accepts(urls) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        urls = event.mimeData().urls()
        path = _dropped_session(urls)
        if path is not None:
            event.acceptProposedAction()
            self._open_on_profile(path)
            return
        model = self.page.setup.accepts(urls)
        if model is not None:
            event.acceptProposedAction()
            self.show_page("profile")
            self.page.setup.take_drop(model)

    def _ask_picture_path(self, parent: QWidget, name: str, kind: str) -> Path | None:
        folder = self._settings.last_folder()
        path = self._dialogs.report_path(parent, Path(folder) / name if folder else Path(name), kind)
        if path is not None:
            self._settings.set_last_folder(str(path.parent))
        return path

    # -- the window ---------------------------------------------------------------------------

    def _toggle_setup(self) -> None:
        self.page.setup.set_folded(not self.page.setup.is_folded)
        self._settings.set_setup_hidden(self.page.setup.is_folded)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.width() < FOLD_BELOW
        if narrow != self._folded_by_width:
            self._folded_by_width = narrow
            self.page.setup.set_folded(narrow or self._settings.setup_hidden())

    def _show_page_no(self, number: int) -> None:
        if number < len(self.pages.names):
            self.show_page(self.pages.names[number])

    def show_settings(self) -> None:
        """Open the settings; every choice takes effect while the dialog is open."""
        from app.panels.settings_dialog import SettingsDialog

        dialog = SettingsDialog(self._settings, self._theme.mode, self)
        dialog.theme_chosen.connect(self._set_theme)
        apply_theme(dialog, self._theme.palette)
        dialog.open()

    def _set_theme(self, mode: str) -> None:
        if mode in ("system", "dark", "light"):
            self._theme.set_mode(mode)
            self._settings.set_theme(mode)

    def _popup_help(self) -> None:
        item = self.rail.help_item
        at = item.mapToGlobal(QPoint(item.width(), item.height()))
        self._popup([self.actions_.help, self.actions_.definitions, self.actions_.own_cost], at, above=True)

    def _popup(self, actions: list[QAction], at: QPoint, above: bool = False) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions(actions)
        menu.popup(at - QPoint(0, menu.sizeHint().height()) if above else at)

    def _show_help(self) -> None:
        from app.about import show_about

        show_about(self, self._controller.machine, self._controller.timeline.logs, self._theme.palette)

    def close_without_asking(self) -> None:
        """Close although a run is on: the system asks us to end. What was recorded is kept."""
        self._ask_before_closing = False
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        asks = self._ask_before_closing and self._controller.active
        if asks and not self._dialogs.confirm_close(self):
            event.ignore()
            return
        self._settings.set_geometry(self.saveGeometry())
        self._settings.set_splitter("tabs", self.page.splitter.saveState())
        self._settings.sync()
        # Closing waits for the engine to close the file; nobody needs to see that.
        self.hide()
        self._controller.close()
        event.accept()


def _dropped_session(urls: list[QUrl]) -> Path | None:
    paths = [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]
    return next((path for path in paths if path.suffix == SUFFIX), None)
