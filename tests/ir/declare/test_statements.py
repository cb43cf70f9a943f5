import functools
import operator as python
import re
from collections.abc import Callable
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polysched as ps
from polysched.errors import KernelError
from polysched.ir.core.kernel import Order, Reduction
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, i8, i64, u8
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.functions import cast, maximum
from polysched.ir.expr.operators import Operator
from tests.support.effort import covering


def reduction_of(build_value: Callable[..., object], order: str = "exact") -> Reduction | None:
    build = KernelBuilder("k")
    a, s = build.input("a", f32, (8,)), build.inout("s", f32, ())
    with build.loops(i=8) as i, build.statement("S", order=order):
        s[()] = build_value(s[()], a[i], s[()])  # type: ignore[assignment]
    return build.kernel().statements["S"].reduction


@pytest.mark.parametrize(
    ("value", "operator"),
    [
        (lambda s, a, _: s + a, Operator.ADD),
        (lambda s, a, _: a + s, Operator.ADD),
        (lambda s, a, _: s - a, Operator.ADD),
        (lambda s, a, _: a * s, Operator.MULTIPLY),
        (lambda s, a, _: maximum(s, a), Operator.MAXIMUM),
    ],
)
@pytest.mark.parametrize("order", ["exact", "any"])
def test_reductions_are_recognized(
    value: Callable[..., object], operator: Operator, order: str
) -> None:
    reduction = reduction_of(value, order)
    assert reduction is not None
    assert (reduction.operator, reduction.order, reduction.read) == (operator, Order(order), 1)


@pytest.mark.parametrize("dtype", [i8, u8, i64, f32], ids=str)
@pytest.mark.parametrize("order", [None, "exact", "any"])
def test_integers_may_combine_in_any_order_by_default(dtype: DType, order: str | None) -> None:
    build = KernelBuilder("k")
    a, s = build.input("a", dtype, (8,)), build.inout("s", dtype, ())
    with build.loops(i=8) as i, build.statement("S", order=order):
        s[()] -= a[i]
    found = build.kernel().statements["S"].reduction
    assert found is not None
    assert found.order is Order(order or ("exact" if dtype.is_float else "any"))


@pytest.mark.parametrize(
    "value",
    [
        lambda s, a, _: a - s,
        lambda s, a, again: s + a * again,
        lambda s, a, _: a + 1,
        lambda s, a, _: s / a,
        lambda s, a, _: -s,
    ],
)
def test_what_is_no_reduction(value: Callable[..., object]) -> None:
    assert reduction_of(value) is None
    with pytest.raises(KernelError, match="statement 'S' is not a reduction: order='any' needs"):
        reduction_of(value, "any")


def test_an_assumption_holds_for_the_statements_before_it() -> None:
    build = KernelBuilder("k")
    n = build.parameter("n")
    out = build.output("out", f32, (n,))
    with build.loops(i=n) as i:
        out[i] = 0
    build.assume(n <= 5)
    (statement,) = build.kernel().statements.values()
    assert statement.domain.is_equal(isl.Set("[n] -> { out[i] : 0 <= i < n <= 5 }"))


def test_what_reads_other_elements_of_its_target_is_no_reduction() -> None:
    build = KernelBuilder("k")
    out = build.inout("out", f32, (9,))
    with build.loops(i=(1, 9)) as i, build.statement("S"):
        out[i] = out[i] + out[i - 1]
    assert build.kernel().statements["S"].reduction is None


def _store(build: KernelBuilder, value: object) -> None:
    y = build.output("y", f32, (4,))
    y[0] = value  # type: ignore[assignment]


def _stored(build: KernelBuilder, *values: float, order: str = "exact") -> None:
    y = build.output("y", f32, (4,))
    with build.statement("S", order=order):
        for value in values:
            y[0] = value


def _subscripted(build: KernelBuilder, *subscripts: object) -> None:
    build.input("x", f32, (9, 4), dimensions="row column")[subscripts]  # type: ignore[index]


