"""Decodescope's engine side. For your own script: `from profiler import Recorder`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profiler.engine.own_request import Request
    from profiler.engine.own_script import Recorder

__all__ = ["Recorder", "Request"]


def __getattr__(name: str) -> Any:
    """The public names, on first use: `import profiler` itself stays light."""
    if name == "Recorder":
        from profiler.engine.own_script import Recorder

        return Recorder
    if name == "Request":
        from profiler.engine.own_request import Request

        return Request
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
