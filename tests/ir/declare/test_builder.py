import re
from collections.abc import Callable
from pathlib import Path

import islpy as isl
import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel, Role, Statement
from polysched.ir.core.tree import Leaf, Loop, Sequence, loops
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32
from polysched.ir.expr.expressions import Index
from polysched.ir.expr.functions import equal, select
from polysched.ir.expr.source import SourceLocation
from polysched.ir.semantics.reference import instances
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees


def saxpy() -> Kernel:
    build = KernelBuilder("saxpy")
    n = build.parameter("n", minimum=1, maximum=100)
    x, y = build.input("x", f32, (n,)), build.inout("y", f32, n)
    with build.loops(i=n) as i:
        y[i] = 2 * x[i] + y[i]
    return build.kernel()


def single(declare: Callable[[KernelBuilder], None]) -> Statement:
    """The one statement that ``declare`` adds to a kernel with parameter n."""
    build = KernelBuilder("k")
    declare(build)
    (statement,) = build.kernel().statements.values()
    return statement


def test_a_kernel_holds_what_was_declared() -> None:
    kernel = saxpy()
    assert (kernel.name, kernel.parameters) == ("saxpy", ("n",))
    assert kernel.context.is_equal(isl.Set("[n] -> { : 1 <= n <= 100 }"))
    assert [(a.name, a.role, a.dtype) for a in kernel.arrays.values()] == [
        ("x", Role.INPUT, f32),
        ("y", Role.INOUT, f32),
    ]
    statement = kernel.statements["y"]
    assert statement.indices == ("i",)
    assert statement.domain.is_equal(isl.Set("[n] -> { y[i] : 0 <= i < n <= 100 }"))
    assert str(statement) == "y: y[i] = (y[i] + (2.0 * x[i]))"
    assert [*map(str, statement.accesses)] == ["y[i]", "y[i]", "x[i]"]


def test_locations_are_the_users_lines() -> None:
    kernel = saxpy()
    line = saxpy.__code__.co_firstlineno
    location = kernel.statements["y"].location
    assert location is not None
    assert Path(location.file).name == "test_builder.py"
    assert location.line == line + 5
    assert kernel.location is not None
    assert kernel.location.line == line + 1
    assert kernel.arrays["x"].location is not None
    assert kernel.arrays["x"].location.line == line + 3


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (10, "0 <= i < 10"),
        ((2, 10), "2 <= i < 10"),
        ((2, 10, 3), "2 <= i < 10 and (i - 2) mod 3 = 0"),
        ((-4, 0), "-4 <= i < 0"),
        ((5, 5), "1 = 0"),
    ],
)
def test_bounds(bound: object, expected: str) -> None:
    def declare(build: KernelBuilder) -> None:
        a = build.output("a", i32, (20,))
        with build.loops(i=bound) as i:  # type: ignore[arg-type]
            a[i + 4] = 0

    assert single(declare).domain.is_equal(isl.Set(f"{{ a[i] : {expected} }}"))


def test_triangular_bounds_and_conditions() -> None:
    def declare(build: KernelBuilder) -> None:
        n = build.parameter("n")
        a = build.output("a", i32, (n, n))
        with build.loops(i=n, j=(0, Index("i") + 1)) as (i, j), build.where(equal(j % 2, 0)):
            a[i, j] = 0

    expected = isl.Set("[n] -> { a[i, j] : 0 <= j <= i < n and j mod 2 = 0 }")
    assert single(declare).domain.is_equal(expected)


def test_a_loop_without_statements_is_nothing() -> None:
    build = KernelBuilder("k")
    out = build.output("out", f32, (1,))
    with build.loops(i=4):
        pass
    out[0] = 0
    assert list(build.kernel().statements) == ["out"]


def test_the_body_is_what_was_declared_in_order() -> None:
    build = KernelBuilder("k")
    a, s = build.output("a", i32, (4,)), build.output("s", i32, ())
    s[()] = 0
    with build.loops(i=4) as i:
        a[i] = 1
    body = build.kernel().body
    assert isinstance(body, Sequence)
    leaf, loop = body.children
    assert isinstance(leaf, Leaf)
    assert isinstance(loop, Loop)
    assert (leaf.statement, loop.name, list(loop.values)) == ("s", "i", ["a"])


