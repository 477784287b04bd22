"""The exceptions of the engine's side, drawn once.

    DecodescopeError            says one sentence with the next step; exit code 2
      UsageError                a setting, number or path that cannot work; 2
      ModelError                anything wrong with `--model`; 3
      SessionError              a session file that cannot be read or written; 2
        SessionExists           the target exists and `--overwrite` was not given; 2
      TraceError                a trace JSONL that is refused, with its line number; 2
      WorkerDied                the worker process ended by itself; 4
      RunFailed                 a measured request failed; 4

Errors speak twice: `str(error)` is for the user, `error.detail` (a traceback or the
library's own words) is for the log and for "Copy details".
"""

from __future__ import annotations


class DecodescopeError(Exception):
    """Base of all errors a user may see.

    `message` is one sentence that says what happened and what to do next, `detail` the
    whole story for the log. `exit_code` is what the command line returns.
    """

    exit_code = 2

    def __init__(self, message: str, detail: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail


class UsageError(DecodescopeError):
    """A setting, a number or a path that cannot work. `field` names the setting, if one does."""

    def __init__(self, message: str, detail: str | None = None, field: str | None = None) -> None:
        super().__init__(message, detail)
        self.field = field


class ModelError(DecodescopeError):
    """The model cannot be found, read, built, or does not fit."""

    exit_code = 3
    field = "model"


class SessionError(DecodescopeError):
    """A session file cannot be read or written."""


class SessionExists(SessionError):
    """The file to be written is there already."""


class TraceError(DecodescopeError):
    """A trace line is refused. `line` counts from 1; None where it is about the file."""

    def __init__(self, message: str, line: int | None = None, detail: str | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}", detail)
        self.line = line


class WorkerDied(DecodescopeError):
    """The worker process ended without being asked to."""

    exit_code = 4


class RunFailed(DecodescopeError):
    """A measured request failed; the session is kept."""

    exit_code = 4
