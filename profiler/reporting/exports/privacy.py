"""Leaving out who and what: prompts, answers, user and host names, paths below the home folder."""

from __future__ import annotations

import getpass
import platform
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from profiler.timeline import Timeline

LEFT_OUT = "(left out)"
TEXT_SETTINGS = ("prompt", "prompts_file")
NAMING_KEYS = frozenset({"hostname", "host_name", "node", "user", "username", "user_name", "login", "cwd"})
_HOME = re.compile(
    r"(?:/home/|/Users/|/root(?=/|$)|[A-Za-z]:\\+Users\\+)[^/\\\s\"']*",
)


def without_private(timeline: Timeline) -> None:
    """Change `timeline` (one that is shown nowhere) so that it tells neither who nor what.

    Token ids go with the text, since a tokenizer turns them back. Names of models stay, but a
    model's folder is told by its last part.
    """
    names = _own_names()
    for request in timeline.iter_requests():
        request.forget_text()
        request.error = None if request.error is None else _clean_text(request.error, names)
        request.label = None if request.label is None else _clean_text(request.label, names)
    for run in timeline.runs.values():
        for key in TEXT_SETTINGS:
            if run.config.get(key) is not None:
                run.config = {**run.config, key: LEFT_OUT}
        model = run.config.get("model")
        if isinstance(model, str) and ("/" in model or "\\" in model) and _is_path(model):
            run.config = {**run.config, "model": re.split(r"[/\\]", model.rstrip("/\\"))[-1]}
        run.config = (
            {**clean(run.config, names), "name": ""} if "name" in run.config else clean(run.config, names)
        )
        run.environment = clean(run.environment, names)
        run.facts = clean(run.facts, names)
        run.notes = [_clean_text(note, names) for note in run.notes]
        run.reason = None if run.reason is None else _clean_text(run.reason, names)
        run.name = run.model = _clean_text(run.model, names)
    timeline.facts = clean(timeline.facts, names)
    timeline.failures = [
        replace(failure, message=_clean_text(failure.message, names), detail=None)
        for failure in timeline.failures
    ]
    timeline.logs.clear()


def clean(value: Any, names: tuple[str, ...]) -> Any:
    """JSON without naming keys, home folders and the names of this user and host."""
    if isinstance(value, dict):
        return {
            key: LEFT_OUT if str(key).lower() in NAMING_KEYS and found is not None else clean(found, names)
            for key, found in value.items()
        }
    if isinstance(value, list):
        return [clean(item, names) for item in value]
    return _clean_text(value, names) if isinstance(value, str) else value


def _clean_text(text: str, names: tuple[str, ...]) -> str:
    text = _HOME.sub("~", text)
    for name in names:
        text = re.sub(rf"(?<![\w]){re.escape(name)}(?![\w])", LEFT_OUT, text)
    return text


def _is_path(model: str) -> bool:
    return (
        model.startswith(("/", "~", ".", "\\"))
        or bool(re.match(r"[A-Za-z]:[/\\]", model))
        or Path(model).exists()
    )


def _own_names() -> tuple[str, ...]:
    """Names of this user and this host, long enough not to hit ordinary words."""
    found = {platform.node(), platform.node().split(".")[0]}
    try:
        found.add(getpass.getuser())
    except (OSError, KeyError, ImportError):
        pass
    return tuple(sorted((name for name in found if len(name) >= 5), key=len, reverse=True))
