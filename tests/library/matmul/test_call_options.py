import numpy as np
import pytest

from polysched.errors import CallError
from polysched.library.matmul.call_options import CallOptions, call_options
from polysched.library.matmul.epilogue import PLAIN, Factor

F32, I8 = np.dtype("f4"), np.dtype("i1")


def asked(
    alpha: object = 1, beta: object = 0, dtype: np.dtype = F32, **options: object
) -> CallOptions:
    given = {"activation": None, "threads": None, **options}
    return call_options(alpha, beta, types=(dtype, dtype), **given)


def test_calls_that_differ_in_numbers_are_of_one_kind() -> None:
    assert asked(2).kind is asked(0.5).kind is asked(np.float32(3)).kind
    assert asked(2).kind is not asked(2, 2).kind
    assert asked(2).kind is not asked(2, threads=1).kind
    assert asked(2).kind is not asked(2, activation="relu").kind
    assert asked(2).kind is not asked(1).kind


def test_a_plain_product_is_of_the_kind_of_its_threads() -> None:
    """By which the shortest way knows it, that asks nothing."""
    for threads in (None, 1, 2):
        assert asked(1.0, 0.0, threads=threads).kind is threads
        assert asked(1.0, 0.0, threads=threads).epilogue == PLAIN


def test_factors_are_arrays_of_the_sums_type() -> None:
    found = asked(3, -2, I8)
    assert found.epilogue.alpha is found.epilogue.beta is Factor.ANY
    assert [factor.dtype for factor in found.factors] == [np.int32, np.int32]
    assert [factor[()] for factor in found.factors] == [3, -2]
    assert asked(3, 1).factors == (np.float32(3),)


def test_numbers_that_are_equal_are_told_apart_by_type() -> None:
    assert asked(3, dtype=I8).factors == (3,)
    with pytest.raises(CallError, match="alpha is 3.0; expected an integer, since the result has"):
        asked(3.0, dtype=I8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": "x"}, "alpha is 'x' of type str; expected a real number"),
        ({"beta": True}, "beta is True of type bool; expected a real number"),
        ({"activation": "rleu"}, "there is no activation 'rleu'"),
        ({"alpha": 1e39}, "alpha is 1e\\+39; expected a number within the range of float32"),
        ({"dtype": np.dtype("u1")}, "the operands have elements of type uint8"),
    ],
)
def test_errors(options: dict[str, object], message: str) -> None:
    with pytest.raises(CallError, match=message):
        asked(**options)
