"""Words on a terminal. Text from outside is neutralised: no escapes, no markup."""

from __future__ import annotations

import sys
import unicodedata

from rich.console import Console


def plain(text: str) -> str:
    """`text` without control characters and direction overrides (line breaks become spaces)."""
    return "".join(
        " " if char in "\r\n\t" else char
        for char in text
        if char in "\r\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs")
    )


def say_error(message: str) -> None:
    """One sentence on stderr."""
    print(f"dscope: {plain(message)}", file=sys.stderr)


def out() -> Console:
    """The console on stdout; no markup is interpreted in what we print."""
    return Console(markup=False, highlight=False, emoji=False, soft_wrap=False)


def err() -> Console:
    """The console on stderr, for progress."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)
