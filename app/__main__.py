"""Entry of the window: `decodescope`, `python -m app`, and the packaged program.

A frozen program runs this file again in every child process: `freeze_support()` comes first
and everything else is imported inside `main`.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the window; leaves through SystemExit with the exit code of the command line."""
    import multiprocessing

    multiprocessing.freeze_support()
    _begin_quickly()
    from app.options import parse_options
    from profiler.errors import DecodescopeError

    try:
        options = parse_options(sys.argv[1:])
    except DecodescopeError as error:
        if sys.stderr is not None:
            sys.stderr.write(f"decodescope: {error.message}\n")
        raise SystemExit(error.exit_code) from None
    from app.start import run_window

    raise SystemExit(run_window(options))


def _begin_quickly() -> None:
    import gc

    # What is imported stays: searching it for garbage delays the first paint by a tenth
    # (`app.start` then has the GUI thread do it).
    gc.disable()


if __name__ == "__main__":
    main()
