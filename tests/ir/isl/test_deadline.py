import random
import time

import islpy as isl
import pytest

from polysched.ir.isl.budget import time_budget
from polysched.ir.isl.deadline import deadline
from polysched.ir.isl.quota import QuotaExceededError, operation_quota


def subtract_for_minutes() -> isl.Set:
    rest = isl.Set("[n] -> { [i, j, k] : 0 <= i < n and 0 <= j < n and 0 <= k < n }")
    for modulus in range(2, 40):
        where = f"(i + {modulus} j + k) mod {modulus + 7} = {modulus % 5}"
        rest = rest.subtract(isl.Set(f"[n] -> {{ [i, j, k] : {where} }}"))
    return rest.lexmin()


def spend(seconds: float) -> None:
    """Take processor time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_isl_is_stopped_in_time_and_works_afterwards() -> None:
    with (
        pytest.raises(QuotaExceededError, match="more than the time it was given; give it more"),
        operation_quota(0, seconds=0.2),
    ):
        subtract_for_minutes()
    assert not isl.DEFAULT_CONTEXT.aborted()
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0
    assert not isl.Set("{ [i] : 0 <= i < 10 }").lexmin().is_empty()


def test_time_that_suffices_does_not_show() -> None:
    for _ in range(100):
        with operation_quota(0, seconds=0.05):
            assert not isl.Set("{ [i] : 0 <= i < 10 }").is_empty()
    spend(0.06)
    assert not isl.DEFAULT_CONTEXT.aborted()


def test_no_abort_comes_late() -> None:
    """Where the time ends together with the work, what follows is not stopped."""
    generator = random.Random(0)
    stopped = 0
    for _ in range(500):
        seconds = generator.uniform(2e-4, 6e-4)
        try:  # the system looks for expired timers every 1 to 10 milliseconds
            with operation_quota(0, seconds=seconds):
                spend(seconds + generator.uniform(-2e-4, 12e-4))
        except QuotaExceededError:
            stopped += 1
        for number in range(30):
            assert isl.Val(number).to_python() == number
    assert 0 < stopped < 500


def test_a_deadline_alone() -> None:
    with pytest.raises(isl.Error), deadline(0.05):
        subtract_for_minutes()
    isl.DEFAULT_CONTEXT.resume()


def test_no_deadline() -> None:
    with deadline(0):
        assert isl.Set("{ [i] : i > i }").is_empty()


def test_time_that_others_take_does_not_count() -> None:
    with time_budget(0.1), operation_quota(0, seconds=0.1):
        time.sleep(0.2)
        assert not isl.Set("{ [i] : 0 <= i < 10 }").is_empty()


@pytest.mark.parametrize("seconds", [1e19, 2.0**64, 1e300, float("inf")])
def test_more_time_than_a_clock_counts_is_no_limit(seconds: float) -> None:
    with operation_quota(2**70, seconds):
        assert not isl.Set("{ [i] : 0 <= i < 9 }").is_empty()


def test_a_question_has_no_more_time_than_the_call() -> None:
    with time_budget(0.1), pytest.raises(QuotaExceededError), operation_quota(0, seconds=60):
        subtract_for_minutes()
