"""Leaving out who and what: prompts, answers, user and host names, paths below the home folder."""

from __future__ import annotations

import getpass
import platform
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from profiler.events import Span
from profiler.reporting.outside_text import HOME, LEFT_OUT, without_names
from profiler.timeline import Timeline

TEXT_SETTINGS = ("prompt", "prompts_file")
NAMING_KEYS = frozenset({"hostname", "host_name", "node", "user", "username", "user_name", "login", "cwd"})
LEAST_NAME = 3
"""Shorter names of users and hosts would hit parts of ordinary words."""


def without_private(timeline: Timeline) -> None:
    """Change `timeline` (one that is shown nowhere) so that it tells neither who nor what.

    Token ids go with the text, since a tokenizer turns them back. Names of models stay, but a
    model's folder is told by its last part. Names of users and hosts are those that the session
    itself tells (settings called so, home folders) and those of this machine.
    """
    names = names_in(
        [timeline.facts, *((run.config, run.environment, run.facts) for run in timeline.runs.values())],
        [request.error or "" for request in timeline.iter_requests()],
    )
    for request in timeline.iter_requests():
        request.forget_text()
        request.id = without_names(request.id, names)
        request.error = None if request.error is None else without_names(request.error, names)
        request.label = None if request.label is None else without_names(request.label, names)
        request.spans = [_clean_span(span, names) for span in request.spans]
    for run in timeline.runs.values():
        run.config = clean_config(run.config, names)
        run.environment = clean(run.environment, names)
        run.facts = clean(run.facts, names)
        run.notes = [without_names(note, names) for note in run.notes]
        run.reason = None if run.reason is None else without_names(run.reason, names)
        run.name = run.model = without_names(run.model, names)
        run.spans = [_clean_span(span, names) for span in run.spans]
    timeline.facts = clean(timeline.facts, names)
    timeline.failures = [
        replace(failure, message=without_names(failure.message, names), detail=None)
        for failure in timeline.failures
    ]
    timeline.logs.clear()


def names_in(values: Any, texts: Iterable[str] = ()) -> tuple[str, ...]:
    """Names of users and hosts that JSON tells, and those of this machine; the longest first."""
    found: set[str] = {platform.node(), platform.node().split(".")[0]}
    try:
        found.add(getpass.getuser())
    except (OSError, KeyError, ImportError):
        pass
    found.discard("root")
    found.discard("localhost")
    _collect(values, found)
    for text in texts:
        _collect(text, found)
    return tuple(sorted((name for name in found if len(name) >= LEAST_NAME), key=len, reverse=True))


def _collect(value: Any, found: set[str]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if str(key).lower() in NAMING_KEYS and isinstance(inner, str) and "/" not in inner:
                found.add(inner)
            _collect(inner, found)
    elif isinstance(value, list | tuple):
        for inner in value:
            _collect(inner, found)
    elif isinstance(value, str):
        for match in HOME.finditer(value):
            name = match["unix"] or match["windows"]
            if name:
                found.add(name)


def clean_config(config: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Settings of a run without prompt, name and the folders of model and prompts."""
    config = dict(config)
    for key in TEXT_SETTINGS:
        if config.get(key) is not None:
            config[key] = LEFT_OUT
    model = config.get("model")
    if isinstance(model, str) and _is_path(model):
        config["model"] = re.split(r"[/\\]", model.rstrip("/\\"))[-1]
    if "name" in config:
        config["name"] = ""
    cleaned: dict[str, Any] = clean(config, names)
    return cleaned


def clean(value: Any, names: tuple[str, ...]) -> Any:
    """JSON without naming keys, home folders and names."""
    if isinstance(value, dict):
        return {
            key: LEFT_OUT if str(key).lower() in NAMING_KEYS and found is not None else clean(found, names)
            for key, found in value.items()
        }
    if isinstance(value, list):
        return [clean(item, names) for item in value]
    return without_names(value, names) if isinstance(value, str) else value


def _clean_span(span: Span, names: tuple[str, ...]) -> Span:
    return replace(span, name=without_names(span.name, names), detail=None)


def _is_path(model: str) -> bool:
    looks = model.startswith(("/", "~", ".", "\\")) or bool(re.match(r"[A-Za-z]:[/\\]", model))
    return looks or (("/" in model or "\\" in model) and Path(model).exists())
