"""What a wrong declaration says."""

from collections.abc import Callable

import numpy as np
import pytest

import polysched as ps
from polysched.ir.expr.expressions import Expression


def _assigned(
    value: Callable[[ps.KernelBuilder, object], object], dtype: ps.DType = ps.f32
) -> None:
    build = ps.KernelBuilder("k")
    y = build.output("y", dtype, (10,))
    with build.loops(i=10) as i:
        y[i] = value(build, i)


def _deep(build: ps.KernelBuilder, i: object) -> object:
    value = i
    for _ in range(5000):
        value = value + 1  # type: ignore[operator]
    return value


def _doubled(build: ps.KernelBuilder, i: object) -> object:
    value = i
    for _ in range(60):
        value = value + value  # type: ignore[operator]
    return value


def _of_another_kernel(build: ps.KernelBuilder, i: object) -> object:
    return ps.KernelBuilder("other").input("z", ps.f32, (10,))[0]


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        (_deep, ps.i64, "an expression is nested 5001 operations deep; expected at most 200: spl"),
        (_doubled, ps.i64, "nodes; expected at most 10000: a shared subexpression is computed at"),
        (_of_another_kernel, ps.f32, "statement 'y' reads array 'z', which kernel 'k' does not"),
        (
            lambda build, i: ps.KernelBuilder("other").parameter("n") + 0,
            ps.i64,
            "statement 'y' uses parameter 'n', which kernel 'k' does not declare",
        ),
        (lambda build, i: 1000, ps.i8, "literal 1000 does not fit the type i8"),
        (lambda build, i: -1, ps.u32, "literal -1 does not fit the type u32"),
        (lambda build, i: 10**400, ps.f32, "literal 1000*000 does not fit the type f32"),
        (lambda build, i: 1e300, ps.f32, "literal 1e.300 does not fit the type f32; for infinity"),
        (lambda build, i: -(2.0**128 - 2.0**103), ps.f32, "literal -3.4.*e.38 does not fit the ty"),
        (lambda build, i: 2**1024, ps.f64, "literal 17976.* does not fit the type f64; for infi"),
        (lambda build, i: ps.cast(4e38, "f32"), ps.f32, "literal 4e.38 does not fit the type f32"),
        (lambda build, i: list(build.input("x", ps.f32, (3,))), ps.f32, "array 'x' cannot be iter"),
        (lambda build, i: np.zeros(10), ps.f32, "of type ndarray cannot stand in an expression"),
    ],
)
def test_values(
    value: Callable[[ps.KernelBuilder, object], object], dtype: ps.DType, message: str
) -> None:
    with pytest.raises(ps.KernelError, match=message):
        _assigned(value, dtype)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((-3,), "shape of array 'x': an extent is -3; expected at least 0"),
        ((2**70,), "shape of array 'x': 1180591620717411303424 does not fit 64 bits"),
        ((3.0,), "shape of array 'x': '3.0' is not affine"),
        ("3", "shape of array 'x': '3' of type str cannot stand in an expression"),
        ((None,), "shape of array 'x': None of type NoneType cannot stand in an expression"),
    ],
)
def test_shapes(shape: object, message: str) -> None:
    with pytest.raises(ps.KernelError, match=message):
        ps.KernelBuilder("k").input("x", ps.f32, shape)


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        (2.5, "bound of loop 'i': '2.5' is not affine"),
        (2**70, "bound of loop 'i': 1180591620717411303424 does not fit 64 bits"),
        ((0, 10, 2**80), "step of loop 'i' is 1208925819614629174706176; expected an integer"),
        ([0, 10], "bound of loop 'i': .* of type list cannot stand in an expression"),
        ("n", "bound of loop 'i': 'n' of type str cannot stand in an expression"),
        ((0, 10, True), "step of loop 'i' is True; expected an integer literal"),
        ((0, 10, 0), "step of loop 'i' is 0; expected an integer literal"),
        ((), "bound of loop 'i': expected an extent, .lower, upper. or .lower, upper, step."),
        (None, "loop 'i' does not end: its upper bound is None; expected an integer or an affine"),
        ((0, float("inf")), "loop 'i' does not end: its upper bound is inf; expected an integer"),
        ((None, 0), "loop 'i' does not end: its lower bound is None; expected an integer"),
    ],
)
def test_bounds(bound: object, message: str) -> None:
    build = ps.KernelBuilder("k")
    with pytest.raises(ps.KernelError, match=message), build.loops(i=bound):  # type: ignore[arg-type]
        pass


