"""`dscope compare`: is B faster than A, and can one say so?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from profiler.cli.console import out
from profiler.cli.files import print_json
from profiler.errors import UsageError

if TYPE_CHECKING:
    from profiler.timeline import Run


def compare(
    files: Annotated[
        list[Path], typer.Argument(metavar="A B ...", help="2 to 6 session files; A is the baseline.")
    ],
    run: Annotated[
        list[int] | None,
        typer.Option(
            "--run",
            metavar="N",
            help="Which run of a file with several: once for all files, or once for each in turn.",
        ),
    ] = None,
    noise: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="A1 A2",
            help="Two sessions without any change between them: no smaller difference is claimed.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Strict JSON on stdout.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Markdown for an issue tracker.")] = False,
) -> int:
    """Compare recorded runs: ratios with intervals, a verdict a metric, and what differs."""
    from profiler.reporting.comparison import MAX_RUNS, compare_many
    from profiler.reporting.comparison_text import comparison_markdown, comparison_text

    if as_json and markdown:
        raise UsageError("Give --json or --markdown, not both.")
    if not 2 <= len(files) <= MAX_RUNS:
        raise UsageError(f"Name 2 to {MAX_RUNS} session files, the baseline first; {len(files)} given.")
    numbers = _numbers(run or [], len(files))
    sides = [read_run(path, number) for path, number in zip(files, numbers, strict=True)]
    pair = None if noise is None else (read_run(noise[0], None), read_run(noise[1], None))
    values = compare_many(sides[0], sides[1:], noise=pair)
    for value, path in zip(values, files[1:], strict=True):
        value["a"]["path"], value["b"]["path"] = str(files[0]), str(path)
    letters = "BCDEF"[: len(values)]
    if as_json:
        print_json(values[0] if len(values) == 1 else {"schema": values[0]["schema"], "comparisons": values})
    elif markdown:
        for letter, value in zip(letters, values, strict=True):
            print(comparison_markdown(value, letter))
    else:
        console = out()
        for number, (letter, value) in enumerate(zip(letters, values, strict=True)):
            if number:
                console.print()
            for part in comparison_text(value, letter):
                console.print(part)
    return 0


def _numbers(given: Sequence[int], count: int) -> list[int | None]:
    if not given:
        return [None] * count
    if len(given) == 1:
        return [given[0]] * count
    if len(given) != count:
        raise UsageError(f"Give --run once, or once for each of the {count} files.", field="run")
    return list(given)


def read_run(path: Path, number: int | None) -> Run:
    """A run of a session file with its steps in memory; the last one for None. One sentence on errors."""
    from profiler.session.reader import SessionReader

    with SessionReader.open(path) as reader:
        timeline = reader.timeline()
        for request in timeline.iter_requests():
            len(request)  # reads its steps while the file is open
    if not timeline.runs:
        raise UsageError(f"{path} holds no run; nothing can be compared with it.")
    if number is None:
        number = max(timeline.runs)
    found: Any = timeline.runs.get(number)
    if found is None:
        known = ", ".join(map(str, sorted(timeline.runs)))
        raise UsageError(f"{path} has no run {number}; it has {known}.", field="run")
    run: Run = found
    return run
