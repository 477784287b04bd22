"""Does the packaged program work where there is no Python?

    python tests/package/smoke.py dist/decodescope

Copies the folder to a path with spaces and non-ASCII letters and works with the copy: no Python
on PATH, no PYTHONPATH, an empty home. Prints a line for each check; exits with 1 at the first that
fails. The Python that runs this has the project installed: it makes the small models and reads the
files that the packaged program wrote.

`--start ROUNDS` compares the time that the window takes to open a file, draw it and close with that
of `python -m app`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from make_gguf import write_tiny_gguf  # noqa: E402
from make_models import TINY, save_tiny_llama  # noqa: E402
from processes import all_gone, kill, wait_until  # noqa: E402

from profiler.session.reader import SessionReader  # noqa: E402

EXE = ".exe" if sys.platform == "win32" else ""
PNG = b"\x89PNG\r\n\x1a\n"
MOST_PROCESSES = 8
"""Window, engine, the worker and one that is made ready, and Python's resource trackers."""
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
_DEEPSEEK = {
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "num_key_value_heads": 4,
    "n_group": 1,
    "topk_group": 1,
    "moe_intermediate_size": 32,
    "first_k_dense_replace": 1,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {},
    "mixtral": {"num_local_experts": 4},
    "qwen2": {},
    "qwen2_moe": {**_EXPERTS, "shared_expert_intermediate_size": 32},
    "qwen3": {"head_dim": 16},
    "qwen3_moe": {**_EXPERTS, "head_dim": 16},
    "gemma": {"head_dim": 16},
    "gemma2": {"head_dim": 16},
    "gemma3_text": {"head_dim": 16},
    "phi": {},
    "phi3": {},
    "gpt2": {},
    "gpt_neox": {},
    "falcon": {},
    "olmo": {},
    "olmo2": {},
    "smollm3": {},
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "granite": {},
}
"""`model_type`: what its config needs besides TINY to be of about 100,000 parameters."""


class Failed(Exception):
    """A check did not hold."""


def check(holds: Any, what: str, told: Any = "") -> None:
    """Raises Failed with `what`, and what the program said, unless `holds`."""
    if not holds:
        raise Failed(f"{what}\n{told}".rstrip())


class Package:
    """The copy of the program, and how to run it."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.root = folder / "Mit Leerzeichen und Ünïcødé 漢字"
        self.work = folder / "Arbeit ß"
        self.home = folder / "Héim leer"
        empty = folder / "bin"
        for path in (self.work, self.home, empty):
            path.mkdir()
        shutil.copytree(source, self.root, symlinks=True)
        self.environment = {"HOME": str(self.home), "PATH": str(empty), "TMPDIR": str(self.work)}
        if sys.platform == "win32":
            system = os.environ["SYSTEMROOT"]
            folders = {name: str(self.home) for name in ("USERPROFILE", "APPDATA", "LOCALAPPDATA")}
            temporary = {"TEMP": str(self.work), "TMP": str(self.work)}
            self.environment |= {"SYSTEMROOT": system, "PATH": rf"{system}\System32", **folders, **temporary}
        self.files_before = self.files()

    def files(self) -> set[str]:
        """All files of the copy."""
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()}

    def processes(self) -> list[psutil.Process]:
        """All that run out of the copy."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.status() != psutil.STATUS_ZOMBIE and self.root in Path(process.exe()).parents:
                    found.append(process)
            except (psutil.Error, OSError):
                continue  # ended meanwhile, or not ours to look at
        return found

    def start(self, program: str, *arguments: Any, **environment: str) -> subprocess.Popen[str]:
        """Start `decodescope` or `dscope`."""
        return subprocess.Popen(
            [str(self.root / (program + EXE)), *map(str, arguments)],
            cwd=self.work,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )

    def run(
        self, program: str, *arguments: Any, code: int = 0, limit_s: float = 120, **environment: str
    ) -> tuple[str, str]:
        """Run to the end and check the exit code, that no traceback is told and no process left.

        Standard output and standard error.
        """
        process = self.start(program, *arguments, **environment)
        try:
            out, err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            for one in self.processes():
                one.kill()
            out, err = process.communicate()
            raise Failed(f"{program} {arguments} took more than {limit_s:g} s\n{out}\n{err}") from None
        check(process.returncode == code, f"exit code {process.returncode}, not {code}", out + err)
        check("Traceback" not in out + err, "a traceback", out + err)
        self.nothing_left()
        return out, err

    def nothing_left(self) -> None:
        """Checks that no process runs out of the copy any more."""
        all_gone(self.processes(), 10)
        check(not self.processes(), "a process is left", self.processes())