@pytest.mark.parametrize("name", [3, None, "", "a b", "x.y"])
def test_names(name: object) -> None:
    with pytest.raises(ps.KernelError, match="kernel name .* is not an identifier"):
        ps.KernelBuilder(name)  # type: ignore[arg-type]
    with pytest.raises(ps.KernelError, match="parameter name .* is not an identifier"):
        ps.KernelBuilder("k").parameter(name)  # type: ignore[arg-type]


def test_a_parameter_named_as_an_earlier_loop() -> None:
    build = ps.KernelBuilder("k")
    y = build.output("y", ps.f32, (10,))
    with build.loops(n=10) as i:
        y[i] = 1.0
    with pytest.raises(ps.KernelError, match="parameter 'n': a loop of kernel 'k' has that name"):
        build.parameter("n")


def test_an_element_type_of_none() -> None:
    with pytest.raises(ps.KernelError, match="unknown element type None"):
        ps.KernelBuilder("k").input("x", None, (3,))  # type: ignore[arg-type]


def test_conditions_of_python() -> None:
    build = ps.KernelBuilder("k")
    with (
        build.loops(i=10) as i,
        pytest.raises(ps.KernelError, match="'i' is compared with 3 .* write ps.equal"),
        build.where(i == 3),
    ):
        pass
    with (
        build.loops(j=10) as j,
        pytest.raises(ps.KernelError, match="where.False.: .* use ps.equal"),
        build.where(j == j + 1),
    ):
        pass
    with pytest.raises(ps.KernelError, match="assume.None.: expected a condition"):
        build.assume(None)  # type: ignore[arg-type]


def test_conditions_are_judged_where_they_stand() -> None:
    build = ps.KernelBuilder("k")
    x = build.input("x", ps.f32, (10,))
    with (
        build.loops(i=10) as i,
        pytest.raises(ps.KernelError, match="is not affine"),
        build.where(x[i] > 0),
    ):
        pass
    with build.loops(i=10) as i, pytest.raises(ps.KernelError, match="index 'i' is not in scope"):
        build.assume(i < 5)


def test_what_is_too_complex_for_isl() -> None:
    build = ps.KernelBuilder("k")
    y = build.output("y", ps.f32, (10,))
    with build.loops(i=10, j=10) as (i, j):
        subscript = i
        for number in range(20):
            subscript = ps.maximum(subscript, number * j - i)
            subscript = ps.minimum(subscript, (number + 1) * i - 3 * j + number)
        with pytest.raises(ps.KernelError, match="subscript of array 'y': it is too compl"):
            y[subscript] = 1.0
        with (
            pytest.raises(ps.KernelError, match="the condition of where.*is too complex: isl"),
            build.where(subscript <= 5),
        ):
            pass


def test_an_output_never_written() -> None:
    build = ps.KernelBuilder("k")
    y = build.output("y", ps.f32, (10,))
    build.output("z", ps.f32, (10,))
    with build.loops(i=10) as i:
        y[i] = 1.0
    with pytest.raises(ps.KernelError, match="no statement of kernel 'k' writes output 'z'; assi"):
        build.kernel()


def test_assumptions_and_parameters_after_the_statements_count() -> None:
    build = ps.KernelBuilder("k")
    n = build.parameter("n")
    y = build.output("y", ps.f32, (10,))
    with build.loops(i=n) as i:
        y[i] = 1.0
    build.assume(n <= 10)
    m = build.parameter("m")
    z = build.output("z", ps.f32, (m,))
    with build.loops(j=m) as j:
        z[j] = 2.0
    _, second = ps.compile(ps.Schedule(build.kernel()))(n=4, m=3)
    np.testing.assert_array_equal(second, [2, 2, 2])


