"""From a model source to a model on its device. The only door to torch in this package.

Runs in the worker, on its main thread. Takes seconds to minutes; `cancelled` is asked between
stages and between tensors.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from profiler.errors import DecodescopeError, ModelError, UsageError
from profiler.shapes import resolve_dtype
from profiler.worker.sources.device import check_dtype, dtype_name, resolve_device, torch_dtype
from profiler.worker.sources.environment import prepare_environment
from profiler.worker.sources.explain import about_attention, explain
from profiler.worker.sources.source import LoadCancelled, ModelSource, Progress

_SHOWN_KEYS = 3
_GGUF_KINDS = ("gguf", "demo")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model ready to generate, in eval mode.

    `device` as torch names it ("cuda:0"), `dtype_name` of most weights (fp32, bf16, fp16, or
    torch's name), `attn` the attention implementation in force, `notes` sentences for beside
    the numbers.
    """

    model: Any
    tokenizer: Any
    device: str
    dtype_name: str
    attn: str
    random_weights: bool
    notes: tuple[str, ...]


def load(
    source: ModelSource,
    *,
    device: str = "auto",
    dtype: str = "auto",
    attn: str = "auto",
    trust_remote_code: bool = False,
    allow_download: bool = False,
    progress: Progress,
    cancelled: Callable[[], bool],
) -> LoadedModel:
    """Build or load the model. ModelError says in one sentence what went wrong; LoadCancelled.

    Stages of `progress`: import, build (random) or weights (stored; before it unpack for GGUF,
    which cannot be cancelled while it lasts), tokenizer. Nothing is fetched here: `resolve`
    downloads, when allowed.
    """
    prepare_environment(allow_download)
    check_dtype(dtype)
    progress("import", 0, None, "")
    import torch  # noqa: F401 - so that its import time is told apart
    import transformers

    transformers.utils.logging.set_verbosity_error()
    target = resolve_device(device)
    name = resolve_dtype(source.shape, dtype)
    _stop_if(cancelled)
    notes = source.notes
    try:
        with _quiet(), _reporting(progress, cancelled):
            if source.random_weights:
                model = _random(source, target, name, attn, trust_remote_code, progress, cancelled)
            else:
                keep = dtype == "auto" and source.shape.packed_bytes is not None
                if source.kind in _GGUF_KINDS:
                    # Takes half a minute for 100 MB, and the library tells nothing meanwhile.
                    progress("unpack", 0, None, "")
                model, info = _stored(source, target, None if keep else name, attn, trust_remote_code)
                notes += _check_complete(source, info)
            _stop_if(cancelled)
            progress("tokenizer", 0, None, "")
            tokenizer, token_notes = _tokenizer(source, model, trust_remote_code)
            notes += token_notes
    except (DecodescopeError, LoadCancelled):
        raise
    except Exception as error:
        text, detail = explain(source, target, attn, error), traceback.format_exc()
        if about_attention(attn, error):
            raise UsageError(text, detail, field="attn") from error
        raise ModelError(text, detail) from error
    in_force = getattr(model.config, "_attn_implementation", None)
    return LoadedModel(
        model=model,
        tokenizer=tokenizer,
        device=str(target),
        dtype_name=_main_dtype(model),
        attn=in_force or "eager",
        random_weights=source.random_weights,
        notes=notes,
    )


