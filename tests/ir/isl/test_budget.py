import math
import time

import islpy as isl
import numpy as np
import pytest

from polysched.errors import ScheduleError
from polysched.ir.isl.budget import (
    DEFAULT_SECONDS,
    is_budget_spent,
    is_out_of_time,
    operation_budget,
    operations_left,
    part_of_budget,
    time_budget,
    time_left,
)
from polysched.ir.isl.quota import QuotaExceededError, operation_quota

HARD = "{ [i, j, k] : 3 i < 5 j + k and 7 j > 2 i and k mod 5 = i mod 7 }"


def spend(seconds: float) -> None:
    """Take processor time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_questions_within() -> None:
    with time_budget(10):
        for _ in range(2):
            with operation_quota(1_000_000):
                assert not isl.Set(HARD).is_empty()


def test_each_question_has_the_operations() -> None:
    with time_budget(10):
        for _ in range(2):
            with pytest.raises(QuotaExceededError, match="more than the 50 op"):  # noqa: SIM117
                with operation_quota(50):
                    isl.Set(HARD).is_empty()


def test_together_they_have_the_time() -> None:
    with time_budget(0.01):
        spend(0.02)
        for _ in range(2):
            with pytest.raises(QuotaExceededError, match="more than the time"), operation_quota(0):
                isl.Set(HARD).is_empty()
    with operation_quota(0):
        assert not isl.Set(HARD).is_empty()


def test_inside_another_budget_the_outer_one_stays_in_force() -> None:
    assert time_left() == DEFAULT_SECONDS
    with time_budget(100), time_budget(3):
        assert 90 < time_left() <= 100
    with time_budget(1), time_budget(0):
        assert 0 < time_left() <= 1
    assert time_left() == DEFAULT_SECONDS


def test_a_question_of_less_time_within() -> None:
    with time_budget(60), pytest.raises(QuotaExceededError), operation_quota(0, 0.05):
        spend(0.1)


@pytest.mark.parametrize("seconds", [0, math.inf])
def test_without_limits(seconds: float) -> None:
    with time_budget(seconds), operation_quota(0):
        assert not isl.Set(HARD).is_empty()
        assert time_left() == math.inf


def test_numbers_of_numpy_are_limits() -> None:
    with (
        pytest.raises(QuotaExceededError, match="more than the 50 op"),
        time_budget(np.float32(10)),  # type: ignore[arg-type]
        operation_quota(np.int32(50)),  # type: ignore[arg-type]
    ):
        isl.Set(HARD).is_empty()


@pytest.mark.parametrize("given", [-1, 1.5, True, None, "5"])
def test_no_number_of_operations(given: int) -> None:
    expected = pytest.raises(
        ScheduleError, match=f"^quota={given!r}; expected the number of operations"
    )
    with expected, operation_quota(given):
        pass


@pytest.mark.parametrize("given", [-0.5, math.nan, -math.inf, 10**400, True, None, "5"])
def test_no_number_of_seconds(given: float) -> None:
    expected = pytest.raises(
        ScheduleError, match=f"^seconds={given!r}; expected the number of seconds"
    )
    with expected, time_budget(given):
        pass


def test_a_spent_budget_is_out_of_time() -> None:
    assert not is_out_of_time()
    with time_budget(1e-9):
        assert is_out_of_time()
    with time_budget(0):
        assert not is_out_of_time()


def test_a_part_of_the_time_leaves_the_rest() -> None:
    with time_budget(100):
        with part_of_budget(0.25):
            assert 20 < time_left() <= 25
            with part_of_budget(0.5):
                assert 10 < time_left() <= 12.5
            assert 20 < time_left() <= 25
        assert 95 < time_left() <= 100
    with part_of_budget(0.25):
        assert time_left() == DEFAULT_SECONDS


def test_together_questions_have_the_operations_of_a_search() -> None:
    assert operations_left() == math.inf
    with operation_budget(4_000):
        with operation_quota(1_000_000):
            isl.Set(HARD).is_empty()
        assert 0 < operations_left() < 4_000
        with pytest.raises(QuotaExceededError, match="more than the"), operation_quota(1_000_000):  # noqa: PT012
            for _ in range(100):
                isl.Set(HARD).is_empty()
        assert is_budget_spent()
        with (
            pytest.raises(QuotaExceededError, match="spent its isl operations"),
            operation_quota(0),
        ):
            isl.Set(HARD).is_empty()
    assert not is_budget_spent()


def test_a_part_of_the_operations_leaves_the_rest() -> None:
    with operation_budget(4_000):
        with part_of_budget(0.5):
            assert operations_left() == 2_000
            with pytest.raises(QuotaExceededError), operation_quota(0):  # noqa: PT012
                for _ in range(100):
                    isl.Set(HARD).is_empty()
            assert is_budget_spent()
        assert 1_900 < operations_left() <= 2_000