def watched(package: Package, process: subprocess.Popen[str], limit_s: float) -> tuple[str, str, int]:
    """Wait for a window's end, counting processes: its output, and the most there were at once.

    Failed when there are more than a window has, or two that are nobody's child.
    """
    most = 0
    end = time.monotonic() + limit_s
    while process.poll() is None:
        processes = package.processes()
        most = max(most, len(processes))
        windows = [one for one in processes if is_window(one)]
        if most > MOST_PROCESSES or len(windows) > 1 or time.monotonic() > end:
            lines = [" ".join(safe(one.cmdline, [])) for one in processes]
            for one in processes:
                safe(one.kill, None)
            raise Failed("Too many processes, or no end:\n" + "\n".join(lines))
        time.sleep(0.05)  # a sample every so often; the end is the process's
    out, err = process.communicate()
    return out, err, most


def safe(read: Callable[[], Any], otherwise: Any) -> Any:
    """What psutil tells of a process, which may have ended meanwhile."""
    try:
        return read()
    except psutil.Error:
        return otherwise


def is_window(process: psutil.Process) -> bool:
    """Started by a person, not by multiprocessing."""
    words = safe(process.cmdline, [])[1:]
    return bool(words) and "--multiprocessing-fork" not in words and "-c" not in words


# --- The checks -------------------------------------------------------------------------------

TOKENS = ("--prompt-tokens", "16", "--output-tokens", "8", "--repeats", "1", "--warmup", "0")
SHORT = (*TOKENS, "--no-reference")


def doctor(package: Package) -> str:
    """The command line starts, and knows what it consists of."""
    out, _ = package.run("dscope", "doctor")
    check("torch" in out and "is not installed; models" not in out, "doctor finds no torch", out)
    out, _ = package.run("dscope", "--version")
    check(out.startswith(("dscope 0.", "dscope 1.")), "no version", out)
    return out.strip()


def record(package: Package) -> str:
    """A built-in model, recorded."""
    out = package.work / "erste Aufnahme ü.dscope"
    package.run("dscope", "record", "--model", "preset:nano", *TOKENS, "--out", out)
    with SessionReader.open(out) as reader:
        run = reader.timeline().runs[1]
    check(run.status == "finished", "the run did not finish", run)
    return f"{out.stat().st_size / 1024:.0f} KiB"


def report(package: Package) -> str:
    """What the command line makes of a recording."""
    out, _ = package.run("dscope", "report", "erste Aufnahme ü.dscope", "--json")
    requests = json.loads(out)["runs"][0]["requests"]
    check(requests["ok"] == 1, "a request is missing", requests)
    package.run("dscope", "report", "erste Aufnahme ü.dscope")
    package.run("dscope", "verify", "erste Aufnahme ü.dscope")
    compared = ("erste Aufnahme ü.dscope", "erste Aufnahme ü.dscope")
    package.run("dscope", "compare", *compared)
    return "report, verify, compare"


def export(package: Package) -> str:
    """Every format; Parquet only where pyarrow is in the package."""
    done = []
    for kind in ("html", "csv", "json", "markdown", "chrome-trace", "jsonl"):
        target = package.work / f"out.{kind}"
        package.run("dscope", "export", "erste Aufnahme ü.dscope", "--format", kind, "--out", target)
        check(target.stat().st_size > 100, f"{kind} is empty")
        done.append(kind)
    page = (package.work / "out.html").read_text(encoding="utf-8")
    check("Plotly" in page and len(page) > 1_000_000, "no charts in the page", len(page))
    if (package.root / "_internal" / "pyarrow").is_dir():
        target = package.work / "out.parquet"
        package.run("dscope", "export", "erste Aufnahme ü.dscope", "--format", "parquet", "--out", target)
        check(target.read_bytes()[:4] == b"PAR1", "no Parquet")
        done.append("parquet")
    return ", ".join(done)


def wrong_model(package: Package) -> str:
    """An error is one sentence."""
    _, err = package.run("dscope", "record", "--model", "preset:nonsense", code=3)
    line = err.strip().splitlines()[-1]
    check(line.startswith("dscope: ") and line.endswith(".") and "nonsense" in line, "no sentence", err)
    _, err = package.run(
        "decodescope", "--model", "preset:nano", "--output-tokens", "0", "--autostart", code=2
    )
    check(err.startswith("decodescope: "), "no sentence of the window", err)
    return line


