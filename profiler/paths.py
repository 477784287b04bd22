"""Where things lie: shipped resources, the library of recordings, logs.

Thread: any. Nothing is created at import; `library_dir` and `log_dir` create on call.
`DECODESCOPE_HOME` moves both (tests and portable installs use it).
"""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_data_dir, user_log_dir


def resource_dir() -> Path:
    """The folder `resources/`, beside the packages in a checkout, an install and a bundle."""
    return Path(__file__).resolve().parent.parent / "resources"


def library_dir() -> Path:
    """The folder that recordings land in; created when missing. OSError if that fails."""
    home = os.environ.get("DECODESCOPE_HOME")
    path = Path(home) / "sessions" if home else Path(user_data_dir("decodescope", False)) / "sessions"
    path.mkdir(parents=True, exist_ok=True)
    return path


def log_dir() -> Path:
    """The folder of log files; created when missing. OSError if that fails."""
    home = os.environ.get("DECODESCOPE_HOME")
    path = Path(home) / "logs" if home else Path(user_log_dir("decodescope", False))
    path.mkdir(parents=True, exist_ok=True)
    return path


def config_dir() -> Path:
    """The folder of saved configurations, beside the library; created when missing. OSError if
    that fails."""
    path = library_dir().parent / "configurations"
    path.mkdir(parents=True, exist_ok=True)
    return path


def own_cost_file() -> Path:
    """Where the last `dscope overhead` of this user is kept."""
    return library_dir().parent / "own-cost.json"
