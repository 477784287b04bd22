"""When the engine leaves a model alone that shares its processor."""

import os
import threading

import pytest

from profiler import events as ev
from profiler.engine.rest import BUSY_EVENTS, Rest, amount
from profiler.patience import be_patient, be_prompt


def test_a_look_at_a_shared_processor_is_followed_by_a_fifth_of_a_second_of_rest() -> None:
    rest = Rest()
    assert rest.left_s(0) == 0
    rest.looked(1_000_000_000, 3, sharing=True)
    assert rest.left_s(1_000_000_000) == 0.2
    assert rest.left_s(1_150_000_000) == 0.05
    assert rest.left_s(1_300_000_000) == 0


def test_no_rest_on_another_processor_or_when_much_comes() -> None:
    rest = Rest()
    rest.looked(0, 3, sharing=False)
    assert rest.left_s(0) == 0
    rest.looked(0, 3, sharing=True)
    rest.looked(0, BUSY_EVENTS, sharing=True)
    assert rest.left_s(0) == 0


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="Linux only")
def test_a_patient_thread_is_one_thread_and_can_be_prompt_again() -> None:
    seen: list[int] = []

    def work() -> None:
        for change in (be_patient, be_prompt):
            change()
            seen.append(os.sched_getscheduler(0))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [os.SCHED_BATCH, os.SCHED_OTHER]
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_each_step_of_a_batch_counts() -> None:
    batch = ev.make_steps(1, 0, list(range(BUSY_EVENTS)))
    assert amount([batch, ev.Text(1, ["a"] * BUSY_EVENTS, 0)]) == BUSY_EVENTS + 1
    assert amount([]) == 0
