"""What a wrong declaration says."""

from collections.abc import Callable

import numpy as np
import pytest

import polysched as ps


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
        (_doubled, ps.i64, "nodes; expected at most 10000: what it uses twice is computed twice"),
        (_of_another_kernel, ps.f32, "statement 'y' reads array 'z', which kernel 'k' does not"),
        (
            lambda build, i: ps.KernelBuilder("other").parameter("n") + 0,
            ps.i64,
            "statement 'y' uses parameter 'n', which kernel 'k' does not declare",
        ),
        (lambda build, i: 1000, ps.i8, "literal 1000 does not fit the type i8"),
        (lambda build, i: -1, ps.u32, "literal -1 does not fit the type u32"),
        (lambda build, i: 10**400, ps.f32, "literal 1000*000 does not fit the type f32"),
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
        ("3", "'3' of type str cannot stand in an expression"),
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
        ((0, 10, 2**80), "step of loop 'i' is 1208925819614629174706176; expected a positive"),
        ([0, 10], "of type list cannot stand in an expression"),
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
        pytest.raises(ps.KernelError, match="where.False.: .* use equal"),
        build.where(i == 3),
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
