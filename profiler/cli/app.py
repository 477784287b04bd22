"""The commands of `dscope`, and what becomes of their errors."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer
import typer.main

from profiler.cli import compare, explain, files, machine, overhead, record, sessions, traces
from profiler.cli.console import say_error
from profiler.errors import DecodescopeError
from profiler.paths import log_dir
from profiler.version import version

HELP = """Measure the latency of a local language model, every token, without a window.

Start with: dscope record --model preset:small --out first.dscope"""


def make_app() -> typer.Typer:
    """The command tree."""
    app = typer.Typer(
        name="dscope", help=HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
    )
    app.callback()(_program)
    app.command("record")(record.record)
    app.command("report")(files.report)
    app.command("compare", cls=compare.CompareCommand)(compare.compare)
    app.command("explain")(explain.explain)
    app.command("import")(traces.import_)
    app.command("export")(traces.export)
    app.command("models")(machine.models)
    app.command("doctor")(machine.doctor)
    app.command("overhead")(overhead.overhead)
    app.command("sessions")(sessions.sessions)
    app.command("verify")(files.verify)
    app.command("repair")(files.repair)
    return app


def _say_version(asked: bool) -> None:
    if asked:
        print(f"dscope {version()}")
        raise typer.Exit


def _program(
    _version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version and end.")
    ] = False,
) -> None:
    """What can stand before a command."""


def run(arguments: Sequence[str]) -> int:
    """Carries out one command; returns the exit code. No exception leaves it.

    An error of ours becomes its sentence on stderr; anything else one sentence and a
    traceback in the log folder.
    """
    command = typer.main.get_command(make_app())
    try:
        result = command.main(list(arguments), prog_name="dscope", standalone_mode=False)
        sys.stdout.flush()  # a reader that is gone shows here and not when the process ends
        return result if isinstance(result, int) else 0
    except DecodescopeError as error:
        say_error(error.message)
        return error.exit_code
    except KeyboardInterrupt:
        say_error("Interrupted.")
        return 130
    except BrokenPipeError:
        return _reader_gone()
    except SystemExit as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, BrokenPipeError):  # as rich and typer tell it
                return _reader_gone()
            cause = cause.__context__
        return error.code if isinstance(error.code, int) else 1
    except Exception as error:  # noqa: BLE001 - the last line of defence
        # Typer vendors or wraps click, by version: its errors are told by what they can do.
        name = type(error).__name__
        if hasattr(error, "format_message"):
            context = getattr(error, "ctx", None)
            hint = f" See `{context.command_path} --help`." if context is not None else ""
            text = error.format_message()
            if text:
                say_error(f"{text.rstrip('.')}.{hint}")
            elif context is not None:
                print(context.get_help())
            return int(getattr(error, "exit_code", 2))
        if name in ("Exit", "Abort"):
            return int(getattr(error, "exit_code", 130))
        say_error(f"{name}: {error}. This is a fault of Decodescope; the details are in {_log(error)}.")
        return 1


def _reader_gone() -> int:
    """Whoever read our output has had enough (`| head`): nothing is wrong."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _log(_error: Exception) -> str:
    try:
        path = log_dir() / "dscope-error.log"
        path.write_text(traceback.format_exc(), encoding="utf-8")
    except OSError:
        return "no log (its folder cannot be written)"
    return str(path)
