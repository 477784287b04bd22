"""The version of the program, told by its installed description (a package carries it along)."""

from __future__ import annotations


def version() -> str:
    """Such as `0.1.0`; a word where the program runs from a checkout that was never installed."""
    from importlib import metadata  # imported by few starts, and not a light one

    try:
        return metadata.version("decodescope")
    except metadata.PackageNotFoundError:
        return "unknown"
