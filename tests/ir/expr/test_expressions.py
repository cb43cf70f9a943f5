import copy
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import boolean, f32, f64, i32, i64
from polysched.ir.expr.expressions import (
    Constant,
    Expression,
    Index,
    Load,
    Operation,
    Parameter,
    as_expression,
    operation,
    typed,
)
from polysched.ir.expr.functions import (
    absolute,
    cast,
    equal,
    exp,
    fma,
    maximum,
    minimum,
    not_equal,
    select,
    sqrt,
)
from polysched.ir.expr.operators import Operator

i, j, n = Index("i"), Index("j"), Parameter("n")
x, y = Load("x", (i, j + 1), f32), Load("y", (), f32)
a = Load("a", (i,), i32)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (1 + i, "(1 + i)"),
        (i - 1, "(i - 1)"),
        (1 - i, "(1 - i)"),
        (2 * x, "(2.0 * x[i, (j + 1)])"),
        (1 / y, "(1.0 / y[])"),
        (y / 2, "(y[] / 2.0)"),
        (i // 4, "(i // 4)"),
        (100 // i, "(100 // i)"),
        (i % 4, "(i % 4)"),
        (100 % i, "(100 % i)"),
        (-i, "(-i)"),
        (i > j, "(j < i)"),
        (i >= j, "(j <= i)"),
        (~(i < j), "not((i < j))"),
        ((i < j) & (j <= n) | not_equal(i, n), "(((i < j) and (j <= n)) or (i != n))"),
        (fma(y, y, 1), "fma(y[], y[], 1.0)"),
        (absolute(a), "abs(a[i])"),
        (sqrt(exp(y)), "sqrt(exp(y[]))"),
        (minimum(i, j, 3), "min(min(i, j), 3)"),
        (maximum(0, y), "max(0.0, y[])"),
        (select(equal(i, 0), y, 0), "select((i == 0), y[], 0.0)"),
        (cast(i, f32), "f32(i)"),
    ],
)
def test_operators_build_trees(expression: Expression, expected: str) -> None:
    assert str(expression) == expected


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        (x + 1, f32),
        (i + 1, i64),
        (i < 1, boolean),
        (x <= y, boolean),
        (select(i < 1, x, y), f32),
        (cast(x, f64), f64),
        (Constant(1) + 2, None),
        (as_expression(True), boolean),
        (as_expression(np.float32(0.5)) * x, f32),
    ],
)
def test_types(expression: Expression, dtype: object) -> None:
    assert expression.dtype == dtype


