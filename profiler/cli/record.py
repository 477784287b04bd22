"""`dscope record`: the engine in the foreground.

The first Ctrl-C stops at the next token and keeps the session, the second one kills the
worker (a prefill cannot be stopped otherwise).
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from profiler import events as ev
from profiler.cli.console import err, out, say_error
from profiler.cli.progress import RunProgress
from profiler.config import RunConfig, make_config, read_config
from profiler.session.files import check_target

PROMPT_FIELDS = ("prompt", "prompt_tokens", "prompts_file")

_Text = Annotated[str | None, typer.Option(metavar="TEXT", help="The prompt as text.")]


def record(
    model: Annotated[
        str | None,
        typer.Option(
            help="preset:NAME, demo, a folder, a .gguf file, a config.json, or a hub id. See `dscope models`."
        ),
    ] = None,
    prompt: _Text = None,
    prompt_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="A synthetic prompt of exactly N tokens.")
    ] = None,
    prompts: Annotated[
        str | None, typer.Option(metavar="FILE", help="A JSONL file of prompts, taken in turn.")
    ] = None,
    output_tokens: Annotated[int | None, typer.Option(metavar="N", help="Tokens to generate.")] = None,
    ignore_eos: Annotated[
        bool | None,
        typer.Option(
            "--ignore-eos/--respect-eos", help="Go on to the full length, or end where the model does."
        ),
    ] = None,
    chat_template: Annotated[
        bool | None,
        typer.Option(
            "--chat-template/--no-chat-template",
            help="Put texts through the model's chat template, when it has one.",
        ),
    ] = None,
    repeats: Annotated[int | None, typer.Option(metavar="N", help="Measured requests.")] = None,
    warmup: Annotated[
        int | None, typer.Option(metavar="N", help="Requests before, kept out of the statistics.")
    ] = None,
    dtype: Annotated[str | None, typer.Option(help="auto, fp32, bf16 or fp16.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, mps, cuda or cuda:N.")] = None,
    attn: Annotated[str | None, typer.Option(help="auto, eager, sdpa, flash_attention_2.")] = None,
    cache: Annotated[str | None, typer.Option(help="dynamic or static.")] = None,
    threads: Annotated[int | None, typer.Option(metavar="N", help="torch's threads.")] = None,
    temperature: Annotated[float | None, typer.Option(help="0 is greedy.")] = None,
    seed: Annotated[int | None, typer.Option(help="For prompts and sampling.")] = None,
    sample_hz: Annotated[
        float | None, typer.Option(help="Telemetry readings a second, 0 to 10; 0 is off.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings from a JSON file; options win over it.")
    ] = None,
    trust_remote_code: Annotated[
        bool | None,
        typer.Option(
            "--trust-remote-code",
            help="Run Python code that comes with the model. Only for models you trust.",
        ),
    ] = None,
    allow_download: Annotated[
        bool | None,
        typer.Option("--allow-download", help="Fetch a hub model that is not in the local cache."),
    ] = None,
    reference: Annotated[
        bool | None,
        typer.Option(
            "--reference/--no-reference", help="Measure this machine's memory bandwidth first (about 2 s)."
        ),
    ] = None,
    keep_text: Annotated[
        bool | None,
        typer.Option(
            "--keep-text/--no-keep-text", help="Keep the text of prompts and answers in the session file."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="A name for the run.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where the session goes; without it, into the library."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Let --out replace a file.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")] = False,
) -> int:
    """Run a model and record every token into a session file."""
    given: dict[str, Any] = {
        "model": model,
        "prompt": prompt,
        "prompt_tokens": prompt_tokens,
        "prompts_file": prompts,
        "output_tokens": output_tokens,
        "ignore_eos": ignore_eos,
        "chat_template": chat_template,
        "repeats": repeats,
        "warmup": warmup,
        "dtype": dtype,
        "device": device,
        "attn": attn,
        "cache": cache,
        "threads": threads,
        "temperature": temperature,
        "seed": seed,
        "sample_hz": sample_hz,
        "name": name,
        "trust_remote_code": trust_remote_code,
        "allow_download": allow_download,
        "measure_reference": reference,
        "keep_text": keep_text,
    }
    settings = merge_settings(config, {key: value for key, value in given.items() if value is not None})
    run_config = make_config(settings)
    if output is not None:
        check_target(output, overwrite=overwrite)
    return run_in_foreground(run_config, output, overwrite=overwrite, quiet=quiet)


def merge_settings(config_file: Path | None, given: dict[str, Any]) -> dict[str, Any]:
    """The settings of a file with those that were given on top; a given prompt replaces the file's."""
    values = read_config(config_file) if config_file is not None else {}
    if any(name in given for name in PROMPT_FIELDS):
        values = {key: value for key, value in values.items() if key not in PROMPT_FIELDS}
    return {**values, **given}


