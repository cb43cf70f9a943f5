"""Operations on values whose type a branch decides: they agree with numpy, or are refused."""

import numpy as np
import pytest

import polysched as ps
from polysched.errors import FrontendError, KernelError
from polysched.frontends.python.values.operations import combine
from polysched.frontends.python.values.value import Value, chosen, number, stored
from polysched.ir.expr.dtypes import DType, boolean, f16, f32, f64, i8, i16, i64, u8, u32
from polysched.ir.expr.expressions import Constant, Index, Load
from polysched.ir.expr.operators import Operator

# ruff: noqa: F821
INDEX = Value(Index("i"), is_weak=True)
REFUSED = "a branch decides whether this is"


def element(dtype: DType) -> Value:
    return Value(Load("a", (), dtype))


def either(one: Value, other: Value) -> Value:
    return chosen(element(boolean), one, other)


def literal(value: float, dtype: DType) -> Value:
    return Value(Constant(value, dtype))


def test_a_type_that_is_decided_later_matters_only_where_it_does() -> None:
    relu = either(element(f32), number(0))
    assert combine(Operator.ADD, relu, element(f32)).alternatives == ()
    assert combine(Operator.MULTIPLY, relu, number(0.5)).dtype == f32
    assert combine(Operator.MULTIPLY, relu, element(u8)).dtype == f32
    for operand in (number(0.1), INDEX):
        with pytest.raises(KernelError, match="a branch decides whether this is f32 or Python int"):
            combine(Operator.ADD, relu, operand)


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        # An integer 0 has no sign, and no NaN comes of it.
        (Operator.MULTIPLY, (either(element(f32), number(0)), INDEX)),
        (Operator.MULTIPLY, (either(element(f64), number(0)), number(-1))),
        (Operator.MODULO, (literal(0, i16), either(element(f64), INDEX))),
        (Operator.FLOOR_DIVIDE, (literal(0, i16), either(element(f64), element(i16)))),
        (Operator.NEGATE, (either(number(-0.0), number(0)),)),
        # Python multiplies these integers exactly.
        (Operator.MULTIPLY, (either(number(1.5), number(3)), number(3002399751580331))),
        # An index above 2 ** 24 is rounded as f32, and numpy would convert it to f64.
        (Operator.MULTIPLY, (either(element(f32), INDEX), element(f64))),
        (Operator.LESS, (either(element(f32), INDEX), element(f64))),
        # 0.1 is another number in each type.
        (Operator.LESS_EQUAL, (either(element(f64), element(f32)), number(0.1))),
        (Operator.EQUAL, (either(element(f32), element(f16)), number(0.1))),
        (Operator.LESS, (either(element(f32), element(i16)), number(1 - 1e-9))),
    ],
)
def test_a_result_that_differs_with_the_type_is_refused(
    operator: Operator, values: tuple[Value, ...]
) -> None:
    with pytest.raises(KernelError, match=REFUSED):
        combine(operator, *values)


def test_a_result_that_does_not_differ_is_not() -> None:
    half = number(0.5)
    for operator, values in (
        (Operator.LESS, (either(element(f64), element(f32)), half)),
        (Operator.LESS, (either(element(f32), number(0)), number(0))),
        (Operator.LESS, (either(element(f64), INDEX), number(3))),
        (Operator.ADD, (either(half, INDEX), number(1))),
        (Operator.MULTIPLY, (either(half, INDEX), number(2))),
        (Operator.MULTIPLY, (either(element(f64), element(f32)), element(f64))),
    ):
        combine(operator, *values)


def test_a_literal_is_stored_as_its_own_type_would_be() -> None:
    minus = either(element(f64), literal(-7, i8))
    assert stored(minus, f32).dtype == f32
    with pytest.raises(KernelError, match=f"{REFUSED} f64 or i8"):
        stored(minus, u32)  # numpy stores 2 ** 32 - 7, a conversion from f64 would not
    assert stored(either(element(f64), number(7)), u32).dtype == u32


def test_integers_that_a_kernel_holds_as_floats_have_to_be_exact() -> None:
    def function(x: "f64[n]", y: "i64[n]"):
        for i in range(len(x)):
            y[i] = (i if x[i] > 0 else 0.5) + 9007199254740993

    with pytest.raises(FrontendError, match="2\\*\\*53|9007199254740992"):
        ps.kernel(function)


def test_a_rectified_number_times_a_loop_index() -> None:
    def function(x: "f32[n]", y: "f32[n]"):
        for i in range(len(x)):
            y[i] = np.float32(max(x[i], 0)) * (i - 2)

    x = np.array([-1, 1, -1, 1], np.float32)
    expected, found = np.zeros(4, np.float32), np.zeros(4, np.float32)
    function(x, expected)
    ps.Schedule(ps.kernel(function)).compile()(x, found)
    assert found.tobytes() == expected.tobytes()
