import time

import islpy as isl
import pytest

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
