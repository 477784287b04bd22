"""Folders in Hugging Face layout, and a config.json alone, checked without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from profiler.errors import ModelError
from profiler.shapes import ModelShape, refine_from_safetensors, scan_safetensors, shape_from_config
from profiler.worker.sources.architectures import check_architecture
from profiler.worker.sources.pickled import check_pickled
from profiler.worker.sources.source import RANDOM_NOTE, Kind, ModelSource

MAX_CONFIG_BYTES = 10_000_000

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "tokenizer_config.json",
    "tekken.json",
)


def read_config_json(path: Path) -> dict[str, Any]:
    """A config.json as a dict. ModelError when it cannot be read or is no JSON object."""
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise ModelError(f"{path} is far too large for a config.json; check the path.")
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{path} cannot be read; check its permissions.", str(error)) from None
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f"{path} is not valid JSON ({_first_line(error)}); get a fresh copy of the file.", str(error)
        ) from None
    if not isinstance(value, dict):
        raise ModelError(f"{path} is not a JSON object; get a fresh copy of the file.")
    return value


def config_source(name: str, path: Path, trust_remote_code: bool) -> ModelSource:
    """A config.json alone: its architecture with random weights."""
    config = read_config_json(path)
    config.pop("decodescope", None)
    own_code = check_architecture(config, str(path), trust_remote_code)
    shape = shape_from_config(config)
    notes = (RANDOM_NOTE,) if shape.exact else (RANDOM_NOTE, _estimate_note(shape))
    return ModelSource(
        name=name,
        kind="config",
        label=f"{path.parent.name or path.stem} (random weights)",
        path=path,
        config=config,
        shape=shape,
        random_weights=True,
        needs_remote_code=own_code,
        notes=notes,
    )


def folder_source(
    name: str, folder: Path, trust_remote_code: bool, kind: Kind = "folder", label: str | None = None
) -> ModelSource:
    """A folder with config.json and weights. ModelError says what is missing or damaged."""
    config_path = folder / "config.json"
    if not config_path.is_file():
        raise ModelError(_why_no_config(folder))
    config = read_config_json(config_path)
    own_code = check_architecture(config, str(folder), trust_remote_code)
    shape = shape_from_config(config)
    notes: list[str] = []
    checkpoint = scan_safetensors(folder)
    if checkpoint is not None:
        stored = checkpoint.stored_bytes
        shape = refine_from_safetensors(shape, checkpoint)
    else:
        stored = sum(check_pickled(file) for file in _pickled_files(folder))
        notes.append("Pickled weights, loaded with torch's safe unpickler only.")
    if shape.packed_bytes is not None:
        notes.append("Quantised weights: sizes are from the files.")
    elif not shape.exact:
        notes.append(_estimate_note(shape))
    return ModelSource(
        name=name,
        kind=kind,
        label=label or folder.resolve().name,
        path=folder,
        config=config,
        shape=shape,
        stored_bytes=stored,
        needs_remote_code=own_code,
        has_tokenizer=any((folder / file).is_file() for file in TOKENIZER_FILES),
        notes=tuple(notes),
    )


def _why_no_config(folder: Path) -> str:
    try:
        files = sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return f"{folder} cannot be read; check its permissions."
    if not files:
        return f"{folder} is empty; give a folder that holds a model (config.json and weights)."
    ggufs = [file for file in files if file.lower().endswith(".gguf")]
    if ggufs:
        return f"{folder} holds a GGUF file, not a Hugging Face model; give {folder / ggufs[0]} itself."
    if "adapter_config.json" in files:
        return f"{folder} holds an adapter, not a whole model; merge it into its base model first."
    return f"{folder} has no config.json; give a folder in Hugging Face layout (config.json and weights)."


def _pickled_files(folder: Path) -> list[Path]:
    index_path = folder / "pytorch_model.bin.index.json"
    if index_path.is_file():
        index = read_config_json(index_path)
        table = index.get("weight_map")
        names = sorted({str(file) for file in table.values()}) if isinstance(table, dict) else []
        missing = [file for file in names if not (folder / file).is_file()]
        if missing or not names:
            raise ModelError(
                f"{folder} lacks {len(missing)} of its {len(names)} weight files; "
                f"download or copy the model again."
            )
        return [folder / file for file in names]
    single = folder / "pytorch_model.bin"
    if single.is_file():
        return [single]
    raise ModelError(
        f"{folder} has no weights (*.safetensors); to try its architecture with random weights "
        f"give {folder / 'config.json'}."
    )


def _estimate_note(shape: ModelShape) -> str:
    return (
        f"Sizes are estimates: the architecture {shape.family!r} is not one that Decodescope counts exactly."
    )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__
