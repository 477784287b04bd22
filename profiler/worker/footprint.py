"""What a loaded model really occupies and what a decode step must read of it.

MEASUREMENT section 6. Everything is counted in memory, not from names: parameters and buffers
unique by storage, tensor subclasses (torchao) by their parts, bitsandbytes' scales with their
weights. Touches no weight's data. Thread: the one that owns the model, outside a step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from profiler.errors import ModelError
from profiler.shapes import ModelShape, kv_bytes_per_token, prompt_work, shape_from_config
from profiler.worker.sources.device import dtype_name

_EXPERT = re.compile(r"(^|\.)experts\.")
_QUANT_STATE_PARTS = ("absmax", "code", "offset", "state2", "quant_map")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of one storage: bytes [start, end) of `storage` on `device`."""

    device: str
    storage: int
    start: int
    end: int
    dtype: str


class _UnknownPackingError(Exception):
    """A tensor that tells neither its storage nor its parts."""


def footprint(model: Any, stored_bytes: int | None = None) -> dict[str, Any]:
    """Facts of a loaded transformers model, JSON-ready; sizes in bytes, of memory.

    `parameters` (elements of unique parameters), `weight_bytes`, `weight_source` ("memory", or
    "from file size" for a packing that cannot be looked into: `stored_bytes` then),
    `buffer_bytes` (part of weight_bytes), `embedding_bytes`, `tied`, `expert_bytes`,
    `experts`, `experts_active`, `dtypes` {name: bytes}, `devices` {name: bytes},
    `weight_bytes_per_step` (at batch 1) and `kv_bytes_per_token` (from the config, in the
    model's dtype), each None where `reason` or `kv_reason` says why.
    """
    shape, kv_reason = _shape_of(model)
    facts: dict[str, Any] = {
        "parameters": _parameter_count(model),
        "weight_source": "memory",
        "kv_bytes_per_token": None if shape is None else kv_bytes_per_token(shape, _compute_dtype(model)),
        "kv_reason": kv_reason,
        "experts": shape.experts.total if shape and shape.experts else None,
        "experts_active": shape.experts.active if shape and shape.experts else None,
        "reason": None,
    }
    table, head = _tables(model)
    try:
        parameters = list(_pieces(_named_parameters(model)))
        pieces = parameters + list(_pieces(_named_buffers(model)))
        experts = _size(_pieces(pair for pair in _named_parameters(model) if _EXPERT.search(pair[0])))
        table_pieces = list(_parts("", table)) if table is not None else []
        tied = head is not None and set(_parts("", head)) == set(table_pieces)
    except _UnknownPackingError:
        return {**facts, **_from_file_size(stored_bytes)}
    total, table_bytes = _size(pieces), _size(table_pieces)
    facts |= {
        "weight_bytes": total,
        "buffer_bytes": total - _size(parameters),
        "embedding_bytes": table_bytes,
        "tied": tied,
        "expert_bytes": experts,
        "dtypes": _by(pieces, "dtype"),
        "devices": _by(pieces, "device"),
    }
    per_step, reason = _per_step(facts, shape, 0 if table is None else int(table.shape[0]), head is not None)
    return {**facts, "weight_bytes_per_step": per_step, "reason": reason}


def cache_footprint(cache: Any) -> dict[str, Any]:
    """What a live cache of transformers holds, from its tensors; bytes.

    `bytes` (all layers and sequences), `bytes_per_token` (of one sequence: the sum over layers
    of c_l), `tokens` (the longest layer's positions), `state_bytes` (constant state),
    `static` (allocated whole: read over its whole length at every step).
    """
    total, per_token, tokens, state, static = 0, 0.0, 0, 0, False
    for layer in getattr(cache, "layers", ()):
        for name in ("keys", "values"):
            tensor = getattr(layer, name, None)
            if tensor is None or tensor.dim() != 4 or tensor.numel() == 0:
                continue
            size = tensor.numel() * tensor.element_size()
            total += size
            per_token += size / (tensor.shape[0] * tensor.shape[2])
            tokens = max(tokens, int(tensor.shape[2]))
        for name in ("conv_states", "recurrent_states", "ssm_states"):
            for tensor in _tensors_in(getattr(layer, name, None)):
                state += tensor.numel() * tensor.element_size()
        static = static or "Static" in type(layer).__name__
    return {
        "bytes": total + state,
        "bytes_per_token": round(per_token),
        "tokens": tokens,
        "state_bytes": state,
        "static": static,
    }


def kv_facts(shape: Any, model: Any) -> dict[str, Any]:
    """The bytes that the cache adds to a step, by window, in the dtype that the model computes in;
    and the arithmetic of a prompt (`shapes.PromptWork`)."""
    element_bytes = model.dtype.itemsize
    by_window: dict[int | None, int] = {}
    state_elements = 0
    for layer in shape.layers:
        by_window[layer.window] = by_window.get(layer.window, 0) + layer.kv_elements_per_token
        state_elements += layer.state_elements
    return {
        "kv_layers": [
            {"bytes_per_token": elements * element_bytes, "window": window}
            for window, elements in by_window.items()
            if elements
        ],
        "state_bytes": state_elements * element_bytes,
        "static_cache_len": None,
        # An estimate of the parameters is no ground for a floor.
        "prompt_work": prompt_work(shape).to_fact() if shape.exact else None,
    }


def _tensors_in(value: Any) -> Iterator[Any]:
    if hasattr(value, "element_size"):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _tensors_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _tensors_in(inner)


# -- tensors to stretches of storage ----------------------------------------------------------


