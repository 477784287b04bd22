"""What the window remembers between starts: geometry, last choices, recent models.

An INI file, not the registry or a system store: portable, readable, and easy to move aside.
Thread: the GUI thread. A damaged or foreign value reads as "nothing remembered".
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from platformdirs import user_config_dir
from PySide6.QtCore import QByteArray, QSettings

RECENT_MODELS = 8


def settings_path() -> Path:
    """Where the INI file lies. `DECODESCOPE_HOME` moves it, as it moves the library."""
    home = os.environ.get("DECODESCOPE_HOME")
    return (Path(home) if home else Path(user_config_dir("decodescope", False))) / "window.ini"


class Settings:
    """Typed access to the INI file at `path`."""

    def __init__(self, path: Path) -> None:
        self._store = QSettings(str(path), QSettings.Format.IniFormat)

    # -- the last choices -----------------------------------------------------------------

    def last_config(self) -> dict[str, Any] | None:
        """The settings of the run that was started last, as JSON values; None at first start."""
        value = self._json("run/config")
        return value if isinstance(value, dict) else None

    def remember_config(self, config: dict[str, Any]) -> None:
        """Keep the settings of a run for the next start (the prompt's text included)."""
        self._store.setValue("run/config", json.dumps(config))

    def recent_models(self) -> list[str]:
        """Names of models used before, newest first."""
        value = self._json("models/recent")
        if not isinstance(value, list):
            return []
        return [name for name in value if isinstance(name, str)][:RECENT_MODELS]

    def remember_model(self, name: str) -> None:
        """Move a model to the front of the recent ones."""
        names = [name, *(other for other in self.recent_models() if other != name)]
        self._store.setValue("models/recent", json.dumps(names[:RECENT_MODELS]))

    def forget_model(self, name: str) -> None:
        """Take a model off the recent ones."""
        names = [other for other in self.recent_models() if other != name]
        self._store.setValue("models/recent", json.dumps(names))

    # -- the window -----------------------------------------------------------------------

    def theme(self) -> str:
        """`system`, `dark` or `light`."""
        value = str(self._store.value("window/theme", "system"))
        return value if value in ("system", "dark", "light") else "system"

    def set_theme(self, name: str) -> None:
        self._store.setValue("window/theme", name)

    def text_scale(self) -> float:
        """Size of all text against the design's, 1.0 to 1.5."""
        try:
            value = float(str(self._store.value("window/text_scale", "1")))
        except ValueError:
            return 1.0
        return value if 1.0 <= value <= 1.5 else 1.0

    def set_text_scale(self, scale: float) -> None:
        self._store.setValue("window/text_scale", scale)

    def second_start(self) -> str:
        """What a second start does: `window` opens in the running window, `new` opens another one."""
        value = str(self._store.value("window/second_start", "window"))
        return value if value in ("window", "new") else "window"

    def set_second_start(self, choice: str) -> None:
        self._store.setValue("window/second_start", choice)

    def page(self) -> str:
        """The page that was shown last."""
        return str(self._store.value("window/page", "profile"))

    def set_page(self, name: str) -> None:
        self._store.setValue("window/page", name)

    def hint_seen(self, name: str) -> bool:
        """Was a hint for newcomers put away?"""
        return str(self._store.value(f"hints/{name}", "false")).lower() == "true"

    def set_hint_seen(self, name: str, seen: bool = True) -> None:
        self._store.setValue(f"hints/{name}", seen)

    # -- the library ------------------------------------------------------------------------

    def library_folder(self) -> str:
        """The folder that the Sessions page shows, "" for the library of recordings."""
        return str(self._store.value("library/folder", ""))

    def set_library_folder(self, folder: str) -> None:
        self._store.setValue("library/folder", folder)

    def quota_gb(self) -> float:
        """What unnamed recordings may take together, GB, before the window asks; 0 is no limit."""
        return self._number("library/quota_gb", 5.0)

    def set_quota_gb(self, value: float) -> None:
        self._store.setValue("library/quota_gb", value)

    def max_age_days(self) -> float:
        """Age of unnamed recordings, days, at which the window asks; 0 is no limit."""
        return self._number("library/max_age_days", 90.0)

    def set_max_age_days(self, value: float) -> None:
        self._store.setValue("library/max_age_days", value)

    # -- any page's own choices -----------------------------------------------------------------

    def choice(self, key: str) -> Any:
        """What `remember_choice` kept under a key (JSON), None when nothing."""
        return self._json(f"choices/{key}")

    def remember_choice(self, key: str, value: Any) -> None:
        """Keep a page's choice (column widths, targets, layers): any strict JSON value."""
        self._store.setValue(f"choices/{key}", json.dumps(value, allow_nan=False))

    def geometry(self) -> QByteArray | None:
        """`QWidget.saveGeometry` of the last window; None when there is none."""
        return self._bytes("window/geometry")

    def set_geometry(self, value: QByteArray) -> None:
        self._store.setValue("window/geometry", value)

    def splitter(self, name: str) -> QByteArray | None:
        """`QSplitter.saveState` of a splitter; None when there is none."""
        return self._bytes(f"splitter/{name}")

    def set_splitter(self, name: str, value: QByteArray) -> None:
        self._store.setValue(f"splitter/{name}", value)

    def setup_hidden(self) -> bool:
        """Is the setup panel folded away?"""
        return str(self._store.value("window/setup_hidden", "false")).lower() == "true"

    def set_setup_hidden(self, hidden: bool) -> None:
        self._store.setValue("window/setup_hidden", hidden)

    def last_folder(self) -> str:
        """The folder of the last file dialog, or ""."""
        return str(self._store.value("files/folder", ""))

    def set_last_folder(self, folder: str) -> None:
        self._store.setValue("files/folder", folder)

    def sync(self) -> None:
        """Write now (Qt writes by itself a little later)."""
        self._store.sync()

    # -- reading --------------------------------------------------------------------------

    def _json(self, key: str) -> Any:
        try:
            return json.loads(str(self._store.value(key, "")))
        except ValueError:
            return None

    def _number(self, key: str, otherwise: float) -> float:
        try:
            value = float(str(self._store.value(key, otherwise)))
        except ValueError:
            return otherwise
        return value if 0 <= value < 1e9 else otherwise

    def _bytes(self, key: str) -> QByteArray | None:
        value = self._store.value(key)
        return value if isinstance(value, QByteArray) and not value.isEmpty() else None
