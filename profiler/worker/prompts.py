"""Prompts from a file. No torch."""

from __future__ import annotations

import json
from pathlib import Path

from profiler.errors import UsageError

MAX_BYTES = 256 * 1024 * 1024


def read_prompts(path: str) -> list[str]:
    """The prompts of a JSONL file: a string a line, or an object with "prompt" or "text".

    UsageError with the line number and one sentence. Blank lines are skipped; a byte-order mark
    and Windows line ends are fine.
    """
    file = Path(path)
    try:
        if file.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} is over 256 MiB; split it.", field="prompts_file")
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"The prompts file {path} cannot be read ({error.strerror or error}); check the path.",
            field="prompts_file",
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text; save it as UTF-8.", field="prompts_file") from None
    prompts: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            value = value.get("prompt", value.get("text"))
        if not isinstance(value, str) or not value.strip():
            raise UsageError(
                f'{path}, line {number}: need a JSON object with a text under "prompt".', field="prompts_file"
            )
        prompts.append(value)
    if not prompts:
        raise UsageError(f"{path} holds no prompt; give one JSON object a line.", field="prompts_file")
    return prompts
