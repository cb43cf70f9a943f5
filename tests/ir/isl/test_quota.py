from contextlib import suppress
from threading import Thread

import islpy as isl
import pytest

from polysched.ir.isl.quota import QuotaExceededError, in_proportion, operation_quota


def subtract_a_lot() -> isl.Set:
    rest = isl.Set("{ [i, j] : 0 <= i < 100 and 0 <= j < 100 }")
    for modulus in range(2, 6):
        rest = rest.subtract(isl.Set(f"{{ [i, j] : (i + j) mod {modulus} = 0 }}"))
    return rest.lexmin()


def test_an_exceeded_quota_is_an_error_that_says_what_to_do() -> None:
    expected = pytest.raises(
        QuotaExceededError, match="more than the 50 operations it was given; raise the quota"
    )
    with expected, operation_quota(50):
        subtract_a_lot()


def test_isl_works_after_an_exceeded_quota() -> None:
    expected = subtract_a_lot()
    with pytest.raises(QuotaExceededError), operation_quota(50):
        subtract_a_lot()
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0
    assert subtract_a_lot().is_equal(expected)


def test_a_quota_that_is_large_enough_does_not_show() -> None:
    with operation_quota(10_000_000):
        assert not subtract_a_lot().is_empty()
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0


def test_inside_another_quota_the_outer_one_stays_in_force() -> None:
    expected = pytest.raises(QuotaExceededError, match="50 operations")
    with expected, operation_quota(50), operation_quota(10_000_000):
        subtract_a_lot()
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0


def test_threads_take_turns() -> None:
    ended = []

    def ask() -> None:
        with operation_quota(10_000_000):
            ended.append("second")

    second = Thread(target=ask)
    with operation_quota(50):
        second.start()
        second.join(0.05)
        ended.append("first")
    second.join()
    assert ended == ["first", "second"]
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0


def test_a_spent_quota_is_noticed_even_where_the_error_was_dropped() -> None:
    with pytest.raises(QuotaExceededError), operation_quota(50), suppress(isl.Error):
        subtract_a_lot()


def test_other_errors_of_isl_pass() -> None:
    with pytest.raises(isl.Error, match="syntax error"), operation_quota(10_000_000):
        isl.Set("{ [i] : ")
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0


@pytest.mark.parametrize("error", [TypeError, ValueError, AttributeError])
def test_what_follows_of_a_stopped_isl_is_an_exceeded_quota(error: type[Exception]) -> None:
    def misread() -> None:
        with suppress(isl.Error):
            subtract_a_lot()
        raise error

    with pytest.raises(QuotaExceededError, match="50 operations"), operation_quota(50):
        misread()
    with pytest.raises(error), operation_quota(10_000_000):
        misread()


def test_many_statements_have_more_operations() -> None:
    assert [in_proportion(50, count) for count in (1, 199, 200, 1000)] == [50, 50, 100, 500]
    assert in_proportion(0, 1000) == 0
