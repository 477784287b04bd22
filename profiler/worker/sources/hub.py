"""Models by hub id: from the local cache, or downloaded when the user asked for it.

The cache's layout (models--ORG--NAME/refs/main, snapshots/COMMIT) is read directly, so that
looking costs no import and can make no call.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from profiler.errors import ModelError
from profiler.worker.sources.environment import offline_for_good, prepare_environment
from profiler.worker.sources.folder import folder_source
from profiler.worker.sources.source import ModelSource, Progress

HUB_ID = re.compile(r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")
_FILES = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja", "*.tiktoken")

Download = Callable[..., str]
"""huggingface_hub.snapshot_download, or a fake of it."""


def cache_dir() -> Path:
    """Where the hub library keeps its cache."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser()
    home = os.environ.get("HF_HOME")
    if home:
        return Path(home).expanduser() / "hub"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "huggingface" / "hub"


def cached_snapshot(model_id: str) -> Path | None:
    """The folder of the cached snapshot, the one that `main` points at first; None: not cached."""
    root = cache_dir() / ("models--" + model_id.replace("/", "--"))
    snapshots = root / "snapshots"
    try:
        commit = (root / "refs" / "main").read_text(encoding="utf-8").strip()
        if commit and (snapshots / commit / "config.json").is_file():
            return snapshots / commit
        found = [path for path in snapshots.iterdir() if (path / "config.json").is_file()]
    except OSError:
        return None
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def cached_ids() -> list[str]:
    """Ids of the models in the cache that have at least a config, by name."""
    try:
        names = sorted(path.name for path in cache_dir().glob("models--*--*"))
    except OSError:
        return []
    ids = [name.removeprefix("models--").replace("--", "/", 1) for name in names]
    return [model_id for model_id in ids if cached_snapshot(model_id) is not None]


def hub_source(
    name: str,
    *,
    trust_remote_code: bool,
    allow_download: bool,
    progress: Progress | None,
    download: Download | None = None,
) -> ModelSource:
    """The source of a hub id. ModelError when it is not cached and no download was asked for."""
    folder = cached_snapshot(name)
    if folder is not None:
        try:
            return folder_source(name, folder, trust_remote_code, kind="hub", label=name)
        except ModelError:
            # Perhaps only a part was fetched; a download completes it.
            if not allow_download:
                raise
    elif not allow_download:
        raise ModelError(
            f"{name} is neither a path nor in the local Hugging Face cache; allow the download "
            f"(--allow-download), or fetch it first with: hf download {name}"
        )
    folder = _fetch(name, trust_remote_code, progress, download)
    return folder_source(name, folder, trust_remote_code, kind="hub", label=name)


def _fetch(name: str, trust_remote_code: bool, progress: Progress | None, download: Download | None) -> Path:
    prepare_environment(allow_download=True)
    if download is None:
        if offline_for_good():
            raise ModelError(
                f"{name} cannot be downloaded, since this process works offline (HF_HUB_OFFLINE); "
                f"fetch it first with: hf download {name}"
            )
        from huggingface_hub import snapshot_download

        download = snapshot_download
    patterns = [*_FILES, *(["*.py"] if trust_remote_code else [])]
    if progress is not None:
        progress("download", 0, None, "B")
    try:
        bar = None if progress is None else _bar_class(progress)
        return Path(download(name, allow_patterns=patterns, tqdm_class=bar))
    except Exception as error:
        raise ModelError(_why_not_fetched(name, error), detail=repr(error)) from error


def _why_not_fetched(name: str, error: Exception) -> str:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "GatedRepoError" in kinds:
        return f"{name} is gated; accept its terms on the hub and log in (hf auth login), then try again."
    if "RepositoryNotFoundError" in kinds:
        return f"The hub has no model {name} that you may see; check the name, or log in (hf auth login)."
    if isinstance(error, OSError) and getattr(error, "errno", None) == 28:
        return f"{name} does not fit on the disk; free some space and try again."
    return f"{name} could not be downloaded ({type(error).__name__}); check the connection and try again."


def _bar_class(progress: Progress) -> type[Any]:
    """A bar that draws nothing and reports bytes to `progress`, from the download's threads."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    class ReportingBar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            kwargs["disable"] = False
            kwargs["file"] = _Nowhere()
            super().__init__(*args, **kwargs)

        def update(self, n: float | None = 1) -> Any:
            shown = super().update(n)
            # Of the library's two bars of bytes, the one of what is written to the disk.
            if self.unit == "B" and not str(self.desc or "").startswith("Downloading bytes"):
                progress("download", float(self.n), None if not self.total else float(self.total), "B")
            return shown

    return ReportingBar


class _Nowhere:
    """A file that takes everything and keeps nothing."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        return None
