"""Devices and dtypes by the names that people use."""

from __future__ import annotations

from typing import Any

from profiler.errors import UsageError
from profiler.shapes import DTYPE_BYTES


def torch_dtype(name: str) -> Any:
    """The torch.dtype of fp32, bf16 or fp16."""
    import torch

    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[name]


def dtype_name(dtype: Any) -> str:
    """fp32, bf16 or fp16 where it is one of these, else torch's own name without `torch.`."""
    names = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
    text = str(dtype).removeprefix("torch.")
    return names.get(text, text)


def resolve_device(name: str) -> Any:
    """The torch.device of auto, cpu, mps, cuda or cuda:N. UsageError when it is not there."""
    import torch

    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if name == "auto":
        return torch.device("cuda:0" if cuda else "mps" if mps else "cpu")
    kind, _, index = name.partition(":")
    if kind not in ("cpu", "mps", "cuda") or (index and not index.isdecimal()):
        raise UsageError(
            f"device: {name!r} is not known; choose auto, cpu, mps, cuda or cuda:N.", field="device"
        )
    if kind == "cuda":
        if not cuda:
            why = "this torch is built without CUDA" if torch.version.cuda is None else "torch finds no GPU"
            raise UsageError(
                f"The device {name} is not available ({why}); choose the device cpu or auto.", field="device"
            )
        count = torch.cuda.device_count()
        if int(index or 0) >= count:
            raise UsageError(
                f"There is no {name}: this machine has {count} GPU(s), counted from 0.", field="device"
            )
        return torch.device(f"cuda:{int(index or 0)}")
    if kind == "mps":
        if not mps:
            raise UsageError(
                "The device mps is not available here; choose the device cpu or auto.", field="device"
            )
        return torch.device("mps")
    return torch.device("cpu")


def check_dtype(name: str) -> None:
    """UsageError for a dtype that cannot be chosen."""
    if name != "auto" and name not in DTYPE_BYTES:
        raise UsageError(f"dtype: {name!r} is not known; choose auto, fp32, bf16 or fp16.", field="dtype")