def _open(build: KernelBuilder, **bounds: object) -> None:
    with build.loops(**bounds):  # type: ignore[arg-type]
        pass


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda build: KernelBuilder("a b"), "kernel name 'a b' is not an identifier"),
        (_open, "loops() takes the bound of each loop by its name, as in loops(i=n)"),
        (
            lambda build: _open(build, n=4),
            "index 'n': the name is in use already, for a parameter; choose",
        ),
        (
            lambda build: _open(build, i=(0, 4, 0)),
            "step of loop 'i' is 0; expected an integer literal",
        ),
        (
            lambda build: _open(build, i=(0, 4, 1, 1)),
            "bound of loop 'i': expected an extent",
        ),
    ],
)
def test_faulty_declarations(declare: Callable[[KernelBuilder], object], message: str) -> None:
    build = KernelBuilder("k")
    build.parameter("n", minimum=1)
    with pytest.raises(KernelError, match=re.escape(message)):
        declare(build)


def test_a_kernel_without_statements() -> None:
    with pytest.raises(KernelError, match="kernel 'k' has no statements"):
        KernelBuilder("k").kernel()


def test_a_kernel_asked_for_inside_a_loop() -> None:
    build = KernelBuilder("k")
    y = build.output("y", f32, (4,))
    with build.loops(i=4) as i:
        y[i] = 0
        with pytest.raises(
            KernelError, match="is called inside a loop or condition that is still open"
        ):
            build.kernel()


def test_a_loop_with_a_negative_step_counts_down() -> None:
    build = KernelBuilder("down")
    n = build.parameter("n", minimum=1)
    x = build.inout("x", f32, (n + 2,))
    with build.loops(i=(n, 0, -2)) as i:
        x[i] = x[i + 1] + x[i]
    kernel = build.kernel()
    order = [instance for _, instance in instances(kernel, {"n": 7})]
    assert order == [(i,) for i in range(7, 0, -2)]
    assert_agrees(Schedule(kernel), {"n": 7})


def test_a_loop_without_statements_is_left_out() -> None:
    build = KernelBuilder("empty")
    x = build.output("x", f32, (4,))
    with build.loops(i=4):
        pass
    with build.loops(j=4) as j:
        x[j] = 1
    assert [loop.name for loop in loops(build.kernel().body)] == ["j"]


def test_what_a_frontend_declares_is_located_where_it_says() -> None:
    build = KernelBuilder("k")
    place = SourceLocation("kernel.c", 3, 5)
    with build.located(place):
        x = build.inout("x", f32, (4,))
        with build.loops(i=4) as i:
            x[i] = x[i] + 1
    kernel = build.kernel()
    statement = kernel.statements["x"]
    assert kernel.arrays["x"].location == place
    assert [one.location for one in statement.accesses] == [place, place]
    assert statement.location == place


def test_whether_a_place_is_reached() -> None:
    build = KernelBuilder("k")
    n = build.parameter("n", minimum=1)
    with build.loops(i=n) as i:
        assert build.is_reached()
        with build.where(i < 0):
            assert not build.is_reached()
        with build.where(n < 1):
            assert not build.is_reached()
        assert build.is_reached()


def test_a_condition_that_is_assumed_never_to_hold() -> None:
    build = KernelBuilder("k")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    x = build.output("x", f32, (n,))
    with build.loops(i=n) as i:
        assert build.assume_never(i >= m)
        assert not build.assume_never(i >= 0)
        assert build.assume_never(i < 0)
        x[i] = 1
    assert build.kernel().context.is_equal(isl.Set("[n, m] -> { : 1 <= n <= m }"))


def test_a_comparison_of_texts_is_no_condition() -> None:
    build = KernelBuilder("k")
    x, y = build.input("x", f32, (3,)), build.output("y", f32, (3,))
    with build.loops(i=3) as i:
        for number in (0, 2.5, np.int32(2)):
            with pytest.raises(KernelError, match=r"'x\[i\]' is compared with .*equal\(a, b\)"):
                _ = x[i] == number
            with pytest.raises(KernelError, match="'i' is compared with"):
                _ = i != number
        with pytest.raises(KernelError, match=r"select\(False, ...\): expected a condition"):
            select(x[i] == y[i], 1.0, 2.0)
        assert x[i] == x[i]
        y[i] = select(equal(x[i], 0), 1.0, 2.0)


def test_integers_of_numpy_are_pythons() -> None:
    def declared(step: int, most: int) -> Kernel:
        build = KernelBuilder("k")
        n = build.parameter("n", minimum=most - 1, maximum=most)
        x = build.output("x", f32, (most, n))
        with build.loops(i=(0, most, step), j=n) as (i, j):
            x[i, j] = 1
        return build.kernel()

    ours, numpys = declared(2, 8), declared(np.int64(2), np.int64(8))  # type: ignore[arg-type]
    assert numpys.context.is_equal(ours.context)
    domains = [kernel.statements["x"].domain for kernel in (ours, numpys)]
    assert domains[0].is_equal(domains[1])
