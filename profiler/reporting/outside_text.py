"""Text that came from outside (names, notes, errors, paths), made fit for what is shared."""

from __future__ import annotations

import re

from profiler.telemetry.plain import plain_text

LEFT_OUT = "(left out)"
"""What stands where a name or a text was."""
HOME = re.compile(
    r"(?:/home/|/Users/)(?P<unix>[^/\\\s\"':,;]+)|/root(?=/|$)|[A-Za-z]:[\\/]+Users[\\/]+(?P<windows>[^/\\\"':*?<>|]+)"
)
"""A home folder; the group that matched is the user's name."""


def markdown_escape(text: str) -> str:
    """`text` on one line, so that Markdown, HTML and mentions in it stay text."""
    flat = (
        " ".join(plain_text(text, len(text)).split())
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
    )
    for sign in "\\`*_[]|#~!":
        flat = flat.replace(sign, "\\" + sign)
    return flat.replace("@", "@\u200b")


def without_names(text: str, names: tuple[str, ...]) -> str:
    """`text` with `~` for home folders and LEFT_OUT for each of `names` that stands as a word.

    Names that hold others come first (`privacy.names_in` gives them so).
    """
    text = HOME.sub("~", text)
    for name in names:
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", LEFT_OUT, text, flags=re.IGNORECASE)
    return text
