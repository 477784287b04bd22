"""Named configurations: plain JSON files in a folder, the same that `dscope record --config` takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from profiler.config import RunConfig, make_config, read_config
from profiler.errors import UsageError

SUFFIX = ".json"
NAME_CHARS = 80
FORBIDDEN = '<>:"/\\|?*'
"""Signs that some system does not take in a file's name."""


def tr(text: str) -> str:
    """Translate, in the context of the configurations."""
    return QCoreApplication.translate("Configurations", text)


def to_trash(path: Path) -> None:
    """Move a file to the system's trash. UsageError when there is none."""
    from send2trash import send2trash

    try:
        send2trash(str(path))
    except OSError as error:
        sentence = tr("{0} could not be moved to the trash; delete it in its folder.")
        raise UsageError(sentence.format(path.name), str(error)) from None


def config_text(config: RunConfig) -> str:
    """A configuration as JSON, without the settings that are absent."""
    values = config.to_dict(exclude_none=True)
    return json.dumps(values, indent=1, ensure_ascii=False) + "\n"


def load_config(path: Path) -> RunConfig:
    """The configuration in a JSON file. UsageError with one sentence."""
    return make_config(read_config(path))


class ConfigurationStore:
    """The folder of named configurations. Every method may raise UsageError with one sentence.

    `folder` is asked for at each use, so that nothing is created before it is needed.
    """

    def __init__(self, folder: Callable[[], Path], trash: Callable[[Path], None] = to_trash) -> None:
        self._folder = folder
        self._trash = trash

    def names(self) -> list[str]:
        """The names there are, in order; [] when the folder cannot be read."""
        try:
            files = [file for file in self._folder().iterdir() if file.suffix == SUFFIX and file.is_file()]
        except OSError:
            return []
        return sorted((file.stem for file in files), key=str.casefold)

    def exists(self, name: str) -> bool:
        """Is there a configuration of this name?"""
        return self._path(name).exists()

    def save(self, name: str, config: RunConfig) -> None:
        """Write `config` under `name`, over one of that name."""
        write_config(self._path(name), config)

    def load(self, name: str) -> RunConfig:
        """The configuration of this name."""
        return load_config(self._path(name))

    def delete(self, name: str) -> str:
        """Move it to the trash; returns its text, for `restore`."""
        path = self._path(name)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} cannot be read; look at it in its folder.", str(error)) from None
        self._trash(path)
        return text

    def restore(self, name: str, text: str) -> None:
        """Write again what `delete` returned; not over a new one of that name."""
        path = self._path(name)
        if path.exists():
            raise UsageError(f"There is another configuration called {name} now; rename it first.")
        _write(path, text)

    def _path(self, name: str) -> Path:
        reason = name_problem(name)
        if reason is not None:
            raise UsageError(reason)
        try:
            return self._folder() / f"{name.strip()}{SUFFIX}"
        except OSError as error:
            raise UsageError(
                "The folder of configurations cannot be made; check the disk.", str(error)
            ) from None


def name_problem(name: str) -> str | None:
    """Why a name cannot be that of a file on every system; None: it can."""
    name = name.strip()
    if not name:
        return tr("Give the configuration a name.")
    if len(name) > NAME_CHARS:
        return tr("The name is too long; give at most {0} signs.").format(NAME_CHARS)
    if name.startswith(".") or name.endswith(".") or not name.isprintable():
        return tr("The name cannot begin or end with a point, or hold line breaks.")
    if any(sign in FORBIDDEN for sign in name):
        return tr("The name cannot hold {0}; choose another one.").format(" ".join(FORBIDDEN))
    return None


def write_config(path: Path, config: RunConfig) -> None:
    """Write a configuration file. UsageError when it cannot be written."""
    _write(path, config_text(config))


def _write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)  # never half a file under the name
    except (OSError, UnicodeEncodeError) as error:
        raise UsageError(f"{path} cannot be written; check the folder.", str(error)) from None