def _stop_if(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise LoadCancelled("The load was cancelled.")


@contextmanager
def _quiet() -> Iterator[None]:
    """The libraries' warnings are for programmers; what matters here becomes a note or an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _reporting(progress: Progress, cancelled: Callable[[], bool]) -> Iterator[None]:
    """Turn transformers' progress bars into `progress`, and their steps into chances to stop."""
    from transformers.utils import logging

    def hook(factory: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        items = args[0] if args else kwargs.get("iterable")
        if items is None:
            return factory(*args, **kwargs)
        return _reported(items, progress, cancelled)

    previous = logging.set_tqdm_hook(hook)
    try:
        yield
    finally:
        logging.set_tqdm_hook(previous)


def _reported(items: Any, progress: Progress, cancelled: Callable[[], bool]) -> Iterator[Any]:
    total = len(items) if hasattr(items, "__len__") else None
    for done, item in enumerate(items):
        _stop_if(cancelled)
        progress("weights", done, total, "tensors")
        yield item
    progress("weights", total or 0, total, "tensors")


def _random(
    source: ModelSource,
    target: Any,
    dtype: str,
    attn: str,
    trust_remote_code: bool,
    progress: Progress,
    cancelled: Callable[[], bool],
) -> Any:
    from profiler.worker.sources.random_weights import build_random

    return build_random(
        _random_config(source, trust_remote_code),
        device=target,
        dtype=torch_dtype(dtype),
        attn=None if attn == "auto" else attn,
        trust_remote_code=trust_remote_code,
        progress=progress,
        cancelled=cancelled,
    )


def _random_config(source: ModelSource, trust_remote_code: bool) -> Any:
    from transformers import AutoConfig

    if source.path is not None:
        folder = source.path.parent if source.path.is_file() else source.path
        if source.needs_remote_code:
            return AutoConfig.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=trust_remote_code
            )
    # quantization_config tells how stored weights are packed; here there are none.
    left_out = ("model_type", "quantization_config", "auto_map", "transformers_version")
    values = {key: value for key, value in source.config.items() if key not in left_out}
    config = AutoConfig.for_model(source.config["model_type"], **values)
    text = config.get_text_config()
    # A multimodal config: with random weights only its text model is of use.
    return text if text is not config else config


def _stored(source: ModelSource, target: Any, dtype: str | None, attn: str, trust_remote_code: bool) -> Any:
    from transformers import AutoModelForCausalLM

    assert source.path is not None
    options: dict[str, Any] = {
        "local_files_only": True,
        "trust_remote_code": trust_remote_code,
        "output_loading_info": True,
        "weights_only": True,
        "dtype": "auto" if dtype is None else torch_dtype(dtype),
    }
    if attn != "auto":
        options["attn_implementation"] = attn
    if target.type != "cpu":
        options["device_map"] = {"": str(target)}
    folder = source.path
    if source.kind in _GGUF_KINDS:
        options["gguf_file"] = source.path.name
        folder = source.path.parent
    model, info = AutoModelForCausalLM.from_pretrained(str(folder), **options)
    return model.eval(), info


def _check_complete(source: ModelSource, info: dict[str, Any]) -> tuple[str, ...]:
    """Weights that are missing or do not match would be random, silently: an error instead.

    Weights that the architecture has no place for are left out, with a note.
    """
    wrong = sorted(str(key) for key in info.get("missing_keys", ()))
    wrong += sorted(str(key[0] if isinstance(key, tuple) else key) for key in info.get("mismatched_keys", ()))
    if wrong:
        shown = ", ".join(wrong[:_SHOWN_KEYS]) + (", ..." if len(wrong) > _SHOWN_KEYS else "")
        raise ModelError(
            f"The weights of {source.path} do not match its config.json: {len(wrong)} tensors are missing "
            f"or of another shape ({shown}); download or copy the model again.",
            detail="\n".join(wrong),
        )
    unused = len(info.get("unexpected_keys", ()))
    if unused:
        return (f"{unused} tensors of the model's files are not used by its architecture.",)
    return ()


def _tokenizer(source: ModelSource, model: Any, trust_remote_code: bool) -> tuple[Any, tuple[str, ...]]:
    from profiler.worker.sources.tokenizer import byte_tokenizer

    vocab_size = int(model.get_input_embeddings().weight.shape[0])
    if not source.has_tokenizer:
        note = () if source.random_weights else ("The model has no tokenizer: one token a byte is used.",)
        return byte_tokenizer(vocab_size, source.shape.max_context), note
    from transformers import AutoTokenizer

    assert source.path is not None
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    folder = source.path
    if source.kind in _GGUF_KINDS:
        options["gguf_file"] = source.path.name
        folder = source.path.parent
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), **options)
    except Exception as error:
        raise ModelError(
            f"The tokenizer of {source.path} cannot be read ({type(error).__name__}); "
            f"download or copy its tokenizer files again.",
            detail=traceback.format_exc(),
        ) from error
    if len(tokenizer) > vocab_size:
        text = f"The tokenizer knows {len(tokenizer):,} tokens, the model {vocab_size:,}."
        return tokenizer, (text,)
    return tokenizer, ()


def _main_dtype(model: Any) -> str:
    sizes: dict[str, int] = {}
    for parameter in model.parameters():
        name = dtype_name(parameter.dtype)
        sizes[name] = sizes.get(name, 0) + parameter.numel()
    return max(sizes, key=lambda name: sizes[name], default="fp32")
