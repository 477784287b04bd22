"""From the name that a person typed to a checked model source. No torch, no network."""

from __future__ import annotations

from pathlib import Path

from profiler.errors import ModelError
from profiler.worker.sources.demo import demo_source
from profiler.worker.sources.folder import config_source, folder_source
from profiler.worker.sources.gguf import gguf_source
from profiler.worker.sources.gguf_file import MAGIC
from profiler.worker.sources.hub import HUB_ID, hub_source
from profiler.worker.sources.presets import PREFIX, preset_names, preset_source
from profiler.worker.sources.source import ModelSource, Progress


def resolve(
    name: str,
    *,
    trust_remote_code: bool = False,
    allow_download: bool = False,
    progress: Progress | None = None,
) -> ModelSource:
    """Find the model that `name` means and check it. Thread: any; reads headers only.

    A path that exists wins over a hub id. ModelError: one sentence that says what is wrong and
    what to do. `progress` is called during a download.
    """
    name = name.strip()
    if name.startswith(PREFIX):
        return preset_source(name)
    path = _existing(name)
    if path is not None:
        if path.is_dir():
            return folder_source(name, path, trust_remote_code)
        return _file_source(name, path, trust_remote_code)
    if name == "demo":
        return demo_source(name)
    if HUB_ID.match(name) and not name.lower().endswith((".gguf", ".json", ".safetensors", ".bin")):
        return hub_source(
            name, trust_remote_code=trust_remote_code, allow_download=allow_download, progress=progress
        )
    raise ModelError(_unknown(name))


def _existing(name: str) -> Path | None:
    """The path, if there is one. A name that no file system takes is no path."""
    if not name:
        return None
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _file_source(name: str, path: Path, trust_remote_code: bool) -> ModelSource:
    suffix = path.suffix.lower()
    if suffix == ".gguf":
        return gguf_source(name, path)
    if suffix == ".json":
        return config_source(name, path, trust_remote_code)
    if suffix in (".safetensors", ".bin", ".pt", ".pth"):
        raise ModelError(
            f"{path} is one file of a model; give its folder {path.parent}, which also has the config.json."
        )
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise ModelError(f"{path} cannot be read; check its permissions.", str(error)) from None
    if start == MAGIC:
        return gguf_source(name, path)
    raise ModelError(f"{path} is not a model; give a folder, a .gguf file or a config.json.")


def _unknown(name: str) -> str:
    if name in preset_names():
        return f"There is no model {name!r}; did you mean preset:{name}?"
    looks_like_path = any(mark in name for mark in ("/", "\\")) or name.startswith((".", "~"))
    if looks_like_path or Path(name).suffix.lower() in (".gguf", ".json"):
        return f"There is nothing at {name}; check the path."
    return (
        f"There is no model {name!r}; give preset:NAME ({', '.join(preset_names())}), demo, a folder, "
        f"a .gguf file, a config.json, or a hub id like org/name."
    )
