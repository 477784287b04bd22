"""The command line that does what a configuration says: for "Copy as command".

Imports nothing of the command line's own libraries, so that the window can use it.
"""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from profiler.config import RunConfig

_VALUES = {
    "model": "--model",
    "name": "--name",
    "prompt": "--prompt",
    "prompt_tokens": "--prompt-tokens",
    "prompts_file": "--prompts",
    "output_tokens": "--output-tokens",
    "repeats": "--repeats",
    "warmup": "--warmup",
    "temperature": "--temperature",
    "seed": "--seed",
    "cache": "--cache",
    "dtype": "--dtype",
    "device": "--device",
    "attn": "--attn",
    "threads": "--threads",
    "sample_hz": "--sample-hz",
}
_SWITCHES = {
    "ignore_eos": ("--ignore-eos", "--respect-eos"),
    "chat_template": ("--chat-template", "--no-chat-template"),
    "measure_reference": ("--reference", "--no-reference"),
    "keep_text": ("--keep-text", "--no-keep-text"),
    "trust_remote_code": ("--trust-remote-code", ""),
    "allow_download": ("--allow-download", ""),
}


def command_arguments(config: RunConfig) -> list[str]:
    """The arguments of `dscope` that make `config`: `record`, the model, then what is not the default."""
    usual = RunConfig()
    arguments = ["record", "--model", config.model]
    for name, option in _VALUES.items():
        value = getattr(config, name)
        if name == "model" or value is None or value == getattr(usual, name):
            continue
        # One word each: a text may begin with a dash.
        arguments.append(f"{option}={value}")
    for name, (on, off) in _SWITCHES.items():
        value = getattr(config, name)
        if value != getattr(usual, name):
            arguments.append(on if value else off)
    return arguments


def needs_file(config: RunConfig) -> bool:
    """Is there a line break or a control sign in a text, so that a shell's line cannot hold it?"""
    texts = (config.prompt or "", config.name, config.model, config.prompts_file or "")
    return any(not sign.isprintable() for text in texts for sign in text)


def command_line(config: RunConfig, config_file: Path | None = None, *, windows: bool = False) -> str:
    """The line to paste into a shell: `dscope record --model demo --repeats=5`.

    `config_file`: a JSON file that holds `config`; the line then only names it (see `needs_file`).
    `windows`: quoted for cmd.exe and PowerShell, else for a POSIX shell.
    """
    arguments = command_arguments(config)
    if config_file is not None:
        arguments = ["record", "--config", str(config_file)]
    words = ["dscope", *arguments]
    return subprocess.list2cmdline(words) if windows else shlex.join(words)