def folders(package: Package) -> str:
    """A folder model of each family, with a tokenizer for one; a GGUF file."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.manual_seed(0)
    for family, changes in FAMILIES.items():
        folder = package.work / f"modèle {family}"
        if family == "llama":
            save_tiny_llama(folder)
        else:
            config = AutoConfig.for_model(family, **{**TINY, **changes})
            AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        recorded(package, folder, package.work / f"{family}.dscope")
        print(f"   {family}", flush=True)
        shutil.rmtree(folder)
    gguf = package.work / "klein ü.gguf"
    write_tiny_gguf(gguf)
    recorded(package, gguf, package.work / "gguf.dscope")
    return f"{len(FAMILIES)} families, GGUF"


def recorded(package: Package, model: Path, out: Path) -> None:
    """Record `model` and check that all tokens came."""
    try:
        package.run("dscope", "record", "--model", model, *SHORT, "--out", out)
    except Failed as failure:
        raise Failed(f"{model.name}: {failure}") from None
    with SessionReader.open(out) as reader:
        (tokens,) = (len(request) for request in reader.timeline().iter_requests())
    check(tokens == 8, f"{model.name}: {tokens} tokens of 8")


def mixture(package: Package) -> str:
    """The built-in shape with experts; those of the others are among the families."""
    out = package.work / "moe.dscope"
    package.run("dscope", "record", "--model", "preset:moe", *SHORT, "--out", out)
    return "preset:moe"


def killed_worker(package: Package) -> str:
    """kill -9 of the process that runs the model: told, and the file is whole."""
    out = package.work / "getötet.dscope"
    long = ("--output-tokens", "1000", "--repeats", "1000", "--warmup", "0", "--no-reference")
    process = package.start("dscope", "record", "--model", "preset:nano", *long, "--out", out)

    def steps() -> int:
        check(process.poll() is None, "ended before it was killed")
        try:
            with SessionReader.open(out) as reader:
                return sum(len(request) for request in reader.timeline().iter_requests())
        except Exception:  # noqa: BLE001 - not there yet, or being made
            return 0

    wait_until(lambda: steps() > 10, 60, "steps in the file")
    children = [one for one in package.processes() if one.pid != process.pid]
    worker = max(children, key=lambda one: safe(lambda: sum(one.cpu_times()[:2]), 0.0))
    kill(worker.pid)
    _, err = process.communicate(timeout=30)
    check(process.returncode == 4, f"exit code {process.returncode}, not 4", err)
    check("SIGKILL" in err and "Traceback" not in err, "it is not told", err)
    package.nothing_left()
    package.run("dscope", "verify", out)
    told, _ = package.run("dscope", "report", out, "--json")
    check(json.loads(told)["runs"][0]["status"] == "failed", "the report does not say it", told)
    return err.strip().splitlines()[-1]


def interrupted(package: Package) -> str:
    """The terminal's interrupt ends all processes and keeps the file."""
    out = package.work / "unterbrochen.dscope"
    model = ("--model", "synthetic:ttft_ms=5,itl_ms=5", "--output-tokens", "100000", "--warmup", "0")
    process = package.start("dscope", "record", *model, "--out", out)
    wait_until(lambda: len(package.processes()) > 1 and out.exists(), 60, "the recording")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    check(process.returncode == 130 and "Traceback" not in err, f"exit code {process.returncode}", err)
    package.nothing_left()
    package.run("dscope", "verify", out)
    return "exit code 130"


def window(package: Package, platform: str, **environment: str) -> str:
    """A run in the window: saved, a picture, one window, nothing left."""
    saved, picture = package.work / f"fenster {platform}.dscope", package.work / f"fenster {platform}.png"
    process = package.start(
        "decodescope",
        *("--model", "preset:nano", *TOKENS, "--autostart", "--quit-when-done"),
        *("--save", saved, "--screenshot", picture),
        QT_QPA_PLATFORM=platform,
        **environment,
    )
    out, err, most = watched(package, process, 120)
    check(process.returncode == 0, f"exit code {process.returncode}", out + err)
    check("Traceback" not in out + err and "qt.qpa" not in err, "it complains", out + err)
    package.nothing_left()
    with SessionReader.open(saved) as reader:
        run = reader.timeline().runs[1]
    check(run.status == "finished", "the run did not finish", run)
    check(picture.read_bytes()[:8] == PNG and picture.stat().st_size > 20_000, "no picture")
    return f"at most {most} processes"


def offscreen(package: Package) -> str:
    """The window without a screen."""
    return window(package, "offscreen")


