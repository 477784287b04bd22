"""The small parts behind the window: options, pace, progress, link, background."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fake_client import MS, FakeClient

from app.background import Background
from app.engine_link import EngineLink
from app.options import parse_options
from app.pace import Pace
from app.panels.kpi_values import kpi_values
from app.progress import run_progress
from profiler import events as ev
from profiler.config import RunConfig
from profiler.errors import DecodescopeError, SessionExists, UsageError
from profiler.timeline import Timeline

ROOT = Path(__file__).parents[2]


def test_options_of_the_unattended_run(tmp_path: Path) -> None:
    options = parse_options(
        "--model preset:nano --prompt-tokens 64 --output-tokens 32 --repeats 5 --warmup 2 --respect-eos "
        f"--temperature 0.5 --seed 9 --autostart --quit-when-done --save {tmp_path}/a.dscope".split()
    )
    assert options.config == RunConfig(
        model="preset:nano",
        prompt_tokens=64,
        output_tokens=32,
        repeats=5,
        warmup=2,
        ignore_eos=False,
        temperature=0.5,
        seed=9,
    )
    assert options.autostart and options.quit_when_done and options.unattended
    assert options.save == tmp_path / "a.dscope"


def test_options_win_over_the_config_file_and_replace_its_prompt(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text('{"model": "demo", "prompt_tokens": 64, "repeats": 9}')
    options = parse_options(["--config", str(file), "--prompt", "Hello", "--repeats", "2"])
    assert options.config == RunConfig(model="demo", prompt="Hello", repeats=2)


def test_no_settings_leave_the_choice_to_the_window() -> None:
    assert parse_options([]).config is None
    assert parse_options(["--autostart"]).config == RunConfig()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--output-tokens", "0"], UsageError),
        (["--config", "/does/not/exist.json"], UsageError),
        (["--save", "/does/not/exist/a.dscope"], UsageError),
        (["--screenshot", "/does/not/exist/a.png"], UsageError),
        (["/does/not/exist.dscope"], UsageError),
    ],
)
def test_bad_input_is_refused_before_there_is_a_window(
    arguments: list[str], error: type[DecodescopeError]
) -> None:
    with pytest.raises(error) as told:
        parse_options(arguments)
    assert told.value.exit_code == 2


def test_save_never_replaces_without_being_told_to(tmp_path: Path) -> None:
    target = tmp_path / "there.dscope"
    target.write_bytes(b"x")
    with pytest.raises(SessionExists):
        parse_options(["--save", str(target)])
    assert parse_options(["--save", str(target), "--overwrite"]).overwrite


def test_unknown_option_exits_with_2() -> None:
    with pytest.raises(SystemExit) as told:
        parse_options(["--no-such-thing"])
    assert told.value.code == 2


# -- pace -------------------------------------------------------------------------------------


def test_pace_on_the_cpu_keeps_to_its_share_of_the_machine() -> None:
    pace = Pace(cpus=2)
    pace.budgeted = True
    pace.add_cost(0.0084)
    # 8.4 ms of one processor; 0.5 % of two are 10 ms a second: every 0.84 s.
    assert pace.interval_s == pytest.approx(0.84)
    assert pace.share == pytest.approx(0.005)


def test_pace_stays_between_0_4_and_30_hz() -> None:
    pace = Pace(cpus=64)
    pace.budgeted = True
    pace.add_cost(0.001)
    assert pace.hz == pytest.approx(30.0)
    slow = Pace(cpus=1)
    slow.budgeted = True
    slow.add_cost(0.5)
    assert slow.hz == pytest.approx(0.4)


def test_pace_without_a_budget_never_takes_more_than_half_of_the_time() -> None:
    pace = Pace(cpus=2)
    pace.add_cost(0.002)
    assert pace.hz == pytest.approx(30.0)
    heavy = Pace(cpus=2)
    heavy.add_cost(0.1)
    assert heavy.interval_s == pytest.approx(0.2)


# -- progress ---------------------------------------------------------------------------------


def _timeline(*events: ev.Event) -> Timeline:
    timeline = Timeline()
    timeline.apply_all(events)
    return timeline


def test_time_left_comes_from_the_run_s_own_gaps() -> None:
    config = RunConfig(output_tokens=10, repeats=2, warmup=0)
    # First token after 100 ms, then 20 ms a token; 5 of 10 tokens are there.
    timeline = _timeline(
        ev.RunStart(1, 0),
        ev.RequestStart(0, 1, "r1", 0, 16, 10),
        ev.make_steps(0, 0, [100 * MS, 120 * MS, 140 * MS, 160 * MS, 180 * MS]),
    )
    progress = run_progress(config, timeline.runs[1], None, 0, 180 * MS)
    # 5 tokens of 20 ms, and one request of 100 + 9 * 20 ms.
    assert progress.left_s == pytest.approx(0.100 + 0.280)
    assert progress.title == "Decoding repeat 1 of 2"
    assert [segment.done for segment in progress.segments] == [1.0, 0.5, 0.0]


def test_no_time_left_is_told_before_there_are_gaps() -> None:
    config = RunConfig(output_tokens=10)
    assert run_progress(config, None, None, 0, MS).left_s is None
    timeline = _timeline(ev.RunStart(1, 0), ev.RequestStart(0, 1, "w1", 0, 16, 10, True, True))
    progress = run_progress(config, timeline.runs[1], None, 0, MS)
    assert progress.left_s is None
    assert progress.title == "Warm-up 1 of 1"


# -- key figures -----------------------------------------------------------------------------


def test_small_jitter_is_in_microseconds_and_small_energy_in_millijoules() -> None:
    values = kpi_values(
        {
            "jitter": {"jitter_ms": 0.0234},
            "fluctuation": {"p50": 0.024},
            "energy": {"joules_per_token": 0.41, "source": "energy counter"},
            "mbu": {"run": 0.075, "reference_gb_s": 300.0},
        }
    )
    assert (values["jitter"].text, values["jitter"].unit) == ("23", "µs")
    assert values["jitter"].foot == "fluct. 2.4 %"
    assert (values["energy"].text, values["energy"].unit) == ("410", "mJ")
    assert (values["mbu"].text, values["mbu"].unit, values["mbu"].foot) == ("7.50", "%", "22 of 300 GB/s")


def test_missing_values_have_their_reason() -> None:
    values = kpi_values({"mbu": {"run": None, "reason": "memory bandwidth was not measured"}})
    assert values["mbu"].value is None
    assert values["mbu"].foot == "not available"
    assert values["mbu"].tip == "Memory bandwidth was not measured."
    assert all(kpi.value is None for kpi in kpi_values(None).values())


# -- link and background ---------------------------------------------------------------------


def _wait(ready) -> None:  # type: ignore[no-untyped-def]
    pause = threading.Event()
    for _ in range(2000):
        if ready():
            return
        pause.wait(0.005)
    raise AssertionError("nothing came")


def test_link_hands_over_what_was_said_before_the_end() -> None:
    clients: list[FakeClient] = []

    def make() -> FakeClient:
        clients.append(FakeClient())
        return clients[-1]

    link = EngineLink(make)
    link.start()
    clients[0].feed([ev.State("idle", 1)])
    clients[0].die("killed")
    _wait(lambda: bool(link._gone))
    assert link.drain() == [ev.State("idle", 1)]
    assert link.take_gone() == "killed"
    assert link.take_gone() is None
    assert not link.alive
    assert not link.send("stop")
    link.start()
    assert link.alive and len(clients) == 2
    link.close()
    assert clients[1].closed


def test_replies_reach_whoever_asked() -> None:
    client = FakeClient()
    link = EngineLink(lambda: client)
    link.start()
    got: list[ev.Reply] = []
    assert link.send("machine", got.append)
    events: list[ev.Event] = []

    def more() -> bool:
        events.extend(link.drain())
        return bool(events)

    _wait(more)
    assert isinstance(events[0], ev.Reply)
    link.resolve(events[0])
    link.resolve(events[0])
    assert [reply.ok for reply in got] == [True]
    link.close()


def test_background_hands_over_results_and_errors_in_order() -> None:
    background = Background()
    done: list[object] = []
    background.submit(lambda: 1, done.append, done.append)
    background.submit(lambda: 1 / 0, done.append, done.append)

    def both() -> bool:
        background.poll()
        return len(done) == 2

    _wait(both)
    assert done[0] == 1
    assert isinstance(done[1], ZeroDivisionError)
    assert not background.busy
    background.close()


# -- imports ----------------------------------------------------------------------------------


def test_window_starts_without_what_it_does_not_need() -> None:
    code = (
        "import sys, app.start, app.unattended\n"
        "heavy = {'torch', 'transformers', 'scipy', 'pynvml', 'gguf', 'plotly'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stderr == ""
    assert done.returncode == 0
