"""Which architectures the installed transformers builds, found without importing it."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

from profiler.errors import ModelError

_ENTRY = re.compile(r'^\s*\("([\w.-]+)",', re.MULTILINE)


@cache
def known_types() -> tuple[frozenset[str], frozenset[str]]:
    """`model_type`s that transformers knows at all, and those that generate text.

    Read from the source of its tables. Both empty where the source is not there (a frozen
    program): then the load itself finds out.
    """
    spec = importlib.util.find_spec("transformers")
    if spec is None or spec.origin is None:
        return frozenset(), frozenset()
    auto = Path(spec.origin).parent / "models" / "auto"
    try:
        configs = "".join(
            (auto / name).read_text(encoding="utf-8")
            for name in ("auto_mappings.py", "configuration_auto.py")
            if (auto / name).is_file()
        )
        models = (auto / "modeling_auto.py").read_text(encoding="utf-8")
    except OSError:
        return frozenset(), frozenset()
    known = frozenset(_ENTRY.findall(_table(configs, "CONFIG_MAPPING_NAMES")))
    causal = frozenset(_ENTRY.findall(_table(models, "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES")))
    return known | causal, causal


def _table(text: str, name: str) -> str:
    """The literal list assigned to `name`: up to the line that closes it."""
    start = re.search(rf"^{name}\b.*$", text, re.MULTILINE)
    if start is None:
        return ""
    end = re.search(r"^\)", text[start.end() :], re.MULTILINE)
    return text[start.end() : start.end() + end.start()] if end else text[start.end() :]


def check_architecture(config: dict[str, Any], where: str, trust_remote_code: bool) -> bool:
    """Can this config be built? True: only with code that came with the model.

    ModelError when the architecture is unknown, does not generate text, or would need the
    model's own code and `trust_remote_code` is off. `where` names the model in the message.
    """
    kind = config.get("model_type")
    known, causal = known_types()
    own_code = isinstance(config.get("auto_map"), dict) and bool(config["auto_map"])
    if not isinstance(kind, str) or not kind:
        if own_code:
            kind = "unknown"
        else:
            raise ModelError(
                f'{where} has no "model_type" in its config.json, so it cannot be built; '
                f"use a model in Hugging Face layout."
            )
    if not known or kind in causal:
        return False
    if own_code:
        if not trust_remote_code:
            raise ModelError(
                f"{where} brings its own Python code (architecture {kind!r}), which is not run unless you "
                f"trust it: read it, then turn on trust remote code (--trust-remote-code)."
            )
        return True
    if kind in known:
        raise ModelError(
            f"{where} is a model of type {kind!r}, which does not generate text token by token; "
            f"choose a causal language model."
        )
    raise ModelError(
        f"{where} has the architecture {kind!r}, which the installed transformers does not know; "
        f"update transformers or choose another model."
    )
