"""`dscope compare`: is B faster than A, and can one say so?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from profiler.cli.console import out
from profiler.cli.files import print_json
from profiler.errors import UsageError

if TYPE_CHECKING:
    from profiler.reporting.comparison_sides import Recording

NOISE = "--noise"


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
        list[Path] | None,
        typer.Option(
            metavar="A1 A2",
            help="Two sessions without any change between them: no smaller difference is claimed. "
            "Give it again for more pairs.",
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
    floors = [read_run(path, None) for path in noise or []]
    values = compare_many(sides[0], sides[1:], noise=list(zip(floors[::2], floors[1::2], strict=True)))
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


class CompareCommand(TyperCommand):
    """Takes `--noise A1 A2` any number of times: typer has options of pairs, and of lists, but not both."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _noise_one_by_one(args))


def _noise_one_by_one(args: Sequence[str]) -> list[str]:
    """`--noise A1 A2` as `--noise A1 --noise A2`. UsageError where a pair has no second file."""
    result: list[str] = []
    waiting = list(args)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            return [*result, word, *waiting]
        if word != NOISE and not word.startswith(f"{NOISE}="):
            result.append(word)
            continue
        if word != NOISE:
            waiting.insert(0, word.removeprefix(f"{NOISE}="))
        pair, waiting = waiting[:2], waiting[2:]
        if len(pair) < 2 or any(name.startswith("--") for name in pair):
            raise UsageError("Give --noise two session files: --noise A1 A2.", field="noise")
        result += [NOISE, pair[0], NOISE, pair[1]]
    return result


def _numbers(given: Sequence[int], count: int) -> list[int | None]:
    if not given:
        return [None] * count
    if len(given) == 1:
        return [given[0]] * count
    if len(given) != count:
        raise UsageError(f"Give --run once, or once for each of the {count} files.", field="run")
    return list(given)


def read_run(path: Path, number: int | None) -> Recording:
    """A run of a session file with its steps in memory; the last one for None. One sentence on errors."""
    from profiler.reporting.comparison_sides import Recording
    from profiler.session.reader import SessionReader

    with SessionReader.open(path) as reader:
        timeline = reader.timeline()
        timeline.read_all()
        created = reader.created
    if not timeline.runs:
        raise UsageError(f"{path} holds no run; nothing can be compared with it.")
    if number is None:
        number = max(timeline.runs)
    run = timeline.runs.get(number)
    if run is None:
        known = ", ".join(map(str, sorted(timeline.runs)))
        raise UsageError(f"{path} has no run {number}; it has {known}.", field="run")
    return Recording(run, timeline, created)
