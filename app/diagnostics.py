"""Text for a report of a problem: versions, the machine, the last lines of the log. No secrets.

Environment variables by the allow-list of the manifest; in free text (log lines) home folders
become `~`, and whatever looks like a key, or is the value of a variable that is named like one, is
taken out. Better too much than too little: this text is made to be posted.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from profiler import events as ev
from profiler.paths import log_dir
from profiler.telemetry.hardware import ENVIRONMENT, PACKAGES
from profiler.telemetry.plain import plain_text
from profiler.units import NS_PER_S, format_bytes

MAX_LOG_LINES = 40
MAX_LINE_CHARS = 300
TAIL_BYTES = 32_000
REMOVED = "[removed]"

_SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|AUTH|COOKIE|(?:^|_)(?:API|ACCESS|PRIVATE)?_?KEY"
)
_ASSIGNED = re.compile(r"\b([A-Z][A-Z0-9_]*)(\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|\S+)")
_KEYS = re.compile(
    r"\b(?:hf_|sk-|sk_|gh[opsur]_|github_pat_|xox[abprs]-|AKIA|ASIA|AIza)[\w-]{8,}"
    r"|\bBearer\s+\S+|(?<=://)[^/\s@]+@|\beyJ[\w-]{10,}\.[\w.-]+",
)
_HOMES = re.compile(r"(?:/home/|/Users/|[A-Za-z]:\\+Users\\+)[^/\\\s\"':]+", re.IGNORECASE)
_SHORTEST = 6
"""A secret below this length would take harmless words with it."""


def scrubbed(text: str, environ: Mapping[str, str] = os.environ, home: str | None = None) -> str:
    """`text` without keys, without the names and values of secret variables, without home folders."""
    secret = [name for name in environ if name not in ENVIRONMENT and _SECRET_NAME.search(name.upper())]
    for name in secret:
        if len(environ[name]) >= _SHORTEST:
            text = text.replace(environ[name], REMOVED)
    text = _KEYS.sub(REMOVED, text)
    text = _ASSIGNED.sub(_without_secret, text)
    for name in secret:
        # Not the names either: which secrets a person has is nobody's business.
        text = re.sub(rf"\b{re.escape(name)}\b", REMOVED, text)
    own = home if home is not None else str(Path.home())
    if len(own) > 1:
        text = re.sub(re.escape(own) + r"(?=[/\\\s\"':,;)\]]|$)", "~", text)
    return _HOMES.sub("~", text)


def _without_secret(found: re.Match[str]) -> str:
    name = found.group(1)
    secret = name not in ENVIRONMENT and _SECRET_NAME.search(name)
    return REMOVED if secret else found.group(0)


def versions(machine: Mapping[str, Any]) -> dict[str, str]:
    """Name to version, ours and Python's first. What the engine told, else the installed packages'
    own description; nothing is imported. Packages that are not there are left out."""
    told = _of(_of(machine, "software"), "packages")
    result = {
        "Decodescope": _version("decodescope") or "from a checkout",
        "Python": platform.python_version(),
    }
    for name in PACKAGES:
        version = told.get(name) or _version(name)
        if name == "torch":
            version = machine.get("torch") or version
        if version and name != "decodescope":
            result[name] = plain_text(str(version))
    return result


def diagnostics_text(
    machine: Mapping[str, Any],
    logs: Iterable[ev.Log] = (),
    environ: Mapping[str, str] = os.environ,
    qt: str = "",
) -> str:
    """The whole report, Markdown-friendly plain text. Reads the window's log file."""
    lines = ["Decodescope diagnostics", ""]
    lines += [f"{name}: {version}" for name, version in versions(machine).items()]
    if qt:
        lines.append(f"Qt: {qt}")
    lines += ["", "Machine", *_machine_lines(machine), "", "Environment"]
    named = {name: environ[name] for name in sorted(ENVIRONMENT) if name in environ}
    lines += [f"{name}={plain_text(value)}" for name, value in named.items()] or [
        "nothing that matters is set"
    ]
    lines += ["", "Log of the session, newest last", *(log_lines(logs) or ["empty"])]
    lines += ["", "Log of the window, newest last", *(_window_log() or ["empty"])]
    return scrubbed("\n".join(lines), environ) + "\n"


def log_lines(logs: Iterable[ev.Log]) -> list[str]:
    """The newest log entries, a traceback by its last line."""
    entries = list(logs)[-MAX_LOG_LINES:]
    lines = []
    for entry in entries:
        seconds = (entry.t_ns - entries[0].t_ns) / NS_PER_S
        lines.append(f"{seconds:8.2f} s {entry.level} {entry.source}: {_short(entry.message)}")
        last = (entry.detail or "").strip().splitlines()[-1:]
        lines += [f"           {_short(line)}" for line in last]
    return lines


def _machine_lines(machine: Mapping[str, Any]) -> list[str]:
    hardware = _of(machine, "hardware")
    cpu, memory, system = (_of(hardware, name) for name in ("cpu", "memory", "system"))
    rows: Sequence[tuple[str, Any]] = (
        ("System", system.get("version") or platform.system()),
        ("Kernel", system.get("release") or platform.release()),
        ("Processor", cpu.get("model") or platform.machine()),
        ("Usable CPUs", machine.get("usable_cpus") or cpu.get("usable_cpus")),
        ("Governor", cpu.get("governor")),
        ("Virtual machine", cpu.get("virtual_machine")),
        ("Memory", _bytes(memory.get("total_bytes"))),
        ("Memory limit of the control group", _bytes(memory.get("cgroup_limit_bytes"))),
        ("GPU driver", machine.get("driver")),
        ("Why no GPU", machine.get("gpu_reason")),
        *(("Device", _of(device, None).get("label")) for device in machine.get("devices") or ()),
    )
    lines = [f"{name}: {plain_text(str(value))}" for name, value in rows if value is not None]
    return lines if machine else [*lines, "The engine has not told about the machine."]


def _window_log() -> list[str]:
    try:
        path = log_dir() / "window.log"
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - TAIL_BYTES, 0))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [_short(line) for line in text.splitlines()[-MAX_LOG_LINES:]]


def _short(text: str) -> str:
    return plain_text(text, MAX_LINE_CHARS)


def _of(value: Any, name: str | None) -> Mapping[str, Any]:
    """The mapping under `name` (None: the value itself); empty where there is none."""
    found = value if name is None else value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _bytes(value: Any) -> str | None:
    return format_bytes(value) if isinstance(value, (int, float)) else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
