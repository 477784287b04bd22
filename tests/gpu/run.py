"""All checks that need an NVIDIA GPU, in one script that prints a table.

    python tests/gpu/run.py                 on a machine with a GPU; under 8 minutes
    python tests/gpu/run.py --dry-run       its own logic, without one: a schedule for a model

Needs the engine's dependencies only (torch with CUDA, transformers, nvidia-ml-py, numpy,
scipy, psutil, platformdirs): no Qt, no pytest. Each check fails softly: what this machine or
these versions cannot do is "not run" with the reason. Exit code 0 when all that could run passed.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import json
import os
import platform
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUDGET_S = 450.0
CACHES = ("dynamic", "static")
# What a step of the 8B preset reads, by hand from its config: 32 layers of (2 * 4096 * 4096 +
# 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096) parameters, the output table of 128256 * 4096, the
# last norm of 4096; 2 bytes each. The input table is not read but for a row.
BYTES_A_STEP_8B = 15_009_849_344


def main(arguments: list[str] | None = None) -> int:
    """Runs everything; returns the exit code."""
    options = _options(arguments)
    sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]
    try:
        from gpu_verdicts import Verdict, exit_code, not_run, table
    except ImportError as error:
        print(f"These checks need the engine's dependencies: {error}.")
        return 1
    end = time.monotonic() + options.budget_s

    def left() -> float:
        return end - time.monotonic()

    print(_versions())
    verdicts: list[Verdict] = []

    def attempt(name: str, work: Callable[[], Verdict | list[Verdict]]) -> None:
        began = time.monotonic()
        if left() <= 0:
            found: Any = not_run(name, "the time for all checks is used up")
        else:
            try:
                found = work()
            except Exception as error:  # noqa: BLE001 - one check must not take the others with it
                traceback.print_exc()
                found = Verdict(name, "FAIL", note=f"{type(error).__name__}: {str(error)[:200]}")
        verdicts.extend(found if isinstance(found, list) else [found])
        print(f"... {name}: {time.monotonic() - began:.1f} s", flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        os.environ.setdefault("DECODESCOPE_HOME", temporary)
        folder = options.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        _device_checks(options, attempt)
        _engine_checks(options, attempt, folder, left)
        text = table(verdicts)
        print(f"\n{text}\n")
        if options.out is not None:
            values = [dataclasses.asdict(verdict) for verdict in verdicts]
            (folder / "gpu_checks.json").write_text(json.dumps(values, indent=1), encoding="utf-8")
            (folder / "gpu_checks.txt").write_text(f"{_versions()}\n{text}\n", encoding="utf-8")
    return exit_code(verdicts)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry-run", action="store_true", help="no GPU: a schedule in place of the model")
    parser.add_argument("--model", help="in place of preset:8b")
    parser.add_argument("--output-tokens", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--budget-s", type=float, default=BUDGET_S, help="no new check begins after this")
    parser.add_argument("--out", type=Path, help="keep sessions, table and JSON in this folder")
    return parser.parse_args(arguments)


def _versions() -> str:
    told = [f"Python {platform.python_version()}"]
    for name in ("torch", "transformers", "nvidia-ml-py", "numpy"):
        try:
            told.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            told.append(f"{name} missing")
    return ", ".join(told)


def _device_checks(options: argparse.Namespace, attempt: Callable[..., None]) -> None:
    """torch and the driver side by side, no model."""
    import gpu_measure as measure
    from gpu_verdicts import not_run

    torch, why = (None, "a dry run") if options.dry_run else measure.torch_with_cuda()
    checks: dict[str, Callable[[], Any]] = {
        "UUID of torch finds the driver's card": lambda: measure.uuid_match(torch),
        "CUDA-event time against host time": lambda: measure.event_against_host(torch),
        "reference bandwidth against the advertised": measure.reference_against_advertised,
    }
    for name, work in checks.items():
        attempt(name, work if torch is not None else lambda name=name: not_run(name, str(why)))
    if torch is not None:
        torch.cuda.empty_cache()


def _engine_checks(
    options: argparse.Namespace, attempt: Callable[..., None], folder: Path, left: Callable[[], float]
) -> None:
    """The real engine and worker with the model, once for each cache."""
    import gpu_measure as measure
    from gpu_verdicts import not_run

    model = options.model or (
        "synthetic:weight_mb=10000,kv_kb=1,gb_s=2000,uuid=GPU-fake-0" if options.dry_run else "preset:8b"
    )
    name = model.partition(":")[2].partition(",")[0] if not options.dry_run else "schedule"
    names = [f"{name} bf16 {cache}" for cache in CACHES]
    if not options.dry_run:
        _, why = measure.torch_with_cuda()
        if why is not None:
            for label in names:
                attempt(label, lambda label=label: not_run(label, why))
            return
    runs = measure.Runs(folder, left)
    try:
        for label, cache in zip(names, CACHES, strict=True):
            settings = {
                "model": model,
                "prompt_tokens": 128,
                "output_tokens": options.output_tokens,
                "repeats": options.repeats,
                "warmup": 0 if options.dry_run else 1,
                "dtype": "auto" if options.dry_run else "bf16",
                "device": "auto" if options.dry_run else "cuda:0",
                "cache": cache,
                "measure_reference": not options.dry_run,
                "keep_text": False,
            }
            attempt(label, lambda label=label, settings=settings: _engine_run(runs, label, settings, options))
    finally:
        runs.close()


def _engine_run(runs: Any, label: str, settings: dict[str, Any], options: argparse.Namespace) -> list[Any]:
    """One recorded run and all that its session is held against."""
    import gpu_measure as measure
    import gpu_verdicts as verdicts

    from profiler.reporting.report import report
    from profiler.session.reader import SessionReader

    try:
        path = runs.record(label.replace(" ", "-"), **settings)
    except measure.EngineFailed as error:
        return [verdicts.Verdict(label, "FAIL", note=str(error)[:300])]
    with SessionReader.open(path) as reader:
        timeline = reader.timeline()
        (told,) = report(timeline)["runs"]
        run = timeline.runs[1]
        window = None if told["window_ns"] is None else (told["window_ns"][0], told["window_ns"][1])
        found = [
            verdicts.complete(f"{label}: complete", told, options.repeats, options.output_tokens),
            verdicts.plausible_mbu(f"{label}: MBU is plausible", told),
            verdicts.same_card(f"{label}: the model's card was sampled", told, _uuid(options)),
            verdicts.counter_against_bytes(
                f"{label}: bytes over time against the DRAM counter", timeline, run
            ),
            verdicts.energy_against_power(f"{label}: energy counter against power", timeline, window),
        ]
    if settings["model"] == "preset:8b":
        bytes_a_step = told["metrics"]["mbu"]["weight_bytes_per_step"]
        name = f"{label}: bytes a step against the config"
        if bytes_a_step is None:
            found.append(verdicts.Verdict(name, "FAIL", note=str(told["metrics"]["mbu"]["reason"])))
        else:
            found.append(
                verdicts.compare(name, bytes_a_step / 1e9, BYTES_A_STEP_8B / 1e9, "GB", 0.999, 1.001)
            )
    return found


def _uuid(options: argparse.Namespace) -> str:
    if options.dry_run:
        from profiler.worker.backends.synthetic import device_uuids

        return (device_uuids(options.model or "") or ["GPU-fake-0"])[0]
    import torch

    from profiler.worker.cuda_identity import device_names

    return (device_names(torch.cuda.get_device_properties(0), 0) or ["not told"])[0]


if __name__ == "__main__":
    sys.exit(main())
