"""`dscope`: the engine without a window.

Exit codes: 0; 2 usage or bad input; 3 anything wrong with --model; 4 a measured request failed
or the worker died (the session is kept); 130 interrupted (the session is kept).
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Entry point of `dscope` and `python -m profiler`; ends the process with the exit code."""
    # Before any import worth the name: until a command has its own way of stopping.
    signal.signal(signal.SIGINT, _interrupted)
    import multiprocessing

    multiprocessing.freeze_support()
    # A pipe or a terminal of another encoding must not turn a thin space into a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    from profiler.cli.app import run

    code = run(sys.argv[1:])
    # A second Ctrl-C while the interpreter winds down: the work is done, its exit code stands.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


def _interrupted(_signal: int, _frame: object) -> None:
    os.write(2, b"dscope: Interrupted.\n")
    os._exit(130)
