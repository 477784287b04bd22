"""Makes the pictures of "Reading the charts": records each case and lets the window draw it.

python tests/make_guide.py [NAME ...]

One case runs a real model (how much of a gap is the model, how much is the host), the others a
schedule; the GPU of two of them is the pretend driver of tests/fakes. Run it on a quiet machine.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from cli import ROOT, environment
from fake_nvml import fake_nvml_env

PICTURES = ROOT / "resources" / "pictures"


@dataclass(frozen=True)
class Case:
    """One picture: what is recorded, and what the pretend driver says (None: there is none)."""

    name: str
    record: tuple[str, ...]
    driver: dict[str, object] | None = None
    window: tuple[str, ...] = field(default=("--size", "1280x800", "--theme", "dark"))


CASES = (
    Case(
        "launch-bound",
        ("--model", "preset:nano", "--prompt-tokens", "32", "--output-tokens", "256", "--repeats", "4"),
    ),
    Case(
        "bandwidth-bound",
        (
            "--model",
            "synthetic:ttft_ms=90,itl_ms=11.2,slope_us=4.4,jitter_ms=0.12,weight_mb=2000,kv_kb=800,gb_s=200",
            "--prompt-tokens",
            "64",
            "--output-tokens",
            "256",
            "--repeats",
            "3",
        ),
    ),
    Case(
        "gc-stall",
        (
            "--model",
            "synthetic:ttft_ms=60,itl_ms=12,jitter_ms=0.15,gc_every=40,gc_objects=400000",
            "--output-tokens",
            "256",
            "--repeats",
            "4",
        ),
    ),
    Case(
        "throttling",
        (
            "--model",
            "synthetic:ttft_ms=40,itl_ms=12,jitter_ms=0.1,step_ms=4,step_at=260,uuid=GPU-fake-0,"
            "weight_mb=2000,kv_kb=50,gb_s=300",
            "--output-tokens",
            "512",
            "--repeats",
            "1",
            "--warmup",
            "0",
        ),
        {
            "NAME": "Pretend GPU",
            "LATER_S": 3.6,
            "SM_CLOCK": 1980,
            "LATER_SM_CLOCK": 1410,
            "POWER_MW": 290_000,
            "LATER_POWER_MW": 210_000,
            "TEMPERATURE": 71,
            "LATER_TEMPERATURE": 88,
            "LATER_REASONS": 0x40,
        },
    ),
    Case(
        "diluted-window",
        (
            "--model",
            "synthetic:ttft_ms=40,itl_ms=9,jitter_ms=0.05,uuid=GPU-fake-0,weight_mb=2000,kv_kb=50,gb_s=300",
            "--output-tokens",
            "40",
            "--repeats",
            "6",
        ),
        {"NAME": "Pretend GPU", "MEM_PCT": 31},
    ),
)


def main() -> int:
    """Exit code 0 when every picture was made."""
    wanted = set(sys.argv[1:])
    for case in CASES:
        if wanted and case.name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            session = Path(folder) / f"{case.name}.dscope"
            env = environment(QT_QPA_PLATFORM="offscreen", DECODESCOPE_HOME=folder)
            if case.driver is not None:
                env |= {
                    key: value
                    for key, value in fake_nvml_env(Path(folder), **case.driver).items()
                    if key.startswith(("FAKE_NVML", "LD_LIBRARY"))
                }
            command = [sys.executable, "-m", "profiler", "record", *case.record, "--out", str(session)]
            subprocess.run(command, env=env, check=True)
            picture = PICTURES / f"{case.name}.png"
            draw = [sys.executable, "-m", "app", str(session), "--quit-when-done", *case.window]
            subprocess.run([*draw, "--screenshot", str(picture)], env=env, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
