import math
import time

import islpy as isl
import numpy as np
import pytest

from polysched.errors import ScheduleError
from polysched.ir.budget import budget
from polysched.ir.quota import QuotaExceededError

HARD = "{ [i, j, k] : 3 i < 5 j + k and 7 j > 2 i and k mod 5 = i mod 7 }"


def test_questions_within() -> None:
    shared = budget(1_000_000, 10)
    for _ in range(2):
        with shared.question():
            assert not isl.Set(HARD).is_empty()


def test_each_question_has_the_operations() -> None:
    shared = budget(50, 10)
    for _ in range(2):
        with pytest.raises(QuotaExceededError, match="more than the 50 op"), shared.question():
            isl.Set(HARD).is_empty()


def test_together_they_have_the_time() -> None:
    shared = budget(0, 0.01)
    time.sleep(0.02)
    with (
        pytest.raises(QuotaExceededError, match="the time for all questions to isl has passed"),
        shared.question(),
    ):
        raise AssertionError("it is not asked")


def test_without_limits() -> None:
    with budget(0, 0).question():
        assert not isl.Set(HARD).is_empty()


def test_numbers_of_numpy_are_limits() -> None:
    with (
        pytest.raises(QuotaExceededError, match="more than the 50 op"),
        budget(np.int32(50), np.float32(10)).question(),  # type: ignore[arg-type]
    ):
        isl.Set(HARD).is_empty()
    with budget(0, math.inf).question():
        assert not isl.Set(HARD).is_empty()


@pytest.mark.parametrize("given", [-1, 1.5, True, None, "5"])
def test_no_number_of_operations(given: int) -> None:
    with pytest.raises(ScheduleError, match=f"^quota={given!r}; expected the number of operations"):
        budget(given)


@pytest.mark.parametrize("given", [-0.5, math.nan, -math.inf, 10**400, True, None, "5"])
def test_no_number_of_seconds(given: float) -> None:
    with pytest.raises(ScheduleError, match=f"^seconds={given!r}; expected the number of seconds"):
        budget(0, given)
