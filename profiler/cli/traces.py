"""Commands that bring recordings in and take them out: import, export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from profiler.cli.console import out, plain, say_error

_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace --out if it exists.")]


def import_(
    trace: Annotated[Path, typer.Argument(metavar="TRACE.jsonl", help="One JSON object a line.")],
    output: Annotated[Path, typer.Option("--out", metavar="FILE", help="The new session (.dscope).")],
    overwrite: _Overwrite = False,
    name: Annotated[str, typer.Option("--name", help="Name of the session; else the file's name.")] = "",
) -> int:
    """Make a session of a trace that another program wrote."""
    from profiler import events as ev
    from profiler.engine.summaries import add_summaries
    from profiler.session.files import check_not_precious
    from profiler.session.trace import import_trace

    check_not_precious(trace, output)
    result = import_trace(trace, output, name=name, overwrite=overwrite)
    add_summaries(output)
    for warning in result.warnings:
        say_error(warning)
    runs = sum(isinstance(event, ev.RunStart) for event in result.events)
    requests = sum(isinstance(event, ev.RequestStart) for event in result.events)
    out().print(plain(f"{output}: {_count(runs, 'run')}, {_count(requests, 'request')}."), soft_wrap=True)
    return 0


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A session file (.dscope).")],
    output: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write.")],
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="jsonl (a trace), json, csv, parquet, markdown, html, chrome-trace or dscope.",
        ),
    ] = "jsonl",
    run: Annotated[int | None, typer.Option("--run", metavar="N", help="Only this run of several.")] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Leave out prompts, answers, user and host names.")
    ] = False,
    overwrite: _Overwrite = False,
) -> int:
    """Write a session in another format; the session is not touched."""
    from profiler.reporting import exports
    from profiler.session.reader import SessionReader

    exports.find_format(format_)  # a wrong name is told before the file is read
    with SessionReader.open(file) as reader:
        exports.export(
            reader.timeline(),
            output,
            format_,
            name=reader.name,
            run=run,
            private=private,
            overwrite=overwrite,
            source=file,
        )
    out().print(plain(f"{output}: written."), soft_wrap=True)
    return 0


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"