def test_trees_compare_by_structure() -> None:
    assert x + 2 * y == x + 2 * y
    assert x + y != y + x
    assert len({i + 1, i + 1, 1 + i}) == 2


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: x + a, r"'\+' mixes f32 and i32 in \(x\[i, \(j \+ 1\)\], a\[i\]\); convert one"),
        (
            lambda: a / a,
            r"'/' takes floating-point operands \(for integers: //\); got",
        ),
        (lambda: x // 2, "'//' takes integer operands"),
        (lambda: sqrt(a), "'sqrt' takes floating-point operands"),
        (lambda: (i < 1) + (i < 2), r"'\+' takes numbers"),
        (lambda: (i < 1) & j, r"'&' mixes bool and i64"),
        (lambda: x & y, r"'and' takes conditions, or integers as &; got x"),
        (lambda: ~x, r"'not' takes conditions, or integers as ~; got x"),
        (lambda: (i < 1) ^ (i < 2), r"'\^' takes numbers"),
        (lambda: x << 1, r"'<<' takes integer operands \(convert floating-point ones\); got x"),
        (lambda: tuple(i), "'i' is one value .*; one loop gives one index: 'with build.loops"),
        (lambda: select(i, x, y), "'select' takes a condition first"),
        (lambda: a + 0.5, r"literal 0.5 cannot be combined with values of type i32"),
        (lambda: i + "1", r"'1' of type str cannot stand in an expression"),
        (lambda: bool(i < 1), r"'\(i < 1\)' has no truth value while the kernel is declared"),
        (
            lambda: range(i),
            r"'i' has no value .*; loops are 'with build\.loops\(i=n\) as i:'",
        ),
        (lambda: x @ y, "these are single numbers; write a sum of products"),
        (lambda: 3 @ x, "these are single numbers"),
        (lambda: round(x, 2), "rounded to 2 digits"),
        (lambda: pow(x, 2, 3), "there are no powers in a kernel but squares"),
        (lambda: math.trunc(x), "has no value while the kernel is declared"),
        (lambda: x**3, r"to the power of 3: there are no powers in a kernel but squares; write a"),
        (
            lambda: 2**x,
            r"2 to the power of 'x\[i, .*': there are no powers in a kernel but squares",
        ),
        (lambda: math.sqrt(x), r"has no value .*; call functions of numpy, np.sqrt\(x\)"),
        (lambda: int(x), r"has no value .* convert with cast\(x, f32\)"),
        (lambda: max(x, y), r"has no truth value .* ps.minimum\(a, b\) or ps.maximum\(a, b\)"),
        (lambda: np.sqrt(a), "'sqrt' takes floating-point operands"),
        (lambda: np.sqrt(x, dtype="f4"), r"np.sqrt of x\[.* is not supported in kernels; supp"),
        (lambda: np.add.reduce(x), r"np.add of x\[i, \(j \+ 1\)\] is not supported in kernels"),
        (lambda: np.isnan(x), r"np.isnan of x\[i, \(j \+ 1\)\] is not supported in kernels"),
        (lambda: len(x), r"'x\[.*' is a single number: it has no elements, and no length"),
        (lambda: list(x), "is one value and cannot be taken apart; one loop gives one index"),
        (lambda: 1 in x, "is a single number: it has no elements"),
        (lambda: x.sqrt() + 1, r"has no 'sqrt': it is a number, .* of numpy, np.sqrt\(x\)"),
        (lambda: np.mean([x, y]), r"numpy treats expressions of f32 as .* \(x \+ y\) \* 0.5"),
        (lambda: np.array([1, 2]) + x, r"array\(\[1, 2\]\) of type ndarray cannot stand in an"),
    ],
)
def test_wrong_operands(build: object, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        build()  # type: ignore[operator]


def test_expressions_are_still_what_python_copies_and_numpy_collects() -> None:
    assert copy.deepcopy(x) == pickle.loads(pickle.dumps(x)) == x
    assert not hasattr(x, "sqrt")
    assert np.sum([x, y]) == x + y
    with pytest.raises(KernelError, match="has no truth value"):
        np.where(x < y, x, y)


def test_typed_decides_literals_only() -> None:
    assert typed(Constant(2) * 3, f32) == Operation(
        Operator.MULTIPLY, (Constant(2.0, f32), Constant(3.0, f32)), f32
    )
    assert typed(i, f32) is i


def test_literals_at_the_ends_of_the_range() -> None:
    assert typed(Constant(2**63 - 1), i64) == Constant(2**63 - 1, i64)
    with pytest.raises(KernelError, match="literal inf cannot be combined with values of type i64"):
        typed(Constant(float("inf")), i64)


def test_whole_floats_may_stand_beside_integers() -> None:
    assert typed(Constant(2.0), i32) == Constant(2, i32)


def test_the_base_class_has_no_type() -> None:
    with pytest.raises(TypeError, match="Expression has no type"):
        _ = Expression().dtype


def test_operation_is_what_the_operators_call() -> None:
    assert operation(Operator.ADD, i, 1) == i + 1


@pytest.mark.parametrize(
    ("pythons", "ours"),
    [
        (lambda: abs(x), absolute(x)),
        (lambda: x**2, x * x),
        (lambda: a ** np.int8(2), a * a),
        (lambda: np.sqrt(x), sqrt(x)),
        (lambda: np.exp(2 * x), exp(2 * x)),
        (lambda: np.maximum(x, 0), maximum(x, 0)),
        (lambda: np.greater(x, y), y < x),
        (lambda: np.fmax(a, 1), maximum(a, 1)),
        (lambda: np.fmax(x, y), operation(Operator.NUMBER_MAXIMUM, x, y)),
        (lambda: np.not_equal(x, y), not_equal(x, y)),
        (lambda: np.logical_not(x < y), ~(x < y)),
        (lambda: np.float32(2) - x, 2 - x),
        (lambda: np.int64(2) // a, 2 // a),
        (lambda: np.int64(2) <= a, a >= 2),
        (lambda: np.array(2) + a, 2 + a),
        (lambda: x ** np.array(2), x * x),
        (lambda: np.square(x), x * x),
        (lambda: pow(x, 2), x * x),
        (lambda: np.positive(+x), x),
        (lambda: divmod(a, 3)[0] + divmod(7, a)[1], a // 3 + 7 % a),
        (lambda: round(x) + np.round(y), np.rint(x) + np.rint(y)),
        (lambda: round(a), a),
        (lambda: a + np.array(2), a + 2),
    ],
)
def test_what_python_and_numpy_say(pythons: Callable[[], Expression], ours: Expression) -> None:
    assert pythons() == ours


@pytest.mark.parametrize("value", [3.4028235e38, 2**128 - 2**104, np.inf, -np.inf, np.nan, 1e-300])
def test_literals_of_f32_are_rounded(value: float) -> None:
    literal = typed(as_expression(value), f32)
    assert isinstance(literal, Constant)
    assert isinstance(literal.value, float)
    np.testing.assert_equal(literal.value, float(value))


def test_the_largest_numbers_of_a_type() -> None:
    for dtype, end in ((f32, 2**128 - 2**103 - 2**74), (f64, 2**1024 - 2**970)):
        largest = typed(Constant(end - 1), dtype)
        assert isinstance(largest, Constant)
        assert dtype.numpy().type(largest.value) == np.finfo(dtype.numpy()).max
        with pytest.raises(KernelError, match=f"does not fit the type {dtype}; for infinity write"):
            typed(Constant(-end), dtype)


def test_a_number_is_no_truth_value() -> None:
    """One plus one is 2 for the interpreter, and 0 in one bit."""
    with pytest.raises(KernelError, match=r"'\(1 \+ 1\)' is a number where a truth value is exp"):
        typed(as_expression(1) + 1, boolean)
