"""Facts of the machine: strict JSON whatever the system says, and no secrets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from profiler.caches import last_level_cache
from profiler.telemetry import hardware
from profiler.telemetry.hardware import (
    ENVIRONMENT,
    cpu_model,
    doctor,
    hardware_facts,
    software_facts,
    usable_cpus,
)


def test_hardware_facts_are_strict_json() -> None:
    facts = json.loads(json.dumps(hardware_facts(), allow_nan=False))
    assert facts["caches"]["llc_bytes"] > 0
    assert facts["memory"]["total_bytes"] > 0
    assert facts["usable_cpus"] == facts["cpu"]["usable_cpus"] == usable_cpus()
    assert facts["usable_cpus"] > 0


def test_software_facts_hold_versions_and_listed_variables_only() -> None:
    secret = "hf_0123456789abcdef"
    environ = {
        "HF_TOKEN": secret,
        "OPENAI_API_KEY": secret,
        "CUDA_VISIBLE_DEVICES": "1,0",
        "OMP_NUM_THREADS": "2\udcff\x1b",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "PYTORCH_SECRET_CONF": secret,
    }
    facts = software_facts(environ)
    assert facts["environment"] == {
        "CUDA_VISIBLE_DEVICES": "1,0",
        "OMP_NUM_THREADS": "2\ufffd",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    }
    assert secret not in json.dumps(facts, allow_nan=False)
    assert facts["packages"]["numpy"] is not None
    assert facts["packages"]["torch"] is None or facts["packages"]["torch"][0].isdigit()


def test_the_list_holds_nothing_like_a_secret() -> None:
    words = ("TOKEN", "KEY", "SECRET", "PASS", "CREDENTIAL", "AUTH")
    assert not [
        name
        for name in ENVIRONMENT
        if any(word in name for word in words) and name != "TOKENIZERS_PARALLELISM"
    ]


def test_no_torch_and_no_qt_are_imported() -> None:
    script = (
        "import sys\n"
        "from profiler.telemetry.hardware import doctor, hardware_facts, software_facts\n"
        "hardware_facts(), software_facts(), doctor()\n"
        "print([n for n in ('torch', 'transformers', 'PySide6', 'scipy', 'numpy') if n in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    # The events that the sampler makes need numpy; nothing else may come along.
    assert set(json.loads(done.stdout.replace("'", '"'))) <= {"numpy"}


def test_doctor_speaks_in_sentences() -> None:
    checks = json.loads(json.dumps(doctor(), allow_nan=False))["checks"]
    assert {"processor", "memory", "torch"} <= {check["topic"] for check in checks}
    for check in checks:
        assert set(check) == {"topic", "ok", "text", "next_step"}
        assert check["ok"] in (True, False, None)
        assert check["text"].endswith(".")


def test_cpu_model_with_odd_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "read_text", lambda path: "processor: 0\nmodel name\t: Zen\ufffd \x1b[1m9")
    assert cpu_model() == "Zen\ufffd  [1m9"


# -- the last-level cache ----------------------------------------------------------------


def cache(root: Path, cpu: int, index: int, level: int, kind: str, size: str, shared: str) -> None:
    folder = root / f"cpu{cpu}" / "cache" / f"index{index}"
    folder.mkdir(parents=True)
    for name, text in (("level", str(level)), ("type", kind), ("size", size), ("shared_cpu_list", shared)):
        (folder / name).write_text(text + "\n")


def test_one_shared_cache(tmp_path: Path) -> None:
    for cpu in range(2):
        cache(tmp_path, cpu, 0, 1, "Data", "32K", str(cpu))
        cache(tmp_path, cpu, 1, 1, "Instruction", "64K", str(cpu))
        cache(tmp_path, cpu, 2, 2, "Unified", "512K", str(cpu))
        cache(tmp_path, cpu, 3, 3, "Unified", "32768K", "0-1")
    found = last_level_cache(None, tmp_path)
    assert (found.bytes, found.one_bytes, found.instances) == (33_554_432, 33_554_432, 1)
    assert (found.level, found.source) == (3, "sysfs")


def test_chiplets_add_up_over_the_processors_we_may_use(tmp_path: Path) -> None:
    for cpu in range(4):
        cache(tmp_path, cpu, 0, 3, "Unified", "16M", "0-1" if cpu < 2 else "2-3")
    assert last_level_cache(None, tmp_path).bytes == 33_554_432
    assert last_level_cache([0, 1], tmp_path).bytes == 16_777_216


def test_no_level_3(tmp_path: Path) -> None:
    cache(tmp_path, 0, 0, 1, "Data", "32K", "0")
    cache(tmp_path, 0, 1, 2, "Unified", "4096K", "0")
    assert last_level_cache([0], tmp_path).bytes == 4_194_304


def test_cache_that_is_not_told(tmp_path: Path) -> None:
    cache(tmp_path, 0, 0, 3, "Unified", "odd", "0")
    found = last_level_cache([0, 1], tmp_path)
    assert (found.bytes, found.source) == (33_554_432, "assumed")
