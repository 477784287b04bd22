"""Looking into pickled PyTorch weights without unpickling them.

A pickle can run any code. torch's safe unpickler (`weights_only=True`) allows tensors and
plain containers only, and it is the only way that such files are loaded here; this check says
beforehand, and in words, when it would refuse.
"""

from __future__ import annotations

import pickletools
import zipfile
from pathlib import Path

from profiler.errors import ModelError

_SAFE_MODULES = ("torch", "torch._utils", "torch.storage", "torch.nn.parameter", "torch._tensor")
_SAFE = {("collections", "OrderedDict"), ("collections", "Counter"), ("_codecs", "encode")}
_SAFE_NAMES = (
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_rebuild_parameter",
    "_rebuild_from_type_v2",
    "_load_from_bytes",
    "Tensor",
    "Parameter",
    "Size",
    "device",
    "dtype",
    "UntypedStorage",
    "TypedStorage",
    "float32",
    "float16",
    "bfloat16",
)

_INSTEAD = "convert the model to safetensors, or get a copy that has safetensors files"


def check_pickled(path: Path) -> int:
    """Size in bytes of a weights file that the safe unpickler will take. ModelError otherwise."""
    size = path.stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith("data.pkl")]
            program = archive.read(names[0]) if names else b""
    except zipfile.BadZipFile as error:
        raise ModelError(
            f"{path} is cut short, or an old pickle that cannot be checked; {_INSTEAD}.", str(error)
        ) from None
    except OSError as error:
        raise ModelError(f"{path} cannot be read; check its permissions.", str(error)) from None
    if not program:
        raise ModelError(f"{path} is no PyTorch weights file; {_INSTEAD}.")
    unsafe = sorted(_unsafe_globals(program, path))
    if unsafe:
        raise ModelError(
            f"{path} is a pickle that would run {unsafe[0]}, which torch's safe unpickler "
            f"(weights_only=True) does not allow, so it is not loaded; {_INSTEAD}."
        )
    return size


def _unsafe_globals(program: bytes, path: Path) -> set[str]:
    """Names that the pickle imports beyond tensors and containers."""
    found: set[str] = set()
    strings: list[str] = []
    try:
        for opcode, argument, _ in pickletools.genops(program):
            if opcode.name == "GLOBAL":
                module, _, name = str(argument).partition(" ")
            elif opcode.name == "STACK_GLOBAL":
                module, name = strings[-2:] if len(strings) >= 2 else ("?", "?")
            else:
                if isinstance(argument, str):
                    strings.append(argument)
                continue
            if not _is_safe(module, name):
                found.add(f"{module}.{name}")
    except ValueError as error:
        raise ModelError(f"{path} is damaged; download or copy it again.", str(error)) from None
    return found


def _is_safe(module: str, name: str) -> bool:
    if (module, name) in _SAFE:
        return True
    return module in _SAFE_MODULES and (name in _SAFE_NAMES or name.endswith("Storage"))
