"""What a safetensors checkpoint really holds, read from its JSON headers without torch.

Format: 8 bytes little-endian header length, a JSON header {name: {dtype, shape,
data_offsets}}, then the data. A file shorter than its header says is truncated.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from profiler.errors import ModelError
from profiler.shapes.model import ModelShape

MAX_HEADER_BYTES = 100_000_000
"""The format's own limit."""

_PLAIN = {"F32": "fp32", "BF16": "bf16", "F16": "fp16"}
_TABLES = (
    "embed_tokens.weight",
    "word_embeddings.weight",
    "wte.weight",
    "embed_in.weight",
    "embed_out.weight",
    "lm_head.weight",
)
_FLOAT_BYTES = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Headers of all shards together. `tensors`: name -> (dtype, elements, bytes)."""

    files: tuple[Path, ...]
    tensors: dict[str, tuple[str, int, int]]

    @property
    def stored_bytes(self) -> int:
        """Bytes of all tensors as they lie in the files."""
        return sum(size for _, _, size in self.tensors.values())

    @property
    def n_params(self) -> int:
        """Elements of all tensors."""
        return sum(elements for _, elements, _ in self.tensors.values())

    @property
    def dtype(self) -> str | None:
        """The dtype of most bytes as fp32, bf16 or fp16; None when it is another (packed)."""
        sizes: Counter[str] = Counter()
        for dtype, _, size in self.tensors.values():
            sizes[dtype] += size
        return _PLAIN.get(sizes.most_common(1)[0][0]) if sizes else None


def read_safetensors_header(path: Path) -> dict[str, tuple[str, int, int]]:
    """Tensors of one file: name -> (dtype, elements, bytes). ModelError when damaged or cut short."""
    again = "download or copy it again"
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
            if not 2 <= length <= min(MAX_HEADER_BYTES, max(size - 8, 0)):
                raise ModelError(f"{path} is not a complete safetensors file; {again}.")
            raw = file.read(length)
    except OSError as error:
        raise ModelError(f"{path} cannot be read; check its permissions.", str(error)) from None
    try:
        header: Any = json.loads(raw)
        tensors = {
            name: (
                str(entry["dtype"]),
                prod(int(n) for n in entry["shape"]),
                int(entry["data_offsets"][1]) - int(entry["data_offsets"][0]),
            )
            for name, entry in header.items()
            if name != "__metadata__"
        }
        end = max((int(e["data_offsets"][1]) for n, e in header.items() if n != "__metadata__"), default=0)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise ModelError(f"{path} has a damaged safetensors header; {again}.", repr(error)) from None
    if any(elements < 0 or stored < 0 for _, elements, stored in tensors.values()):
        raise ModelError(f"{path} has a damaged safetensors header; {again}.")
    needed = 8 + length + end
    if size < needed:
        raise ModelError(f"{path} is cut short: it has {size:,} of {needed:,} bytes; {again}.")
    return tensors


def scan_safetensors(folder: Path) -> Checkpoint | None:
    """The checkpoint of a folder; None when it holds no safetensors files.

    ModelError for missing shards, a broken index, and damaged or truncated files.
    """
    index_path = folder / "model.safetensors.index.json"
    single = folder / "model.safetensors"
    if single.is_file():
        files = [single]
    elif index_path.is_file():
        files = _shards(folder, index_path)
    else:
        files = sorted(folder.glob("*.safetensors"))
        if not files:
            return None
    tensors: dict[str, tuple[str, int, int]] = {}
    for file in files:
        tensors.update(read_safetensors_header(file))
    return Checkpoint(tuple(files), tensors)


def _shards(folder: Path, index_path: Path) -> list[Path]:
    try:
        index = json.loads(index_path.read_text(encoding="utf-8"))
        names = sorted({str(name) for name in index["weight_map"].values()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{index_path} is not a valid index of shards; download or copy the model again.", repr(error)
        ) from None
    missing = [name for name in names if not (folder / name).is_file()]
    if missing or not names:
        shown = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise ModelError(
            f"{folder} lacks {len(missing)} of its {len(names)} weight files ({shown}); "
            f"download or copy the model again."
        )
    return [folder / name for name in names]


def refine_from_safetensors(shape: ModelShape, checkpoint: Checkpoint) -> ModelShape:
    """The shape with the exact count, tying and dtype of the checkpoint.

    Packed (quantised) checkpoints keep the config's count of parameters and get
    `packed_bytes`, from the files.
    """
    dtype = checkpoint.dtype
    if dtype is None or any(name.endswith((".qweight", ".quant_state")) for name in checkpoint.tensors):
        return replace(shape, packed_bytes=checkpoint.stored_bytes)
    floats = sum(n for kind, n, _ in checkpoint.tensors.values() if kind in _FLOAT_BYTES)
    copies = _table_copies(shape, checkpoint)
    if shape.tied and copies == 2:  # both names are stored, one tensor lies in memory
        floats -= shape.embedding_params
    difference = floats - shape.n_params
    if difference == 0:
        return replace(shape, stored_dtype=dtype, exact=True)
    active = shape.n_params_active + difference
    return replace(shape, n_params=floats, n_params_active=max(active, 1), stored_dtype=dtype, exact=True)


def _table_copies(shape: ModelShape, checkpoint: Checkpoint) -> int:
    """How many tensors of the size of the embedding table are named as input or output table."""
    return sum(
        1
        for name, (_, elements, _) in checkpoint.tensors.items()
        if name.endswith(_TABLES) and elements == shape.embedding_params
    )