def _written(build: KernelBuilder) -> None:
    build.input("x", f32, (4,))[0] = 1


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (
            lambda build, n: _subscripted(build, 0),
            "array 'x' has 2 dimensions (row, column); it is subscripted with 1",
        ),
        (
            lambda build, n: _subscripted(build, n * n, 0),
            "subscript of array 'x': '(n * n)' is not affine",
        ),
        (
            lambda build, n: _subscripted(build, Index("q"), 0),
            "subscript of array 'x': index 'q' is not in scope here",
        ),
        (
            lambda build, n: _written(build),
            "array 'x' is an input; declare it inout to write to it",
        ),
        (
            lambda build, n: _store(build, n + 1),
            "stores i64 into array 'y' of f32; convert with cast(value, f32)",
        ),
        (
            lambda build, n: _store(build, cast(Index("q"), f32)),
            "index 'q' is used in statement 'y' outside its loop",
        ),
        (
            lambda build, n: _stored(build, 1, order="some"),
            "unknown order policy 'some' of statement 'S'",
        ),
        (lambda build, n: _stored(build), "statement 'S' holds no assignment"),
        (lambda build, n: _stored(build, 1, 2), "statement 'S' holds more than one assignment"),
    ],
)
def test_faulty_statements(
    declare: Callable[[KernelBuilder, Expression], None], message: str
) -> None:
    build = KernelBuilder("k")
    n = build.parameter("n", minimum=1)
    with pytest.raises(KernelError, match=re.escape(message)):
        declare(build, n)


def test_nested_and_repeated_statement_names() -> None:
    build = KernelBuilder("k")
    y = build.output("y", f32, (4,))
    inner, again = build.statement("T"), build.statement("S")
    with build.statement("S"):
        y[0] = 0
        with pytest.raises(KernelError, match="statement 'T' is opened inside statement 'S'"):
            inner.__enter__()
    with pytest.raises(KernelError, match="a statement is named 'S' already"):
        again.__enter__()


OPERATORS = (python.xor, python.and_, python.or_, python.add, python.sub, python.mul)


@covering(1, dtype=[ps.u8, ps.i8, ps.u16], operator=OPERATORS)
def test_updates_of_narrow_integers_computed_as_in_c(
    dtype: ps.DType, operator: Callable[[Any, Any], Any]
) -> None:
    """``v ^= x`` is an int in C, and a reduction in the type of ``v``."""
    build = ps.KernelBuilder("checksum")
    x, v = build.input("x", dtype, (300,)), build.inout("v", dtype, (1,))
    with build.loops(i=300) as i, build.statement("update"):
        wide = operator(ps.cast(v[0], ps.i32), ps.cast(x[i], ps.i32))
        v[0] = ps.cast(wide, dtype)
    kernel = build.kernel()
    reduction = kernel.statements["update"].reduction
    assert reduction is not None
    assert reduction.order is Order.ANY
    limits = np.iinfo(dtype.numpy())
    given = np.random.default_rng(0).integers(limits.min, limits.max + 1, 300, dtype.numpy())
    wanted = functools.reduce(lambda a, b: operator(int(a), int(b)), given, 5)
    result = np.full(1, 5, dtype.numpy())
    ps.optimize(ps.Schedule(kernel)).compile()(given, result)
    assert int(result[0]) % (1 << dtype.bits) == wanted % (1 << dtype.bits)


@pytest.mark.parametrize(
    ("dtype", "other", "compared", "is_reduction"),
    [
        (ps.u8, ps.u8, ps.i32, True),
        (ps.i16, ps.u8, ps.i32, True),
        (ps.u8, ps.i16, ps.i32, False),
        (ps.i8, ps.u8, ps.i32, False),
        (ps.i32, ps.u8, ps.u32, False),
    ],
    ids=str,
)
@pytest.mark.parametrize("extremum", [ps.maximum, ps.minimum])
def test_extrema_of_narrow_integers_computed_as_in_c(
    dtype: ps.DType,
    other: ps.DType,
    compared: ps.DType,
    extremum: Callable[..., Expression],
    is_reduction: bool,
) -> None:
    """Only an extremum of values of the type of ``v`` is one of them."""
    build = ps.KernelBuilder("largest")
    x, v = build.input("x", other, (300,)), build.inout("v", dtype, (1,))
    with build.loops(i=300) as i, build.statement("update"):
        v[0] = ps.cast(extremum(ps.cast(x[i], compared), ps.cast(v[0], compared)), dtype)
    assert (build.kernel().statements["update"].reduction is not None) is is_reduction