def xvfb(package: Package) -> str:
    """The window on an X server."""
    if shutil.which("Xvfb") is None:
        return "SKIPPED: no Xvfb on this machine"
    with x_server() as display:
        return window(package, "xcb", DISPLAY=display)


@contextmanager
def x_server() -> Iterator[str]:
    """An X server without a screen: its DISPLAY."""
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1600x1000x24", "-nolisten", "tcp"],
        pass_fds=(writing,),
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            yield f":{told.readline().strip()}"
    finally:
        server.terminate()
        server.wait(10)


def untouched(package: Package) -> str:
    """Nothing was written where the program lies; the home has it all."""
    new = package.files() - package.files_before
    check(not new, "files appeared beside the program", sorted(new)[:10])
    return f"{len(package.files_before)} files"


def start_times(package: Package, rounds: int) -> str:
    """Open a file, draw it, close: the packaged window against `python -m app`, in turn."""
    session = package.work / "erste Aufnahme ü.dscope"
    arguments = [str(session), "--quit-when-done", "--screenshot", str(package.work / "start.png")]
    source = {
        **os.environ,
        "HOME": str(package.home),
        "PYTHONPATH": str(ROOT),
        "QT_QPA_PLATFORM": "offscreen",
    }
    # As for an installed program: from byte code.
    source.pop("PYTHONDONTWRITEBYTECODE", None)
    source["PYTHONPYCACHEPREFIX"] = str(package.work / "bytecode")
    ways = {
        "package": (
            [str(package.root / ("decodescope" + EXE))],
            {**package.environment, "QT_QPA_PLATFORM": "offscreen"},
        ),
        "python -m app": ([sys.executable, "-m", "app"], source),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for i in range(-1, rounds):  # the first of each is for the disk's cache and the byte code
        for name in list(ways) if i % 2 == 0 else list(reversed(ways)):
            command, environment = ways[name]
            begin_ns = time.perf_counter_ns()
            done = subprocess.run(
                [*command, *arguments], cwd=package.work, env=environment, capture_output=True, check=False
            )
            check(done.returncode == 0, f"{name} failed", done.stderr.decode(errors="replace"))
            if i >= 0:
                seconds[name].append((time.perf_counter_ns() - begin_ns) / 1e9)
    ours, theirs = (statistics.median(seconds[name]) for name in ways)
    check(ours / theirs <= 1.3, f"the package's window takes {ours / theirs:.2f} times as long", seconds)
    return f"{ours:.2f} s against {theirs:.2f} s, ratio {ours / theirs:.2f} (limit 1.3)"


CHECKS: tuple[Callable[[Package], str], ...] = (
    doctor,
    wrong_model,
    record,
    report,
    export,
    offscreen,
    xvfb,
    killed_worker,
    interrupted,
    mixture,
    folders,
    untouched,
)
MOST_BYTES = 1_100_000_000


def size(folder: Path) -> int:
    """Bytes of all files, links not followed."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())


def main() -> int:
    """Runs the checks; 0 when all hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder that build.spec made")
    parser.add_argument("--start", type=int, default=0, metavar="ROUNDS", help="compare the time to start")
    parser.add_argument("--only", nargs="*", help="names of checks")
    options = parser.parse_args()
    names = [one.__name__ for one in CHECKS]
    chosen = [one for one in CHECKS if not options.only or one.__name__ in (*options.only, "record")]
    if options.only and set(options.only) - set(names):
        parser.error(f"the checks are {', '.join(names)}")
    steps = [(one.__name__, one) for one in chosen]
    if options.start:
        steps.append(("start", lambda package: start_times(package, options.start)))
    total = size(options.folder)
    print(f"{options.folder}: {total / 1e6:.0f} MB", flush=True)
    if total > MOST_BYTES:
        print(f"FAILED: more than {MOST_BYTES / 1e6:.0f} MB")
        return 1
    with tempfile.TemporaryDirectory(prefix="decodescope-smoke-") as name:
        package = Package(options.folder.resolve(), Path(name))
        for step, function in steps:
            begin_ns = time.perf_counter_ns()
            try:
                told = function(package)
            except (Failed, AssertionError, OSError, ValueError) as failure:
                print(f"FAILED {step}: {failure}", flush=True)
                for process in package.processes():
                    safe(process.kill, None)
                return 1
            print(f"ok {step} ({(time.perf_counter_ns() - begin_ns) / 1e9:.1f} s): {told}", flush=True)
    print("The package works.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