@pytest.mark.parametrize(
    ("assumptions", "message"),
    [
        (
            lambda n: (n > 5, n < 3),
            "contradict each other: no values satisfy (0 <= n) and (5 < n) and (n < 3)",
        ),
        (lambda n: (ps.equal(2 * n, 7),), "contradict each other: no values satisfy (0 <= n) and"),
    ],
)
def test_a_contradictory_context(
    assumptions: Callable[[Expression], tuple[Expression, ...]], message: str
) -> None:
    build = ps.KernelBuilder("k")
    n, y = build.parameter("n"), build.output("y", ps.f32, (10,))
    with build.loops(i=10) as i:
        y[i] = 1.0
    for assumption in assumptions(n):
        build.assume(assumption)
    with pytest.raises(ps.KernelError) as raised:
        build.kernel()
    assert "the assumptions about the parameters of kernel 'k' " + message in str(raised.value)


def _one_statement(declare: Callable[[ps.KernelBuilder, Expression], None]) -> ps.Kernel:
    build = ps.KernelBuilder("k")
    n = build.parameter("n")
    declare(build, n)
    return build.kernel()


def _reversed_bounds(build: ps.KernelBuilder, n: Expression) -> None:
    y = build.output("y", ps.f32, (n,))
    with build.loops(i=(n, 0)) as i, build.statement("S"):
        y[i] = 1.0


def _condition_that_never_holds(build: ps.KernelBuilder, n: Expression) -> None:
    y = build.output("y", ps.f32, (n,))
    with build.loops(i=n) as i, build.where(i > n), build.statement("S"):
        y[i] = 1.0


def _assumption_too_late(build: ps.KernelBuilder, n: Expression) -> None:
    y = build.output("y", ps.f32, (n,))
    with build.loops(i=(10, n)) as i, build.statement("S"):
        y[i] = 1.0
    build.assume(n <= 10)


@pytest.mark.parametrize(
    "declare", [_reversed_bounds, _condition_that_never_holds, _assumption_too_late]
)
def test_a_statement_that_never_runs(
    declare: Callable[[ps.KernelBuilder, Expression], None],
) -> None:
    with pytest.raises(
        ps.KernelError,
        match=r"statement 'S' never runs: the bounds and .* \(.*test_declaration.py:\d+\)",
    ):
        _one_statement(declare)


def test_a_statement_that_does_not_run_at_a_literal_size() -> None:
    """The inside of a line of one element: what is right at other sizes is right at this one."""

    def declare(build: ps.KernelBuilder, n: Expression) -> None:
        y = build.output("y", ps.f32, (1,))
        with build.loops(i=(1, 0)) as i:
            y[i] = 1.0

    assert _one_statement(declare).statements["y"].domain.is_empty()


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"minimum": "3"}, "the minimum of parameter 'n' is '3'; expected an integer of 64 bits"),
        ({"maximum": 2**63}, "the maximum of parameter 'n' is 9223372036854775808; expected an in"),
        ({"minimum": True}, "the minimum of parameter 'n' is True; expected an integer"),
        ({"minimum": 1.5}, "the minimum of parameter 'n' is 1.5; expected an integer"),
    ],
)
def test_limits_of_parameters(limit: dict[str, int], message: str) -> None:
    with pytest.raises(ps.KernelError, match=message):
        ps.KernelBuilder("k").parameter("n", **limit)


@pytest.mark.parametrize(
    ("dimensions", "message"),
    [
        (["a", "b"], "dimensions=.'a', 'b'. of array 'x'; expected one text with all the names"),
        ("a", "array 'x' has 2 dimensions; dimensions='a' must give each a name of its own"),
        ("a a", "array 'x' has 2 dimensions; dimensions='a a' must give each a name of its own"),
        ("a 1", "array 'x': dimension name '1' is not an identifier: expected letters, digits"),
    ],
)
def test_names_of_dimensions(dimensions: str, message: str) -> None:
    with pytest.raises(ps.KernelError, match=message):
        ps.KernelBuilder("k").input("x", ps.f32, (3, 3), dimensions=dimensions)


def test_a_name_longer_than_anyone_writes() -> None:
    with pytest.raises(ps.KernelError, match="'aaaaaaaaaaaaaaaaaaaa...' has 201 characters; expec"):
        ps.KernelBuilder("a" * 201)


def test_loops_deeper_than_anyone_writes() -> None:
    build = ps.KernelBuilder("k")
    with (
        pytest.raises(ps.KernelError, match="loop 'i64' is inside 64 others; expected fewer"),
        build.loops(**{f"i{depth}": 2 for depth in range(65)}),
    ):
        pass
