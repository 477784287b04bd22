"""Settings of the Hugging Face libraries that must stand before these are imported.

No hub call unless asked, no kernels fetched from the hub, no bars and no chatter on stderr.
"""

from __future__ import annotations

import os
import sys


def prepare_environment(allow_download: bool = False) -> None:
    """Set the variables, where the user has not set them. Call before importing the libraries.

    What the libraries read at import stays as it is for the life of the process: a worker that
    has loaded offline once takes `allow_download` from `offline_for_good`.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "0" if allow_download else "1")
    os.environ.setdefault("USE_HUB_KERNELS", "NO")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_SYMLINKS_WARNING", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    # The GGUF reader uses tqdm directly.
    os.environ.setdefault("TQDM_DISABLE", "1")


def offline_for_good() -> bool:
    """Is the hub library of this process imported and set offline?"""
    constants = sys.modules.get("huggingface_hub.constants")
    return constants is not None and bool(getattr(constants, "HF_HUB_OFFLINE", False))