def _named_parameters(model: Any) -> Iterable[tuple[str, Any]]:
    return list(model.named_parameters())


def _named_buffers(model: Any) -> Iterable[tuple[str, Any]]:
    return list(model.named_buffers())


def _pieces(pairs: Iterable[tuple[str, Any]]) -> Iterator[_Piece]:
    for name, tensor in pairs:
        yield from _parts(name, tensor)


def _parts(name: str, tensor: Any) -> Iterator[_Piece]:
    """The stretches of one tensor: itself, or its inner tensors, and its quantisation state."""
    state = getattr(tensor, "quant_state", None)
    if state is not None:
        yield from _state_parts(name, state)
    # torch keeps a subclass's tensor in `data` of a Parameter.
    inner = tensor if hasattr(tensor, "__tensor_flatten__") else getattr(tensor, "data", tensor)
    if hasattr(inner, "__tensor_flatten__"):
        names, _ = inner.__tensor_flatten__()
        for part in names:
            yield from _parts(f"{name}.{part}", getattr(inner, part))
        return
    try:
        storage = inner.untyped_storage().data_ptr()
        start = inner.storage_offset() * inner.element_size()
        end = start + _extent(inner) * inner.element_size()
    except (RuntimeError, NotImplementedError, AttributeError) as error:
        raise _UnknownPackingError(name) from error
    device = str(inner.device)
    # A meta tensor has no address: its own identity stands in.
    yield _Piece(device, storage if device != "meta" else id(tensor), start, end, dtype_name(inner.dtype))


def _state_parts(name: str, state: Any) -> Iterator[_Piece]:
    for part in _QUANT_STATE_PARTS:
        value = getattr(state, part, None)
        if hasattr(value, "untyped_storage"):
            yield from _parts(f"{name}.{part}", value)
        elif part == "state2" and value is not None:
            yield from _state_parts(f"{name}.{part}", value)


def _extent(tensor: Any) -> int:
    """Elements from the first to the last that a (perhaps strided) tensor touches."""
    if tensor.numel() == 0:
        return 0
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return 1 + sum((int(size) - 1) * int(stride) for size, stride in steps)


def _merged(pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """Stretches of the same storage that overlap become one."""
    ordered = sorted(set(pieces), key=lambda piece: (piece.device, piece.storage, piece.start, piece.end))
    last: _Piece | None = None
    for piece in ordered:
        if last is not None and (piece.device, piece.storage) == (last.device, last.storage):
            if piece.end <= last.end:
                continue
            if piece.start < last.end:
                piece = _Piece(piece.device, piece.storage, last.end, piece.end, piece.dtype)
        last = piece
        yield piece


def _size(pieces: Iterable[_Piece]) -> int:
    return sum(piece.end - piece.start for piece in _merged(pieces))


def _by(pieces: Iterable[_Piece], field: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for piece in _merged(pieces):
        key = str(getattr(piece, field))
        sizes[key] = sizes.get(key, 0) + piece.end - piece.start
    return sizes


# -- the model's facts ------------------------------------------------------------------------


def _parameter_count(model: Any) -> int:
    return sum(int(parameter.numel()) for parameter in model.parameters())


def _tables(model: Any) -> tuple[Any, Any]:
    """Weights of the input and output embeddings; None where the model has none."""
    found = []
    for getter in ("get_input_embeddings", "get_output_embeddings"):
        try:
            module = getattr(model, getter)()
        except (AttributeError, NotImplementedError):
            module = None
        found.append(getattr(module, "weight", None))
    return found[0], found[1]


def _shape_of(model: Any) -> tuple[ModelShape | None, str | None]:
    config = getattr(model, "config", None)
    if config is None:
        return None, "The model has no config."
    try:
        return shape_from_config(config.get_text_config().to_dict()), None
    except ModelError as error:
        return None, error.message


def _compute_dtype(model: Any) -> str:
    """The dtype that the cache will have: the model's own, fp32 where that is unusual."""
    name = dtype_name(getattr(model, "dtype", "float32"))
    return name if name in ("fp32", "bf16", "fp16") else "fp32"


def _from_file_size(stored_bytes: int | None) -> dict[str, Any]:
    why = "The weights are packed in a way that cannot be looked into"
    return {
        "weight_bytes": stored_bytes,
        "weight_source": "from file size" if stored_bytes is not None else None,
        "buffer_bytes": None,
        "embedding_bytes": None,
        "tied": None,
        "expert_bytes": None,
        "dtypes": {},
        "devices": {},
        "weight_bytes_per_step": stored_bytes,
        "reason": None if stored_bytes is not None else f"{why}, and the file's size is unknown.",
    }


def _per_step(
    facts: dict[str, Any], shape: ModelShape | None, rows: int, has_head: bool
) -> tuple[int | None, str | None]:
    """W of section 6 at batch 1, or None and the reason."""
    devices = facts["devices"]
    if len(devices) > 1 or "meta" in devices:
        places = ", ".join(sorted("disk" if name == "meta" else name for name in devices))
        return None, f"The weights lie in several places ({places}), so no one memory bandwidth applies."
    total = facts["weight_bytes"]
    if has_head and not facts["tied"] and rows:
        total -= facts["embedding_bytes"] - facts["embedding_bytes"] // rows
    if facts["expert_bytes"]:
        if shape is None or shape.experts is None:
            return None, "The model has experts, but its config does not say how many are active."
        experts = shape.experts
        total -= facts["expert_bytes"] * (experts.total - experts.active) // experts.total
    return int(total), None
