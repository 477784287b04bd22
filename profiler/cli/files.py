"""Commands about session files: report, verify, repair."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from profiler.cli.console import out, plain, say_error
from profiler.errors import UsageError

_File = Annotated[Path, typer.Argument(metavar="FILE", help="A session file (.dscope).")]
_Json = Annotated[bool, typer.Option("--json", help="Strict JSON on stdout.")]


def load_report(path: Path, target_words: Sequence[str] = ()) -> dict[str, Any]:
    """The report of a session file. SessionError, UsageError with one sentence.

    `target_words`: targets other than the defaults, as `ttft_ms=300`.
    """
    from profiler.analysis.targets import parse_targets
    from profiler.reporting.report import report
    from profiler.session.reader import SessionReader

    targets = parse_targets(target_words)  # a wrong one is told before the file is read
    reader = SessionReader.open(path)
    try:
        return report(reader.timeline(), session_name=reader.name, path=str(path), targets=targets)
    finally:
        reader.close()


def print_json(value: Any) -> None:
    """Strict JSON on stdout; in ASCII where the terminal or half a surrogate pair asks for it."""
    text = json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=1, allow_nan=False)
    print(text)


def load_report_as(path: Path, tool: str) -> dict[str, Any]:
    """A session file as another tool would report it. UsageError, SessionError with one sentence."""
    from profiler.reporting.other_tools import find_tool, report_as
    from profiler.session.reader import SessionReader

    find_tool(tool)  # a wrong name is told before the file is read
    with SessionReader.open(path) as reader:
        return report_as(reader.timeline(), tool, session_name=reader.name, path=str(path))


def report(
    file: _File,
    as_tool: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="TOOL",
            help="As another tool would report it: vllm, aiperf, guidellm, llmperf, optimum, llama-bench.",
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            metavar="NAME=VALUE",
            help="Hold the requests against this, repeatable: ttft_ms=500, fluctuation=20%, "
            "itl_p99_ms=50, e2e_ms=10000; off for none.",
        ),
    ] = None,
    as_json: _Json = False,
) -> int:
    """Show the figures of a session."""
    from profiler.reporting.other_text import other_text
    from profiler.reporting.text import report_text

    if as_tool is not None and target:
        raise UsageError("--target belongs to our own report; leave out --as.")
    value = load_report(file, target or ()) if as_tool is None else load_report_as(file, as_tool)
    if as_json:
        print_json(value)
        return 0
    console = out()
    for part in report_text(value) if as_tool is None else other_text(value):
        console.print(part)
    return 0


def verify(file: _File, as_json: _Json = False) -> int:
    """Check a session file; exit code 2 when something is wrong with it."""
    from profiler.session.repair import verify as verify_file

    problems = verify_file(file)
    if as_json:
        print_json(
            {
                "path": str(file),
                "problems": [{"severity": p.severity, "message": p.message} for p in problems],
            }
        )
    elif not problems:
        out().print(plain(f"{file}: sound."))
    for problem in [] if as_json else problems:
        out().print(plain(f"{problem.severity}: {problem.message}"), soft_wrap=True)
    return 2 if any(problem.severity == "error" for problem in problems) else 0


def repair(
    file: _File,
    output: Annotated[Path, typer.Option("--out", metavar="FILE", help="The repaired copy; must not exist.")],
) -> int:
    """Save what can be read of a damaged session into a new file; the old one is not touched."""
    from profiler.session.repair import repair as repair_file

    summary = repair_file(file, output)
    out().print(plain(summary), soft_wrap=True)
    problems = [problem for problem in verify_result(output) if problem.severity == "error"]
    for problem in problems:
        say_error(problem.message)
    return 2 if problems else 0


def verify_result(path: Path) -> list[Any]:
    """What `verify` says of the repaired file."""
    from profiler.session.repair import verify as verify_file

    return list(verify_file(path))
