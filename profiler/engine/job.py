"""What the engine is busy with: one load, or one load and run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiler import events as ev
from profiler.config import RunConfig
from profiler.engine.own_cost import OwnCost
from profiler.worker.backends.synthetic import is_synthetic

NOT_KEPT = "(not kept)"
"""Stands for a prompt in a session that was recorded without text."""

_LOAD_FIELDS = (
    "model",
    "dtype",
    "device",
    "attn",
    "threads",
    "trust_remote_code",
    "allow_download",
    "measure_reference",
)


@dataclass(slots=True)
class Job:
    """A command being carried out.

    `stage`: check, worker, load, prepare, sampler, run. `number` is the id its Reply answers to,
    `reply_id` what the worker was asked last. `ending_status` overrides the run's status.
    `own_cost` is set where not the model but our own road is measured; its session is thrown away.
    """

    number: int
    config: RunConfig
    with_run: bool
    name: str
    path: Path | None
    overwrite: bool
    stage: str = "check"
    stage_since_ns: int = 0
    reply_id: int = -1
    run: int = 1
    first_no: int = 1
    stop_asked: bool = False
    then_finish: bool = False
    ending_status: str | None = None
    own_cost: OwnCost | None = None
    answer: dict[str, Any] | None = None


def stored_config(config: RunConfig) -> dict[str, Any]:
    """The settings that go into the session file: without the prompt where text is not to be kept."""
    values = config.to_dict()
    if not config.keep_text:
        for key in ("prompt", "prompts_file"):
            if values[key] is not None:
                values[key] = NOT_KEPT
    return values


def process_key(config: RunConfig) -> str | None:
    """Two configurations with the same key can begin in the same fresh process; None: in one that
    never imports torch.

    Only what the libraries read when they are imported belongs here; threads, dtype and device are
    set later.
    """
    return None if is_synthetic(config.model) else ev.dump_json([config.allow_download])


def load_key(config: RunConfig) -> str:
    """Two configurations with the same key can use the same loaded model.

    A model in a file or folder counts as another one when anything in it was written since.
    """
    written_ns = 0
    try:
        path = Path(config.model).expanduser()
        if path.exists():
            files = [path, *path.iterdir()] if path.is_dir() else [path]
            written_ns = max(file.stat().st_mtime_ns for file in files)
    except (OSError, ValueError, RuntimeError):
        pass  # no path, then
    return ev.dump_json([*(getattr(config, name) for name in _LOAD_FIELDS), written_ns])