class _Foreground:
    """What the events told so far."""

    def __init__(self, progress: RunProgress | None) -> None:
        self.progress = progress
        self.reply: ev.Reply | None = None
        self.run_end: ev.RunEnd | None = None
        self.path: str | None = None
        self.failures: list[ev.Failure] = []
        self.interrupts = 0

    def publish(self, events: Sequence[ev.Event]) -> None:
        for event in events:
            if isinstance(event, ev.Reply) and event.id == 1:
                self.reply = event
            elif isinstance(event, ev.RunEnd):
                self.run_end = event
            elif isinstance(event, ev.Recording):
                self.path = event.path
            elif isinstance(event, ev.Failure):
                self.failures.append(event)
            if self.progress is not None:
                self.progress.take(event)

    @property
    def over(self) -> bool:
        """The run has ended, or never began."""
        return self.run_end is not None or (self.reply is not None and not self.reply.ok)


def run_in_foreground(config: RunConfig, path: Path | None, *, overwrite: bool, quiet: bool) -> int:
    """Runs the engine in this process until the run is over; returns the exit code."""
    from profiler.engine.core import Engine

    console = err()
    progress = None if quiet else RunProgress(console, config)
    seen = _Foreground(progress)
    engine = Engine(publish=seen.publish)

    def interrupt(_signal: int, _frame: object) -> None:
        seen.interrupts += 1

    # A terminal that is closed asks for the same as Ctrl-C.
    signals = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    previous = {sig: signal.signal(sig, interrupt) for sig in signals}
    handled = 0
    try:
        args: dict[str, Any] = {"config": config.to_dict(), "name": config.name, "overwrite": overwrite}
        if path is not None:
            args["path"] = str(path.absolute())
        engine.command(1, "run", args)
        while not seen.over:
            engine.poll(0.1)
            if seen.interrupts > handled:
                handled += 1
                if handled == 1:
                    engine.command(2, "stop", {"reason": "interrupted from the keyboard"})
                    if progress is not None:
                        progress.say("Stopping after this token; press Ctrl-C again to stop now.")
                else:
                    engine.command(3, "kill", {})
            if progress is not None:
                interval = progress.draw(engine.now_ns)
                if interval is not None:
                    engine.redraws([interval])
    finally:
        if progress is not None:
            progress.close()
        engine.close()
        for sig, handler in previous.items():
            signal.signal(sig, handler)
    return _conclude(seen, quiet=quiet)


def _conclude(seen: _Foreground, *, quiet: bool) -> int:
    for failure in seen.failures:
        say_error(failure.message)
    reply, end = seen.reply, seen.run_end
    if end is None:
        if reply is not None and reply.value == "cancelled":
            say_error("Stopped before the run had begun; nothing was recorded.")
            return 130
        if not seen.failures and reply is not None and reply.message:
            say_error(reply.message)
        return reply.exit_code if reply is not None and reply.exit_code else 4
    if seen.path is not None and not quiet:
        _show(seen.path)
    disk = next((failure for failure in seen.failures if failure.where == "disk"), None)
    if disk is not None:
        return disk.exit_code
    if end.status == "finished":
        return 0
    if end.status == "stopped":
        return 130
    return 4


def _show(path: str) -> None:
    from profiler.cli.files import load_report
    from profiler.reporting.text import report_text

    sys.stderr.flush()
    console = out()
    for part in report_text(load_report(Path(path))):
        console.print(part)
    console.print(f"Session: {path}", soft_wrap=True)
