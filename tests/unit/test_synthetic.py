from __future__ import annotations

import pytest

from profiler import events as ev
from profiler.config import make_config
from profiler.errors import ModelError
from profiler.timeline import Timeline
from profiler.worker.backends.synthetic import SyntheticBackend, parse
from profiler.worker.outbox import Outbox
from profiler.worker.runner import execute


def _run(model: str, stop: object = lambda: False, **settings: object) -> tuple[Timeline, str]:
    timeline = Timeline()
    outbox = Outbox(lambda message: timeline.apply_all(ev.decode(message)))
    config = make_config({"model": model, "prompt_tokens": 10, "repeats": 2, "warmup": 1, **settings})
    backend = SyntheticBackend(stop)  # type: ignore[arg-type]
    backend.load(config, lambda *_: None, lambda: False)
    backend.prepare(config)
    timeline.apply(ev.RunStart(1, 0))
    outcome = execute(backend, 1, 1, config, outbox, stop)  # type: ignore[arg-type]
    outbox.close()
    return timeline, outcome.status


def test_exact_stamps_are_the_schedule() -> None:
    timeline, status = _run(
        "synthetic:ttft_ms=2,itl_ms=1,stall_ms=5,stall_every=3,stamps=exact", output_tokens=6
    )
    assert status == "ok"
    requests = timeline.runs[1].requests
    assert [request.id for request in requests] == ["w1", "r1", "r2"]
    assert [request.warmup for request in requests] == [True, False, False]
    for request in requests:
        offsets = (request.t_ns - request.t0_ns).tolist()
        # 2 ms to the first token, then 1 ms each, and 5 more before tokens 4 and (3 later) 7.
        assert offsets == [2_000_000, 3_000_000, 4_000_000, 10_000_000, 11_000_000, 12_000_000]
        assert request.kv_len.tolist() == [11, 12, 13, 14, 15, 16]
        assert request.text == "abcdef"
        assert request.end_status == "ok" and request.stop_reason == "length"
        assert request.span_ns("prefill") == 1_900_000


def test_a_step_makes_every_gap_from_that_token_on_longer() -> None:
    timeline, _ = _run("synthetic:ttft_ms=1,itl_ms=1,step_ms=2,step_at=3,stamps=exact", output_tokens=5)
    request = timeline.runs[1].requests[0]
    # The gap before token 4 is the first of the longer ones.
    assert (request.t_ns - request.t0_ns).tolist() == [1_000_000, 2_000_000, 3_000_000, 6_000_000, 9_000_000]


def test_several_tokens_a_step_never_exceed_the_length() -> None:
    timeline, _ = _run("synthetic:ttft_ms=1,itl_ms=0,k=4", output_tokens=10)
    assert timeline.runs[1].requests[0].k.tolist() == [4, 4, 2]


def test_a_failing_request_ends_the_run() -> None:
    timeline, status = _run("synthetic:ttft_ms=1,itl_ms=0,fail_at=3", output_tokens=10)
    assert status == "error"
    assert [request.end_status for request in timeline.runs[1].requests] == ["ok", "error"]
    assert len(timeline.failures) == 1 and "Repeat 1" in timeline.failures[0].message


def test_stop_cancels_at_a_step() -> None:
    seen = 0

    def stop() -> bool:
        nonlocal seen
        seen += 1
        return seen > 3

    timeline, status = _run("synthetic:ttft_ms=1,itl_ms=0", stop, output_tokens=10)
    assert status == "cancelled"
    (request,) = timeline.runs[1].requests
    assert request.end_status == "cancelled" and len(request) < 10


def test_end_of_text_is_respected_or_not() -> None:
    model = "synthetic:ttft_ms=1,itl_ms=0,eos_at=4"
    timeline, _ = _run(model, output_tokens=10, ignore_eos=False)
    assert timeline.runs[1].requests[0].stop_reason == "eos"
    assert len(timeline.runs[1].requests[0]) == 4
    timeline, _ = _run(model, output_tokens=10)
    assert len(timeline.runs[1].requests[0]) == 10


@pytest.mark.parametrize(
    "name", ["synthetic:foo=1", "synthetic:itl_ms=x", "synthetic:itl_ms=-1", "synthetic:itl_ms"]
)
def test_bad_settings_are_one_sentence(name: str) -> None:
    with pytest.raises(ModelError) as error:
        parse(name)
    assert error.value.field == "model" and str(error.value).endswith(".")


def test_rate_sets_the_gap() -> None:
    assert parse("synthetic:rate=50")[0]["itl_ms"] == 20.0
