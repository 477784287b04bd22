"""TELEMETRY's table "it breaks like this", row by row, through a spawned engine.

The engine sees the pretend driver of `tests/fakes`; the model is a schedule that says on which
card it runs. Whatever the driver does: the run is complete, the report has null with a reason for
what is missing, and the session holds one calm sentence about it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fake_nvml import fake_nvml_env
from processes import Session

from profiler import events as ev
from profiler.reporting.report import report
from profiler.session.reader import SessionReader

pytest.importorskip("pynvml")

TOKENS = 30
SCHEDULE = "ttft_ms=20,itl_ms=10"
"""About 0.3 s a request."""


@dataclass(frozen=True)
class Recorded:
    """A finished run: its report, and every sentence that the session holds."""

    run: dict[str, Any]
    fact: dict[str, Any]
    sentences: str

    @property
    def gpus(self) -> list[dict[str, Any]]:
        return list(self.run["telemetry"]["gpus"])

    @property
    def gpu(self) -> dict[str, Any]:
        (only,) = self.gpus
        return dict(only)


Record = Callable[..., Recorded]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the pretend driver, built once."""
    folder = tmp_path_factory.mktemp("driver")
    fake_nvml_env(folder)
    return folder


@pytest.fixture
def record(driver: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Records one run in a new engine that sees the pretend driver, set as `nvml` says.

    `break_after`: once so many readings of the card came within the run, every call fails with
    BREAK_CODE.
    """
    broken = tmp_path / "broken"

    def go(
        *,
        uuid: str | None = "GPU-fake-0",
        schedule: str = SCHEDULE,
        folder: Path = driver,
        environ: dict[str, str] | None = None,
        output_tokens: int = TOKENS,
        repeats: int = 1,
        sample_hz: float = 10,
        break_after: int = 0,
        **nvml: object,
    ) -> Recorded:
        wanted = fake_nvml_env(folder, BREAK_FILE=broken, **nvml)
        for name, value in {**wanted, **(environ or {})}.items():
            if os.environ.get(name) != value:
                monkeypatch.setenv(name, value)
        session = Session(tmp_path / "library")
        try:
            model = f"synthetic:{schedule}" + (f",uuid={uuid}" if uuid else "")
            session.run(model, output_tokens=output_tokens, repeats=repeats, warmup=0, sample_hz=sample_hz)
            if break_after:
                started = session.wait_for(ev.Steps).t_ns[0]
                later: set[int] = set()

                def seen(sample: ev.Sample) -> bool:
                    if sample.source == "gpu0" and sample.t_ns > started:
                        later.add(sample.t_ns)
                    return len(later) >= break_after

                session.wait_for(ev.Sample, seen)
                broken.touch()
            end = session.wait_for(ev.RunEnd)
            path = session.wait_for(ev.Recording, lambda event: event.state == "recorded").path
        finally:
            session.close()
        assert end.status == "finished", end
        with SessionReader.open(path) as reader:
            timeline = reader.timeline()
            (run,) = report(timeline)["runs"]
            logs = [log.message for log in timeline.logs]
        assert run["status"] == "finished" and run["requests"]["ok"] == repeats
        assert [row["output_tokens"] for row in run["per_request"]] == [output_tokens] * repeats
        assert run["metrics"]["itl_ms"]["n"] == repeats * (output_tokens - 1)
        # Processor telemetry never depends on the driver.
        assert run["telemetry"]["host"]["metrics"]["cpu_busy_pct"]["n"] > 0
        fact = timeline.facts["telemetry"]
        told = [fact["reason"] or "", *logs, *run["notes"]]
        return Recorded(run, fact, "\n".join(told))

    return go


def missing(recorded: Recorded, metric: str, gpu: int = 0) -> str:
    """The reason of a metric that must be null throughout."""
    summary = recorded.gpus[gpu]["metrics"][metric]
    assert (summary["n"], summary["mean"], summary["min"], summary["max"]) == (0, None, None, None)
    reason = summary["reason"]
    assert isinstance(reason, str) and reason
    return reason


def test_a_healthy_card_tells_everything(record: Record) -> None:
    told = record(REASONS=0x44, repeats=2, GPM=1, schedule="ttft_ms=20,itl_ms=25")
    gpu = told.gpu
    assert (gpu["index"], gpu["uuid"], gpu["name"], gpu["driver"]) == (0, "GPU-fake-0", "Fake A100", "570.00")
    assert gpu["state"] == "ok" and gpu["state_reason"] is None
    assert gpu["metrics"]["power_w"]["mean"] == 250.0 and gpu["power_source"] == "instant"
    assert gpu["metrics"]["sm_clock_mhz"]["mean"] == 1410.0
    assert gpu["metrics"]["dram_bw_pct"]["mean"] == 91.0
    # 300 W in force, 400 W by default.
    assert gpu["power_cap_pct_of_default"] == 75.0 and gpu["limits"]["power_limit_w"] == 300.0
    assert "power limit of GPU 0 is 75.0" in told.sentences
    events = {event["name"]: event for event in gpu["clock_events"]["events"]}
    assert set(events) == {"power cap", "hardware thermal slowdown"}
    assert not events["power cap"]["alarm"] and events["hardware thermal slowdown"]["alarm"]
    assert "held back by hardware thermal slowdown" in told.sentences
    assert "clock_event_reasons" not in gpu["metrics"]  # a mean of bits says nothing
    energy = told.run["metrics"]["energy"]
    # The counter grows by 240 W; 2 requests of 30 tokens in about 1.5 s.
    seconds = (told.run["window_ns"][1] - told.run["window_ns"][0]) / 1e9
    assert energy["source"] == "energy counter"
    assert energy["joules"] == pytest.approx(240 * seconds, rel=0.1)
    assert energy["joules_per_token"] == energy["joules"] / 60


def test_no_library(record: Record, tmp_path: Path) -> None:
    fake_nvml_env(tmp_path)
    (tmp_path / "libnvidia-ml.so.1").write_bytes(b"")  # to the linker the same as none
    told = record(folder=tmp_path)
    assert told.gpus == []
    assert told.run["telemetry"]["reason"].startswith("No NVIDIA driver was found")
    assert told.run["metrics"]["energy"]["joules"] is None and told.run["metrics"]["energy"]["reason"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ERRORS": "nvmlInitWithFlags=9"}, "The NVIDIA driver is not loaded"),
        ({"ERRORS": "nvmlInitWithFlags=18"}, "reboot or reload the driver"),
        ({"COUNT": 0}, "does not know the GPU"),
        ({"COUNT": 0, "uuid": None}, "The NVIDIA driver lists no GPU"),
    ],
    ids=["driver not loaded", "library mismatch", "no such card", "no card"],
)
def test_a_driver_without_a_card_to_read(record: Record, settings: dict[str, Any], words: str) -> None:
    told = record(**settings)
    assert told.gpus == []
    assert words in told.run["telemetry"]["reason"] and words in told.sentences


@pytest.mark.parametrize(
    ("code", "state", "words"),
    [(999, "stale", "does not answer"), (15, "gone", "was lost"), (16, "gone", "was lost")],
    ids=["999 on every call", "gpu lost", "reset required"],
)
def test_a_driver_that_breaks_in_mid_run(record: Record, code: int, state: str, words: str) -> None:
    # 1.5 s: readings up to the third or so, then none.
    told = record(BREAK_CODE=code, break_after=2, schedule="ttft_ms=20,itl_ms=50")
    gpu = told.gpu
    assert gpu["state"] == state and words in gpu["state_reason"]
    assert words in told.sentences and "run is complete" in told.sentences
    assert gpu["metrics"]["power_w"]["n"] >= 1  # what was read before is kept
    energy = told.run["metrics"]["energy"]
    assert energy["joules"] is None and energy["joules_per_token"] is None
    assert energy["reason"] == "neither energy nor power was read over the whole measured window"
    # No storm: a lost card is never asked again, a silent one after growing pauses.
    assert told.fact["sampler"]["sources"]["gpu0"]["failed_readings"] <= 2
    warnings = [line for line in told.sentences.splitlines() if words in line and "is kept" in line]
    assert len(warnings) == (1 if state == "gone" else 0)


def test_one_call_not_supported_leaves_the_rest_and_the_other_card(record: Record) -> None:
    told = record(
        uuid="GPU-fake-0+GPU-fake-1",
        COUNT=2,
        ERRORS="nvmlDeviceGetClockInfo#1=3,nvmlDeviceGetCurrentClocksEventReasons#1=3",
    )
    assert "Not Supported" in missing(told, "sm_clock_mhz", gpu=1)
    assert "Not Supported" in missing(told, "memory_clock_mhz", gpu=1)
    assert told.gpus[1]["clock_events"]["events"] is None
    assert "Not Supported" in told.gpus[1]["clock_events"]["reason"]
    assert told.gpus[1]["metrics"]["power_w"]["mean"] == 250.0
    assert told.gpus[0]["metrics"]["sm_clock_mhz"]["mean"] == 1410.0
    assert "Not Supported" in told.fact["gpus"][1]["unavailable"]["sm_clock_mhz"]


def test_no_energy_counter_integrates_power(record: Record) -> None:
    told = record(
        ERRORS="nvmlDeviceGetTotalEnergyConsumption=3", INSTANT_MW=-1, schedule="ttft_ms=20,itl_ms=30"
    )
    energy = told.run["metrics"]["energy"]
    seconds = (told.run["window_ns"][1] - told.run["window_ns"][0]) / 1e9
    assert energy["joules"] == pytest.approx(240 * seconds, rel=0.02)
    assert energy["source"].startswith("power integrated over time (averages of about 1 s, too wide")
    assert told.gpu["power_source"] == "average of about 1 s"
    assert "integrated" in missing(told, "energy_j")


def test_one_of_two_cards_lost_before_the_run(record: Record) -> None:
    told = record(uuid="GPU-fake-0+GPU-fake-1", COUNT=2, ERRORS="nvmlDeviceGetEnforcedPowerLimit#0=15")
    assert [gpu["uuid"] for gpu in told.gpus] == ["GPU-fake-1"]
    assert "GPU 0 (Fake A100) was lost" in told.run["telemetry"]["reason"]


def test_an_empty_ring_falls_back_to_the_snapshot(record: Record) -> None:
    told = record(ERRORS="nvmlDeviceGetSamples=6", GPU_PCT=97, MEM_PCT=45)
    assert told.gpu["metrics"]["gpu_busy_pct"]["mean"] == 97.0
    # A window of up to 1 s is all that is known of the snapshot, and decoding took 0.3 s.
    assert missing(told, "memory_busy_pct") == "too short for this counter"
    assert told.gpu["metrics"]["memory_busy_pct"]["window_ms"] == 1000.0


def test_unified_memory_is_the_systems(record: Record) -> None:
    # Memory is read once a second.
    told = record(
        ERRORS="nvmlDeviceGetMemoryInfo_v2=3,nvmlDeviceGetMemoryInfo=3", schedule="ttft_ms=20,itl_ms=50"
    )
    assert told.gpu["memory_source"] == "system memory (unified)"
    assert told.gpu["metrics"]["memory_used_bytes"]["mean"] > 0


def test_implausible_power_is_null(record: Record) -> None:
    told = record(
        LIMIT_MW=80_000, INSTANT_MW=593_000, POWER_MW=593_000, ERRORS="nvmlDeviceGetTotalEnergyConsumption=3"
    )
    assert missing(told, "power_w") == "The driver reports 593 W, which is not plausible."
    energy = told.run["metrics"]["energy"]
    assert energy["joules"] is None and "not plausible" in energy["reason"]


def test_a_name_with_bad_bytes(record: Record) -> None:
    told = record(NAME=b"Ge\xff\xfeForce\x1b[31m")
    assert told.gpu["name"] == "Ge\ufffd\ufffdForce [31m"


def test_a_card_without_hardware_counters(record: Record) -> None:
    told = record(GPM=0)
    assert "Hopper" in missing(told, "dram_bw_pct")


# -- memory busy: only windows wholly inside decoding -------------------------------------------


def test_busy_share_at_a_1_s_window_and_half_a_second_of_decoding_is_withheld(record: Record) -> None:
    told = record(RING_PERIOD_US=1_000_000, RING_N=5, schedule="ttft_ms=20,itl_ms=10", output_tokens=51)
    assert missing(told, "memory_busy_pct") == "too short for this counter"
    assert told.gpu["metrics"]["memory_busy_pct"]["window_ms"] == 1000.0


def test_busy_share_of_a_narrow_window_is_told(record: Record) -> None:
    # 100 ms windows, 1.2 s of decoding: some ten lie inside, each counted once.
    told = record(RING_PERIOD_US=100_000, schedule="ttft_ms=20,itl_ms=40", output_tokens=31)
    summary = told.gpu["metrics"]["memory_busy_pct"]
    assert summary["mean"] == 45.0 and summary["reason"] is None and summary["window_ms"] == 100.0
    assert 4 <= summary["n"] <= 12


# -- which card -------------------------------------------------------------------------------------

CARDS = "GPU-aaaa1111,GPU-bbbb2222,GPU-cccc3333"


def test_the_card_that_the_worker_names(record: Record) -> None:
    told = record(uuid="cccc3333", COUNT=3, UUIDS=CARDS)  # torch's form, without "GPU-"
    assert [(gpu["index"], gpu["uuid"]) for gpu in told.gpus] == [(2, "GPU-cccc3333")]


@pytest.mark.parametrize(
    ("visible", "order", "uuids"),
    [
        ("1", "PCI_BUS_ID", ["GPU-bbbb2222"]),
        ("GPU-bbbb2222", None, ["GPU-bbbb2222"]),
        ("GPU-bbbb", None, ["GPU-bbbb2222"]),  # CUDA takes the beginning of one
        ("2,0", "PCI_BUS_ID", ["GPU-cccc3333"]),
        ("GPU-cccc3333,GPU-aaaa1111", None, ["GPU-cccc3333"]),
        # CUDA's own order is by speed: nobody can say which that is, so none is left out.
        ("1", None, ["GPU-aaaa1111", "GPU-bbbb2222", "GPU-cccc3333"]),
    ],
    ids=["index", "uuid", "beginning of a uuid", "reordered indexes", "reordered uuids", "own order"],
)
def test_the_right_card_where_torch_tells_no_uuid(
    record: Record, visible: str, order: str | None, uuids: list[str]
) -> None:
    environ = {"CUDA_VISIBLE_DEVICES": visible} | ({"CUDA_DEVICE_ORDER": order} if order else {})
    told = record(uuid="visible", environ=environ, COUNT=3, UUIDS=CARDS)
    assert [gpu["uuid"] for gpu in told.gpus] == uuids


def test_with_a_model_on_the_cpu_every_card_is_sampled(record: Record) -> None:
    told = record(uuid=None, COUNT=3, UUIDS=CARDS)
    assert [gpu["uuid"] for gpu in told.gpus] == CARDS.split(",")
    assert all(gpu["metrics"]["power_w"]["mean"] == 250.0 for gpu in told.gpus)
    # They are neighbours: their energy is not the model's, their limits explain nothing.
    assert told.run["metrics"]["energy"]["source"] != "energy counter"
    assert "power limit" not in told.sentences
