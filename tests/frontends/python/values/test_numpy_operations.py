"""What numpy is asked for: types of results, and functions of truth values."""

import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.frontends.python.values.numpy_operations import applied, truth
from polysched.frontends.python.values.value import Value, number
from polysched.ir.expr.dtypes import DType, as_dtype, boolean, f64, i64, u64
from polysched.ir.expr.expressions import Constant, Load
from polysched.ir.semantics.scalar import evaluate


def literal(value: np.generic) -> Value:
    return Value(Constant(value.item(), as_dtype(value.dtype)))


@pytest.mark.parametrize(
    "function",
    [
        *(np.add, np.multiply, np.maximum, np.fmax, np.minimum, np.fmin, np.bitwise_and),
        *(np.bitwise_or, np.bitwise_xor, np.equal, np.not_equal, np.less, np.less_equal),
        *(np.floor_divide, np.remainder, np.left_shift),
    ],
    ids=repr,
)
def test_functions_of_truth_values(function: np.ufunc) -> None:
    for left in (np.False_, np.True_):
        for right in (np.False_, np.True_):
            if not right and function in (np.floor_divide, np.remainder):
                continue
            expected = function(left, right)
            found = applied(function, literal(left), literal(right))
            assert found.dtype.numpy() == expected.dtype
            assert evaluate(found.expression, lambda *_: None, {}) == expected


def test_large_integers_of_different_types_are_compared_exactly() -> None:
    numbers = (
        np.uint64(2**64 - 1),
        np.int64(-1),
        np.int64(2**63 - 1),
        np.uint64(2**63),
        np.int8(-1),
    )
    for left in numbers:
        for right in (*numbers, np.uint8(255)):
            for function in (np.less, np.less_equal, np.equal, np.not_equal):
                found = applied(function, literal(left), literal(right))
                expected = function(left, right)
                assert evaluate(found.expression, lambda *_: None, {}) == expected


@pytest.mark.parametrize(
    ("function", "dtypes", "message"),
    [
        (np.negative, (boolean,), "numpy does not define 'negative' for bool"),
        (np.bitwise_and, (f64, i64), "numpy does not define 'bitwise_and' for f64 and i64"),
        (np.power, (i64, u64), r"numpy computes|'\*\*' of integers|expected"),
    ],
)
def test_what_numpy_or_a_kernel_has_not(
    function: np.ufunc, dtypes: tuple[DType, ...], message: str
) -> None:
    if function is np.power:
        dtypes = (i64, i64)
    with pytest.raises(KernelError, match=message):
        applied(function, *(Value(Load("x", (), one)) for one in dtypes))


def test_integers_of_odd_widths_stay_among_themselves() -> None:
    nibble = Value(Load("x", (), as_dtype("i4")))
    assert applied(np.add, nibble, number(1), is_operator=True).dtype == as_dtype("i4")
    with pytest.raises(KernelError, match="this mixes i4 and i64"):
        applied(np.add, nibble, Value(Load("y", (), i64)), is_operator=True)


def test_truth() -> None:
    assert evaluate(truth(number(3)), lambda *_: None, {}) is True
