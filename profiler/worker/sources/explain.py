"""What the libraries' exceptions mean, in one sentence with the next step."""

from __future__ import annotations

from typing import Any

from profiler.worker.sources.source import ModelSource

_OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory")


def explain(source: ModelSource, device: Any, attn: str, error: Exception) -> str:
    """The sentence for an exception of torch or transformers while loading `source`."""
    text = str(error)
    low = text.lower()
    what = source.label if source.path is None else str(source.path)
    if isinstance(error, MemoryError) or any(part in low for part in _OUT_OF_MEMORY):
        return (
            f"There is not enough memory on {device} to load {what}; choose a smaller dtype, a smaller "
            f"model or another device."
        )
    if about_attention(attn, error):
        return f"{what} cannot use the attention {attn!r} here; choose auto, sdpa or eager."
    if "weights_only" in low or "unpickl" in low or "unsupported global" in low:
        return (
            f"The pickled weights of {what} are refused by torch's safe unpickler; use a version with "
            f"safetensors files."
        )
    if "trust_remote_code" in low or "custom code" in low:
        return (
            f"{what} brings its own Python code, which is not run unless you trust it: read it, then turn "
            f"on trust remote code (--trust-remote-code)."
        )
    if isinstance(error, ImportError):
        return f"Loading {what} needs a package that is missing: {_first_sentence(text)}; install it."
    if "size mismatch" in low or "mismatch" in low:
        return f"The weights of {what} do not match its config.json; download or copy the model again."
    if "unrecognized" in low or "not supported" in low or isinstance(error, (KeyError, NotImplementedError)):
        return (
            f"The installed transformers cannot build {what} ({_first_sentence(text)}); update it or choose "
            f"another model."
        )
    return f"{what} could not be loaded ({type(error).__name__}: {_first_sentence(text)}); see the log."


def about_attention(attn: str, error: Exception) -> bool:
    """Is it the chosen attention that cannot be had, and not the model?"""
    low = str(error).lower()
    return attn != "auto" and ("attn_implementation" in low or "attention" in low or "flash" in low)


def _first_sentence(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else "no details"
    line = line.split(". ")[0].rstrip(".")
    return line if len(line) <= 140 else line[:137] + "..."
