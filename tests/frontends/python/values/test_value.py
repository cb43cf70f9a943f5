"""Values: Python numbers and numpy scalars, what they become in other types, and choices."""

import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.frontends.python.values.value import (
    Value,
    chosen,
    common_type,
    constant,
    converted,
    number,
    stored,
    united,
)
from polysched.ir.expr.dtypes import (
    ALL_DTYPES,
    DType,
    as_dtype,
    boolean,
    f32,
    f64,
    i8,
    i32,
    i64,
    u8,
)
from polysched.ir.expr.expressions import Constant, Index, Load
from polysched.ir.semantics.scalar import evaluate

INDEX = Value(Index("i"), is_weak=True)


def element(dtype: DType) -> Value:
    return Value(Load("x", (), dtype))


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_a_numpy_scalar_of_the_module_keeps_its_type(dtype: DType) -> None:
    found = constant(dtype.numpy().type(1))
    assert found == Value(Constant(1, dtype))


def test_python_numbers_of_the_module_are_weak() -> None:
    for one in (True, 3, 0.5):
        assert constant(one) == number(one)
    assert constant("text") is None
    with pytest.raises(KernelError, match="unknown element type"):
        constant(np.complex64(1))


def test_the_type_of_np_where_is_numpy_s() -> None:
    samples = {dtype: dtype.numpy().type(1) for dtype in ALL_DTYPES}
    for left, one in samples.items():
        for right, other in samples.items():
            expected = as_dtype(np.where(True, one, other).dtype)
            assert common_type(element(left), element(right)) == (expected, False)
        for literal in (1, 0.5, True):
            expected = as_dtype(np.where(True, one, literal).dtype)
            assert common_type(element(left), number(literal)) == (expected, False)
    assert common_type(INDEX, number(0.5)) == (f64, True)


def test_what_is_stored() -> None:
    assert stored(number(2), f32) == Constant(2.0, f32)
    assert stored(number(2.7), i32) == Constant(2, i32)
    assert stored(number(0.5), boolean) == Constant(True, boolean)
    for value, dtype in ((element(f64), f32), (element(f32), i8), (element(boolean), i64)):
        assert stored(value, dtype).dtype == dtype
    for literal, message in ((300, "does not fit the type u8"), (float("nan"), "has no value as")):
        with pytest.raises(KernelError, match=message):
            stored(number(literal), u8)
    with pytest.raises(KernelError, match="this is f32 and is stored as i4; convert it"):
        stored(element(f32), as_dtype("i4"))


def test_a_number_is_rounded_as_numpy_rounds_it() -> None:
    assert converted(number(0.1), f64) == Constant(0.1, f64)
    assert converted(number(2**53 + 1), f64) == Constant(float(2**53 + 1), f64)
    long = 2**62 + 2**38 + 1
    expected = np.float32(1) * 0 + long  # by way of float64
    found = evaluate(converted(INDEX, f32), lambda *_: None, {"i": long})
    assert found == expected != np.float32(np.int64(long))


def test_a_choice() -> None:
    condition = element(boolean)
    found = chosen(condition, element(f32), number(1))
    assert (found.dtype, found.alternatives) == (f32, (number(1),))
    assert chosen(condition, INDEX, number(1)).is_weak
    assert chosen(condition, element(f32), element(f64)).alternatives == (element(f32),)
    with pytest.raises(KernelError, match="this is f32; expected a condition"):
        chosen(element(f32), INDEX, INDEX)


def test_a_choice_that_no_type_holds() -> None:
    for values, message in (
        ((element(f32), number(0.1)), "this chooses between f32 and Python float"),
        ((element(i8), number(300)), "this chooses between i8 and Python int"),
        ((element(i8), INDEX), "this chooses between i8 and Python int"),
        ((element(f64), element(i64)), "this chooses between f64 and i64"),
        ((element(i64), number(True)), "this chooses between i64 and Python bool"),
    ):
        with pytest.raises(KernelError, match=message):
            united(*values)
