"""What can be said of a run before and after its facts are there."""

from __future__ import annotations

from typing import Any

from profiler.config import FIELDS, RunConfig
from profiler.errors import UsageError
from profiler.timeline import Run


def device_of(run: Run | None, config: RunConfig | None, machine: dict[str, Any]) -> str:
    """Where the model computes: told by the run, else what its `auto` will mean on this machine."""
    told = _model_facts(run).get("device")
    if isinstance(told, str):
        return told
    asked = config.device if config is not None else "auto"
    if asked != "auto":
        return asked
    names = [device.get("name") for device in machine.get("devices") or [] if isinstance(device, dict)]
    return next((name for name in names if isinstance(name, str) and name != "cpu"), "cpu")


def device_label(run: Run | None, device: str) -> str:
    """A short name for people: `L4` of an NVIDIA L4, `CPU`."""
    name = _model_facts(run).get("device_name")
    return str(name).removeprefix("NVIDIA ") if name else device.upper()


def config_of(run: Run | None) -> RunConfig | None:
    """The configuration of a recorded run; None where there is none (an imported trace)."""
    if run is None:
        return None
    known = {name: value for name, value in run.config.items() if name in FIELDS}
    try:
        return RunConfig(**known)
    except UsageError:
        return None


def _model_facts(run: Run | None) -> dict[str, Any]:
    facts = run.facts.get("model") if run is not None else None
    return facts if isinstance(facts, dict) else {}
