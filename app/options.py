"""The window's command line: the settings of `dscope record`, and what only a window needs.

argparse and no more, so that a wrong option is answered before Qt is imported.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from profiler.config import RunConfig, make_config, read_config
from profiler.errors import SessionExists, UsageError

PROMPT_KEYS = ("prompt", "prompt_tokens", "prompts_file")


@dataclass(frozen=True)
class Options:
    """What the command line asked for.

    `config` is None when no setting was given: the window then shows what was chosen last.
    """

    config: RunConfig | None = None
    session: Path | None = None
    autostart: bool = False
    quit_when_done: bool = False
    save: Path | None = None
    overwrite: bool = False
    screenshot: Path | None = None
    kpi_json: Path | None = None
    own_cost: Path | None = None
    own_cost_budget: float = 240.0
    theme: Literal["system", "dark", "light"] | None = None
    size: tuple[int, int] | None = None
    """Width and height of the window, px."""
    text_scale: float | None = None
    """Size of all text against the design's, 1.0 to 1.5."""
    new_window: bool = False
    page: Literal["profile", "compare", "sessions"] | None = None

    @property
    def unattended(self) -> bool:
        """Nobody sits in front of the window: questions are answered, not asked."""
        return self.quit_when_done or self.own_cost is not None


def build_parser() -> argparse.ArgumentParser:
    """The parser; every setting is absent from the result unless it was given."""
    parser = argparse.ArgumentParser(
        prog="decodescope",
        description="Profile the latency of a local language model, every token, live.",
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="say the version and end")
    parser.add_argument("session", nargs="?", metavar="FILE.dscope", help="open a saved session")
    run = parser.add_argument_group("the run, as in `dscope record`")
    run.add_argument("--model", help="preset:NAME, demo, a folder, a .gguf file, a config.json or a hub id")
    prompt = run.add_mutually_exclusive_group()
    prompt.add_argument("--prompt", metavar="TEXT", help="the prompt as text")
    prompt.add_argument("--prompt-tokens", type=int, metavar="N", help="a synthetic prompt of N tokens")
    prompt.add_argument("--prompts", dest="prompts_file", metavar="FILE", help="a JSONL file of prompts")
    run.add_argument("--output-tokens", type=int, metavar="N")
    eos = run.add_mutually_exclusive_group()
    eos.add_argument("--ignore-eos", dest="ignore_eos", action="store_true")
    eos.add_argument("--respect-eos", dest="ignore_eos", action="store_false")
    run.add_argument("--repeats", type=int, metavar="N")
    run.add_argument("--warmup", type=int, metavar="N")
    run.add_argument("--dtype", choices=("auto", "fp32", "bf16", "fp16"))
    run.add_argument("--device", help="auto, cpu, mps, cuda or cuda:N")
    run.add_argument("--attn", help="auto, eager, sdpa, flash_attention_2")
    run.add_argument("--cache", choices=("dynamic", "static"))
    run.add_argument("--threads", type=int, metavar="N")
    run.add_argument("--temperature", type=float, metavar="T", help="0 is greedy")
    run.add_argument("--seed", type=int, metavar="N")
    run.add_argument("--sample-hz", type=float, metavar="HZ", help="telemetry readings a second; 0 is off")
    run.add_argument("--config", metavar="FILE", help="settings from a JSON file; options win over it")
    run.add_argument("--trust-remote-code", action="store_true")
    run.add_argument("--allow-download", action="store_true")
    run.add_argument("--name", help="a name for the run")
    window = parser.add_argument_group("the window")
    window.add_argument("--autostart", action="store_true", help="start the run at once")
    window.add_argument("--quit-when-done", action="store_true", help="close when the run is over")
    window.add_argument("--save", metavar="FILE", help="where the session goes when the run is over")
    window.add_argument("--overwrite", action="store_true", help="let --save replace a file")
    window.add_argument("--screenshot", metavar="FILE.png", help="a picture of the window at the end")
    window.add_argument("--kpi-json", metavar="FILE", help="the values that the strip shows at the end")
    # For `dscope overhead`, which starts this program to measure what a window costs.
    window.add_argument("--own-cost", metavar="FILE", help=argparse.SUPPRESS)
    window.add_argument("--own-cost-budget", type=float, help=argparse.SUPPRESS)
    window.add_argument("--theme", choices=("system", "dark", "light"))
    window.add_argument("--size", type=_size, metavar="WxH", help="size of the window, as 1440x900")
    window.add_argument("--text-scale", type=_text_scale, metavar="S", help="size of all text, 1.0 to 1.5")
    window.add_argument("--new-window", action="store_true", help="do not use a window that is open")
    window.add_argument("--page", choices=("profile", "compare", "sessions"), help="the page to show first")
    return parser


class _Version(argparse.Action):
    """Reads the version only when it is asked for: every start of the window makes a parser."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from profiler.version import version

        print(f"decodescope {version()}")
        parser.exit()


def _text_scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 1.0 <= scale <= 1.5:
        raise argparse.ArgumentTypeError(f"{text!r} is no text size; give 1.0 to 1.5")
    return scale


def _size(text: str) -> tuple[int, int]:
    try:
        width, height = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; give it as 1440x900") from None
    return width, height


def parse_options(arguments: Sequence[str]) -> Options:
    """Options from argv without the program's name.

    SystemExit(2) on a usage error (argparse), UsageError or SessionExists on input that
    cannot work.
    """
    given = vars(build_parser().parse_args(list(arguments)))
    window = {
        name: given.pop(name)
        for name in (
            "autostart",
            "quit_when_done",
            "overwrite",
            "theme",
            "size",
            "text_scale",
            "new_window",
            "page",
            "own_cost_budget",
        )
        if name in given
    }
    paths = {
        name: Path(given.pop(name))
        for name in ("session", "save", "screenshot", "kpi_json", "own_cost")
        if name in given
    }
    config_file = given.pop("config", None)
    values: dict[str, Any] = {} if config_file is None else read_config(Path(config_file))
    if any(name in given for name in PROMPT_KEYS):
        for name in PROMPT_KEYS:
            values.pop(name, None)
    values.update(given)
    options = Options(
        config=make_config(values) if values or window.get("autostart") else None,
        **window,
        **paths,
    )
    _check_paths(options)
    return options


def _check_paths(options: Options) -> None:
    for option, path in (
        ("--save", options.save),
        ("--screenshot", options.screenshot),
        ("--kpi-json", options.kpi_json),
    ):
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(
                f"The folder of {option}, {path.absolute().parent}, does not exist; create it first."
            )
    if options.save is not None and options.save.exists() and not options.overwrite:
        raise SessionExists(f"{options.save} exists; choose another name or add --overwrite.")
    if options.session is not None and not options.session.is_file():
        raise UsageError(f"{options.session} does not exist; check the path.")
